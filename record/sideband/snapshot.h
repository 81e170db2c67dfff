/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was there: the host, its processes and threads, their address spaces and mount tables.
 * Taken when side-band and task events are on already, so that whatever changes meanwhile is
 * seen by one or the other.
 */
#ifndef RECORD_SIDEBAND_SNAPSHOT_H
#define RECORD_SIDEBAND_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/sideband/context.h"

struct kernel_symbols;
struct program;
struct snapshot_state;

/* What has been stored already (mount tables, build-ids). */
struct ebt_error *snapshot_create(struct sideband_context *context, struct snapshot_state **ret);
/* Accepts NULL. */
void snapshot_destroy(struct snapshot_state *state);
DEFINE_CLEANUP(struct snapshot_state *, snapshot_destroy);

/* Who is there, to tasks alone, no rows: before events begin, for tasks that end right after. */
struct ebt_error *snapshot_learn(struct snapshot_state *state);

/* The host: meta rows host.*, and files: kernel notes, os-release, cpuinfo, the
 * recorder's mountinfo, the vdso. */
struct ebt_error *snapshot_host(struct snapshot_state *state);

/* The kernel's functions: files kallsyms and modules. Waits until they have been read. */
struct ebt_error *snapshot_kernel(struct snapshot_state *state, struct kernel_symbols *symbols);

/*
 * All tasks of the machine go to tasks; those of processes that are recorded to rows of process
 * and thread, with executable mappings and, once a mount namespace, its mountinfo. Processes
 * that vanish meanwhile are not errors; what cannot be read is counted in a row of lost.
 */
struct ebt_error *snapshot_tasks(struct snapshot_state *state);

/*
 * The same at the start of a later epoch, for readers that lack what came before. Does nothing
 * while that would cost more than 1 % of the time since the last one. What cannot be read has
 * been counted the first time.
 */
struct ebt_error *snapshot_again(struct snapshot_state *state);

/*
 * What threads that are still there have used until now: rows of thread, at the end. About 1 us a
 * thread, and half a second at most to ask processes for the memory that they had.
 */
struct ebt_error *snapshot_end(struct snapshot_state *state);

/* What a process has mapped executable, which is read again: rows of mmap at *ret_time. */
struct ebt_error *snapshot_mappings(struct snapshot_state *state, uint32_t pid, uint64_t *ret_time);

/*
 * A process that appeared later: its row of process at time_ns, and the mount table of its mount
 * namespace if that is new. Rate-bounded. A process that is gone is counted in a row of lost.
 */
struct ebt_error *snapshot_process(struct snapshot_state *state, uint32_t pid, uint64_t time_ns);

/*
 * The same of one that runs a program, which always gets a row: ids and namespaces are known. /proc
 * is read where no process alike has been in the last second; what becomes known so is told to the
 * BPF programs (map known_programs).
 */
struct ebt_error *snapshot_program(struct snapshot_state *state, const struct program *program);

/*
 * What has changed since: mount tables of namespaces in which programs were run, and, where a
 * process is in a mount namespace of its own, what is known of containers. Called ten times a
 * second, cheap. last: the recording ends, and all are looked at.
 */
struct ebt_error *snapshot_changes(struct snapshot_state *state, bool last);

#endif
