/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a copy of a part (`ebreport cut`) says of itself in `meta`: lists of numbers. */
#ifndef REPORT_TRACE_CUT_LISTS_H
#define REPORT_TRACE_CUT_LISTS_H

#include "format/read/reader.h"
#include "report/cli/options.h"

/* It is of these processes: reports take them as if --pid had been given. */
#define CUT_PIDS "cut.pids"
/* Ids of tables of which the whole had rows. */
#define CUT_TABLES "cut.tables"
/* Of tables that lost rows, how many rows the whole had: "ID:ROWS,ID:ROWS". */
#define CUT_ROWS "cut.rows"

/* ret->n is 0 where there is no such list; free ret->v with free(). */
struct ebt_error *cut_list_read(struct ebt_reader *reader, const char *key,
				struct option_u32s *ret);

#endif
