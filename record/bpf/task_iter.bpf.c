/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a struct ebrec_task for each thread of the machine to whoever reads the iterator. It is
 * used rather than /proc, which has a start time of another clock, rounded to a tick.
 */
#include "record/bpf/compat.bpf.h"
#include "record/bpf/facts.bpf.h"
#include "record/bpf/task_iter.h"

static __always_inline void fill_io(struct ebrec_used *used, const struct task_io_accounting *io)
{
	used->rchar = bpf_core_field_exists(io->rchar) ? io->rchar : ~0ull;
	used->wchar = bpf_core_field_exists(io->wchar) ? io->wchar : ~0ull;
	used->read_bytes = bpf_core_field_exists(io->read_bytes) ? io->read_bytes : ~0ull;
	used->write_bytes = bpf_core_field_exists(io->write_bytes) ? io->write_bytes : ~0ull;
}

static __always_inline void fill_used(struct ebrec_used *used, const struct task_struct *task)
{
	used->run_time = task->se.sum_exec_runtime;
	used->nvcsw = task->nvcsw;
	used->nivcsw = task->nivcsw;
	used->minor = task->min_flt;
	used->major = task->maj_flt;
	fill_io(used, &task->ioac);
}

static __always_inline void fill_ended(struct ebrec_used *used, const struct signal_struct *signal)
{
	used->run_time = signal->sum_sched_runtime;
	used->nvcsw = signal->nvcsw;
	used->nivcsw = signal->nivcsw;
	used->minor = signal->min_flt;
	used->major = signal->maj_flt;
	fill_io(used, &signal->ioac);
}

/* Not 0: a struct ebrec_facts_key is written instead, unless the task is about to end: /proc says
 * less of it then. A program of its own would take some ms more to load. */
volatile __u32 task_iter_keys = 0;

SEC("iter/task")
int ebrec_task_iter(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	struct ebrec_facts_key key;
	struct ebrec_task row = {};

	if (!task)
		return 0;
	if (task_iter_keys) {
		if (task->flags & PF_EXITING)
			return 0;
		facts_fill_key(&key, task);
		bpf_seq_write(seq, &key, sizeof(key));
		return 0;
	}
	row.start = task->start_time;
	fill_used(&row.used, task);
	if (task->pid == task->tgid)
		fill_ended(&row.ended, task->signal);
	row.tid = task->pid;
	row.pid = task->tgid;
	row.ppid = BPF_CORE_READ(task, real_parent, tgid);
	row.uid = BPF_CORE_READ(task, real_cred, uid.val);
	row.state = ebrec_task_state(task);
	row.cpu = ebrec_task_cpu(task);
	row.on_cpu = task->on_cpu;
	row.prio = task->prio;
	row.nice = task->static_prio - DEFAULT_PRIO;
	row.policy = task->policy;
	row.rt_priority = task->rt_priority;
	row.kernel = task->flags & PF_KTHREAD ? 1 : 0;
	row.exit_state = task->exit_state;
	bpf_probe_read_kernel(row.comm, sizeof(row.comm), task->comm);
	bpf_seq_write(seq, &row, sizeof(row));
	return 0;
}
