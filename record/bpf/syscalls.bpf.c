/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `syscalls`: one record a call, made when it returns. Number and arguments are read from
 * the saved registers then; only the time of entry has to be kept.
 */
#include "record/bpf/syscall_args.bpf.h"

#include "record/bpf/event_stack.bpf.h"

/* When the call was entered; 0: it is not recorded. */
static __always_inline __u64 set_start(const struct task_struct *task)
{
	__u32 tid = task->pid;
	__u64 *start;

	if (!gate || !ebrec_task_followed(task))
		return 0;
	start = bpf_map_lookup_elem(&syscall_start, &tid);
	return start ? *start = bpf_ktime_get_ns() : 0;
}

SEC("tp_btf/sys_enter")
int ebrec_sys_enter(__u64 *ctx)
{
	set_start(bpf_get_current_task_btf());
	return 0;
}

/* The same where arguments are recorded. */
SEC("tp_btf/sys_enter")
int BPF_PROG(ebrec_args_sys_enter, struct pt_regs___kernel *regs, long nr)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	__u64 now = set_start(task);

	if (now)
		syscall_args_enter(task, now, nr, regs);
	return 0;
}

#define ERESTARTSYS 512 /* this and what follows: no program sees it */

/* It failed, or made descriptors. */
static __always_inline bool wants_stack(const struct pt_regs___kernel *regs, bool compat, __u64 nr,
					__s64 ret)
{
	struct ebt_wire_syscall call = { .ret = ret, .arg1 = compat ? regs->cx : regs->si };
	__u64 known = nr & (EBREC_CALLS - 1); /* the same, which the verifier sees */
	__u32 result;

	if (ret < 0)
		return ret > -ERESTARTSYS;
	if (nr >= EBREC_CALLS)
		return false;
	barrier_var(known);
	result = plan_of(compat, known).result;
	return makes_fd(&call, result) || (result == EBREC_RESULT_PAIR && !ret);
}

/* Where a call was made. Programs are attached in the order of this file, and so this runs before
 * those that forget when the call was entered. */
SEC("raw_tp/sys_exit")
int BPF_PROG(ebrec_stack_sys_exit, void *unused, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
	__u64 nr = regs->orig_ax, *start, now;
	struct ebt_wire_syscall_stack *row;
	bool compat = is_compat(task);
	__u32 tid = task->pid;

	start = gate ? bpf_map_lookup_elem(&syscall_start, &tid) : NULL;
	if (!start || !*start || !wants_stack(regs, compat, nr, ret))
		return 0;
	now = bpf_ktime_get_ns();
	row = ebrec_event_begin(EBT_T_syscall_stack, sizeof(*row), now, task);
	if (!row)
		return 0;
	row->nr = nr;
	row->abi = compat ? EBT_V_syscall_stack_abi_compat : EBT_V_syscall_stack_abi_native;
	row->duration = now - *start;
	row->ret = ret;
	return ebrec_event_end(ctx, sizeof(*row), 0,
			       offsetof(struct ebt_wire_syscall_stack, ustack), EBREC_USTACK);
}

static __always_inline void fill_args(struct ebt_wire_syscall *row,
				      const struct pt_regs___kernel *regs)
{
	if (row->abi) {
		row->arg0 = (__u32)regs->bx;
		row->arg1 = (__u32)regs->cx;
		row->arg2 = (__u32)regs->dx;
		row->arg3 = (__u32)regs->si;
		row->arg4 = (__u32)regs->di;
		row->arg5 = (__u32)regs->bp;
		return;
	}
	row->arg0 = regs->di;
	row->arg1 = regs->si;
	row->arg2 = regs->dx;
	row->arg3 = regs->r10;
	row->arg4 = regs->r8;
	row->arg5 = regs->r9;
}

static __always_inline void fill(struct ebt_wire_syscall *row, const struct task_struct *task,
				 const struct pt_regs___kernel *regs, __u32 cpu, __u64 duration)
{
	row->cpu = cpu;
	row->task = task->pid;
	row->nr = regs->orig_ax;
	row->abi = is_compat(task) ? EBT_V_syscall_abi_compat : EBT_V_syscall_abi_native;
	row->duration = duration;
	fill_args(row, regs);
}

/*
 * When the call that returns was entered; 0: that was not seen. A return without an entry is not
 * recorded: a new task's first return from clone, a call that began before the recording, a call
 * that seccomp refused. Nor are calls that do not return (exit, or the last one of a task that is
 * killed).
 */
static __always_inline __u64 take_start(const struct task_struct *task)
{
	__u32 tid = task->pid;
	__u64 *start = gate ? bpf_map_lookup_elem(&syscall_start, &tid) : NULL, since;

	if (!start || !*start)
		return 0;
	since = *start;
	*start = 0;
	return since;
}

/*
 * Two calls replace the registers. After execve the number is right for the new program's ABI and
 * the arguments are zero; after rt_sigreturn the number is -1, and so is nothing else.
 */
SEC("tp_btf/sys_exit")
int BPF_PROG(ebrec_sys_exit, struct pt_regs___kernel *regs, long ret)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct ebt_wire_syscall *row;
	struct ebrec_spsc *queue;
	__u64 since, now, flags;
	__u32 cpu;

	since = take_start(task);
	if (!since)
		return 0;
	now = bpf_ktime_get_ns();
	cpu = bpf_get_smp_processor_id();
	queue = call_queue();
	if (!queue) {
		row = ebrec_reserve(EBREC_SLOT_EVENT(cpu), EBT_T_syscall, sizeof(*row), now,
				    &flags);
		if (!row)
			return 0;
		row->ret = ret;
		fill(row, task, regs, cpu, now - since);
		bpf_ringbuf_submit(row, flags);
		return 0;
	}
	if (!call_queue_has_room(queue, sizeof(*row))) {
		ebrec_count_drop(EBT_T_syscall);
		return 0;
	}
	row = call_queue_at(queue, queue->head);
	ebrec_fill_head(&row->head, EBT_T_syscall, sizeof(*row), now);
	row->ret = ret;
	fill(row, task, regs, cpu, now - since);
	call_queue_submit(queue, sizeof(*row));
	return 0;
}

/* The row where the queue has no room, or there is none: what a call does to descriptors counts. */
EBREC_CPU_ARRAY(call_scratch, 1, struct ebt_wire_syscall);

/* The row of a call and those of its arguments, from a position in a queue on or for the ring. How
 * many bytes more there are in the queue. */
static __always_inline __u64 args_row(struct ebt_wire_syscall *row, const struct task_struct *task,
				      const struct pt_regs___kernel *regs, long ret, __u64 now,
				      __u64 duration, __u64 plan, __u64 where)
{
	ebrec_fill_head(&row->head, EBT_T_syscall, sizeof(*row), now);
	row->ret = ret;
	fill(row, task, regs, bpf_get_smp_processor_id(), duration);
	return plan ? syscall_tell_args(row, plan, where) : 0;
}

/* The same with what arguments point to, in place of ebrec_sys_exit. */
SEC("tp_btf/sys_exit")
int BPF_PROG(ebrec_args_sys_exit, struct pt_regs___kernel *regs, long ret)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct ebt_wire_syscall *row;
	struct ebrec_spsc *queue;
	__u64 since, now, plan, more;

	since = take_start(task);
	if (!since)
		return 0;
	plan = plan_to_follow(task, regs);
	now = bpf_ktime_get_ns();
	queue = call_queue_with_room(EBREC_CALL_BYTES);
	if (queue) {
		row = call_queue_at(queue, queue->head);
		more = args_row(row, task, regs, ret, now, now - since, plan,
				queue->head + sizeof(*row));
		call_queue_submit(queue, sizeof(*row) + more);
		return 0;
	}
	row = ebrec_entry(&call_scratch);
	if (!row)
		return 0;
	args_row(row, task, regs, ret, now, now - since, plan, CALL_ROWS_RING);
	if (call_queue())
		ebrec_count_drop(EBT_T_syscall);
	else
		ebrec_output(EBREC_SLOT_EVENT(row->cpu), EBT_T_syscall, &row->head, sizeof(*row),
			     now);
	return 0;
}

/* --- descriptors that are there when the recording or an epoch begins --- */

/* Rows and what they are made from: a call's would be written to meanwhile. */
struct held_fd {
	struct file_part file;
	struct dentry_part name;
	struct ebt_wire_fd row;
	struct socket_row socket;
};

EBREC_CPU_ARRAY(held_fd, 1, struct held_fd);

/* Half of the ring is for what happens; descriptors that find no room are told when they are used.
 */
static __always_inline bool held_has_room(void)
{
	__u32 slot = ebrec_event_slot();
	void *ring = bpf_map_lookup_elem(&rings, &slot);

	return ring && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) <
			       bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 2;
}

static __always_inline void add_held(struct held_fd *held, const struct file *file, __u64 now)
{
	const struct dentry *dentry = PART(held->file, file, f_path.dentry);
	const struct inode *inode = PART(held->file, file, f_inode);
	struct ebt_wire_fd *row = &held->row;
	struct ebrec_inode_id id;
	__u32 len;

	if (PART_READ(held->name, dentry))
		return;
	file_id(inode, name_hash(dentry, &held->name), &id);
	fill_fd(row, &id, dentry, &held->name, PART(held->file, file, f_path.mnt));
	row->type = BPF_CORE_READ(inode, i_mode) >> 12;
	row->cookie = 0;
	if (row->type != EBT_V_fd_type_socket) {
		if (PART(held->name, dentry, d_name.len))
			ebrec_name_inode(inode, dentry, &id, true);
	} else {
		len = fill_socket(&held->socket, file, row->task);
		row->cookie = held->socket.row.cookie;
		if (len)
			ebrec_output(ebrec_event_slot(), EBT_T_socket, &held->socket.row.head, len,
				     now);
	}
	ebrec_output(ebrec_event_slot(), EBT_T_fd, &row->head, sizeof(*row), now);
}

/*
 * At the time of the row the descriptor is this file: that is looked at afterwards, and who changes
 * it later has a row that is later.
 */
SEC("iter/task_file")
int ebrec_args_held(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct held_fd *held = ebrec_entry(&held_fd);
	bool cloexec = false;
	__u32 flags;
	__u64 now;

	if (!task || !file || !held || !gate || !ebrec_task_followed(task) || !held_has_room())
		return 0;
	now = bpf_ktime_get_ns();
	if (file_of(task, ctx->fd, &cloexec) != file || PART_READ(held->file, file))
		return 0;
	flags = PART(held->file, file, f_flags);
	held->row.task = task->pid;
	held->row.fd = ctx->fd;
	held->row.why = EBT_V_fd_why_held;
	held->row.flags = cloexec ? flags | O_CLOEXEC : flags;
	add_held(held, file, now);
	return 0;
}
