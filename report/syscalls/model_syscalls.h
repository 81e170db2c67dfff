/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls counted, by call. Durations go into histograms, so that memory depends on the number
 * of calls that there are, not of rows. Prints nothing.
 */
#ifndef REPORT_SYSCALLS_MODEL_SYSCALLS_H
#define REPORT_SYSCALLS_MODEL_SYSCALLS_H

#include "report/base/histogram.h"
#include "report/base/span_set.h"
#include "report/trace/trace.h"

/* All zero: none. */
struct syscall_sum {
	uint64_t errors, max_at_ns; /* when the longest one returned */
	struct histogram time;
};

/* The duration of a row may be a part of it. */
struct ebt_error *syscall_sum_add(struct syscall_sum *sum, const struct ebt_row *row,
				  uint64_t duration);
struct ebt_error *syscall_sum_merge(struct syscall_sum *to, const struct syscall_sum *from);

struct syscall_stat {
	uint32_t nr;
	bool compat;
	struct syscall_sum sum;
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
struct ebt_error *syscall_model_create(struct trace *trace, const struct syscall_within *within,
				       struct syscall_model **ret);
void syscall_model_destroy(struct syscall_model *model);
DEFINE_CLEANUP(struct syscall_model *, syscall_model_destroy);

/* In order of first appearance; they belong to the model. */
const struct syscall_stat *syscall_model_stats(const struct syscall_model *model, size_t *ret_n);

/* What tells calls apart: number and ABI of a row. */
static inline uint64_t syscall_key(uint32_t nr, bool compat)
{
	return (uint64_t)nr << 1 | compat;
}

/* Where the trace has none: how to record them. */
struct ebt_error *syscall_model_warn_none(struct trace *trace);

#endif
