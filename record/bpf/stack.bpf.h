/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks, put together behind a record in memory of the CPU (or of the task), so that only the
 * frames that are there go into a ring.
 */
#ifndef RECORD_BPF_STACK_BPF_H
#define RECORD_BPF_STACK_BPF_H

#include "record/bpf/ebt.bpf.h"

/* Two stacks of full length, as they follow a record. */
struct ebrec_stacks {
	struct ebt_wire_stack first;
	__u64 first_addresses[EBREC_MAX_FRAMES];
	struct ebt_wire_stack second;
	__u64 second_addresses[EBREC_MAX_STACK];
};

#define EBREC_STACK_BYTES (EBREC_MAX_FRAMES * sizeof(__u64))
/* Of user stacks by frame pointers. */
#define EBREC_USER_BYTES                                                               \
	((config.max_stack < EBREC_MAX_FRAMES ? config.max_stack : EBREC_MAX_FRAMES) * \
	 sizeof(__u64))

/* As they follow a record that may have a dump; what is there follows without gaps. */
struct ebrec_stacks_dump {
	struct ebrec_stacks stacks;
	struct ebt_wire_dump dump;
	__u64 registers[EBT_DUMP_X86_REGISTERS];
	__u8 memory[EBT_DUMP_STACK];
};

/* Bytes of a user stack and of its dump. */
struct ebrec_lengths {
	__u32 stack, dump;
};

/*
 * Fills in the head of a stack of `bytes` (or an error); returns the bytes that it takes. skip:
 * frames that the kernel walked and left out. A global function, so that for the verifier all
 * lengths are one case.
 */
__weak __u32 ebrec_stack_head(struct ebt_wire_stack *stack, long bytes, __u32 skip, __u32 attrs)
{
	__u32 n, max = config.max_frames;

	if (!stack || bytes <= 0 || bytes > (long)EBREC_STACK_BYTES)
		return 0;
	n = (__u32)bytes / sizeof(__u64);
	if (attrs & EBT_STACK_USER && config.max_stack < max)
		max = config.max_stack;
	if (n + skip >= max)
		attrs |= EBT_STACK_TRUNCATED;
	stack->attrs = attrs;
	stack->n = n;
	return sizeof(*stack) + n * sizeof(__u64);
}

static __always_inline bool ebrec_has_user_stack(const struct task_struct *task)
{
	return !(task->flags & PF_KTHREAD) && BPF_CORE_READ(task, mm);
}

/* By the kernel, along frame pointers. */
static __always_inline __u32 ebrec_user_stack(void *ctx, struct ebt_wire_stack *stack)
{
	long n = bpf_get_stack(ctx, stack + 1, EBREC_USER_BYTES, BPF_F_USER_STACK);

	return ebrec_stack_head(stack, n, 0, EBT_STACK_USER);
}

/* The first stack. own: frames at its top that are the program's. */
static __always_inline __u32 ebrec_kernel_stack(void *ctx, struct ebrec_stacks *stacks, __u64 own)
{
	long n = bpf_get_stack(ctx, stacks->first_addresses, EBREC_STACK_BYTES, own);

	return ebrec_stack_head(&stacks->first, n, own, 0);
}

/* Where the second stack goes when the first one takes klen bytes. */
static __always_inline struct ebt_wire_stack *ebrec_second_stack(struct ebrec_stacks *stacks,
								 __u32 klen)
{
	if (klen > sizeof(stacks->first) + EBREC_STACK_BYTES) /* for the verifier */
		klen = 0;
	return (void *)stacks + klen;
}

/* References from a record to the stacks `off` bytes into it. */
static __always_inline void ebrec_refer(struct ebt_ref *kstack, struct ebt_ref *ustack, __u32 off,
					__u32 klen, __u32 ulen)
{
	*kstack = klen ? (struct ebt_ref){ off, klen } : (struct ebt_ref){};
	*ustack = ulen ? (struct ebt_ref){ off + klen, ulen } : (struct ebt_ref){};
}

static __always_inline void ebrec_refer_dump(struct ebt_ref *udump, __u32 off, __u32 len)
{
	*udump = len ? (struct ebt_ref){ off, len } : (struct ebt_ref){};
}

#endif
