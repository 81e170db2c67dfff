/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the snapshot share, and nobody else looks at. */
#ifndef RECORD_SIDEBAND_SNAPSHOT_STATE_H
#define RECORD_SIDEBAND_SNAPSHOT_STATE_H

#include <linux/limits.h>
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

	/* See snapshot_programs.c. */
	uint64_t window, window_spent, window_skipped, window_late;
	struct keymap alike_keys; /* struct ebrec_facts_key: which of alike */
	struct alike *alike;
	size_t n_alike, alike_capacity;
};

/* As the exec event has them. */
#define MAX_CMDLINE 4096u
/* Sixteen hierarchies of cgroup v1 with long names; cgroup v2 has one line. */
#define MAX_CGROUP 8192u

/* A row of process, as it is put together. Texts that are not known are NULL or empty. */
struct process_row {
	uint32_t pid, ppid, uid;
	bool kernel;
	uint64_t mnt_ns, pid_ns, net_ns, user_ns, cgroup_ns; /* 0: not known */
	uint64_t mounts; /* number of the mount table's latest change; 0: not known */
	char nspid[128];
	const char *exe, *root, *cgroup;
	const char *cmdline;
	size_t cmdline_len;
};

/* Where texts of a row are that are read. */
struct process_texts {
	char exe[PATH_MAX], root[PATH_MAX], cgroup[MAX_CGROUP], cmdline[MAX_CMDLINE + 1];
};

/* Fills in namespaces and texts, which stay in texts; nspid where it is empty. What cannot be read
 * is not known. */
void snapshot_read_process(const struct snapshot_state *state, int dir, struct process_row *row,
			   struct process_texts *texts);

/* Writes the row, and the mount table where that is new. dir -1: /proc was not looked at. */
struct ebt_error *snapshot_add_process(struct snapshot_state *state, int dir,
				       const struct process_row *p, uint64_t time);
void snapshot_programs_deinit(struct snapshot_state *state);
/* A new second begins, or the recording ends: rows of lost for the processes that the last one left
 * out or was too late for. */
struct ebt_error *snapshot_tell_skipped(struct snapshot_state *state, uint64_t now);

/* A row of lost, of table process. */
struct ebt_error *snapshot_lost(const struct snapshot_state *state, uint32_t reason, uint64_t from,
				uint64_t count, const char *detail);

/* CPU time of this thread, whoever else runs; ns. */
uint64_t snapshot_cpu_time(void);

/* Who sees a mount table, and from which root. */
struct mount_viewer {
	uint32_t pid;
	uint64_t mnt_ns;
	uint64_t mounts; /* number of the table's latest change; 0: not known */
	const char *root;
};

/* Stores the mount table seen through the process directory, unless it has been; then it is read
 * again before long where it may have changed. dir -1: not now, but it is noted who can see it. */
struct ebt_error *snapshot_mountinfo(struct snapshot_state *state, int dir,
				     const struct mount_viewer *viewer);

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
