/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport why --request`: what slow spans of a mark do that fast ones do not. */
#ifndef REPORT_WHY_REQUESTS_TABLE_H
#define REPORT_WHY_REQUESTS_TABLE_H

#include "report/base/names.h"
#include "report/cli/command.h"

/* Table `rows`; in JSON an object `requests` before it. */
struct ebt_error *why_put_requests(struct report *report, const struct names *names,
				   const char *name);

#endif
