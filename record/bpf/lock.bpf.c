/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `lock`: waits on futexes, from entry to return of the system call, and for locks of the
 * kernel. A row is made at the end of a wait: the user's stack is the same as at its beginning.
 *
 * The kernel says that a wait has ended with the lock in hand, a run queue's for instance, and with
 * interrupts off: nothing here may wait. What waits for the lock of one of our own rings is left
 * out (ebrec_ring_busy()), since its row would go into that ring.
 */
#include "record/bpf/compat.bpf.h"
#include "record/bpf/event_stack.bpf.h"

#include <linux/futex.h>

#include "record/bpf/lock_owner.h"

#define FUTEX_FLAGS	      (FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)

#define ERESTART_RESTARTBLOCK 516 /* goes on as restart_syscall() */

#define VM_SHARED	      8

/* Flags of contention_begin. */
#define LCB_F_SPIN  1
#define LCB_F_MUTEX 32

/* A wait for a lock of the kernel that is under way. */
struct held_up {
	__u64 lock; /* 0: none */
	__u64 since;
	__u32 flags, unused;
};

/* Waits of a task that sleeps: a lock that is built of others waits for them meanwhile. */
#define TASK_WAITS 4

struct lock_state {
	__u64 since; /* when the wait on a futex began; 0: there is none */
	__u64 timeout, inode, offset;
	__u32 nr; /* of the system call that it is */
	__u32 switches, owner, owner_by, waker, woken, dev;
	bool restarts; /* by restart_syscall() */
	struct held_up waits[TASK_WAITS];
};

EBREC_TASK_STORAGE(lock_states, struct lock_state);

/* Who spins stays on its CPU until it has the lock. By level, of which each waits for one at most:
 * what was not seen to end, since a program does not run within itself, is overwritten. */
EBREC_CPU_ARRAY(lock_spins, EBREC_LEVELS, struct held_up);

static __always_inline struct lock_state *state_of(const struct task_struct *task)
{
	return bpf_task_storage_get(&lock_states, (void *)task, NULL, 0);
}

static __always_inline struct lock_state *make_state(const struct task_struct *task, __u32 table)
{
	struct lock_state *state = bpf_task_storage_get(&lock_states, (void *)task, NULL,
							BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!state)
		ebrec_count_no_storage(table);
	return state;
}

/* --- futexes --- */

struct futex_call {
	__u64 address, timeout; /* both as pointers */
	__u32 op, val;
	bool shared;
	bool short_time; /* two times 32 bits */
};

/* The system calls by their numbers. */
#define NR_FUTEX	  202
#define NR_RESTART	  219
#define NR_COMPAT_RESTART 0
#define NR_COMPAT_FUTEX	  240
#define NR_COMPAT_FUTEX64 422
#define NR_FUTEX_WAITV	  449
#define NR_FUTEX_WAKE	  454
#define NR_FUTEX_WAIT	  455

static __always_inline bool is_compat(const struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

static __always_inline bool is_restart(const struct task_struct *task, __u64 nr)
{
	return nr == NR_RESTART ? !is_compat(task) : nr == NR_COMPAT_RESTART && is_compat(task);
}

static __always_inline bool is_futex(const struct task_struct *task, __u64 nr)
{
	switch (nr) {
	case NR_FUTEX:
		return !is_compat(task);
	case NR_COMPAT_FUTEX:
	case NR_COMPAT_FUTEX64:
		return is_compat(task);
	case NR_FUTEX_WAITV:
	case NR_FUTEX_WAKE:
	case NR_FUTEX_WAIT:
		return true;
	}
	return is_restart(task, nr);
}

struct futex_args {
	__u64 a[5];
};

static __always_inline struct futex_args read_args(const struct task_struct *task,
						   const struct pt_regs___kernel *regs)
{
	if (is_compat(task))
		return (struct futex_args){ { (__u32)regs->bx, (__u32)regs->cx, (__u32)regs->dx,
					      (__u32)regs->si, (__u32)regs->di } };
	return (struct futex_args){ { regs->di, regs->si, regs->dx, regs->r10, regs->r8 } };
}

/* What the call does; registers of arguments are the same at its end as at its beginning. */
static __always_inline struct futex_call read_call(const struct task_struct *task,
						   const struct pt_regs___kernel *regs, __u32 nr)
{
	struct futex_args args = read_args(task, regs);
	struct futex_call call = {
		.address = args.a[0],
		.op = args.a[1] & ~FUTEX_FLAGS,
		.val = args.a[2],
		.timeout = args.a[3],
		.shared = !(args.a[1] & FUTEX_PRIVATE_FLAG),
		.short_time = nr == NR_COMPAT_FUTEX,
	};

	switch (nr) {
	case NR_FUTEX_WAITV:
		call.op = EBT_V_futex_wait_op_waitv;
		call.val = 0;
		call.shared = false; /* each has flags of its own */
		break;
	case NR_FUTEX_WAIT:
		call.op = EBT_V_futex_wait_op_futex2_wait;
		call.val = args.a[1];
		call.shared = !(args.a[3] & FUTEX_PRIVATE_FLAG);
		call.timeout = args.a[4];
		break;
	case NR_FUTEX_WAKE:
		call.op = EBT_V_futex_wake_op_futex2_wake;
		call.val = args.a[2];
		call.shared = !(args.a[3] & FUTEX_PRIVATE_FLAG);
		break;
	}
	return call;
}

static __always_inline bool waits(__u32 op)
{
	return op == EBT_V_futex_wait_op_wait || op == EBT_V_futex_wait_op_lock_pi ||
	       op == EBT_V_futex_wait_op_wait_bitset || op == EBT_V_futex_wait_op_wait_requeue_pi ||
	       op == EBT_V_futex_wait_op_lock_pi2 || op == EBT_V_futex_wait_op_waitv ||
	       op == EBT_V_futex_wait_op_futex2_wait;
}

static __always_inline bool wakes(__u32 op)
{
	return op == EBT_V_futex_wake_op_wake || op == EBT_V_futex_wake_op_requeue ||
	       op == EBT_V_futex_wake_op_cmp_requeue || op == EBT_V_futex_wake_op_wake_op ||
	       op == EBT_V_futex_wake_op_unlock_pi || op == EBT_V_futex_wake_op_wake_bitset ||
	       op == EBT_V_futex_wake_op_cmp_requeue_pi || op == EBT_V_futex_wake_op_futex2_wake;
}

static __always_inline __u64 read_timeout(const struct futex_call *call)
{
	__s64 time[2] = {};
	__s32 short_time[2] = {};

	if (!call->timeout)
		return 0;
	if (call->short_time) {
		bpf_probe_read_user(short_time, sizeof(short_time), (void *)call->timeout);
		return (__u64)short_time[0] * 1000000000 + short_time[1];
	}
	bpf_probe_read_user(time, sizeof(time), (void *)call->timeout);
	return (__u64)time[0] * 1000000000 + time[1];
}

/* Tids of a pid namespace would be of somebody else here. */
static __always_inline void read_owner(const struct task_struct *task,
				       const struct futex_call *call, struct lock_state *state)
{
	struct glibc_mutex mutex = {};

	state->owner = 0;
	state->owner_by = EBT_V_futex_wait_owner_by_not_known;
	if (BPF_CORE_READ(task, thread_pid, level) ||
	    bpf_probe_read_user(&mutex, sizeof(mutex), (void *)call->address))
		return;
	state->owner = lock_owner(call->op, call->val, &mutex, &state->owner_by);
}

struct shared_key {
	__u64 address, inode, offset;
	__u32 dev, unused;
};

static long take_vma(struct task_struct *task, struct vm_area_struct *vma, struct shared_key *key)
{
	const struct file *file = BPF_CORE_READ(vma, vm_file);

	if (!(vma->vm_flags & VM_SHARED) || !file)
		return 0;
	key->inode = BPF_CORE_READ(file, f_inode, i_ino);
	key->dev = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	key->offset = (vma->vm_pgoff << 12) + key->address - vma->vm_start;
	return 0;
}

/* Processes may have a shared futex at different addresses; the file is what they share. */
static __always_inline void read_key(struct task_struct *task, const struct futex_call *call,
				     struct lock_state *state)
{
	struct shared_key key = { .address = call->address };

	if (call->shared && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma))
		bpf_find_vma(task, call->address, take_vma, &key, 0);
	state->inode = key.inode;
	state->offset = key.offset;
	state->dev = key.dev;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(ebrec_futex_enter, struct pt_regs___kernel *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct lock_state *state;
	struct futex_call call;

	if (!gate || !is_futex(task, nr) || !ebrec_task_followed(task))
		return 0;
	if (is_restart(task, nr)) {
		state = state_of(task);
		if (state && state->restarts)
			state->since = bpf_ktime_get_ns();
		return 0;
	}
	call = read_call(task, regs, nr);
	if (!waits(call.op))
		return 0;
	state = make_state(task, EBT_T_futex_wait);
	if (!state)
		return 0;
	state->nr = nr;
	state->restarts = false;
	state->switches = task->nvcsw;
	state->waker = 0;
	state->woken = EBT_V_futex_wait_woken_not_known;
	state->timeout = read_timeout(&call);
	read_owner(task, &call, state);
	read_key(task, &call, state);
	state->since = bpf_ktime_get_ns();
	return 0;
}

/* Which of several futexes it was. */
static __always_inline void read_waitv(struct futex_call *call, long ret)
{
	struct futex_waitv one = {};
	__u64 at = call->address + (ret > 0 && ret < 128 ? ret : 0) * sizeof(one);

	bpf_probe_read_user(&one, sizeof(one), (void *)at);
	call->address = one.uaddr;
	call->val = one.val;
	call->shared = !(one.flags & FUTEX_PRIVATE_FLAG);
}

static __always_inline int wait_ended(void *ctx, const struct task_struct *task,
				      struct lock_state *state, struct futex_call *call, long ret)
{
	__u64 now = bpf_ktime_get_ns(), since = state->since;
	struct ebt_wire_futex_wait *row;

	state->since = 0;
	state->restarts = ret == -ERESTART_RESTARTBLOCK;
	if (call->op == EBT_V_futex_wait_op_waitv)
		read_waitv(call, ret);
	row = ebrec_event_begin(EBT_T_futex_wait, sizeof(*row), now, task);
	if (!row)
		return 0;
	row->op = call->op;
	row->shared = call->shared;
	row->address = call->address;
	row->duration = now - since;
	row->timeout = state->timeout;
	row->ret = ret;
	row->val = call->val;
	row->slept = (__u32)task->nvcsw - state->switches;
	row->woken = state->woken;
	row->waker = state->waker;
	row->owner = state->owner;
	row->owner_by = state->owner_by;
	row->dev_major = EBREC_DEV_MAJOR(state->dev);
	row->dev_minor = EBREC_DEV_MINOR(state->dev);
	row->unused = 0;
	row->inode = state->inode;
	row->offset = state->offset;
	state->switches = task->nvcsw;
	return ebrec_event_end(ctx, sizeof(*row), 0, offsetof(struct ebt_wire_futex_wait, ustack),
			       EBREC_USTACK);
}

static __always_inline int woke(void *ctx, const struct task_struct *task,
				const struct futex_call *call, long ret)
{
	struct ebt_wire_futex_wake *row;

	row = ebrec_event_begin(EBT_T_futex_wake, sizeof(*row), bpf_ktime_get_ns(), task);
	if (!row)
		return 0;
	row->op = call->op;
	row->shared = call->shared;
	row->address = call->address;
	row->ret = ret;
	row->most = call->op == EBT_V_futex_wake_op_unlock_pi ? 1 : call->val;
	return ebrec_event_end(ctx, sizeof(*row), 0, offsetof(struct ebt_wire_futex_wake, ustack),
			       EBREC_USTACK);
}

SEC("raw_tp/sys_exit")
int BPF_PROG(ebrec_futex_exit, void *unused, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
	__u64 nr = regs->orig_ax;
	struct lock_state *state;
	struct futex_call call;

	if (!gate || !is_futex(task, nr) || !ebrec_task_followed(task))
		return 0;
	if (!is_restart(task, nr)) {
		call = read_call(task, regs, nr);
		if (config.lock_wakes && wakes(call.op))
			return woke(ctx, task, &call, ret);
		if (!waits(call.op))
			return 0;
	}
	state = state_of(task);
	if (!state || !state->since)
		return 0;
	call = read_call(task, regs, state->nr);
	return wait_ended(ctx, task, state, &call, ret);
}

/* The last one who wakes a task is who ends its wait. */
SEC("tp_btf/sched_waking")
int BPF_PROG(ebrec_futex_waking, struct task_struct *task)
{
	struct lock_state *state;

	if (!gate || !ebrec_task_followed(task))
		return 0;
	state = state_of(task);
	if (!state || !state->since)
		return 0;
	if (ebrec_in_interrupt()) {
		state->woken = EBT_V_futex_wait_woken_interrupt;
		state->waker = 0;
		return 0;
	}
	state->woken = EBT_V_futex_wait_woken_task;
	state->waker = bpf_get_current_task_btf()->pid;
	return 0;
}

/* --- locks of the kernel --- */

/* Interrupts of an idle CPU belong to the machine. */
static __always_inline bool wanted(const struct task_struct *task)
{
	return config.all ? !ebrec_is_self(task) : ebrec_tid_followed(task->pid);
}

static __always_inline struct held_up *find_wait(struct held_up *waits, __u64 lock)
{
	for (int i = 0; i < TASK_WAITS; i++) {
		if (waits[i].lock == lock)
			return &waits[i];
	}
	return NULL;
}

static __always_inline bool spins(__u32 flags)
{
	return (flags & (LCB_F_SPIN | LCB_F_MUTEX)) == LCB_F_SPIN;
}

static __always_inline void begin(struct held_up *wait, __u64 lock, __u32 flags)
{
	/* A mutex says it several times: when it spins, and when it sleeps. */
	if (wait->lock != lock || !(flags & LCB_F_MUTEX))
		wait->since = bpf_ktime_get_ns();
	wait->flags = flags;
	wait->lock = lock;
}

SEC("tp_btf/contention_begin")
int BPF_PROG(ebrec_contention_begin, void *lock, unsigned int flags)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct held_up *wait = NULL;
	struct lock_state *state;
	__u32 level;

	if (!gate || ebrec_ring_busy() || !wanted(task))
		return 0;
	if (spins(flags)) {
		level = ebrec_level();
		wait = bpf_map_lookup_elem(&lock_spins, &level);
		if (wait)
			begin(wait, (__u64)lock, flags);
		return 0;
	}
	state = make_state(task, EBT_T_lock_wait);
	if (!state)
		return 0;
	wait = find_wait(state->waits, (__u64)lock);
	if (!wait)
		wait = find_wait(state->waits, 0);
	if (wait)
		begin(wait, (__u64)lock, flags);
	else
		ebrec_count_drop(EBT_T_lock_wait);
	return 0;
}

/* The wait that is over now, or NULL. */
static __always_inline struct held_up *ended_wait(const struct task_struct *task, __u64 lock)
{
	__u32 level = ebrec_level();
	struct held_up *wait = bpf_map_lookup_elem(&lock_spins, &level);
	struct lock_state *state;

	if (wait && wait->lock == lock)
		return wait;
	state = state_of(task);
	return state ? find_wait(state->waits, lock) : NULL;
}

SEC("raw_tp/contention_end")
int BPF_PROG(ebrec_contention_end, void *lock, int ret)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct ebt_wire_lock_wait *row;
	struct held_up *wait;
	__u64 now, since;
	__u32 flags;

	if (!gate || !lock || ebrec_ring_busy())
		return 0;
	wait = ended_wait(task, (__u64)lock);
	if (!wait)
		return 0;
	since = wait->since;
	flags = wait->flags;
	wait->lock = 0;
	now = bpf_ktime_get_ns();
	row = ebrec_event_begin(EBT_T_lock_wait, sizeof(*row), now, task);
	if (!row)
		return 0;
	row->address = (__u64)lock;
	row->duration = now - since;
	row->flags = flags;
	row->ret = ret;
	row->interrupt = ebrec_in_interrupt();
	row->unused = 0;
	return ebrec_event_end(ctx, sizeof(*row), offsetof(struct ebt_wire_lock_wait, kstack),
			       offsetof(struct ebt_wire_lock_wait, ustack),
			       spins(flags) ? EBREC_KSTACK : EBREC_KSTACK | EBREC_USTACK);
}
