/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address spaces as the BPF programs need them to walk a stack: which unwind table holds for an
 * address of a process. Follows what the snapshot, the side-band and the task records tell, in
 * order of time, and publishes what changed. Used by one thread at a time.
 */
#ifndef RECORD_UNWIND_SPACES_H
#define RECORD_UNWIND_SPACES_H

#include <stddef.h>
#include <stdint.h>

#include "buildid.h"
#include "cleanup.h"
#include "error.h"
#include "mapping.h"

struct ebrec_bpf;
struct unwind_history;
struct unwind_spaces;
struct unwind_tables;

/* Before the programs are loaded: sizes of the maps. */
void unwind_spaces_configure(struct ebrec_bpf *skel);

/* Skeleton and tables must live longer, and the history, which is told of everything; or NULL. */
struct ebt_error *unwind_spaces_create(const struct ebrec_bpf *skel, struct unwind_tables *tables,
				       struct unwind_history *history, struct unwind_spaces **ret);
/* Accepts NULL. */
void unwind_spaces_destroy(struct unwind_spaces *spaces);
DEFINE_CLEANUP(struct unwind_spaces *, unwind_spaces_destroy);

/* Makes the tables of a command that is going to be run. */
void unwind_spaces_expect(struct unwind_spaces *spaces, const char *command);

/* What happened; applied, in order of time, by publish. Finds or makes the file's table now. */
struct ebt_error *unwind_spaces_map(struct unwind_spaces *spaces, const struct mapping *mapping);
struct ebt_error *unwind_spaces_fork(struct unwind_spaces *spaces, uint32_t parent, uint32_t child,
				     uint64_t time_ns);
struct ebt_error *unwind_spaces_exec(struct unwind_spaces *spaces, uint32_t pid, uint64_t time_ns);
struct ebt_error *unwind_spaces_rename(struct unwind_spaces *spaces, uint32_t pid,
				       uint64_t time_ns);
struct ebt_error *unwind_spaces_exit(struct unwind_spaces *spaces, uint32_t pid, uint64_t time_ns);

/* What was mapped at the time has been told, all of it; nothing else was. */
struct ebt_error *unwind_spaces_forget(struct unwind_spaces *spaces, uint32_t pid,
				       uint64_t time_ns);

/* Something was not told, and nobody knows of which process. */
void unwind_spaces_doubt(struct unwind_spaces *spaces);
/* Once a second: up to max processes which do not have as much code as is known, so that they have
 * to be looked at. Returns how many. */
size_t unwind_spaces_doubtful(struct unwind_spaces *spaces, uint32_t *pids, size_t max);

struct ebt_error *unwind_spaces_publish(struct unwind_spaces *spaces, uint64_t now_ns);

/* Processes that could not be published for want of room, so far. */
uint64_t unwind_spaces_full(const struct unwind_spaces *spaces);

#endif
