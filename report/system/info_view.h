/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `ebreport info` shows, for cmd_info.c and info_json.c. */
#ifndef REPORT_SYSTEM_INFO_VIEW_H
#define REPORT_SYSTEM_INFO_VIEW_H

#include "report/cli/command.h"
#include "report/system/info.h"
#include "report/procs/containers.h"

struct info_view {
	struct report *report;
	struct out *out;
	const struct ebt_reader_info *file;
	struct info info;
	struct info_frames frames;
	bool have_frames;
	struct proc_containers containers;
};

/* The members of the JSON object that are no tables. */
struct ebt_error *info_json(struct info_view *v);

/* 8-4-4-4-12 hexadecimal digits. */
void info_format_uuid(const uint8_t *uuid, char ret[40]);

#endif
