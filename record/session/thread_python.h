/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Python functions of a thread that does not run, for the walk of its stack. The same as
 * record/bpf/python.bpf.h, which has the reasons, by other means: in the memory of another process,
 * and with loops. Every word that is read may be anything.
 */
#ifndef RECORD_SESSION_THREAD_PYTHON_H
#define RECORD_SESSION_THREAD_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "record/bpf/python.h"
#include "record/bpf/thread_stack.h"
#include "record/session/thread_codes.h"

struct ebrec_bpf;

/* Thread states of the CPython that was met last, as the next thread most likely is of it, too.
 * pid 0: of none. */
struct python_states {
	uint32_t pid;
	uint64_t runtime;
	bool many; /* there are several interpreters */
	size_t n;
	struct {
		uint64_t thread_id, address;
	} list[PYTHON_THREADS];
};

/* What stacks of one look have in common. */
struct thread_python {
	const struct ebrec_bpf *skel;
	struct thread_codes codes;
	struct python_states states;
};

#define PYTHON_PAGE 4096u

/* One stack, in memory of the reader's thread. */
struct python_stack {
	struct thread_python *python;
	const struct ebrec_thread_stack *row;
	python_read *read;
	void *arg;
	struct ebrec_python_build build;
	uint64_t runtime, cframe;
	uint32_t table;	      /* of the native frame that was looked at last */
	uint32_t build_table; /* of the interpreter */
	bool met;
	uint32_t frames; /* read */
	uint32_t group;	 /* the entry that gets the place of the frames that are being read */
	uint32_t n, at;	 /* entries that were made, and that were placed */
	uint64_t page;	 /* that is in data, 0: none */
	/* Of each group its place on the C stack, then its entries. */
	uint64_t entries[PYTHON_ENTRIES];
	unsigned char data[PYTHON_PAGE];
};

void python_stack_begin(struct python_stack *p, struct thread_python *python,
			const struct ebrec_thread_stack *row, python_read *read, void *arg);

/* A native frame that was walked, in code of an unwind table. */
struct python_native {
	uint64_t low, high; /* stack pointers, its own and its caller's */
	uint64_t bias;	    /* what was subtracted from its address */
	uint32_t table;
};

/* Entries that come behind its address, room for as many. Returns how many there are. */
uint32_t python_stack_add(struct python_stack *p, const struct python_native *native,
			  uint64_t *entries, uint32_t room);

#endif
