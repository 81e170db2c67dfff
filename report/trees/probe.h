/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes by the names that users have for them, to choose rows of probe_hit: as they are written
 * for `ebrec -e`, without arguments, and the shorter without what comes before a name.
 */
#ifndef REPORT_TREES_PROBE_H
#define REPORT_TREES_PROBE_H

#include <stdbool.h>
#include <stdlib.h>

#include "format/base/map.h"
#include "report/base/text.h"
#include "report/trace/trace.h"

/* All zero: no probe was named. */
struct tree_probes {
	char *title; /* "tp:block:block_rq_issue"; what was asked for, where it stands for several
		      */
	struct ebt_map numbers; /* of those that are meant */
	bool calls;		/* some are of functions, from entry to return */
};

static inline void tree_probes_deinit(struct tree_probes *probes)
{
	free(probes->title);
	ebt_map_deinit(&probes->numbers);
}

/* want: one spelling, or a glob of several. *ret stays as it is where no probe is meant. */
struct ebt_error *tree_probes_find(struct trace *trace, const char *want, struct tree_probes *ret);

/* For who meant something else: appends ", NAME" for each probe of the trace, or how many more
 * there are, and to near what is spelled nearly so, if it is nearer than *distance. */
struct ebt_error *tree_probes_list(struct trace *trace, const char *want, struct text *names,
				   struct text *near, size_t *distance);

#endif
