/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What slow requests do that fast ones do not: the critical path of each span of a mark, in the
 * thread where it began. The fast spans are the shorter half, the slow ones the longest 10 %, and
 * one at least. Prints nothing.
 */
#ifndef REPORT_WHY_REQUESTS_H
#define REPORT_WHY_REQUESTS_H

#include "report/base/names.h"
#include "report/marks/model_marks.h"
#include "report/why/model_why.h"

enum why_speed { WHY_FAST, WHY_SLOW, WHY_N_SPEEDS };

/* Of threads of one name. */
struct why_part {
	struct ebt_str comm;
	uint8_t kind;	 /* enum why_kind */
	uint8_t what;	 /* as in struct why_cause */
	uint32_t func;	 /* of the tree; WHY_NO_FUNC */
	uint32_t object; /* of the graph */
	uint64_t ns[WHY_N_SPEEDS];
};

struct why_requests {
	struct why_graph *graph;
	uint64_t n, p50_ns, p90_ns, p99_ns, max_ns;
	uint64_t max_at; /* CLOCK_MONOTONIC ns */
	uint64_t count[WHY_N_SPEEDS], ns[WHY_N_SPEEDS];
	uint64_t open; /* spans whose begin or end is not known, and which count nowhere */
	/* What each speed's parts add up to is the time of its spans, as far as that is within the
	 * time of which switches are known. */
	struct why_part *parts;
	size_t n_parts, capacity;
};

/* name: glob of marks. Spans of the present window of the trace, which must outlive it, as must
 * names. EBT_ERR_INVALID: there is none. */
struct ebt_error *why_requests_create(struct trace *trace, const struct names *names,
				      const char *name, struct why_requests **ret);
void why_requests_destroy(struct why_requests *requests);
DEFINE_CLEANUP(struct why_requests *, why_requests_destroy);

#endif
