/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the snapshot share, and nobody else looks at. */
#ifndef RECORD_SNAPSHOT_STATE_H
#define RECORD_SNAPSHOT_STATE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/task_iter.h"
#include "buildid.h"
#include "buildid_map.h"
#include "keymap.h"
#include "snapshot.h"
#include "task_list.h"

/* Of something that could not be read: how often, and of whom and why the last time. */
struct unread {
	uint64_t n;
	uint32_t pid;
	int errnum;
};

struct snapshot_state {
	struct tasks *tasks;
	struct task_lister *lister;
	uint64_t last_file_id; /* see embed.h */

	struct buildid_cache *ids;
	struct buildid vdso;	  /* the image of this process */
	uint64_t pid_ns;	  /* of this process */
	struct keymap mnt_ns;	  /* mount namespaces, with root, whose mountinfo is stored */
	struct keymap vdsos;	  /* build-ids of vdso images that are stored */
	struct buildid_map files; /* mapped files, by what /proc/PID/maps says of them */

	struct mapping_listener listener;

	uint64_t taken, cost; /* the last time of all tasks: when, ns of CPU time */

	struct unread maps, build_ids; /* since the last row of lost */

	/* Later processes get a share of each second; see snapshot_process(). */
	uint64_t window, window_spent, window_skipped;
};

/* Stores the mount table seen through the process directory, unless it has been. */
struct ebt_error *snapshot_mountinfo(struct snapshot_state *state, struct ebt_stream *stream,
				     int dir, uint32_t pid, uint64_t mnt_ns, const char *root);

/* Rows of mmap for what the process has mapped executable at `time`. */
struct ebt_error *snapshot_maps(struct snapshot_state *state, struct ebt_stream *stream, int dir,
				uint32_t pid, uint64_t mnt_ns, uint64_t time);

#endif
