/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads of a thread that does not run, in the memory of its process: its user stack, and who holds
 * the lock that it waits for. */
#ifndef RECORD_SESSION_THREAD_WALK_H
#define RECORD_SESSION_THREAD_WALK_H

#include <stdint.h>

#include "record/bpf/thread_stack.h"

struct reader;
struct thread_python;
struct unwinder;

struct thread_walk {
	struct reader *reader;
	const struct unwinder *unwinder; /* NULL: by frame pointers */
	struct thread_python *python;	 /* NULL: no Python functions */
	uint32_t max;			 /* frames */
	uint32_t max_entries;		 /* with the Python functions between them */
	uint64_t deadline; /* behind it tables that are being made are not waited for */
};

/* How many entries, and attributes of the stack. */
uint32_t thread_walk(const struct thread_walk *walk, const struct ebrec_thread_stack *row,
		     uint64_t *entries, uint32_t *ret_attrs);

/* Who holds the lock that the thread waits for, 0: not known. */
uint32_t thread_lock_owner(const struct thread_walk *walk, const struct ebrec_thread_stack *row,
			   uint32_t *ret_owner_by);

#endif
