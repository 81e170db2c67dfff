/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies a trace with the names of its addresses, and with stacks that are walked to their end. */
#ifndef REPORT_SHARE_NAMED_COPY_H
#define REPORT_SHARE_NAMED_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/edit/copy.h"
#include "report/cli/command.h"

struct named_copy;

/* Looks all names up; anew: without those that the trace has. The report must live longer. */
struct ebt_error *named_copy_create(struct report *report, bool anew, struct named_copy **ret);
/* Accepts NULL. */
void named_copy_destroy(struct named_copy *copy);

/* For a copy of the report's trace, without its destination. */
struct ebt_copy_options named_copy_options(struct named_copy *copy);

/* Behind the copy: places in files that have no name. */
uint64_t named_copy_unnamed(const struct named_copy *copy);
/* Warns where addresses have no name. */
struct ebt_error *named_copy_warn(const struct named_copy *copy);

#endif
