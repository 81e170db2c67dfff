/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code objects that the stacks of threads name. A row of table interp_code is made when one is met,
 * and added before the first row of a stack that names it, as most stacks that are walked are told
 * of later, or never.
 */
#ifndef RECORD_SESSION_THREAD_CODES_H
#define RECORD_SESSION_THREAD_CODES_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/base/map.h"
#include "format/write/writer.h"
#include "record/unwind/python.h"

struct thread_code {
	uint32_t id;		 /* ascending */
	int32_t first_traceable; /* instruction: before it a frame is being made */
	bool told;
	struct ebt_record row;
};

struct thread_codes {
	uint32_t *last_id; /* of the BPF programs, which number theirs at the same time */
	struct thread_code *list;
	size_t n, capacity, bytes;
	struct ebt_map by_hash;
	struct ebt_map by_place; /* hash of process and address */
	uint64_t refused;	 /* how often one got no number, as there were too many */
};

/* A code object that a thread runs. */
struct thread_code_place {
	const struct ebrec_python_build *build;
	uint64_t time, address;
	const uint64_t *words; /* PYTHON_OBJECT_BYTES that are there */
	uint32_t tid, pid;
};

/* A code object that was met at this look. It is what it was then: a thread that has not run since
 * the look began holds it, and others are not told of. */
const struct thread_code *thread_codes_find(const struct thread_codes *codes, uint32_t pid,
					    uint64_t address);
/* Before a look. */
void thread_codes_forget_places(struct thread_codes *codes);

/* Its number; 0: it gets none. By the work of a reader: nothing is changed while it reads. */
uint32_t thread_codes_number(struct thread_codes *codes, const struct thread_code_place *place,
			     python_read *read, void *arg);
/* Adds the rows of those that these entries of a stack name, unless they have been. */
struct ebt_error *thread_codes_tell(struct thread_codes *codes, struct ebt_stream *stream,
				    const uint64_t *entries, size_t n);
void thread_codes_deinit(struct thread_codes *codes);

#endif
