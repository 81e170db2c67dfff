/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport why --tree`: the time of the critical path by who waited for whom meanwhile. */
#ifndef REPORT_WHY_WHO_WAITS_H
#define REPORT_WHY_WHO_WAITS_H

#include "report/base/names.h"
#include "report/cli/command.h"
#include "report/why/model_why.h"

/* Table `rows`, a tree: below who waits stands who was waited for, threads of one name together. */
struct ebt_error *why_put_tree(struct report *report, const struct why *why,
			       const struct names *names);

#endif
