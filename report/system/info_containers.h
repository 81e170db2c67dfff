/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The containers that processes of a trace were in. */
#ifndef REPORT_SYSTEM_INFO_CONTAINERS_H
#define REPORT_SYSTEM_INFO_CONTAINERS_H

#include "report/base/index_map.h"
#include "report/cli/command.h"
#include "symbolize/spaces/storage.h"

struct info_container {
	char id[CONTAINER_ID_LEN + 1];
	char *name, *image; /* empty: not known */
	uint32_t *pids;	    /* of processes that are described, in order of appearance */
	size_t n_pids;
	bool more; /* there are others */
};

struct info_containers {
	struct info_container *items; /* in order of appearance */
	size_t n;
	struct index_map by_task; /* ebt_task.id of first threads */
};

struct ebt_error *info_containers_collect(struct ebt_reader *reader, struct info_containers *ret);
void info_containers_deinit(struct info_containers *containers);

/* The container that the process of this first thread was seen in first; NULL: none that is known.
 */
const struct info_container *info_containers_of(const struct info_containers *containers,
						const struct ebt_task *task);

/* As a table; nothing at all for people where there is none. */
struct ebt_error *info_containers_put(const struct info_containers *containers, struct out *out);

#endif
