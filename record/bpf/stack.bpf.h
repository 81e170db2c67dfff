/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks: taken by the kernel's walkers into a record that is put together in memory of the CPU
 * (or of the task), so that only the frames that are there go into a ring.
 */
#ifndef EBREC_STACK_BPF_H
#define EBREC_STACK_BPF_H

#include "ebt.bpf.h"

/* Two stacks of full length, as they follow a record. */
struct ebrec_stacks {
	struct ebt_wire_stack first;
	__u64 first_addresses[EBREC_MAX_FRAMES];
	struct ebt_wire_stack second;
	__u64 second_addresses[EBREC_MAX_FRAMES];
};

#define EBREC_STACK_BYTES (EBREC_MAX_FRAMES * sizeof(__u64))

/* Which walker, and where it begins. */
struct ebrec_walk {
	void *ctx;			/* of a perf_event program, or */
	const struct task_struct *task; /* the current task */
	__u32 skip;			/* kernel frames above the place of interest */
	bool kernel, user;		/* which stacks */
};

static __always_inline long ebrec_walk_stack(const struct ebrec_walk *walk, void *buf, __u64 flags)
{
	if (walk->ctx)
		return bpf_get_stack(walk->ctx, buf, EBREC_STACK_BYTES, flags);
	return bpf_get_task_stack((void *)walk->task, buf, EBREC_STACK_BYTES, flags);
}

/* Fills in the head of a stack of `bytes` (or an error); returns the bytes that it takes. */
static __always_inline __u32 ebrec_stack_head(struct ebt_wire_stack *stack, long bytes, __u32 skip,
					      __u32 attrs)
{
	__u32 n;

	if (bytes <= 0)
		return 0;
	n = (__u32)bytes / sizeof(__u64);
	if (n + skip >= config.max_frames)
		attrs |= EBT_STACK_TRUNCATED;
	stack->attrs = attrs;
	stack->n = n;
	return sizeof(*stack) + n * sizeof(__u64);
}

/*
 * Appends the kernel and the user stack at stacks, which is `off` bytes into its record. Returns
 * the bytes appended.
 */
static __always_inline __u32 ebrec_append_stacks(const struct ebrec_walk *walk,
						 struct ebrec_stacks *stacks, __u32 off,
						 struct ebt_ref *kstack, struct ebt_ref *ustack)
{
	struct ebt_wire_stack *second;
	__u32 klen = 0, ulen = 0;
	long n;

	*kstack = (struct ebt_ref){};
	*ustack = (struct ebt_ref){};
	if (walk->kernel) {
		n = ebrec_walk_stack(walk, stacks->first_addresses,
				     walk->skip & BPF_F_SKIP_FIELD_MASK);
		klen = ebrec_stack_head(&stacks->first, n, walk->skip, 0);
		if (klen)
			*kstack = (struct ebt_ref){ off, klen };
	}
	if (walk->user) {
		if (klen > sizeof(stacks->first) + EBREC_STACK_BYTES) /* for the verifier */
			return 0;
		second = (void *)stacks + klen;
		n = ebrec_walk_stack(walk, second + 1, BPF_F_USER_STACK);
		ulen = ebrec_stack_head(second, n, 0, EBT_STACK_USER);
		if (ulen)
			*ustack = (struct ebt_ref){ off + klen, ulen };
	}
	return klen + ulen;
}

#endif
