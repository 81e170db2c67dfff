/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address spaces as the BPF programs need them to walk a stack: which unwind table holds for an
 * address of a process. Follows what the snapshot, the side-band and the task records tell, in
 * order of time, and publishes what changed. Used by one thread at a time.
 */
#ifndef RECORD_UNWIND_SPACES_H
#define RECORD_UNWIND_SPACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/base/mapping.h"
#include "record/unwind/model.h"

struct ebrec_unwind_process;
struct ebrec_unwind_published;
struct unwind_spaces;

/* What is outside: tables, and the maps of the BPF programs. */
struct unwind_spaces_maps {
	/* The table of a mapping, or UNWIND_TABLE_*, and what to subtract from its addresses. */
	uint32_t (*table)(void *arg, const struct mapping *mapping, uint64_t *ret_bias);
	/* Shows programs an address space; entry NULL: none. False: there is no room. */
	bool (*publish)(void *arg, uint32_t pid, const struct ebrec_unwind_published *entry);
	/* What they made of that, and what they themselves know of a process; false: nothing. */
	bool (*published)(void *arg, uint32_t pid, struct ebrec_unwind_published *ret);
	bool (*own)(void *arg, uint32_t pid, struct ebrec_unwind_process *ret);
	/* The process has ended. */
	void (*remove)(void *arg, uint32_t pid);
	void *arg;
	/* An array of mappings that can be mapped: n, of which the first are not ours. */
	int mappings_fd;
	uint32_t first, n;
};

/* What happens now happens in the past later, which must live longer; or NULL. */
struct ebt_error *unwind_spaces_create(const struct unwind_spaces_maps *maps,
				       struct unwind_model *past, struct unwind_spaces **ret);
/* Accepts NULL. */
void unwind_spaces_destroy(struct unwind_spaces *spaces);
DEFINE_CLEANUP(struct unwind_spaces *, unwind_spaces_destroy);

/* What happened; applied, in order of time, by publish. */
struct ebt_error *unwind_spaces_tell(struct unwind_spaces *spaces, const struct unwind_op *op);
/* The same for OP_MAP. Finds or makes the file's table now. */
struct ebt_error *unwind_spaces_map(struct unwind_spaces *spaces, const struct mapping *mapping);

/* What was mapped at the time has been told, all of it; nothing else was. */
struct ebt_error *unwind_spaces_forget(struct unwind_spaces *spaces, uint32_t pid,
				       uint64_t time_ns);

/* Something was not told, and nobody knows of which process. */
void unwind_spaces_doubt(struct unwind_spaces *spaces);
/* Once a second: up to max processes which do not have as much code as is known, so that they have
 * to be looked at. Returns how many. */
size_t unwind_spaces_doubtful(struct unwind_spaces *spaces, uint32_t *pids, size_t max);

/* What the process has at the address, as far as it has been published; or NULL. */
const struct ebrec_unwind_mapping *unwind_spaces_find(const struct unwind_spaces *spaces,
						      uint32_t pid, uint64_t address);

struct ebt_error *unwind_spaces_publish(struct unwind_spaces *spaces, uint64_t now_ns);

/* How often mappings had no room, be it those of one process or all of them, so far. */
uint64_t unwind_spaces_full(const struct unwind_spaces *spaces);

#endif
