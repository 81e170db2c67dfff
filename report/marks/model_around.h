/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happened during marks: where the time of threads went, which system calls they made, page
 * faults and disk requests, all together and for the longest marks one by one. Everything counts as
 * far as it lies in a mark, and once where marks of the same thread (process, system) overlap.
 */
#ifndef REPORT_MARKS_MODEL_AROUND_H
#define REPORT_MARKS_MODEL_AROUND_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/map.h"
#include "report/base/span_set.h"
#include "report/marks/model_marks.h"
#include "report/sched/model_wall.h"
#include "report/syscalls/model_syscalls.h"

/* Marks one by one, at most. */
#define AROUND_MAX_SLOWEST 1000

struct around_options {
	enum span_scope scope;
	uint32_t slowest;  /* so many of the longest one by one */
	bool figures_only; /* nobody looks at the stacks */
};

/* All marks together. */
struct around_sum {
	uint64_t marks, sum_ns, max_ns;
	uint64_t instants;   /* that are no spans, and count nowhere */
	uint64_t unowned;    /* spans that no thread is known of, but for SPAN_OF_SYSTEM */
	uint64_t covered_ns; /* their time, once where they overlap */
	uint64_t threads;    /* that did something meanwhile */
	uint64_t threads_ns; /* what of their lives is in marks */
	uint64_t ns[WALL_N_KINDS], samples;
};

enum around_event { AROUND_MINOR_FAULT, AROUND_MAJOR_FAULT, AROUND_BLOCK_IO, AROUND_N_EVENTS };

struct around_events {
	uint64_t count, ns, bytes;
};

/* One of the longest. Names belong to the model. */
struct around_slow {
	size_t mark; /* of marks_at() */
	uint64_t ns[WALL_N_KINDS], samples;
	const char *function; /* that most samples ended in; NULL: there are none */
	uint64_t function_samples;
	const char *blocked_in; /* the function that called for most of the time off CPU; or NULL */
	uint64_t blocked_ns;
	uint64_t calls, calls_ns; /* system calls */
	uint32_t top_nr;	  /* that took the most time; where top_ns is not 0 */
	bool top_compat;
	uint64_t top_ns;
};

/* For each of a few owners, which of many things weighs most. */
struct tally {
	struct tally_entry {
		uint32_t owner;
		uint64_t what, weight;
	} * entries;
	size_t n, capacity;
	struct ebt_map at;
};

struct around {
	struct trace *trace;
	const struct marks *marks;
	struct around_options options;
	uint64_t from, to;	     /* in which switches are known */
	struct span_set *all;	     /* merged */
	struct span_set *each;	     /* the longest, by their number */
	struct around_slow *slowest; /* the longest first */
	uint32_t n_slowest;
	struct tally functions, blocked, calls; /* by mark of slowest */
	struct wall *wall;
	struct syscall_model *syscalls;
	struct around_events events[AROUND_N_EVENTS];
	struct around_sum sum;
};

/* The trace and the marks must outlive the model. */
struct ebt_error *around_create(struct trace *trace, const struct marks *marks,
				const struct around_options *options, struct around **ret);
void around_destroy(struct around *around);
DEFINE_CLEANUP(struct around *, around_destroy);

#endif
