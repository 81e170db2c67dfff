/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answer where this was built without SQLite. */
#include "report/sql/ask.h"

struct ebt_error *sql_run(struct report *report)
{
	(void)report;
	return ebt_error_create(
		EBT_ERR_UNSUPPORTED,
		"this ebreport was built without libsqlite3, so that it cannot "
		"answer SQL; `ebreport dump` and `ebreport export` print the same rows");
}
