/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport wall --per-thread`: a flame graph, folded stacks and figures of each thread, and a line
 * for each in summary.txt, as files. */
#ifndef REPORT_SCHED_WALL_FILES_H
#define REPORT_SCHED_WALL_FILES_H

#include "report/base/names.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/sched/model_wall.h"

/* The model's tree is by thread. Makes the folder if it is not there; files that are there are
 * replaced if `force`, else EBT_ERR_INVALID. Names what it wrote through the report's output. */
struct ebt_error *wall_write_files(struct report *report, const struct wall *wall,
				   const struct names *names, const char *folder, bool force);

/* Lines `frame;frame_[c] ns` and `frame;frame_[o] ns`: what flamegraph.pl and others read. Below
 * `top`, which is not named. */
struct ebt_error *wall_write_folded(FILE *f, const struct wall *wall, uint32_t top);

#endif
