-- Made by `ebreport export --to clickhouse` from the event table: do not edit.
-- docs/FLEET.md says what the columns are.

CREATE TABLE IF NOT EXISTS `frame`
(
	`frame` UInt64 CODEC(ZSTD(1)),
	`build_id` LowCardinality(String) CODEC(ZSTD(1)),
	`object` LowCardinality(String) CODEC(ZSTD(1)),
	`offset` UInt64 CODEC(ZSTD(1)),
	`kind` LowCardinality(String) CODEC(ZSTD(1)),
	`named` UInt8 CODEC(ZSTD(1)),
	`functions` Array(String) CODEC(ZSTD(1)),
	`files` Array(String) CODEC(ZSTD(1)),
	`lines` Array(UInt32) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(named)
ORDER BY (frame)
COMMENT 'a place in a file, each once: its function and those inlined there, innermost first; named 1 wins';

CREATE TABLE IF NOT EXISTS `stack`
(
	`stack` UInt64 CODEC(ZSTD(1)),
	`frames` Array(UInt64) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (stack)
COMMENT 'the frames of a stack, each once, outermost first';

CREATE TABLE IF NOT EXISTS `offcpu`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`why` LowCardinality(String) CODEC(ZSTD(1)),
	`duration` UInt64 CODEC(ZSTD(1)),
	`queued` UInt64 CODEC(ZSTD(1)),
	`waker_tid` UInt32 CODEC(ZSTD(1)),
	`waker_pid` UInt32 CODEC(ZSTD(1)),
	`waker_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`stack` UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a thread was off CPU until time, and queued for one in the end; chunk is the minute since the start of the trace, and its part above 2^32';

CREATE TABLE IF NOT EXISTS `host`
(
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`seen` DateTime64(9, 'UTC') CODEC(ZSTD(1)),
	`kernel` LowCardinality(String) CODEC(ZSTD(1)),
	`machine` LowCardinality(String) CODEC(ZSTD(1)),
	`os` LowCardinality(String) CODEC(ZSTD(1)),
	`cpu` LowCardinality(String) CODEC(ZSTD(1)),
	`cpus` UInt32 CODEC(ZSTD(1)),
	`memory` UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(seen)
ORDER BY (host)
COMMENT 'a machine, as its last trace says';

CREATE TABLE IF NOT EXISTS `trace`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`start` DateTime64(9, 'UTC') CODEC(ZSTD(1)),
	`end` DateTime64(9, 'UTC') CODEC(ZSTD(1)),
	`kernel` LowCardinality(String) CODEC(ZSTD(1)),
	`machine` LowCardinality(String) CODEC(ZSTD(1)),
	`command_line` String CODEC(ZSTD(1)),
	`complete` UInt8 CODEC(ZSTD(1)),
	`rows` UInt64 CODEC(ZSTD(1)),
	`size` UInt64 CODEC(ZSTD(1)),
	`sources` Array(String) CODEC(ZSTD(1)),
	`lost_tables` Array(String) CODEC(ZSTD(1)),
	`lost_rows` Array(UInt64) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(rows)
PARTITION BY day
ORDER BY (host, trace)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a trace; of one that came cut and whole: whole';

CREATE TABLE IF NOT EXISTS `lost`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`from` DateTime64(9, 'UTC') COMMENT 'they were lost after this time' CODEC(ZSTD(1)),
	`count` UInt64 COMMENT '0: not known' CODEC(ZSTD(1)),
	`table_id` UInt32 COMMENT 'of which table' CODEC(ZSTD(1)),
	`reason` LowCardinality(String) CODEC(ZSTD(1)),
	`ring` UInt32 COMMENT 'number of the ring buffer, or of the CPU' CODEC(ZSTD(1)),
	`source` String COMMENT 'event source, as in `ebrec -e`' CODEC(ZSTD(1)),
	`detail` String COMMENT 'for people' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'rows that happened and are not in the file';

CREATE TABLE IF NOT EXISTS `process`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`ppid` UInt32 COMMENT 'process id of its parent' CODEC(ZSTD(1)),
	`uid` UInt32 COMMENT 'real user id; 4294967295: not known' CODEC(ZSTD(1)),
	`kernel` UInt32 COMMENT '1: a kernel thread' CODEC(ZSTD(1)),
	`mnt_ns` UInt64 COMMENT 'inode of the mount namespace; 0: not known' CODEC(ZSTD(1)),
	`pid_ns` UInt64 COMMENT 'inode of the pid namespace' CODEC(ZSTD(1)),
	`net_ns` UInt64 COMMENT 'inode of the network namespace' CODEC(ZSTD(1)),
	`user_ns` UInt64 COMMENT 'inode of the user namespace' CODEC(ZSTD(1)),
	`cgroup_ns` UInt64 COMMENT 'inode of the cgroup namespace' CODEC(ZSTD(1)),
	`exe` String COMMENT 'target of /proc/PID/exe' CODEC(ZSTD(1)),
	`root` String COMMENT 'target of /proc/PID/root' CODEC(ZSTD(1)),
	`nspid` String COMMENT 'pids from outer to inner namespace' CODEC(ZSTD(1)),
	`cgroup` String COMMENT '/proc/PID/cgroup' CODEC(ZSTD(1)),
	`cmdline` String COMMENT 'arguments, NUL after each' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a process that was there';

CREATE TABLE IF NOT EXISTS `thread`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`state` UInt64 COMMENT 'task_struct.__state then: 0 running or runnable' CODEC(ZSTD(1)),
	`cpu` UInt32 COMMENT 'CPU that it was last on' CODEC(ZSTD(1)),
	`on_cpu` UInt32 COMMENT '1: it was running at that moment' CODEC(ZSTD(1)),
	`run_time` UInt64 COMMENT 'sum_exec_runtime until then' CODEC(ZSTD(1)),
	`prio` Int64 COMMENT 'task_struct.prio: real-time below 100' CODEC(ZSTD(1)),
	`nice` Int64 CODEC(ZSTD(1)),
	`policy` LowCardinality(String) COMMENT 'as in `task_exit`' CODEC(ZSTD(1)),
	`rt_priority` UInt32 COMMENT '1 to 99; 0: not a real-time thread' CODEC(ZSTD(1)),
	`nvcsw` UInt64 COMMENT 'voluntary context switches' CODEC(ZSTD(1)),
	`nivcsw` UInt64 COMMENT 'involuntary context switches' CODEC(ZSTD(1)),
	`minor` UInt64 COMMENT 'page faults, as in `task_exit`' CODEC(ZSTD(1)),
	`major` UInt64 CODEC(ZSTD(1)),
	`read_bytes` UInt64 COMMENT 'as in `task_exit`' CODEC(ZSTD(1)),
	`write_bytes` UInt64 CODEC(ZSTD(1)),
	`rchar` UInt64 CODEC(ZSTD(1)),
	`wchar` UInt64 CODEC(ZSTD(1)),
	`max_rss` UInt64 COMMENT 'of its process, on the row of its first thread; 0: not looked at' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a thread that was there';

CREATE TABLE IF NOT EXISTS `ended_threads`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`run_time` UInt64 CODEC(ZSTD(1)),
	`nvcsw` UInt64 CODEC(ZSTD(1)),
	`nivcsw` UInt64 CODEC(ZSTD(1)),
	`minor` UInt64 CODEC(ZSTD(1)),
	`major` UInt64 CODEC(ZSTD(1)),
	`read_bytes` UInt64 CODEC(ZSTD(1)),
	`write_bytes` UInt64 CODEC(ZSTD(1)),
	`rchar` UInt64 CODEC(ZSTD(1)),
	`wchar` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'what threads of a process used that had ended before';

CREATE TABLE IF NOT EXISTS `thread_stack`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`moment` LowCardinality(String) CODEC(ZSTD(1)),
	`state` UInt64 COMMENT 'as in `thread`, at `time`' CODEC(ZSTD(1)),
	`on_cpu` UInt32 COMMENT '1: it was running' CODEC(ZSTD(1)),
	`since` DateTime64(9, 'UTC') COMMENT 'it has not run since then, as the scheduler\'s clock tells: to about 0.1 ms, and a clock adjustment since; 0: not known' CODEC(ZSTD(1)),
	`call` Int64 COMMENT 'number of the system call that it was in, of the ABI in `abi`; -1: none' CODEC(ZSTD(1)),
	`abi` LowCardinality(String) COMMENT 'as in `syscall`' CODEC(ZSTD(1)),
	`user` LowCardinality(String) COMMENT 'what became of the user stack' CODEC(ZSTD(1)),
	`arg0` UInt64 COMMENT 'of the call: raw registers' CODEC(ZSTD(1)),
	`arg1` UInt64 CODEC(ZSTD(1)),
	`arg2` UInt64 CODEC(ZSTD(1)),
	`arg3` UInt64 CODEC(ZSTD(1)),
	`arg4` UInt64 CODEC(ZSTD(1)),
	`arg5` UInt64 CODEC(ZSTD(1)),
	`owner_tid` UInt32 CODEC(ZSTD(1)),
	`owner_pid` UInt32 CODEC(ZSTD(1)),
	`owner_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`owner_by` LowCardinality(String) COMMENT 'how that is known, as in `futex_wait`' CODEC(ZSTD(1)),
	`stack` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'where a thread was when the recording began, or when it ended';

CREATE TABLE IF NOT EXISTS `sched_switch`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`prev_tid` UInt32 CODEC(ZSTD(1)),
	`prev_pid` UInt32 CODEC(ZSTD(1)),
	`prev_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`next_tid` UInt32 CODEC(ZSTD(1)),
	`next_pid` UInt32 CODEC(ZSTD(1)),
	`next_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`prev_state` UInt64 COMMENT 'task_struct.__state of prev: 0 runnable, 1 sleeping, 2 uninterruptible, 0x10 dead …' CODEC(ZSTD(1)),
	`preempt` UInt32 COMMENT '1: prev was preempted' CODEC(ZSTD(1)),
	`prev_run` UInt64 COMMENT 'time on the CPU that the kernel charged prev with for this run; 0: not known, 1 also for none' CODEC(ZSTD(1)),
	`stack` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a CPU changes task';

CREATE TABLE IF NOT EXISTS `sched_waking`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 COMMENT 'where the waker ran' CODEC(ZSTD(1)),
	`waker_tid` UInt32 CODEC(ZSTD(1)),
	`waker_pid` UInt32 CODEC(ZSTD(1)),
	`waker_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`wakee_tid` UInt32 CODEC(ZSTD(1)),
	`wakee_pid` UInt32 CODEC(ZSTD(1)),
	`wakee_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`kind` LowCardinality(String) CODEC(ZSTD(1)),
	`call` UInt64 COMMENT 'in a soft interrupt: the system call that `waker` was in, its number + 1; 0: none, not known, or of a compat ABI' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a task is about to be woken';

CREATE TABLE IF NOT EXISTS `sched_migrate`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 COMMENT 'where this was decided' CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`orig_cpu` UInt32 CODEC(ZSTD(1)),
	`dest_cpu` UInt32 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a task moves to another CPU\'s run queue';

CREATE TABLE IF NOT EXISTS `offcpu_stack`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`duration` UInt64 COMMENT 'off CPU until `time`' CODEC(ZSTD(1)),
	`stack` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'with --min-block: where a task that was off CPU that long had stopped';

CREATE TABLE IF NOT EXISTS `task_fork`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`parent_tid` UInt32 CODEC(ZSTD(1)),
	`parent_pid` UInt32 CODEC(ZSTD(1)),
	`parent_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`child_tid` UInt32 CODEC(ZSTD(1)),
	`child_task_pid` UInt32 CODEC(ZSTD(1)),
	`child_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`child_pid` UInt32 COMMENT 'process id of the child' CODEC(ZSTD(1)),
	`child_start` DateTime64(9, 'UTC') COMMENT 'task_struct.start_time of the child' CODEC(ZSTD(1)),
	`thread` UInt32 COMMENT '1: a thread of the parent\'s process' CODEC(ZSTD(1)),
	`comm` String CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a process or thread is made';

CREATE TABLE IF NOT EXISTS `task_exec`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`task_pid` UInt32 CODEC(ZSTD(1)),
	`task_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`old_tid` UInt32 COMMENT 'tid of the thread that called exec' CODEC(ZSTD(1)),
	`start` DateTime64(9, 'UTC') COMMENT 'task_struct.start_time' CODEC(ZSTD(1)),
	`comm` String COMMENT 'the new name' CODEC(ZSTD(1)),
	`filename` String COMMENT 'path given to exec' CODEC(ZSTD(1)),
	`cmdline` String COMMENT 'arguments, NUL after each' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a process runs another program; its mappings begin at the task_rename before this';

CREATE TABLE IF NOT EXISTS `task_exit`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`exit_code` UInt64 COMMENT 'as wait(2) gives it: status << 8 | signal' CODEC(ZSTD(1)),
	`group_dead` UInt32 COMMENT '1: the last thread of its process; of several that end at the same time each may say so, and the last row counts' CODEC(ZSTD(1)),
	`run_time` UInt64 COMMENT 'sum_exec_runtime of the thread' CODEC(ZSTD(1)),
	`nvcsw` UInt64 COMMENT 'voluntary context switches' CODEC(ZSTD(1)),
	`nivcsw` UInt64 COMMENT 'involuntary context switches' CODEC(ZSTD(1)),
	`ppid` UInt32 COMMENT 'process id of the parent' CODEC(ZSTD(1)),
	`status` UInt64 COMMENT 'where group_dead: what wait(2) will give for the process' CODEC(ZSTD(1)),
	`prio` Int64 COMMENT 'task_struct.prio: real-time below 100' CODEC(ZSTD(1)),
	`nice` Int64 CODEC(ZSTD(1)),
	`policy` LowCardinality(String) CODEC(ZSTD(1)),
	`rt_priority` UInt32 COMMENT '1 to 99; 0: not a real-time thread' CODEC(ZSTD(1)),
	`minor` UInt64 COMMENT 'page faults without input of the thread' CODEC(ZSTD(1)),
	`major` UInt64 COMMENT 'page faults that had to wait for a disk' CODEC(ZSTD(1)),
	`read_bytes` UInt64 COMMENT 'from storage, as /proc/PID/io; 18446744073709551615: the kernel does not count' CODEC(ZSTD(1)),
	`write_bytes` UInt64 COMMENT 'to storage, page cache included' CODEC(ZSTD(1)),
	`rchar` UInt64 COMMENT 'by read(2) and its like, of any file' CODEC(ZSTD(1)),
	`wchar` UInt64 COMMENT 'by write(2) and its like' CODEC(ZSTD(1)),
	`max_rss` UInt64 COMMENT 'where group_dead: most memory that the process had resident; 0: not known' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a thread ends';

CREATE TABLE IF NOT EXISTS `task_rename`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`task_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`comm` String COMMENT 'the new name' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a thread gets another name';

CREATE TABLE IF NOT EXISTS `task_end`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`run_time` UInt64 COMMENT 'sum_exec_runtime, final' CODEC(ZSTD(1)),
	`nvcsw` UInt64 COMMENT 'voluntary context switches, this one included' CODEC(ZSTD(1)),
	`nivcsw` UInt64 COMMENT 'involuntary context switches' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'with source sched: a thread that ended leaves its CPU';

CREATE TABLE IF NOT EXISTS `sample`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`event` LowCardinality(String) CODEC(ZSTD(1)),
	`user` UInt32 COMMENT '1: user mode was interrupted' CODEC(ZSTD(1)),
	`period` UInt64 COMMENT 'ns of cpu-clock, or cycles, it stands for' CODEC(ZSTD(1)),
	`stack` UInt64 CODEC(ZSTD(1)),
	`ns` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'what a CPU was doing when its sampling timer fired';

CREATE TABLE IF NOT EXISTS `syscall`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`nr` UInt32 COMMENT 'number, of the ABI in `abi`' CODEC(ZSTD(1)),
	`abi` LowCardinality(String) CODEC(ZSTD(1)),
	`duration` UInt64 COMMENT 'from entry to return' CODEC(ZSTD(1)),
	`ret` Int64 COMMENT 'result; -4095 to -1: an error number' CODEC(ZSTD(1)),
	`arg0` UInt64 COMMENT 'raw register, also where the call takes fewer; 0 where a row of `syscall_arg` has what it points to' CODEC(ZSTD(1)),
	`arg1` UInt64 CODEC(ZSTD(1)),
	`arg2` UInt64 CODEC(ZSTD(1)),
	`arg3` UInt64 CODEC(ZSTD(1)),
	`arg4` UInt64 CODEC(ZSTD(1)),
	`arg5` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a system call returns';

CREATE TABLE IF NOT EXISTS `syscall_arg`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`nr` UInt32 COMMENT 'number of the call, of its ABI' CODEC(ZSTD(1)),
	`arg` UInt32 COMMENT 'which argument, from 0 on' CODEC(ZSTD(1)),
	`kind` LowCardinality(String) COMMENT 'what it is' CODEC(ZSTD(1)),
	`attrs` UInt64 COMMENT '1: it could not be read; 2: it went on' CODEC(ZSTD(1)),
	`text` String COMMENT '`text`: what the program gave, up to a zero byte; `result`: what the kernel answered' CODEC(ZSTD(1)),
	`data` String COMMENT '`address`: a struct sockaddr of the machine; `descriptors`: numbers of 32 bits; `data`: structs, as section 15 of FORMAT.md says' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'what an argument of a system call pointed to, read when the call returned';

CREATE TABLE IF NOT EXISTS `fd`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`fd` Int64 COMMENT 'number; -100: the working directory' CODEC(ZSTD(1)),
	`why` LowCardinality(String) COMMENT 'why it is told now' CODEC(ZSTD(1)),
	`type` LowCardinality(String) COMMENT 'of the file: S_IFMT' CODEC(ZSTD(1)),
	`flags` UInt64 COMMENT 'of open(), as the machine has them; with O_CLOEXEC if exec closes it' CODEC(ZSTD(1)),
	`attrs` UInt64 COMMENT '1: the file\'s name has been deleted; 2: it may have been another file then' CODEC(ZSTD(1)),
	`dev_major` UInt32 COMMENT 'of the file system' CODEC(ZSTD(1)),
	`dev_minor` UInt32 CODEC(ZSTD(1)),
	`generation` UInt32 COMMENT 'of the inode' CODEC(ZSTD(1)),
	`name_hash` UInt64 COMMENT 'with the inode: which name, as in `inode_path`' CODEC(ZSTD(1)),
	`inode` UInt64 CODEC(ZSTD(1)),
	`mount` UInt32 COMMENT 'id of the mount, as in the process\'s mountinfo' CODEC(ZSTD(1)),
	`cookie` UInt64 COMMENT 'of a socket; 0: none, or not known' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'which file a descriptor of a process stands for, from now on';

CREATE TABLE IF NOT EXISTS `socket`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`inode` UInt64 COMMENT 'as in `fd`' CODEC(ZSTD(1)),
	`cookie` UInt64 COMMENT 'as in `net_connection`; 0: it has none yet' CODEC(ZSTD(1)),
	`peer` UInt64 COMMENT 'inode of the socket that a Unix socket is connected to; 0: none, or nobody has accepted it yet' CODEC(ZSTD(1)),
	`netns` UInt32 COMMENT 'inode of the network namespace' CODEC(ZSTD(1)),
	`family` UInt32 COMMENT 'AF_: 1: Unix, 2: IPv4, 10: IPv6, 16: netlink' CODEC(ZSTD(1)),
	`type` UInt32 COMMENT 'SOCK_: 1: stream, 2: datagram, 3: raw, 5: seqpacket' CODEC(ZSTD(1)),
	`protocol` UInt32 COMMENT 'of the family' CODEC(ZSTD(1)),
	`sport` UInt32 COMMENT 'port here; of netlink: port id' CODEC(ZSTD(1)),
	`dport` UInt32 COMMENT 'port there; 0: not connected' CODEC(ZSTD(1)),
	`saddr` String COMMENT 'address here: 4 or 16 bytes' CODEC(ZSTD(1)),
	`daddr` String COMMENT 'address there' CODEC(ZSTD(1)),
	`path` String COMMENT 'name of a Unix socket; one that is in no file begins with a zero byte' CODEC(ZSTD(1)),
	`peer_path` String COMMENT 'name of its peer' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'what a socket is that a descriptor stands for: before the row of `fd` that tells it';

CREATE TABLE IF NOT EXISTS `syscall_stack`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`nr` UInt32 COMMENT 'as in `syscall`' CODEC(ZSTD(1)),
	`abi` LowCardinality(String) CODEC(ZSTD(1)),
	`duration` UInt64 COMMENT 'from entry to this row, which is before that of `syscall`; both have the same entry' CODEC(ZSTD(1)),
	`ret` Int64 COMMENT 'as in `syscall`' CODEC(ZSTD(1)),
	`stack` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'where a system call was made that failed, or made a descriptor';

CREATE TABLE IF NOT EXISTS `mmap`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`origin` LowCardinality(String) COMMENT 'how it is known' CODEC(ZSTD(1)),
	`start` UInt64 COMMENT 'first address' CODEC(ZSTD(1)),
	`length` UInt64 CODEC(ZSTD(1)),
	`pgoff` UInt64 COMMENT 'offset in the file of the first address' CODEC(ZSTD(1)),
	`inode` UInt64 COMMENT '0: not known' CODEC(ZSTD(1)),
	`dev_major` UInt32 CODEC(ZSTD(1)),
	`dev_minor` UInt32 CODEC(ZSTD(1)),
	`prot` UInt64 COMMENT 'PROT_*' CODEC(ZSTD(1)),
	`flags` UInt64 COMMENT 'MAP_*' CODEC(ZSTD(1)),
	`path` String COMMENT 'as the kernel names it; //anon: none' CODEC(ZSTD(1)),
	`build_id` String COMMENT 'empty: not known or none' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'executable memory that a process has, or gets';

CREATE TABLE IF NOT EXISTS `ksymbol`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`address` UInt64 CODEC(ZSTD(1)),
	`length` UInt32 CODEC(ZSTD(1)),
	`type` LowCardinality(String) COMMENT 'PERF_RECORD_KSYMBOL_TYPE_*' CODEC(ZSTD(1)),
	`unregister` UInt32 COMMENT '1: it goes' CODEC(ZSTD(1)),
	`name` String CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'the kernel gets or loses generated code';

CREATE TABLE IF NOT EXISTS `object`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`links` UInt32 COMMENT 'names that it had; 0: deleted, or never had one' CODEC(ZSTD(1)),
	`inode` UInt64 COMMENT 'as in `mmap`, whose rows find it by this and device' CODEC(ZSTD(1)),
	`dev_major` UInt32 CODEC(ZSTD(1)),
	`dev_minor` UInt32 CODEC(ZSTD(1)),
	`size` UInt64 CODEC(ZSTD(1)),
	`mtime` Int64 COMMENT 'CLOCK_REALTIME; 0: not known' CODEC(ZSTD(1)),
	`file_id` UInt64 COMMENT 'the embedded file that holds it; 0: none' CODEC(ZSTD(1)),
	`debuglink_crc` UInt64 COMMENT 'of .gnu_debuglink' CODEC(ZSTD(1)),
	`path` String COMMENT 'as in `mmap`' CODEC(ZSTD(1)),
	`build_id` String COMMENT 'empty: none' CODEC(ZSTD(1)),
	`hash` String COMMENT 'where it has no build-id: XXH3 of 128 bits, big-endian, of the content' CODEC(ZSTD(1)),
	`segments` String COMMENT 'each PT_LOAD: offset, vaddr, file size, memory size, flags as 5 u64, little-endian' CODEC(ZSTD(1)),
	`debuglink` String COMMENT 'name in .gnu_debuglink, or empty' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a mapped file as it was when it was first seen';

CREATE TABLE IF NOT EXISTS `interp_code`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`id` UInt32 COMMENT 'its number in entries of stacks, from 1' CODEC(ZSTD(1)),
	`address` UInt64 COMMENT 'of the code object, at `time`' CODEC(ZSTD(1)),
	`version` UInt64 COMMENT 'of the interpreter; CPython: PY_VERSION_HEX' CODEC(ZSTD(1)),
	`first_line` UInt32 CODEC(ZSTD(1)),
	`name` String COMMENT 'qualified: class and function' CODEC(ZSTD(1)),
	`file` String COMMENT 'as the interpreter has it' CODEC(ZSTD(1)),
	`lines` String COMMENT 'CPython: co_linetable, or its beginning' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a function of an interpreted language that a stack names';

CREATE TABLE IF NOT EXISTS `kmem_alloc`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`address` UInt64 CODEC(ZSTD(1)),
	`requested` UInt64 CODEC(ZSTD(1)),
	`bytes` UInt64 COMMENT 'that it takes' CODEC(ZSTD(1)),
	`rate` UInt64 COMMENT 'recorded with probability bytes/rate, if that is below 1; 0: all are' CODEC(ZSTD(1)),
	`gfp` UInt64 COMMENT 'flags, GFP_*; their bits differ between kernels' CODEC(ZSTD(1)),
	`interrupt` UInt32 COMMENT '1: in an interrupt, of which the task is not the cause' CODEC(ZSTD(1)),
	`cache` String COMMENT 'name of the cache; ?: not known (before 6.1); empty: kmalloc' CODEC(ZSTD(1)),
	`stack` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'the kernel allocates an object, with kmalloc or from a cache';

CREATE TABLE IF NOT EXISTS `kmem_free`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`address` UInt64 CODEC(ZSTD(1)),
	`kind` LowCardinality(String) COMMENT 'by which call' CODEC(ZSTD(1)),
	`interrupt` UInt32 COMMENT '1: in an interrupt' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'an object is freed, maybe by another task than made it';

CREATE TABLE IF NOT EXISTS `page_alloc`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`page` UInt64 COMMENT 'number of the first one, counted from some multiple of 2^24' CODEC(ZSTD(1)),
	`rate` UInt64 COMMENT 'as in kmem_alloc' CODEC(ZSTD(1)),
	`order` UInt32 COMMENT '2^order pages' CODEC(ZSTD(1)),
	`gfp` UInt64 COMMENT 'as in kmem_alloc' CODEC(ZSTD(1)),
	`migratetype` UInt32 CODEC(ZSTD(1)),
	`interrupt` UInt32 COMMENT '1: in an interrupt' CODEC(ZSTD(1)),
	`stack` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'the kernel allocates pages: for a process, for files, for objects';

CREATE TABLE IF NOT EXISTS `page_free`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`page` UInt64 COMMENT 'as in page_alloc' CODEC(ZSTD(1)),
	`order` UInt32 COMMENT '2^order pages' CODEC(ZSTD(1)),
	`interrupt` UInt32 COMMENT '1: in an interrupt' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'pages are freed; maybe in other pieces than they were allocated';

CREATE TABLE IF NOT EXISTS `rss_stat`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`bytes` UInt64 CODEC(ZSTD(1)),
	`vm_size` UInt64 COMMENT 'address space that it has mapped then' CODEC(ZSTD(1)),
	`kind` LowCardinality(String) CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'memory of a process that is resident; each time that it changed by some 100 KiB';

CREATE TABLE IF NOT EXISTS `process_memory`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`moment` LowCardinality(String) CODEC(ZSTD(1)),
	`vm_size` UInt64 COMMENT 'VmSize' CODEC(ZSTD(1)),
	`rss` UInt64 COMMENT 'VmRSS' CODEC(ZSTD(1)),
	`rss_peak` UInt64 COMMENT 'VmHWM' CODEC(ZSTD(1)),
	`rss_anon` UInt64 COMMENT 'RssAnon' CODEC(ZSTD(1)),
	`rss_file` UInt64 COMMENT 'RssFile' CODEC(ZSTD(1)),
	`rss_shmem` UInt64 COMMENT 'RssShmem' CODEC(ZSTD(1)),
	`swap` UInt64 COMMENT 'VmSwap' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'what /proc/PID/status says, when recording begins and ends';

CREATE TABLE IF NOT EXISTS `meminfo`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`moment` LowCardinality(String) CODEC(ZSTD(1)),
	`total` UInt64 COMMENT 'MemTotal' CODEC(ZSTD(1)),
	`free` UInt64 COMMENT 'MemFree' CODEC(ZSTD(1)),
	`available` UInt64 COMMENT 'MemAvailable' CODEC(ZSTD(1)),
	`buffers` UInt64 COMMENT 'Buffers' CODEC(ZSTD(1)),
	`cached` UInt64 COMMENT 'Cached' CODEC(ZSTD(1)),
	`anon` UInt64 COMMENT 'AnonPages' CODEC(ZSTD(1)),
	`slab` UInt64 COMMENT 'Slab' CODEC(ZSTD(1)),
	`slab_unreclaimable` UInt64 COMMENT 'SUnreclaim' CODEC(ZSTD(1)),
	`page_tables` UInt64 COMMENT 'PageTables' CODEC(ZSTD(1)),
	`swap_total` UInt64 COMMENT 'SwapTotal' CODEC(ZSTD(1)),
	`swap_free` UInt64 COMMENT 'SwapFree' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'what /proc/meminfo says, when recording begins and ends';

CREATE TABLE IF NOT EXISTS `fault`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`kind` LowCardinality(String) COMMENT 'as the kernel counts it' CODEC(ZSTD(1)),
	`access` LowCardinality(String) COMMENT 'what was tried' CODEC(ZSTD(1)),
	`user` UInt32 COMMENT '1: in user mode; 0: a system call touched the memory' CODEC(ZSTD(1)),
	`mapping` LowCardinality(String) COMMENT 'what is mapped there' CODEC(ZSTD(1)),
	`address` UInt64 COMMENT 'that was touched' CODEC(ZSTD(1)),
	`ip` UInt64 COMMENT 'instruction that touched it; of the kernel if not user' CODEC(ZSTD(1)),
	`duration` UInt64 COMMENT 'from the exception until `time`; 0: not known' CODEC(ZSTD(1)),
	`silent_minor` UInt64 COMMENT 'what the kernel counted without a fault of the thread, since its last row or its start: memory filled ahead, or for input and output' CODEC(ZSTD(1)),
	`silent_major` UInt64 COMMENT 'the same of major ones' CODEC(ZSTD(1)),
	`map_start` UInt64 COMMENT 'where the mapping begins; 0: not known' CODEC(ZSTD(1)),
	`map_end` UInt64 COMMENT 'where it ends' CODEC(ZSTD(1)),
	`map_offset` UInt64 COMMENT 'offset in the file of its beginning' CODEC(ZSTD(1)),
	`inode` UInt64 COMMENT 'of the file, as in `inode_path`; 0: none' CODEC(ZSTD(1)),
	`dev_major` UInt32 CODEC(ZSTD(1)),
	`dev_minor` UInt32 CODEC(ZSTD(1)),
	`generation` UInt32 COMMENT 'of the inode' CODEC(ZSTD(1)),
	`stack` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a page fault has been handled, and the kernel has counted it';

CREATE TABLE IF NOT EXISTS `fault_rest`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`silent_minor` UInt64 COMMENT 'as in `fault`' CODEC(ZSTD(1)),
	`silent_major` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a thread ends for which the kernel counted faults after its last row';

CREATE TABLE IF NOT EXISTS `inode_path`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`dev_major` UInt32 COMMENT 'of the file system' CODEC(ZSTD(1)),
	`dev_minor` UInt32 CODEC(ZSTD(1)),
	`inode` UInt64 CODEC(ZSTD(1)),
	`generation` UInt32 COMMENT 'tells apart files that had this inode' CODEC(ZSTD(1)),
	`links` UInt32 COMMENT 'names that it had; 0: deleted, or never had one' CODEC(ZSTD(1)),
	`rdev_major` UInt32 COMMENT 'of a device file: which device' CODEC(ZSTD(1)),
	`rdev_minor` UInt32 CODEC(ZSTD(1)),
	`path` String COMMENT 'from the root of its file system; without a slash: its end, or of a file that is in no folder; empty: not known' CODEC(ZSTD(1)),
	`name_hash` UInt64 COMMENT 'which of its names: the kernel\'s own hash; 0: any of them' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a name of a file that rows name by its inode';

CREATE TABLE IF NOT EXISTS `page_cache`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`kind` LowCardinality(String) COMMENT 'what happened to the pages' CODEC(ZSTD(1)),
	`generation` UInt32 COMMENT 'of the inode' CODEC(ZSTD(1)),
	`dev_major` UInt32 COMMENT 'of the file system' CODEC(ZSTD(1)),
	`dev_minor` UInt32 CODEC(ZSTD(1)),
	`inode` UInt64 COMMENT 'as in `inode_path`' CODEC(ZSTD(1)),
	`index` UInt64 COMMENT 'of the first one in the file' CODEC(ZSTD(1)),
	`pages` UInt64 COMMENT 'of `read`: all that are still wanted, up to the end of the file' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'pages of a file are looked up in memory, come, go, or become dirty';

CREATE TABLE IF NOT EXISTS `block_io`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 COMMENT 'where it completed' CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`task_pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`submitter_tid` UInt32 CODEC(ZSTD(1)),
	`submitter_pid` UInt32 CODEC(ZSTD(1)),
	`submitter_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`pid` UInt32 COMMENT 'process id of `task` when it did so, which may be long before; 0: not known' CODEC(ZSTD(1)),
	`cause` LowCardinality(String) CODEC(ZSTD(1)),
	`state` LowCardinality(String) CODEC(ZSTD(1)),
	`layer` LowCardinality(String) CODEC(ZSTD(1)),
	`dev_major` UInt32 COMMENT 'partition, or disk, that it was for' CODEC(ZSTD(1)),
	`dev_minor` UInt32 CODEC(ZSTD(1)),
	`disk_major` UInt32 COMMENT 'its whole disk; 0:0: no disk has it' CODEC(ZSTD(1)),
	`disk_minor` UInt32 CODEC(ZSTD(1)),
	`op` LowCardinality(String) CODEC(ZSTD(1)),
	`flags` UInt64 COMMENT '1 synchronous, 2 metadata, 4 through the cache (FUA), 8 flush before, 0x10 read ahead, 0x20 background, 0x40 swap, 0x80 high priority' CODEC(ZSTD(1)),
	`error` UInt32 COMMENT 'error number; 0: none' CODEC(ZSTD(1)),
	`merges` UInt32 COMMENT 'bios that joined it behind the first' CODEC(ZSTD(1)),
	`requeues` UInt32 COMMENT 'times that the driver gave it back' CODEC(ZSTD(1)),
	`file_major` UInt32 COMMENT 'file system of `inode`' CODEC(ZSTD(1)),
	`file_minor` UInt32 CODEC(ZSTD(1)),
	`generation` UInt32 COMMENT 'of `inode`' CODEC(ZSTD(1)),
	`inode` UInt64 COMMENT 'file whose cached pages it began with; 0: not known, or none' CODEC(ZSTD(1)),
	`cgroup` UInt64 COMMENT 'inode of the cgroup it was charged to; 0: none' CODEC(ZSTD(1)),
	`sector` UInt64 COMMENT 'of 512 bytes, on the whole disk; of a layer bio: on the device' CODEC(ZSTD(1)),
	`bytes` UInt64 COMMENT 'that were transferred; in flight: that will be' CODEC(ZSTD(1)),
	`duration` UInt64 COMMENT 'from when it had a request (of a bio: was submitted) until `time`' CODEC(ZSTD(1)),
	`device` UInt64 COMMENT 'part of `duration`: since the driver got it, the last time; 0: it had not' CODEC(ZSTD(1)),
	`inserted` UInt64 COMMENT 'part of `duration`: since it was put into a queue or scheduler; 0: it was not' CODEC(ZSTD(1)),
	`waited` UInt64 COMMENT 'before `duration`: its first bio waited for a request; 0: not known' CODEC(ZSTD(1)),
	`dirtied` UInt64 COMMENT 'before `time`: the dirtier wrote to the file; 0: no dirtier is known' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a request to a block device completes';

CREATE TABLE IF NOT EXISTS `block_device`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`major` UInt32 CODEC(ZSTD(1)),
	`minor` UInt32 CODEC(ZSTD(1)),
	`disk_major` UInt32 COMMENT 'of a partition: its disk; else itself' CODEC(ZSTD(1)),
	`disk_minor` UInt32 CODEC(ZSTD(1)),
	`rotational` UInt32 COMMENT '1: the kernel takes it for a hard disk' CODEC(ZSTD(1)),
	`logical_block` UInt32 COMMENT '0: not known' CODEC(ZSTD(1)),
	`nr_requests` UInt32 COMMENT 'of its queue; 0: not known' CODEC(ZSTD(1)),
	`write_cache` UInt32 COMMENT '1: it has one that is flushed' CODEC(ZSTD(1)),
	`size` UInt64 CODEC(ZSTD(1)),
	`start` UInt64 COMMENT 'of a partition, on its disk' CODEC(ZSTD(1)),
	`name` String COMMENT 'in /dev' CODEC(ZSTD(1)),
	`alias` String COMMENT 'of the device mapper' CODEC(ZSTD(1)),
	`scheduler` String COMMENT '"none": there is none' CODEC(ZSTD(1)),
	`model` String CODEC(ZSTD(1)),
	`backing` String COMMENT 'file behind a loop device' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a disk or partition; again when it has changed';

CREATE TABLE IF NOT EXISTS `net_device`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`netns` UInt32 COMMENT 'inode of its network namespace' CODEC(ZSTD(1)),
	`ifindex` UInt32 COMMENT 'its number there' CODEC(ZSTD(1)),
	`mtu` UInt32 CODEC(ZSTD(1)),
	`type` UInt32 COMMENT 'ARPHRD_*: 1 Ethernet, 772 loopback …' CODEC(ZSTD(1)),
	`name` String CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a network device, before the first packet that names it, and when its name changes';

CREATE TABLE IF NOT EXISTS `net_connection`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`cookie` UInt64 COMMENT 'of the socket' CODEC(ZSTD(1)),
	`latency` UInt64 COMMENT 'connect: from SYN_SENT on; accept: from our SYN-ACK to the answer, in us' CODEC(ZSTD(1)),
	`kind` LowCardinality(String) CODEC(ZSTD(1)),
	`error` UInt32 COMMENT 'errno; 0: it was made; 125 (ECANCELED): the program gave up' CODEC(ZSTD(1)),
	`netns` UInt32 COMMENT 'inode of the network namespace' CODEC(ZSTD(1)),
	`family` UInt32 COMMENT '2: IPv4, 10: IPv6' CODEC(ZSTD(1)),
	`sport` UInt32 COMMENT 'port here' CODEC(ZSTD(1)),
	`dport` UInt32 COMMENT 'port there' CODEC(ZSTD(1)),
	`saddr` String COMMENT 'address here: 4 or 16 bytes' CODEC(ZSTD(1)),
	`daddr` String COMMENT 'address there' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a TCP connection is made, or cannot be made, or was there';

CREATE TABLE IF NOT EXISTS `net_state`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`cookie` UInt64 COMMENT 'of the socket' CODEC(ZSTD(1)),
	`old` LowCardinality(String) CODEC(ZSTD(1)),
	`new` LowCardinality(String) CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a TCP socket changes its state';

CREATE TABLE IF NOT EXISTS `net_end`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`cookie` UInt64 COMMENT 'of the socket' CODEC(ZSTD(1)),
	`duration` UInt64 COMMENT 'since it was made, or since the recording began' CODEC(ZSTD(1)),
	`bytes_sent` UInt64 COMMENT 'payload, with what was sent again' CODEC(ZSTD(1)),
	`bytes_resent` UInt64 COMMENT 'payload that was sent again' CODEC(ZSTD(1)),
	`bytes_received` UInt64 COMMENT 'payload' CODEC(ZSTD(1)),
	`segments_sent` UInt32 CODEC(ZSTD(1)),
	`segments_received` UInt32 CODEC(ZSTD(1)),
	`retransmits` UInt32 COMMENT 'segments that were sent again' CODEC(ZSTD(1)),
	`srtt` UInt32 COMMENT 'smoothed round-trip time; 0: not known' CODEC(ZSTD(1)),
	`error` UInt32 COMMENT 'errno that the program would be told; 0: none' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a TCP connection ends: what the kernel counted';

CREATE TABLE IF NOT EXISTS `net_transfer`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`cookie` UInt64 COMMENT 'of the socket' CODEC(ZSTD(1)),
	`bytes` UInt64 COMMENT 'payload' CODEC(ZSTD(1)),
	`direction` LowCardinality(String) CODEC(ZSTD(1)),
	`protocol` UInt32 COMMENT 'IPPROTO_*: 6 TCP, 17 UDP …' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a process has sent or received on a socket of IPv4 or IPv6';

CREATE TABLE IF NOT EXISTS `net_packet`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`cookie` UInt64 COMMENT 'of the socket; 0: not known' CODEC(ZSTD(1)),
	`queue` UInt64 COMMENT 'from the queue of the device to its driver, if attrs says that it is known' CODEC(ZSTD(1)),
	`netns` UInt32 COMMENT 'inode of the network namespace' CODEC(ZSTD(1)),
	`ifindex` UInt32 COMMENT 'the device there' CODEC(ZSTD(1)),
	`direction` LowCardinality(String) CODEC(ZSTD(1)),
	`length` UInt32 COMMENT 'as devices count: with the link header, on loopback without' CODEC(ZSTD(1)),
	`segments` UInt32 COMMENT 'packets on the wire that it stands for' CODEC(ZSTD(1)),
	`attrs` UInt64 COMMENT '1: the queue time is known' CODEC(ZSTD(1)),
	`result` UInt32 COMMENT 'of the driver: 0 taken, 16 busy (it comes again), others: dropped' CODEC(ZSTD(1)),
	`protocol` UInt64 COMMENT 'ETH_P_*: 0x800 IPv4, 0x86dd IPv6 …' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a device takes a packet to send, or hands one up';

CREATE TABLE IF NOT EXISTS `net_retransmit`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`cookie` UInt64 COMMENT 'of the socket, or of the request that will become one' CODEC(ZSTD(1)),
	`netns` UInt32 COMMENT 'inode of the network namespace' CODEC(ZSTD(1)),
	`kind` LowCardinality(String) CODEC(ZSTD(1)),
	`segments` UInt32 COMMENT 'as the kernel counts RetransSegs' CODEC(ZSTD(1)),
	`length` UInt32 COMMENT 'payload' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'TCP sends something again';

CREATE TABLE IF NOT EXISTS `net_reset`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`cookie` UInt64 COMMENT 'of the socket; 0: there is none' CODEC(ZSTD(1)),
	`netns` UInt32 COMMENT 'inode of the network namespace' CODEC(ZSTD(1)),
	`direction` LowCardinality(String) CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'TCP sends or receives a reset';

CREATE TABLE IF NOT EXISTS `futex_wait`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`op` LowCardinality(String) CODEC(ZSTD(1)),
	`shared` UInt32 COMMENT '1: other processes may use it too' CODEC(ZSTD(1)),
	`address` UInt64 COMMENT 'of the futex; waitv: of the one that was woken, else of the first' CODEC(ZSTD(1)),
	`duration` UInt64 COMMENT 'from entry to return' CODEC(ZSTD(1)),
	`timeout` UInt64 COMMENT 'as given: `wait`: from entry, others: a point of time; 0: none' CODEC(ZSTD(1)),
	`ret` Int64 COMMENT 'result; negative: an error number' CODEC(ZSTD(1)),
	`val` UInt64 COMMENT 'what the caller took to be in the futex' CODEC(ZSTD(1)),
	`slept` UInt32 COMMENT 'how often it gave up the CPU; 0: there was nothing to wait for' CODEC(ZSTD(1)),
	`woken` LowCardinality(String) COMMENT 'what ended its last sleep' CODEC(ZSTD(1)),
	`waker_tid` UInt32 CODEC(ZSTD(1)),
	`waker_pid` UInt32 CODEC(ZSTD(1)),
	`waker_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`owner_tid` UInt32 CODEC(ZSTD(1)),
	`owner_pid` UInt32 CODEC(ZSTD(1)),
	`owner_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`owner_by` LowCardinality(String) COMMENT 'how that is known' CODEC(ZSTD(1)),
	`dev_major` UInt32 COMMENT 'of the file that a shared futex is in' CODEC(ZSTD(1)),
	`dev_minor` UInt32 CODEC(ZSTD(1)),
	`inode` UInt64 COMMENT '0: private, or not known' CODEC(ZSTD(1)),
	`offset` UInt64 COMMENT 'in that file' CODEC(ZSTD(1)),
	`stack` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a wait on a futex ends';

CREATE TABLE IF NOT EXISTS `futex_wake`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`op` LowCardinality(String) CODEC(ZSTD(1)),
	`shared` UInt32 COMMENT '1: other processes may use it too' CODEC(ZSTD(1)),
	`address` UInt64 COMMENT 'of the futex' CODEC(ZSTD(1)),
	`ret` Int64 COMMENT 'how many were woken; negative: an error number' CODEC(ZSTD(1)),
	`most` UInt32 COMMENT 'how many were to be woken at the most' CODEC(ZSTD(1)),
	`stack` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'with lock:wakes: a task wakes those who wait on a futex';

CREATE TABLE IF NOT EXISTS `lock_wait`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`address` UInt64 COMMENT 'of the lock' CODEC(ZSTD(1)),
	`duration` UInt64 CODEC(ZSTD(1)),
	`flags` UInt64 COMMENT 'LCB_F_*: 1 spins, 2 to read, 4 to write, 8 real-time mutex, 0x10 of each CPU, 0x20 mutex' CODEC(ZSTD(1)),
	`ret` Int64 COMMENT '0: has it; negative: an error number' CODEC(ZSTD(1)),
	`interrupt` UInt32 COMMENT '1: an interrupt waited, not the task' CODEC(ZSTD(1)),
	`stack` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a wait for a lock of the kernel ends';

CREATE TABLE IF NOT EXISTS `irq`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`kind` LowCardinality(String) CODEC(ZSTD(1)),
	`number` UInt32 COMMENT 'of the line, as in /proc/interrupts; of the soft interrupt; else of the vector' CODEC(ZSTD(1)),
	`duration` UInt64 COMMENT 'of the handler' CODEC(ZSTD(1)),
	`self` UInt64 COMMENT 'without interrupts that came meanwhile' CODEC(ZSTD(1)),
	`delay` UInt64 COMMENT 'soft: from when it was raised, until it began; 0: not known' CODEC(ZSTD(1)),
	`handled` UInt32 COMMENT 'line: IRQ_*: 0 it was not for this handler, 1 handled, 2 a thread goes on with it' CODEC(ZSTD(1)),
	`depth` UInt32 COMMENT 'how many interrupts it interrupted' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'an interrupt has been handled, or soft interrupts of a kind';

CREATE TABLE IF NOT EXISTS `irq_name`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`number` UInt32 COMMENT 'of the line' CODEC(ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`name` String COMMENT 'as in /proc/interrupts' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'who handles a line, said when it is first seen';

CREATE TABLE IF NOT EXISTS `timer`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`function` UInt64 COMMENT 'address in the kernel' CODEC(ZSTD(1)),
	`duration` UInt64 CODEC(ZSTD(1)),
	`self` UInt64 COMMENT 'without interrupts that came meanwhile' CODEC(ZSTD(1)),
	`kind` LowCardinality(String) CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a timer of the kernel has run';

CREATE TABLE IF NOT EXISTS `work`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 COMMENT 'where it ended' CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`function` UInt64 COMMENT 'address in the kernel' CODEC(ZSTD(1)),
	`duration` UInt64 COMMENT 'with the time that it slept' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a thread of the kernel has done a work item';

CREATE TABLE IF NOT EXISTS `counter_def`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`counter` UInt32 COMMENT 'its number in this trace, from 1' CODEC(ZSTD(1)),
	`owner_tid` UInt32 CODEC(ZSTD(1)),
	`owner_pid` UInt32 CODEC(ZSTD(1)),
	`owner_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`kind` LowCardinality(String) CODEC(ZSTD(1)),
	`type` LowCardinality(String) COMMENT 'of the values' CODEC(ZSTD(1)),
	`divisor` UInt32 COMMENT 'a value is so many times the unit; 0: as 1' CODEC(ZSTD(1)),
	`category` String COMMENT 'cpu, memory, disk, …' CODEC(ZSTD(1)),
	`instance` String COMMENT 'which one of several, or empty' CODEC(ZSTD(1)),
	`name` String CODEC(ZSTD(1)),
	`unit` String COMMENT 's, bytes, Hz, °C, J, …; empty: a number' CODEC(ZSTD(1)),
	`doc` String COMMENT 'for people' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'what a number of table `counter` is';

CREATE TABLE IF NOT EXISTS `counter`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`counter` UInt32 COMMENT 'of counter_def' CODEC(ZSTD(1)),
	`value` Int64 COMMENT 'the bits of a double, where type says so' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a number was read, and is not what it was';

CREATE TABLE IF NOT EXISTS `dbus_bus`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`bus` UInt32 COMMENT 'its number in this trace, from 1' CODEC(ZSTD(1)),
	`name` String COMMENT 'session, system; else its address' CODEC(ZSTD(1)),
	`address` String CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a bus whose messages are recorded';

CREATE TABLE IF NOT EXISTS `dbus_message`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`bus` UInt32 COMMENT 'of dbus_bus' CODEC(ZSTD(1)),
	`serial` UInt32 COMMENT 'given by the sender' CODEC(ZSTD(1)),
	`reply_serial` UInt32 COMMENT 'of the message that it answers; 0: none' CODEC(ZSTD(1)),
	`kind` LowCardinality(String) CODEC(ZSTD(1)),
	`no_reply` UInt32 COMMENT '1: a call that wants no answer' CODEC(ZSTD(1)),
	`size` UInt32 COMMENT 'with its header' CODEC(ZSTD(1)),
	`sender` String COMMENT 'unique name' CODEC(ZSTD(1)),
	`destination` String COMMENT 'empty: all that listen' CODEC(ZSTD(1)),
	`path` String COMMENT 'of the object; long ones are cut' CODEC(ZSTD(1)),
	`interface` String CODEC(ZSTD(1)),
	`member` String CODEC(ZSTD(1)),
	`signature` String COMMENT 'types of its content' CODEC(ZSTD(1)),
	`error_name` String COMMENT 'of an error' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a message on a bus; its content is not recorded';

CREATE TABLE IF NOT EXISTS `mark`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 COMMENT '4294967295: not known' CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`kind` LowCardinality(String) CODEC(ZSTD(1)),
	`origin` LowCardinality(String) COMMENT 'how it came here' CODEC(ZSTD(1)),
	`duration` UInt64 COMMENT 'of a span' CODEC(ZSTD(1)),
	`late` UInt64 COMMENT 'it ended, or was, so long before `time`' CODEC(ZSTD(1)),
	`key` UInt64 COMMENT 'what the begin and the end of one thing share; 0: those of a thread nest' CODEC(ZSTD(1)),
	`group` String CODEC(ZSTD(1)),
	`name` String CODEC(ZSTD(1)),
	`message` String CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a program says what it does';

CREATE TABLE IF NOT EXISTS `mark_counter`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 COMMENT '4294967295: not known' CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`type` LowCardinality(String) COMMENT 'of the value' CODEC(ZSTD(1)),
	`origin` LowCardinality(String) COMMENT 'as in `mark`' CODEC(ZSTD(1)),
	`late` UInt64 COMMENT 'as in `mark`' CODEC(ZSTD(1)),
	`value` Int64 COMMENT 'the bits of a double, where type says so' CODEC(ZSTD(1)),
	`group` String CODEC(ZSTD(1)),
	`name` String CODEC(ZSTD(1)),
	`doc` String COMMENT 'for people' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a program says what a number of its own is now';

CREATE TABLE IF NOT EXISTS `log`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 COMMENT '4294967295: not known' CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`task_pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`severity` LowCardinality(String) COMMENT 'of syslog(3)' CODEC(ZSTD(1)),
	`origin` LowCardinality(String) COMMENT 'how it came here' CODEC(ZSTD(1)),
	`late` UInt64 COMMENT 'it was written so long before `time`' CODEC(ZSTD(1)),
	`pid` UInt32 COMMENT 'process that the journal names; 0: none' CODEC(ZSTD(1)),
	`cut` UInt32 COMMENT 'bytes of the message that were left out' CODEC(ZSTD(1)),
	`domain` String COMMENT 'part of the program; unit or identifier of the journal' CODEC(ZSTD(1)),
	`message` String COMMENT 'without the end of the line' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a line of a log, or of a program\'s output';

CREATE TABLE IF NOT EXISTS `probe`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`probe` UInt32 COMMENT 'its number in this trace, from 1' CODEC(ZSTD(1)),
	`kind` LowCardinality(String) CODEC(ZSTD(1)),
	`offset` UInt64 COMMENT 'of a uprobe: in the file' CODEC(ZSTD(1)),
	`semaphore` UInt64 COMMENT 'of a usdt that has one: its offset in the file' CODEC(ZSTD(1)),
	`group` String COMMENT 'category, name of the file, or provider' CODEC(ZSTD(1)),
	`name` String COMMENT 'of the tracepoint, function or probe' CODEC(ZSTD(1)),
	`path` String COMMENT 'of the file' CODEC(ZSTD(1)),
	`build_id` String COMMENT 'of the file' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a probe that a user asked for';

CREATE TABLE IF NOT EXISTS `probe_arg`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`probe` UInt32 COMMENT 'of table probe' CODEC(ZSTD(1)),
	`index` UInt32 COMMENT 'from 0; in this order in probe_hit.args' CODEC(ZSTD(1)),
	`kind` LowCardinality(String) COMMENT 'how it is printed' CODEC(ZSTD(1)),
	`size` UInt32 COMMENT 'of one element: 1, 2, 4 or 8' CODEC(ZSTD(1)),
	`elements` UInt32 COMMENT 'of an array; 65535: that varies; 0: it is none' CODEC(ZSTD(1)),
	`position` UInt32 COMMENT 'of a function\'s argument, from 1; 0: none' CODEC(ZSTD(1)),
	`name` String COMMENT 'empty: the report may find it by `position`' CODEC(ZSTD(1)),
	`type` String COMMENT 'in C; may be empty' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'what a probe reads';

CREATE TABLE IF NOT EXISTS `probe_hit`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`comm` LowCardinality(String) CODEC(ZSTD(1)),
	`probe` UInt32 COMMENT 'of table probe' CODEC(ZSTD(1)),
	`kind` LowCardinality(String) CODEC(ZSTD(1)),
	`depth` UInt32 COMMENT 'calls of the same function around this one, by the same thread' CODEC(ZSTD(1)),
	`duration` UInt64 COMMENT 'from entry to return' CODEC(ZSTD(1)),
	`result` UInt64 COMMENT 'the register that holds what was returned' CODEC(ZSTD(1)),
	`args` String COMMENT 'each probe_arg: a number as 8 bytes; else a u16 length, 65535 for what could not be read, and so many bytes' CODEC(ZSTD(1)),
	`stack` UInt64 CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'a probe was hit; a function\'s, when it returned';

CREATE TABLE IF NOT EXISTS `oom_kill`
(
	`day` Date CODEC(ZSTD(1)),
	`host` LowCardinality(String) CODEC(ZSTD(1)),
	`trace` UUID CODEC(ZSTD(1)),
	`chunk` UInt64 CODEC(ZSTD(1)),
	`row` UInt32 CODEC(Delta, ZSTD(1)),
	`time` DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
	`cpu` UInt32 COMMENT 'where the task ran that wanted memory' CODEC(ZSTD(1)),
	`tid` UInt32 CODEC(ZSTD(1)),
	`pid` UInt32 CODEC(ZSTD(1)),
	`task_task_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`victim_tid` UInt32 CODEC(ZSTD(1)),
	`victim_task_pid` UInt32 CODEC(ZSTD(1)),
	`victim_comm` LowCardinality(String) CODEC(ZSTD(1)),
	`task_pid` UInt32 COMMENT 'process id of who wanted memory, also if not followed' CODEC(ZSTD(1)),
	`task_score_adj` Int64 COMMENT '/proc/PID/oom_score_adj of who wanted memory' CODEC(ZSTD(1)),
	`victim_pid` UInt32 COMMENT 'process id of the victim' CODEC(ZSTD(1)),
	`uid` UInt32 COMMENT 'real user id of the victim' CODEC(ZSTD(1)),
	`score_adj` Int64 COMMENT '/proc/PID/oom_score_adj of the victim' CODEC(ZSTD(1)),
	`constraint` LowCardinality(String) COMMENT 'whose memory is used up' CODEC(ZSTD(1)),
	`order` Int64 COMMENT '2^order pages were wanted; -1: somebody asked for a victim; 0 if constraint is not known' CODEC(ZSTD(1)),
	`gfp` UInt64 COMMENT 'flags of what was wanted; 0: not known' CODEC(ZSTD(1)),
	`group` UInt32 COMMENT '1: killed with the others of its cgroup, by memory.oom.group' CODEC(ZSTD(1)),
	`total_vm` UInt64 COMMENT 'address space of the victim' CODEC(ZSTD(1)),
	`anon` UInt64 COMMENT 'resident: of nobody\'s file' CODEC(ZSTD(1)),
	`file` UInt64 COMMENT 'resident: pages of files' CODEC(ZSTD(1)),
	`shmem` UInt64 COMMENT 'resident: shared memory and tmpfs' CODEC(ZSTD(1)),
	`swap` UInt64 COMMENT 'swapped out' CODEC(ZSTD(1)),
	`page_tables` UInt64 CODEC(ZSTD(1)),
	`total` UInt64 COMMENT 'that could be used: memory or the limit, and swap; 0: not known' CODEC(ZSTD(1)),
	`points` Int64 COMMENT 'why this victim, of group why the first: its memory, and score_adj thousandths of total; if that is known' CODEC(ZSTD(1)),
	`limit_cgroup` UInt64 COMMENT 'inode of the cgroup whose limit was reached; 0: none, or not known' CODEC(ZSTD(1)),
	`task_comm` String COMMENT 'name of who wanted memory' CODEC(ZSTD(1)),
	`comm` String COMMENT 'name of the victim' CODEC(ZSTD(1)),
	`message` String COMMENT 'what the kernel calls it, as "Memory cgroup out of memory"; empty: not known' CODEC(ZSTD(1)),
	`limit` String COMMENT 'path of the cgroup whose limit was reached, in its hierarchy; empty: none, or not known' CODEC(ZSTD(1)),
	`cgroup` String COMMENT 'path of the cgroup of the victim; of group, of who was killed first; empty: not known' CODEC(ZSTD(1)),
	INDEX time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY (host, trace, chunk, row)
TTL day + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'the kernel kills a process, as there is no memory left for somebody';
