/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands share that write a scrubbed copy: scrub, share. */
#ifndef REPORT_SHARE_SCRUB_COPY_H
#define REPORT_SHARE_SCRUB_COPY_H

#include "format/base/error.h"
#include "format/edit/copy.h"
#include "report/cli/command.h"
#include "report/share/scrub.h"

/* --keep, --keep-file, --drop. */
extern const struct option_def scrub_options[];
struct ebt_error *scrub_read_options(const struct options *options, struct scrub_options *ret);

struct scrub_copy {
	struct report *report;
	struct ebt_reader *reader; /* what is copied */
	struct scrub *scrub;	   /* of that */
};

/* For a copy of the reader's trace, without its destination. */
struct ebt_copy_options scrub_copy_options(struct scrub_copy *copy);

#endif
