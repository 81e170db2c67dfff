/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of the task that a CPU switches away from. Taken at every switch, so their price decides
 * what source `offcpu` costs; the kernel's walkers take 2 us for a kernel stack of ten frames.
 */
#ifndef RECORD_BPF_SWITCH_STACK_BPF_H
#define RECORD_BPF_SWITCH_STACK_BPF_H

#include "record/bpf/stack.bpf.h"
#include "record/bpf/unwind.bpf.h"

/*
 * Kernel stacks that were walked once are recognised: a chain is the addresses found, and where
 * on the stack each was. A stack that holds the same addresses at all these places is the same
 * chain, as each function's frame fixes the place of the next one's return address. Places are
 * counted from the frame of the tracepoint, but for the outermost one, which is counted from the
 * stack's end: the entry of a system call leaves a random gap in between.
 */
#define CHAIN_FRAMES 32
#define CHAIN_BYTES  2048 /* stacks that are deeper than this are always walked */
#define CHAIN_WORDS  (CHAIN_BYTES / sizeof(__u64))
#define CHAIN_SETS   256
#define CHAIN_WAYS   4 /* chains that one call site in user space may have */

struct chain {
	__u32 n;
	__u16 offset[CHAIN_FRAMES];
	__u64 address[CHAIN_FRAMES];
};

struct chain_set {
	struct chain chain[CHAIN_WAYS];
	__u32 oldest;
};

EBREC_CPU_ARRAY(chains, CHAIN_SETS, struct chain_set);

/* The first addresses of a stack, which are all that a chain can have. */
struct chain_frames {
	__u64 address[CHAIN_FRAMES];
};

/* For learning a chain. */
struct chain_scratch {
	__u64 sp;
	__u64 words[CHAIN_WORDS];
	struct chain chain;
};

EBREC_CPU_ARRAY(chain_scratch, 1, struct chain_scratch);

/* Functions between the scheduler and a program of sched_switch; set before the gate is opened. */
struct ebrec_range trampolines[EBREC_TRAMPOLINES] = {};

/* Frames of the tracing itself at the top of each stack, plus one; 0: not known yet. */
__u32 switch_skip = 0;

/*
 * This and other parts of the program are global functions: the verifier goes through them once,
 * and not through what comes behind them again for each place where they end. That is most of what
 * loading takes.
 */
__weak bool switch_is_trampoline(__u64 address)
{
	for (int i = 0; i < EBREC_TRAMPOLINES; i++) {
		if (address >= trampolines[i].start && address < trampolines[i].end)
			return true;
	}
	return false;
}

/* Those frames end with the call of the tracepoint, and are as many at every switch. bytes: of the
 * stack, or an error. */
__weak __u32 switch_find_skip(const struct chain_frames *frames, long bytes)
{
	__u32 skip = 0;

	if (!frames)
		return 0;
	for (int i = 0; i < 16; i++) {
		if (bytes < (long)((i + 1) * sizeof(__u64)))
			break;
		if (switch_is_trampoline(frames->address[i]))
			skip = i + 1;
	}
	switch_skip = skip + 1;
	return skip;
}

/* Is the stack at sp the chain? Copies its addresses if so. */
__weak bool switch_is_chain(const struct chain *chain, __u64 sp, __u64 depth,
			    struct chain_frames *ret)
{
	__u64 word;

	if (!chain || !ret || !chain->n)
		return false;
	for (__u32 i = 0; i < CHAIN_FRAMES; i++) {
		__u64 offset = chain->offset[i];

		if (i >= chain->n)
			break;
		if (i == chain->n - 1)
			offset = depth - offset;
		if (bpf_probe_read_kernel(&word, sizeof(word), (const void *)(sp + offset)) ||
		    word != chain->address[i])
			return false;
		ret->address[i] = word;
	}
	return true;
}

/* Copies the addresses of the stack at sp if it is one of the chains. Returns how many there are.
 */
__weak int switch_find_chain(struct chain_set *set, __u64 sp, __u64 depth, struct chain_frames *ret)
{
	if (!set || !ret)
		return 0;
	for (int i = 0; i < CHAIN_WAYS; i++) {
		const struct chain *chain = &set->chain[i];

		if (switch_is_chain(chain, sp, depth, ret))
			return chain->n;
	}
	return 0;
}

struct search {
	struct chain_scratch *s;
	const __u64 *addresses;
	__u32 words;
	__u32 n; /* found, or still to find */
};

static int search_up(__u32 i, struct search *search)
{
	struct chain_scratch *s = search->s;
	__u32 n = search->n;

	if (i >= CHAIN_WORDS || n >= CHAIN_FRAMES || n >= s->chain.n)
		return 1;
	if (s->words[i] == search->addresses[n]) {
		s->chain.offset[n] = i * sizeof(__u64);
		s->chain.address[n] = search->addresses[n];
		search->n = n + 1;
	}
	return 0;
}

static int search_down(__u32 i, struct search *search)
{
	struct chain_scratch *s = search->s;
	__u32 word = search->words - 1 - i, n = search->n - 1;

	if (word >= CHAIN_WORDS || n >= CHAIN_FRAMES)
		return 1;
	if (s->words[word] == s->chain.address[n]) {
		if (s->chain.offset[n] != word * sizeof(__u64))
			return 1;
		search->n = n;
	}
	return 0;
}

/*
 * Finds the chain's n addresses, in their order, among the words of the stack. Old words that were
 * not overwritten may look like them, so the places must be the same searched from either end:
 * then there are no others.
 */
static __always_inline bool find_places(struct chain_scratch *s, const __u64 *addresses,
					__u32 words)
{
	struct search search = { .s = s, .addresses = addresses, .words = words };

	bpf_loop(words, search_up, &search, 0);
	if (search.n != s->chain.n)
		return false;
	bpf_loop(words, search_down, &search, 0);
	return !search.n;
}

/* Keeps the stack at s->sp, of n frames. */
__weak int switch_learn_chain(struct chain_set *set, struct chain_scratch *s, __u64 depth,
			      const struct chain_frames *frames, __u32 n)
{
	__u32 last = n - 1, way;

	if (!set || !s || !frames)
		return 0;
	way = set->oldest % CHAIN_WAYS;
	if (last >= CHAIN_FRAMES || depth >= CHAIN_BYTES)
		return 0;
	/* 5.17; without it, every stack is walked. */
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		return 0;
	s->chain.n = n;
	/* Until 6.2 the verifier forgets what it knew of a number that was put on the stack. */
	barrier_var(depth);
	depth &= CHAIN_BYTES - 1;
	if (bpf_probe_read_kernel(s->words, depth, (const void *)s->sp) ||
	    !find_places(s, frames->address, depth / sizeof(__u64)))
		return 0;
	barrier_var(last);
	if (last >= CHAIN_FRAMES)
		return 0;
	s->chain.offset[last] = depth - s->chain.offset[last];
	set->chain[way] = s->chain;
	set->oldest++;
	return 0;
}

/* Kernel stack of the current task, which the tracepoint with this context is about to leave. */
static __always_inline __u32 ebrec_switch_kstack(void *ctx, const struct task_struct *task,
						 const struct pt_regs___kernel *regs,
						 struct ebrec_stacks *stacks)
{
	__u64 depth = (__u64)regs - (__u64)ctx; /* the registers are at the stack's end */
	__u32 key = (__u32)((__u64)regs->ip * 0x9e3779b97f4a7c15ull >> 32) % CHAIN_SETS;
	struct chain_scratch *s = ebrec_entry(&chain_scratch);
	struct chain_set *set = bpf_map_lookup_elem(&chains, &key);
	struct chain_frames *frames = (void *)stacks->first_addresses;
	__u32 skip, len;
	__u64 sp;
	long n;

	if (!set || !s)
		return 0;
	/* The address of the context as a number, which a pointer cannot become directly. */
	*(void *volatile *)&s->sp = ctx;
	sp = *(volatile __u64 *)&s->sp;
	n = switch_find_chain(set, sp, depth, frames);
	if (n)
		return ebrec_stack_head(&stacks->first, n * sizeof(__u64), 0, 0);
	skip = switch_skip - 1;
	if (!switch_skip) {
		n = bpf_get_task_stack((void *)task, frames, 16 * sizeof(__u64), 0);
		skip = switch_find_skip(frames, n);
	}
	n = bpf_get_task_stack((void *)task, stacks->first_addresses, EBREC_STACK_BYTES,
			       skip & BPF_F_SKIP_FIELD_MASK);
	len = ebrec_stack_head(&stacks->first, n, skip, 0);
	if (len)
		switch_learn_chain(set, s, depth, frames, stacks->first.n);
	return len;
}

#define USER32_CS 0x23

/* The least address that can be mapped where vm.mmap_min_addr is as usual. */
#define LEAST_ADDRESS 65536

/*
 * User stack by frame pointers. As the kernel's walker, but without its page fault where a program
 * uses the frame pointer for something else, which costs more than the rest.
 */
static __always_inline struct ebrec_lengths ebrec_switch_ustack(const struct task_struct *task,
								const struct pt_regs___kernel *regs,
								struct ebt_wire_stack *stack,
								bool with_dump)
{
	__u64 *addresses = (void *)(stack + 1);
	struct {
		__u64 next, address;
	} frame;
	struct ebrec_lengths len = {};
	__u64 fp = regs->bp;
	int n;

	if (config.unwind)
		return unwind_user_again((void *)task, ebrec_event_slot(), UNWIND_LESSON_SWITCH,
					 stack, with_dump);

	if ((__u16)regs->cs == USER32_CS) {
		len.stack = ebrec_stack_head(stack,
					     bpf_get_task_stack((void *)task, addresses,
								EBREC_USER_BYTES, BPF_F_USER_STACK),
					     0, EBT_STACK_USER);
		return len;
	}
	addresses[0] = regs->ip;
	for (n = 1; n < EBREC_MAX_FRAMES; n++) {
		if (n >= (int)config.max_stack || fp < LEAST_ADDRESS || fp % sizeof(fp) ||
		    bpf_probe_read_user(&frame, sizeof(frame), (const void *)fp))
			break;
		addresses[n] = frame.address;
		fp = frame.next;
	}
	len.stack = ebrec_stack_head(stack, n * sizeof(__u64), 0, EBT_STACK_USER);
	return len;
}

#endif
