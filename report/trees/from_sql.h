/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks with weights that are no trace: what SQL answered (tab separated), or folded stacks. */
#ifndef REPORT_TREES_FROM_SQL_H
#define REPORT_TREES_FROM_SQL_H

#include <stdlib.h>

#include "report/stacks/model_calltree.h"

struct from_sql {
	struct calltree *tree; /* finished; of two weights, of the second */
	uint64_t lines;
	double *changes; /* by node: the second weight less the first; NULL: there is one */
	double *errors;	 /* by node: none */
};

static inline void from_sql_deinit(struct from_sql *s)
{
	calltree_destroy(s->tree);
	free(s->changes);
	free(s->errors);
}
#define _cleanup_from_sql_ __attribute__((cleanup(from_sql_deinit)))

/* path "-": standard input. A line that is wrong is EBT_ERR_CORRUPT, with its number. */
struct ebt_error *from_sql_read(const char *path, struct from_sql *ret);

#endif
