/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What views.c and views_files.c share. */
#ifndef SYMBOLIZE_SPACES_VIEWS_PRIVATE_H
#define SYMBOLIZE_SPACES_VIEWS_PRIVATE_H

#include "symbolize/spaces/views.h"

#define VIEWS_NONE UINT32_MAX

/* A look at a process, or its birth. */
struct pid_event {
	uint64_t time;
	uint32_t view;	 /* VIEWS_NONE: that of its parent then */
	uint32_t parent; /* pid */
	uint32_t before; /* of the same pid, or VIEWS_NONE */
};

/* An embedded mountinfo, read when it is asked for. */
struct table_file {
	uint64_t ns, file_id;
	uint32_t pid; /* that it was read from */
	bool whole, tried;
	struct mount_table *mounts;
	char container[CONTAINER_ID_LEN + 1]; /* that it was made for, or "" */
};

struct views {
	struct ebt_reader *reader;
	const char *const *roots;
	struct storages *storages;
	uint64_t steps; /* taken to find views: bounded, whatever the trace holds */
	uint64_t host_ns;

	struct view *items;
	size_t n, capacity;
	struct pid_event *events;
	size_t n_events, events_capacity;
	uint32_t *newest; /* event of each pid */
	size_t n_pids, pids_capacity;
	struct ebt_map by_view, by_pid;
	struct ebt_map by_file; /* hash of path and build-id to views that had it mapped */

	struct table_file *tables; /* by namespace, the newest first */
	size_t n_tables, tables_capacity;
	struct view_fuse *fuse;
	size_t n_fuse, fuse_capacity;
	size_t n_bytes; /* of files that were read */
};

/* Lists mount tables and fuse-overlayfs processes. */
struct ebt_error *views_read_files(struct views *views);
void views_free_files(struct views *views);

#endif
