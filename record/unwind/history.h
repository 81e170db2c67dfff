/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address spaces as they were a moment ago. spaces.c knows them as they are now, for
 * programs that walk stacks now; a stack that was copied is walked later, when the process may
 * have run another program, or have ended. Used by one thread at a time.
 */
#ifndef RECORD_UNWIND_HISTORY_H
#define RECORD_UNWIND_HISTORY_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/base/cleanup.h"
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

/* For qsort(): by time. */
int unwind_op_compare(const void *a, const void *b);

struct unwind_history;

/* NULL: no memory. */
struct unwind_history *unwind_history_create(void);
/* Accepts NULL. */
void unwind_history_destroy(struct unwind_history *history);

/* Takes note of it; false where memory is short. */
bool unwind_history_add(struct unwind_history *history, const struct unwind_op *op);

/* Goes on to that time. What is added later and was earlier happens then. */
void unwind_history_advance(struct unwind_history *history, uint64_t time_ns);

/* What the process has at the address at that time, or NULL. */
const struct ebrec_unwind_mapping *unwind_history_find(const struct unwind_history *history,
						       uint32_t pid, uint64_t address);

#endif
