/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What could be made faster: programs, functions with what they call, kinds of waits, and files,
 * devices, locks and peers that were waited for, by how much of the critical path is theirs.
 */
#ifndef REPORT_WHY_CANDIDATES_H
#define REPORT_WHY_CANDIDATES_H

#include "report/base/names.h"
#include "report/why/replay.h"

#define WHY_MAX_CANDIDATES 20

struct why_candidate {
	enum why_change_of of;
	char *name; /* as it stands: no glob */
	uint64_t ns;
};

/* Those of each sort with most of the path. Functions that are most of their threads' time
 * are left out, as main(), and those of the kernel. *n: how many. */
struct ebt_error *why_candidates_find(const struct why *why, const struct names *names,
				      struct why_candidate ret[WHY_MAX_CANDIDATES], size_t *n);
void why_candidates_deinit(struct why_candidate *list, size_t n);

#endif
