/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one process ran, and which executable mappings it had when: those that were inherited by
 * fork, those of the snapshot, and those of events. A mapping's interval ends where another mapping
 * is put over it, where the process runs another program, and where the process ends.
 */
#ifndef REPORT_PROCS_MODEL_MAPPINGS_H
#define REPORT_PROCS_MODEL_MAPPINGS_H

#include "report/procs/model_procs.h"
#include "report/trace/trace.h"

struct mapping_interval {
	uint64_t from_ns, to_ns; /* to 0: until the process ended, or beyond the trace */
	uint64_t start, length, pgoff, inode;
	uint32_t dev_major, dev_minor, prot;
	bool before;	/* it was there when it was looked at: since when is not known */
	bool inherited; /* from the process that it was forked from */
	char *path;
	char *build_id; /* hexadecimal; empty: none */
};

/* An exec. */
struct program_run {
	uint64_t time_ns;
	char *comm, *file, *cmdline; /* cmdline: a NUL behind each argument */
	size_t cmdline_len;
};

struct mappings {
	struct mapping_interval *intervals; /* in order of from_ns */
	size_t n, capacity;
	struct program_run *programs;
	size_t n_programs, program_capacity;
	bool more; /* there were more than are kept */
};

struct ebt_error *mappings_read(struct trace *trace, const struct procs *procs,
				const struct proc *proc, struct mappings *ret);
void mappings_deinit(struct mappings *mappings);

#endif
