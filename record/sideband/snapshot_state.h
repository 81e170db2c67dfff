/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the snapshot share, and nobody else looks at. */
#ifndef RECORD_SIDEBAND_SNAPSHOT_STATE_H
#define RECORD_SIDEBAND_SNAPSHOT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/base/keymap.h"
#include "record/base/task_list.h"
#include "record/sideband/snapshot.h"

/* Of something that could not be read: how often, and of whom and why the last time. */
struct unread {
	uint64_t n;
	uint32_t pid;
	int errnum;
};

struct snapshot_state {
	struct sideband_context *context;
	struct task_lister lister;

	struct buildid_map ids;
	struct buildid vdso;	  /* the image of this process */
	uint64_t pid_ns;	  /* of this process */
	struct keymap mnt_ns;	  /* mount namespaces, with root: which of the views */
	struct keymap vdsos;	  /* build-ids of vdso images that are stored */
	struct buildid_map files; /* mapped files, by what /proc/PID/maps says of them */

	/* See snapshot_mounts.c. */
	struct mount_view *views;
	size_t n_views, views_capacity;
	uint64_t mounts_changed; /* bytes of tables that were stored again */
	uint64_t own_mnt_ns;
	struct containers *containers;
	bool foreign;		/* a process in a mount namespace of its own has been seen */
	bool containers_due;	/* one that may be a container has come since they were collected */
	uint64_t containers_at; /* not before */

	uint64_t taken, cost; /* the last time of all tasks: when, ns of CPU time */

	struct unread maps, build_ids; /* since the last row of lost */

	/* Later processes get a share of each second; see snapshot_process(). */
	uint64_t window, window_spent, window_skipped;
};

/* Stores the mount table seen through the process directory, unless it has been; then it is read
 * again before long. */
struct ebt_error *snapshot_mountinfo(struct snapshot_state *state, int dir, uint32_t pid,
				     uint64_t mnt_ns, const char *root);

/* Stores tables that may have changed, and have. last: looks at all. */
struct ebt_error *snapshot_mounts_again(struct snapshot_state *state, bool last);
void snapshot_mounts_deinit(struct snapshot_state *state);

/* Rows of thread, n of a process, and of ended_threads where its first thread knows of any. */
struct ebt_error *snapshot_threads(struct ebt_stream *stream, const struct ebrec_task *tasks,
				   size_t n, const struct ebrec_task *first, uint64_t time);

/* Rows of mmap for what the process has mapped executable at `time`. */
struct ebt_error *snapshot_maps(struct snapshot_state *state, int dir, uint32_t pid,
				uint64_t mnt_ns, uint64_t time);

#endif
