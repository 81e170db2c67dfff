/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The containers that processes of a trace were in. */
#ifndef REPORT_PROCS_CONTAINERS_H
#define REPORT_PROCS_CONTAINERS_H

#include "format/base/map.h"
#include "report/cli/command.h"
#include "symbolize/spaces/storage.h"

struct proc_container {
	char id[CONTAINER_ID_LEN + 1];
	char *name, *image; /* empty: not known */
	uint32_t *pids;	    /* of processes that are described, in order of appearance */
	size_t n_pids, capacity;
	bool more; /* there are others */
};

struct proc_containers {
	struct proc_container *items; /* in order of appearance */
	size_t n, capacity;
	struct ebt_map by_task; /* ebt_task.id of first threads */
};

struct ebt_error *proc_containers_collect(struct ebt_reader *reader, struct proc_containers *ret);
void proc_containers_deinit(struct proc_containers *containers);

/* The container that the process of this first thread was seen in first; NULL: none that is known.
 */
const struct proc_container *proc_containers_of(const struct proc_containers *containers,
						const struct ebt_task *task);

/* As a table; nothing at all for people where there is none. */
struct ebt_error *proc_containers_put(const struct proc_containers *containers, struct out *out);

#endif
