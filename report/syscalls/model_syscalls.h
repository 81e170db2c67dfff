/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls counted: by call, and by process or thread and call. Durations go into histograms,
 * so that memory depends on the number of keys, not of rows. Prints nothing.
 */
#ifndef REPORT_SYSCALLS_MODEL_SYSCALLS_H
#define REPORT_SYSCALLS_MODEL_SYSCALLS_H

#include "report/base/histogram.h"
#include "report/base/names.h"
#include "report/base/span_set.h"
#include "report/trace/trace.h"

enum syscall_grouping { SYSCALLS_BY_CALL, SYSCALLS_BY_PROCESS, SYSCALLS_BY_THREAD };

struct syscall_stat {
	uint32_t group; /* index in groups; 0 in SYSCALLS_BY_CALL */
	uint32_t nr;
	bool compat;
	uint64_t errors, max_at_ns; /* when the longest one returned */
	struct histogram time;
};

/* A process or a thread; all of its calls together. */
struct syscall_group {
	const struct ebt_task *task; /* one of its tasks; NULL: not known, or SYSCALLS_BY_CALL */
	struct syscall_stat all;
};

struct syscall_errno {
	uint32_t nr, errnum;
	bool compat;
	uint64_t count;
};

struct syscall_model;

/* Only calls that touch these spans, which are merged, and of each the part that is in them. */
struct syscall_within {
	const struct span_set *spans;
	/* Gets each of these calls as it was; or NULL. */
	struct ebt_error *(*call)(void *arg, const struct ebt_row *row);
	void *arg;
};

/* Reads the rows that pass the filters. within: NULL for all. */
struct ebt_error *syscall_model_create(struct trace *trace, enum syscall_grouping grouping,
				       const struct syscall_within *within,
				       struct syscall_model **ret);
void syscall_model_destroy(struct syscall_model *model);
DEFINE_CLEANUP(struct syscall_model *, syscall_model_destroy);

/* In order of first appearance. These belong to the model. */
const struct syscall_stat *syscall_model_stats(const struct syscall_model *model, size_t *ret_n);
const struct syscall_group *syscall_model_groups(const struct syscall_model *model, size_t *ret_n);
const struct syscall_errno *syscall_model_errnos(const struct syscall_model *model, size_t *ret_n);

/* Where the trace has none: how to record them. */
struct ebt_error *syscall_model_warn_none(struct trace *trace);

#endif
