/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User stacks that were walked before, recognised without searching tables. Tasks block in the
 * same places over and over, and source `offcpu` walks at every switch.
 *
 * A chain is what a walk read and what it made of it: where on the stack, counted from the stack
 * pointer, each return address was, and each saved frame pointer that then became the base of a
 * frame. The same address space, pc and words at these places give the same walk.
 */
#ifndef RECORD_BPF_UNWIND_CHAIN_BPF_H
#define RECORD_BPF_UNWIND_CHAIN_BPF_H

#include "record/bpf/unwind_space.bpf.h"

#define UNWIND_CHAIN_FRAMES 48 /* deeper stacks are always walked */
#define UNWIND_CHAIN_BASES  16
#define UNWIND_CHAIN_SETS   128
#define UNWIND_CHAIN_WAYS   2
/* One read of so much costs less than ten of a word. Stacks that spread over more are walked. */
#define UNWIND_CHAIN_BYTES 4096
#define UNWIND_CHAIN_WORDS (UNWIND_CHAIN_BYTES / 8)

struct unwind_chain {
	__u64 time; /* of the address space; 0: there is no chain here */
	__u64 pc;
	__s64 base; /* frame pointer less stack pointer, where has_base */
	__u32 first, ticket;
	__u32 attrs;
	__u16 n;       /* frames, the innermost included */
	__u16 n_bases; /* below */
	__u32 bytes;   /* of stack that are looked at */
	__u8 caller, has_base, unused[2];
	__s64 bases[UNWIND_CHAIN_BASES];       /* saved frame pointers less stack pointer */
	__u64 addresses[UNWIND_CHAIN_FRAMES];  /* [0] is not used */
	__u16 base_places[UNWIND_CHAIN_BASES]; /* in words */
	__u16 places[UNWIND_CHAIN_FRAMES];
};

struct unwind_chain_set {
	struct unwind_chain chain[UNWIND_CHAIN_WAYS];
	__u64 oldest;
};

/* The first addresses of a stack, which are all that a chain can have. */
struct unwind_chain_frames {
	__u64 address[UNWIND_CHAIN_FRAMES];
};

/* For walks of a task that is not in an interrupt: nothing that uses them comes in between, but for
 * what happens while a switch is recorded, which only adds a chain. */
EBREC_CPU_ARRAY(unwind_chains, UNWIND_CHAIN_SETS, struct unwind_chain_set) __weak;

/* A walk that is being learned, and the stack as it is. */
struct unwind_lesson {
	struct unwind_chain chain;
	__u64 words[UNWIND_CHAIN_WORDS];
	__u64 sp;	/* where the walk began */
	__u64 fp_place; /* of the frame pointer as it is; 0: in its register; 1: lost */
	bool unfit;
};

/* Whose lesson. */
#define UNWIND_LESSON_SWITCH 0
#define UNWIND_LESSON_EVENT  1
#define UNWIND_LESSONS	     2

EBREC_CPU_ARRAY(unwind_lessons, UNWIND_LESSONS, struct unwind_lesson) __weak;

/* Threads at the same place of a program often have stack pointers that end alike. */
static __always_inline struct unwind_chain_set *
unwind_chain_set(const struct ebrec_unwind_process *process, __u64 pc, __u64 sp)
{
	__u64 hash = (pc ^ process->time ^ (sp & 4095) << 20) * 0x9e3779b97f4a7c15ull;
	__u32 key = (__u32)(hash >> 32) % UNWIND_CHAIN_SETS;

	return bpf_map_lookup_elem(&unwind_chains, &key);
}

/* Is the stack at sp the chain? Copies its addresses if so. */
static __always_inline bool unwind_is_chain(const struct unwind_chain *chain,
					    const struct ebrec_unwind_process *process, __u64 pc,
					    __u64 sp, __u64 fp, bool caller,
					    struct unwind_lesson *lesson, __u64 *addresses)
{
	__u32 bytes = chain->bytes;

	if (!chain->time || chain->time != process->time || chain->first != process->first ||
	    chain->ticket != process->ticket || chain->pc != pc || chain->caller != caller ||
	    (chain->has_base && chain->base != (__s64)(fp - sp)))
		return false;
	if (bytes > UNWIND_CHAIN_BYTES ||
	    bpf_probe_read_user(lesson->words, bytes, (const void *)sp))
		return false;
	addresses[0] = pc;
	for (__u32 i = 1; i < UNWIND_CHAIN_FRAMES; i++) {
		__u64 word;

		if (i >= chain->n)
			break;
		word = lesson->words[chain->places[i] % UNWIND_CHAIN_WORDS];
		if (word != chain->addresses[i])
			return false;
		addresses[i] = word;
	}
	for (__u32 i = 0; i < UNWIND_CHAIN_BASES; i++) {
		if (i >= chain->n_bases)
			break;
		if ((__s64)(lesson->words[chain->base_places[i] % UNWIND_CHAIN_WORDS] - sp) !=
		    chain->bases[i])
			return false;
	}
	return true;
}

static __always_inline void unwind_begin_lesson(struct unwind_lesson *lesson,
						const struct ebrec_unwind_process *process,
						__u64 pc, __u64 sp, bool caller)
{
	lesson->chain.time = process->time;
	lesson->chain.first = process->first;
	lesson->chain.ticket = process->ticket;
	lesson->chain.pc = pc;
	lesson->chain.caller = caller;
	lesson->chain.bytes = lesson->chain.has_base = lesson->chain.n_bases = 0;
	lesson->sp = sp;
	lesson->fp_place = 0;
	lesson->unfit = !process->time || sp & 7;
}

/* The place of a word that was read, in words from the stack pointer. */
static __always_inline __u16 unwind_learn_place(struct unwind_lesson *lesson, __u64 place)
{
	__u64 offset = place - lesson->sp;

	if (offset & 7 || offset >= UNWIND_CHAIN_BYTES) {
		lesson->unfit = true;
		return 0;
	}
	if (lesson->chain.bytes < offset + 8)
		lesson->chain.bytes = offset + 8;
	return offset / 8;
}

#define UNWIND_FP_LOST 1

/* The frame pointer, as it is now, is the base of a frame. */
static __always_inline void unwind_learn_base(struct unwind_lesson *lesson, __u64 fp)
{
	__u32 n = lesson->chain.n_bases;

	if (!lesson->fp_place) {
		lesson->chain.has_base = 1;
		lesson->chain.base = fp - lesson->sp;
		return;
	}
	if (n >= UNWIND_CHAIN_BASES || lesson->fp_place == UNWIND_FP_LOST) {
		lesson->unfit = true;
		return;
	}
	lesson->chain.base_places[n] = unwind_learn_place(lesson, lesson->fp_place);
	lesson->chain.bases[n] = fp - lesson->sp;
	lesson->chain.n_bases = n + 1;
}

/* Frame n was found by the word at place. Stacks that end with a zero are not kept, as the frames
 * of a chain do not tell it. */
static __always_inline void unwind_learn_frame(struct unwind_lesson *lesson, __u32 n, __u64 pc,
					       __u64 place)
{
	if (!pc || n >= UNWIND_CHAIN_FRAMES) {
		lesson->unfit = true;
		return;
	}
	lesson->chain.places[n] = unwind_learn_place(lesson, place);
	lesson->chain.addresses[n] = pc;
}

/* The walk is over, and whole. */
__weak int unwind_keep(struct unwind_lesson *lesson, struct unwind_chain_set *set, __u32 n,
		       __u32 attrs)
{
	if (!lesson || !set || lesson->unfit || n > UNWIND_CHAIN_FRAMES)
		return 0;
	lesson->chain.n = n;
	lesson->chain.attrs = attrs;
	set->chain[set->oldest % UNWIND_CHAIN_WAYS] = lesson->chain;
	set->oldest++;
	return 0;
}

#endif
