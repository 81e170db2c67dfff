/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address spaces as they were at a time that goes on: what is mapped where. spaces.c has one of
 * now, for programs that walk stacks now. A stack that was copied is walked later, when the process
 * may have run another program, or have ended: for that there is one of a moment ago. Used by one
 * thread at a time.
 */
#ifndef RECORD_UNWIND_MODEL_H
#define RECORD_UNWIND_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/base/map.h"
#include "record/bpf/unwind_maps.h"

/* Something that happens to an address space. What happens at the same time is in this order. */
enum op_kind { OP_RENAME, OP_FORGET, OP_MAP, OP_EXEC, OP_FORK, OP_EXIT };

struct unwind_op {
	uint64_t time;
	enum op_kind kind;
	uint32_t pid, child;
	struct ebrec_unwind_mapping mapping;
	bool is_code; /* of the mapping: it is counted as such, as it cannot be written */
};

/* Most forks are followed by an exec: parent and child share a list until one of them changes. */
struct unwind_mappings {
	uint32_t users;
	uint32_t n;
	struct unwind_known {
		struct ebrec_unwind_mapping mapping;
		uint64_t since;
		bool is_code;
	} known[]; /* ascending, none overlaps another */
};

struct unwind_process {
	uint32_t pid;
	uint64_t changed;		  /* last change of mappings */
	uint64_t exec;			  /* time of the last one */
	uint64_t renamed;		  /* last change of name: where an exec begins */
	struct unwind_mappings *mappings; /* NULL: none */

	/* How programs see it, see spaces.c. */
	struct unwind_range *range; /* where it is published; forks share it. NULL: nowhere */
	bool dirty;
	bool suspect;	    /* to be looked at in any case */
	uint64_t doubted;   /* pages of code that are not as known, if it stays so */
	uint64_t looked_at; /* pages of code when that did not help, or was done last */
};

/* All zero: nothing is known. */
struct unwind_model {
	struct unwind_process *list;
	size_t n, capacity;
	struct ebt_map by_pid; /* to indices of the list */
	struct unwind_op *ops; /* that have not happened yet */
	size_t n_ops, ops_capacity;
	bool unsorted;
};

void unwind_model_deinit(struct unwind_model *model);

/* Takes note of it. */
struct ebt_error *unwind_model_add(struct unwind_model *model, const struct unwind_op *op);

/* Puts what has not happened yet in order of time. */
void unwind_model_sort(struct unwind_model *model);

/* It happens. False: something of it does not, as there are too many mappings, or no memory. */
bool unwind_model_apply(struct unwind_model *model, const struct unwind_op *op);

/* Goes on to that time. What is added later and was earlier happens then. */
void unwind_model_advance(struct unwind_model *model, uint64_t time_ns);

/* NULL: nothing is known of the process. It stays where it is until something happens. */
struct unwind_process *unwind_model_process(const struct unwind_model *model, uint32_t pid);

/* What the process has at the address at that time, or NULL. */
const struct ebrec_unwind_mapping *unwind_model_find(const struct unwind_model *model, uint32_t pid,
						     uint64_t address);

#endif
