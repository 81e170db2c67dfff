/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread waited for; see wait_reason.h. */
#include "report/sched/wait_reason.h"

#include <string.h>

#define LOOK_UP 24 /* frames from the innermost one on */

static const struct {
	const char *name, *text;
} reasons[WAIT_N_REASONS] = {
	[WAIT_DISK] = { "disk", "disks and files" },
	[WAIT_LOCK] = { "lock", "locks" },
	[WAIT_CONDITION] = { "condition", "condition variables" },
	[WAIT_THREAD] = { "thread", "threads to end" },
	[WAIT_FILE_LOCK] = { "filelock", "file locks" },
	[WAIT_SEMAPHORE] = { "semaphore", "semaphores" },
	[WAIT_QUEUE] = { "queue", "message queues" },
	[WAIT_PIPE] = { "pipe", "pipes" },
	[WAIT_NETWORK] = { "network", "sockets" },
	[WAIT_POLL] = { "poll", "events (poll)" },
	[WAIT_CHILD] = { "child", "children" },
	[WAIT_TIMER] = { "timer", "a timer" },
	[WAIT_TERMINAL] = { "terminal", "a terminal" },
	[WAIT_SIGNAL] = { "signal", "signals" },
	[WAIT_MEMORY] = { "memory", "memory" },
	[WAIT_KERNEL] = { "kernel", "the kernel" },
	[WAIT_STOPPED] = { "stopped", "SIGCONT" },
	[WAIT_FREEZE] = { "freeze", "a frozen file system" },
	[WAIT_RECORDER] = { "recorder", "ebrec to begin" },
	[WAIT_UNKNOWN] = { "unknown", "what is not known" },
};

const char *wait_reason_name(enum wait_reason reason)
{
	return reasons[reason].name;
}

const char *wait_reason_text(enum wait_reason reason)
{
	return reasons[reason].text;
}

/* How functions of the kernel begin, as of Linux 6.1 to 6.18. Of two that fit, the first counts. */
static const struct stop_function {
	const char *start;
	enum wait_reason reason;
	bool futex; /* for what, only who calls it knows */
} functions[] = {
	{ "futex_", WAIT_LOCK, true },
	{ "__futex_", WAIT_LOCK, true },
	{ "do_futex", WAIT_LOCK, true },
	{ "__mutex_lock", WAIT_LOCK },
	{ "mutex_lock", WAIT_LOCK },
	{ "rwsem_down_", WAIT_LOCK },
	{ "__down", WAIT_LOCK },
	{ "rt_mutex_", WAIT_LOCK },
	{ "__rt_mutex_", WAIT_LOCK },
	{ "down_read", WAIT_LOCK },
	{ "down_write", WAIT_LOCK },
	{ "percpu_rwsem_wait", WAIT_LOCK },
	{ "locks_lock_", WAIT_FILE_LOCK },
	{ "flock_lock_", WAIT_FILE_LOCK },
	{ "posix_lock_", WAIT_FILE_LOCK },
	{ "do_lock_file_wait", WAIT_FILE_LOCK },
	{ "fcntl_setlk", WAIT_FILE_LOCK },
	{ "__x64_sys_flock", WAIT_FILE_LOCK },
	{ "__do_sys_flock", WAIT_FILE_LOCK },
	{ "do_semtimedop", WAIT_SEMAPHORE },
	{ "__do_semtimedop", WAIT_SEMAPHORE },
	{ "ksys_semtimedop", WAIT_SEMAPHORE },
	{ "do_msgrcv", WAIT_QUEUE },
	{ "do_msgsnd", WAIT_QUEUE },
	{ "wq_sleep", WAIT_QUEUE },
	{ "do_mq_timed", WAIT_QUEUE },
	{ "do_nanosleep", WAIT_TIMER },
	{ "hrtimer_nanosleep", WAIT_TIMER },
	{ "common_nsleep", WAIT_TIMER },
	{ "msleep", WAIT_TIMER },
	{ "usleep_range", WAIT_TIMER },
	{ "pipe_", WAIT_PIPE },
	{ "anon_pipe_", WAIT_PIPE },
	{ "fifo_", WAIT_PIPE },
	{ "wait_for_partner", WAIT_PIPE },
	{ "ipipe_prep", WAIT_PIPE },
	{ "opipe_prep", WAIT_PIPE },
	{ "sk_wait_data", WAIT_NETWORK },
	{ "sk_stream_wait", WAIT_NETWORK },
	{ "sock_", WAIT_NETWORK },
	{ "__skb_", WAIT_NETWORK },
	{ "inet_", WAIT_NETWORK },
	{ "__inet_", WAIT_NETWORK },
	{ "tcp_", WAIT_NETWORK },
	{ "udp_", WAIT_NETWORK },
	{ "unix_", WAIT_NETWORK },
	{ "netlink_", WAIT_NETWORK },
	{ "vsock_", WAIT_NETWORK },
	{ "rpc_wait", WAIT_NETWORK },
	{ "p9_client_rpc", WAIT_NETWORK },
	{ "do_poll", WAIT_POLL },
	{ "do_sys_poll", WAIT_POLL },
	{ "poll_schedule", WAIT_POLL },
	{ "do_select", WAIT_POLL },
	{ "ep_poll", WAIT_POLL },
	{ "do_epoll_wait", WAIT_POLL },
	{ "io_cqring_wait", WAIT_POLL },
	{ "io_wq_worker", WAIT_POLL },
	{ "io_sq_thread", WAIT_POLL },
	{ "eventfd_read", WAIT_POLL },
	{ "inotify_read", WAIT_POLL },
	{ "fanotify_read", WAIT_POLL },
	{ "signalfd_", WAIT_SIGNAL },
	{ "timerfd_read", WAIT_TIMER },
	{ "read_events", WAIT_DISK },
	{ "do_wait", WAIT_CHILD },
	{ "__do_wait", WAIT_CHILD },
	{ "kernel_wait4", WAIT_CHILD },
	{ "kernel_waitid", WAIT_CHILD },
	{ "wait_for_vfork", WAIT_CHILD },
	{ "kernel_clone", WAIT_CHILD },
	{ "n_tty_", WAIT_TERMINAL },
	{ "tty_", WAIT_TERMINAL },
	{ "sigsuspend", WAIT_SIGNAL },
	{ "do_sigtimedwait", WAIT_SIGNAL },
	{ "__do_sys_pause", WAIT_SIGNAL },
	{ "__x64_sys_pause", WAIT_SIGNAL },
	{ "do_signal_stop", WAIT_STOPPED },
	{ "ptrace_stop", WAIT_STOPPED },
	{ "throttle_direct_reclaim", WAIT_MEMORY },
	{ "reclaim_throttle", WAIT_MEMORY },
	{ "shrink_", WAIT_MEMORY },
	{ "mem_cgroup_handle_over_high", WAIT_MEMORY },
	{ "io_schedule", WAIT_DISK },
	{ "bit_wait_io", WAIT_DISK },
	{ "folio_wait", WAIT_DISK },
	{ "__folio_lock", WAIT_DISK },
	{ "wait_on_page", WAIT_DISK },
	{ "wait_on_buffer", WAIT_DISK },
	{ "__wait_on_buffer", WAIT_DISK },
	{ "filemap_", WAIT_DISK },
	{ "blk_", WAIT_DISK },
	{ "rq_qos_wait", WAIT_DISK },
	{ "submit_bio_wait", WAIT_DISK },
	{ "balance_dirty_pages", WAIT_DISK },
	{ "wb_wait", WAIT_DISK },
	{ "sync_inodes_sb", WAIT_DISK },
	{ "jbd2_", WAIT_DISK },
	{ "request_wait_answer", WAIT_DISK },
	{ "ext4_", WAIT_DISK },
	{ "xfs_", WAIT_DISK },
	{ "btrfs_", WAIT_DISK },
	{ "synchronize_rcu", WAIT_KERNEL },
	{ "__wait_rcu_gp", WAIT_KERNEL },
	{ "worker_thread", WAIT_KERNEL },
	{ "flush_work", WAIT_KERNEL },
	{ "__flush_work", WAIT_KERNEL },
};

/* Which take the lock of a process's memory map. A function of the kernel that does nothing but
 * wait for a lock leaves no frame: what stops in one of these itself waits for that lock. */
static const struct stop_function map_lockers[] = {
	{ "vm_mmap_pgoff", WAIT_LOCK },
	{ "__vm_munmap", WAIT_LOCK },
	{ "do_mprotect_pkey", WAIT_LOCK },
	{ "do_madvise", WAIT_LOCK },
	{ "madvise_", WAIT_LOCK },
	{ "do_user_addr_", WAIT_LOCK },
	{ "lock_mm_and_find_vma", WAIT_LOCK },
	{ "do_page_fault", WAIT_LOCK },
	{ "__do_sys_brk", WAIT_LOCK },
	{ "__x64_sys_brk", WAIT_LOCK },
	{ "__do_sys_mremap", WAIT_LOCK },
	{ "__x64_sys_mremap", WAIT_LOCK },
	{ "__vma_", WAIT_LOCK },
	{ "vma_start_", WAIT_LOCK },
	{ "lock_vma", WAIT_LOCK },
	{ "dup_mm", WAIT_LOCK },
	{ "exit_mm", WAIT_LOCK },
	{ "setup_arg_pages", WAIT_LOCK },
	{ "__mm_populate", WAIT_LOCK },
	{ "do_mlock", WAIT_LOCK },
	{ "apply_vma_lock", WAIT_LOCK },
	{ "__access_remote_vm", WAIT_LOCK },
	{ "process_vm_rw", WAIT_LOCK },
};

/* Who is about to write to a file system takes a lock, from which only freezing keeps it. The
 * function that takes the lock is inlined into these. */
static const struct stop_function file_writers[] = {
	{ "vfs_write", WAIT_FREEZE },
	{ "vfs_fallocate", WAIT_FREEZE },
	{ "vfs_iter_write", WAIT_FREEZE },
	{ "vfs_iocb_iter_write", WAIT_FREEZE },
	{ "vfs_copy_file_range", WAIT_FREEZE },
	{ "kernel_write", WAIT_FREEZE },
	{ "direct_splice_actor", WAIT_FREEZE },
	{ "do_splice", WAIT_FREEZE },
	{ "do_sendfile", WAIT_FREEZE },
	{ "mnt_want_write", WAIT_FREEZE },
	{ "do_ftruncate", WAIT_FREEZE },
	{ "do_sys_ftruncate", WAIT_FREEZE },
	{ "io_write", WAIT_FREEZE },
	{ "aio_write", WAIT_FREEZE },
	{ "ext4_page_mkwrite", WAIT_FREEZE },
	{ "filemap_page_mkwrite", WAIT_FREEZE },
	{ "__ext4_journal_start", WAIT_FREEZE },
	{ "xfs_trans_alloc", WAIT_FREEZE },
};

static bool begins(const char *name, const char *start)
{
	return !strncmp(name, start, strlen(start));
}

/* NULL: it tells nothing. */
static const struct stop_function *by_name(const struct stop_function *list, size_t n,
					   const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (begins(name, list[i].start))
			return &list[i];
	}
	return NULL;
}

#define BY_NAME(list, name) by_name(list, sizeof(list) / sizeof((list)[0]), name)

static const struct stop_function *by_kernel(const char *name, bool innermost)
{
	const struct stop_function *found = innermost ? BY_NAME(map_lockers, name) : NULL;

	/* wait_event_interruptible_locked(): who calls it knows for what; not do_wait(). */
	if (begins(name, "do_wait_intr"))
		return NULL;
	return found ? found : BY_NAME(functions, name);
}

/* Threads wait on a condition variable for work, for the end of another one, and on other futexes
 * for each other. */
static const struct stop_function futex_users[] = {
	{ "pthread_cond_", WAIT_CONDITION },
	{ "pthread_join", WAIT_THREAD },
	{ "pthread_clockjoin", WAIT_THREAD },
	{ "pthread_timedjoin", WAIT_THREAD },
};

static enum wait_reason by_state(enum sched_why why)
{
	switch (why) {
	case SCHED_DISK:
		return WAIT_DISK;
	case SCHED_IDLE:
		return WAIT_KERNEL;
	case SCHED_STOPPED:
		return WAIT_STOPPED;
	default:
		return WAIT_UNKNOWN;
	}
}

/* Without the underscores before it. */
static const char *base_name(const char *name)
{
	return name + strspn(name, "_");
}

bool wait_is_freeze(const char *inner, const char *caller)
{
	return begins(base_name(inner), "percpu_") && BY_NAME(file_writers, caller);
}

enum wait_reason wait_reason_of(const struct calltree *tree, uint32_t node, enum sched_why why)
{
	const struct stop_function *found = NULL, *user;
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	const struct calltree_func *funcs = calltree_funcs(tree, &n);
	const char *inner = NULL; /* the frame before, of the kernel */

	for (int i = 0; i < LOOK_UP && node; i++, node = nodes[node].parent) {
		const struct calltree_func *func = &funcs[nodes[node].func];

		if (func->kind == CALLTREE_KERNEL && inner && wait_is_freeze(inner, func->name))
			found = BY_NAME(file_writers, func->name);
		inner = func->kind == CALLTREE_KERNEL ? func->name : NULL;
		if (func->kind == CALLTREE_KERNEL && !found)
			found = by_kernel(func->name, !i);
		if (func->kind == CALLTREE_KERNEL)
			continue;
		if (!found || !found->futex)
			break;
		user = BY_NAME(futex_users, base_name(func->name));
		if (user)
			return user->reason;
	}
	return found ? found->reason : by_state(why);
}
