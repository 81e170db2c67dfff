/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport why --what-if` and `--opportunities`: what changes would bring. */
#ifndef REPORT_WHY_WHAT_IF_H
#define REPORT_WHY_WHAT_IF_H

#include "report/base/names.h"
#include "report/cli/command.h"
#include "report/why/model_why.h"

/* Table `rows`. */
struct ebt_error *why_put_what_if(struct report *report, const struct why *why,
				  const struct names *names);

#endif
