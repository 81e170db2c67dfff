/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions in SQL to a trace, or several; none.c where this was built without SQLite. */
#ifndef REPORT_SQL_ASK_H
#define REPORT_SQL_ASK_H

#include "report/cli/command.h"

struct ebt_error *sql_run(struct report *report);

#endif
