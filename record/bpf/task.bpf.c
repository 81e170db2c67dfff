/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `task`, always on: forks, execs, exits and renames of followed tasks. They decide who is
 * followed, and tell readers who a tid was. Their records have a ring of their own (shared.h).
 */
#include "record/bpf/ebt.bpf.h"
#include "record/bpf/facts.bpf.h"
#include "record/bpf/fds.bpf.h"
#include "record/bpf/unwind.bpf.h"

#define FILENAME_LEN  512
#define CMDLINE_LEN   4096
#define CGROUP_LEVELS 32

/* A new task is in no call; one that takes another's tid brings its call along. */
static __always_inline void reset_syscall(__u32 tid, __u32 old_tid)
{
	__u64 *start, *old_start;

	if (!config.syscalls)
		return;
	start = bpf_map_lookup_elem(&syscall_start, &tid);
	if (!start)
		return;
	old_start = old_tid ? bpf_map_lookup_elem(&syscall_start, &old_tid) : NULL;
	*start = old_start ? *old_start : 0;
}

/* What was told of a process before says nothing of a new one with its id. */
static __always_inline void begin_fds(const struct task_struct *parent,
				      const struct task_struct *child)
{
	const void *files = BPF_CORE_READ(child, files), *fs = BPF_CORE_READ(child, fs);
	bool shared = files == BPF_CORE_READ(parent, files) || fs == BPF_CORE_READ(parent, fs);
	struct ebrec_fds *slot = fds_slot(child->tgid);

	if (slot)
		fds_begin(slot, child->tgid, shared);
	slot = shared ? fds_slot(parent->tgid) : NULL;
	if (slot && slot->tgid == (__u32)parent->tgid)
		slot->changing = 1;
}

/* Is this cgroup the one to follow, or below it? */
static __always_inline bool in_cgroup(const struct cgroup *cgroup)
{
	for (int i = 0; i < CGROUP_LEVELS && cgroup; i++) {
		if (BPF_CORE_READ(cgroup, kn, id) == config.cgroup_id)
			return true;
		cgroup = (const void *)BPF_CORE_READ(cgroup, self.parent);
	}
	return false;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(ebrec_fork, struct task_struct *parent, struct task_struct *child)
{
	struct {
		struct ebt_wire_task_fork row;
		char comm[COMM_LEN];
	} * record;
	__u64 flags;
	bool follow;

	if (!gate)
		return 0;
	follow = ebrec_task_followed(parent);
	if (config.cgroup_id && !follow)
		follow = in_cgroup(BPF_CORE_READ(child, cgroups, dfl_cgrp));
	if (!config.all)
		ebrec_follow_tid(child->pid, follow);
	if (!follow)
		return 0;
	reset_syscall(child->pid, 0);
	if (config.syscall_args && child->tgid != parent->tgid)
		begin_fds(parent, child);
	if (config.unwind && child->tgid != parent->tgid)
		unwind_fork(parent->tgid, child);
	record = ebrec_reserve(EBREC_SLOT_TASK(&config), EBT_T_task_fork, sizeof(*record),
			       bpf_ktime_get_ns(), &flags);
	if (!record)
		return 0;
	record->row.cpu = bpf_get_smp_processor_id();
	record->row.parent = parent->pid;
	record->row.child = child->pid;
	record->row.child_pid = child->tgid;
	record->row.child_start = child->start_time;
	record->row.thread = child->tgid == parent->tgid;
	record->row.unused = 0;
	bpf_probe_read_kernel(record->comm, COMM_LEN, child->comm);
	record->row.comm = (struct ebt_ref){ sizeof(record->row), ebrec_comm_len(record->comm) };
	bpf_ringbuf_submit(record, flags);
	return 0;
}

struct exec_record {
	struct ebrec_facts facts;
	struct ebt_wire_task_exec row;
	char comm[COMM_LEN];
	char filename[FILENAME_LEN];
	char cmdline[CMDLINE_LEN];
};

/* Counted from the row. */
#define EXEC_OFFSET(field) (offsetof(struct exec_record, field) - offsetof(struct exec_record, row))

/* One for each CPU is enough: execs do not interrupt others, and programs are not preempted. */
EBREC_CPU_ARRAY(exec_scratch, 1, struct exec_record);

/* Returns the length of the record. */
static __always_inline __u32 fill_exec(struct exec_record *record, struct task_struct *task,
				       int old_pid, const struct linux_binprm *bprm)
{
	const struct mm_struct *mm = BPF_CORE_READ(task, mm);
	__u64 from = BPF_CORE_READ(mm, arg_start), len = BPF_CORE_READ(mm, arg_end) - from;
	long n;

	record->row.cpu = bpf_get_smp_processor_id();
	record->row.task = task->pid;
	record->row.pid = task->tgid;
	record->row.old_tid = old_pid;
	record->row.start = task->start_time;
	bpf_probe_read_kernel(record->comm, COMM_LEN, task->comm);
	record->row.comm = (struct ebt_ref){ EXEC_OFFSET(comm), ebrec_comm_len(record->comm) };
	n = bpf_probe_read_kernel_str(record->filename, FILENAME_LEN, bprm->filename);
	record->row.filename = (struct ebt_ref){ EXEC_OFFSET(filename), n > 0 ? n - 1 : 0 };
	if (len > CMDLINE_LEN)
		len = CMDLINE_LEN;
	if (bpf_probe_read_user(record->cmdline, len, (const void *)from))
		len = 0;
	record->row.cmdline = (struct ebt_ref){ EXEC_OFFSET(cmdline), len };
	return offsetof(struct exec_record, cmdline) + len;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(ebrec_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	const __u64 now = bpf_ktime_get_ns();
	struct exec_record *record;
	__u32 len;
	bool follow;

	if (!gate)
		return 0;
	/* A thread that is not the first takes over the first one's tid. */
	follow = ebrec_task_followed(task) || (!config.all && ebrec_tid_followed(old_pid));
	if (config.cgroup_id && !follow)
		follow = in_cgroup(BPF_CORE_READ(task, cgroups, dfl_cgrp));
	if (!follow)
		return 0;
	if (!config.all)
		ebrec_follow_tid(task->pid, true);
	if (old_pid != task->pid)
		reset_syscall(task->pid, old_pid);
	record = ebrec_entry(&exec_scratch);
	if (!record)
		return 0;
	len = fill_exec(record, task, old_pid, bprm);
	if (len > sizeof(*record)) /* for the verifier */
		return 0;
	facts_fill(&record->facts, task);
	ebrec_fill_head(&record->row.head, EBT_T_task_exec, len - offsetof(struct exec_record, row),
			now);
	if (!ebrec_output(EBREC_SLOT_TASK(&config), EBREC_T_PROGRAM, &record->facts.head, len, now))
		ebrec_count_drop(EBT_T_task_exec);
	/* What is new may have ended before the next deadline. */
	if (!facts_suffice(&record->facts, now))
		ebrec_ring_doorbell();
	return 0;
}

/* signal_struct.flags. */
#define SIGNAL_GROUP_EXIT 0x4

/* What wait(2) gives for a process whose last thread ends. */
static __always_inline __u32 wait_status(const struct task_struct *task)
{
	if (BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT)
		return BPF_CORE_READ(task, signal, group_exit_code);
	return BPF_CORE_READ(task, group_leader, exit_code);
}

static __always_inline void fill_io(struct ebt_wire_task_exit *row,
				    const struct task_io_accounting *io)
{
	row->rchar = bpf_core_field_exists(io->rchar) ? io->rchar : ~0ull;
	row->wchar = bpf_core_field_exists(io->wchar) ? io->wchar : ~0ull;
	row->read_bytes = bpf_core_field_exists(io->read_bytes) ? io->read_bytes : ~0ull;
	row->write_bytes = bpf_core_field_exists(io->write_bytes) ? io->write_bytes : ~0ull;
}

/*
 * The last switch of the task comes after this, so it stays followed. Its mm may have gone, which
 * depends on the kernel; the most that was resident has been noted in signal_struct before.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(ebrec_exit, struct task_struct *task)
{
	struct ebt_wire_task_exit *row;
	__u64 flags;

	if (!gate || !ebrec_task_followed(task))
		return 0;
	row = ebrec_reserve(EBREC_SLOT_TASK(&config), EBT_T_task_exit, sizeof(*row),
			    bpf_ktime_get_ns(), &flags);
	if (!row)
		return 0;
	row->cpu = bpf_get_smp_processor_id();
	row->task = task->pid;
	row->exit_code = task->exit_code;
	row->group_dead = BPF_CORE_READ(task, signal, live.counter) == 0;
	row->run_time = task->se.sum_exec_runtime;
	row->nvcsw = task->nvcsw;
	row->nivcsw = task->nivcsw;
	row->ppid = BPF_CORE_READ(task, real_parent, tgid);
	row->status = row->group_dead ? wait_status(task) : 0;
	row->prio = task->prio;
	row->nice = task->static_prio - DEFAULT_PRIO;
	row->policy = task->policy;
	row->rt_priority = task->rt_priority;
	row->minor = task->min_flt;
	row->major = task->maj_flt;
	fill_io(row, &task->ioac);
	row->max_rss = row->group_dead ? BPF_CORE_READ(task, signal, maxrss) * config.page_size : 0;
	bpf_ringbuf_submit(row, flags);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(ebrec_rename, struct task_struct *task, const char *comm)
{
	struct {
		struct ebt_wire_task_rename row;
		char comm[COMM_LEN];
	} * record;
	__u64 flags;
	long n;

	if (!gate || !ebrec_task_followed(task))
		return 0;
	record = ebrec_reserve(EBREC_SLOT_TASK(&config), EBT_T_task_rename, sizeof(*record),
			       bpf_ktime_get_ns(), &flags);
	if (!record)
		return 0;
	record->row.cpu = bpf_get_smp_processor_id();
	record->row.task = task->pid;
	n = bpf_probe_read_kernel_str(record->comm, COMM_LEN, comm);
	record->row.comm = (struct ebt_ref){ sizeof(record->row), n > 0 ? n - 1 : 0 };
	bpf_ringbuf_submit(record, flags);
	return 0;
}

/*
 * --cgroup: a process is moved into the cgroup. Its first thread is followed from now on; the
 * recorder adds the others.
 */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(ebrec_cgroup_attach, struct cgroup *cgroup, const char *path, struct task_struct *task)
{
	struct {
		struct ebt_wire_head head;
		__u64 pid;
	} * record;
	__u64 flags;

	if (!gate || ebrec_task_followed(task) || ebrec_is_self(task) || !in_cgroup(cgroup))
		return 0;
	ebrec_follow_tid(task->pid, true);
	record = ebrec_reserve(EBREC_SLOT_TASK(&config), EBREC_T_ATTACHED, sizeof(*record),
			       bpf_ktime_get_ns(), &flags);
	if (!record)
		return 0;
	record->pid = task->tgid;
	bpf_ringbuf_submit(record, flags);
	return 0;
}
