/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mount tables: one a mount namespace and root, and again when one has changed. The kernel tells of
 * a change only who keeps the table open, and that would keep the namespace and all its mounts
 * alive. So a table is read again when a process of its namespace runs a program, which is what
 * mounting ends with, and when the recording ends. The event of the program says whether something
 * was mounted or unmounted since; where nothing was, a folder above a mount point may have been
 * renamed, for which it is read again when that has not been done for a second.
 */
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "record/base/clocks.h"
#include "record/base/procfs.h"
#include "record/sideband/containers.h"
#include "record/sideband/snapshot_state.h"

/* A host of thousands of containers has some 100,000 mounts, of 200 bytes. */
#define MAX_MOUNTINFO (32u << 20)
/* More mount namespaces than this are not stored. */
#define MAX_MNT_NS 4096u
/* Of one namespace. Where containers come and go, the host's table changes all the time; the last
 * one is stored in any case. */
#define MAX_VERSIONS 16u
/* All tables together, but for the first of each namespace. */
#define MAX_CHANGES (64u << 20)

/* Reading a table again takes at most 0.3 % of the time, and not more often than this. */
#define CHECK_SHARE 300u
#define CHECK_EVERY 50000000u
/* Those of which nothing says so take 0.3 % together, and each not more often than this. */
#define CHECK_OLD 1000000000u

/* A mount table as seen from a root. */
struct mount_view {
	uint64_t mnt_ns;
	char *root;
	uint32_t pid;			/* who sees it so, or did */
	uint32_t told;			/* who does by what its exec said; nobody has looked */
	bool dirty;			/* it may have changed since */
	uint64_t mounts, stored_mounts; /* number of its latest change; when it was read last */
	uint64_t hash;
	uint64_t next_check, old_at; /* not before; from when on it may have changed unnoticed */
	unsigned int versions;
};

void snapshot_mounts_deinit(struct snapshot_state *state)
{
	for (size_t i = 0; i < state->n_views; i++)
		free(state->views[i].root);
	free(state->views);
	keymap_deinit(&state->mnt_ns);
}

/* Reads the table and stores it if it is not the one that is known. */
static struct ebt_error *store(struct snapshot_state *state, int dir, struct mount_view *view)
{
	_cleanup_error_ struct ebt_error *unreadable = NULL;
	_cleanup_free_ char *content = NULL;
	const uint64_t begin = clocks_now(), mounts = view->mounts;
	char path[64];
	size_t len;
	struct embed_file file = {
		.role = "mountinfo",
		.path = path,
		.sensitivity = EBT_V_file_sensitivity_host,
		.pid = view->pid,
		.ns = view->mnt_ns,
	};
	struct ebt_error *err;
	uint64_t hash, cost;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/mountinfo", dir);
	unreadable = procfs_slurp(path, MAX_MOUNTINFO, &content, &len, &file.truncated);
	cost = (clocks_now() - begin) * CHECK_SHARE;
	view->next_check = begin + (cost < CHECK_EVERY ? CHECK_EVERY : cost);
	cost *= state->n_views;
	view->old_at = begin + (cost < CHECK_OLD ? CHECK_OLD : cost);
	if (unreadable || !len)
		return NULL; /* it has gone; the next process of the namespace will do */
	view->dirty = false;
	view->stored_mounts = mounts;
	hash = ebt_hash_bytes(0, content, len);
	if (view->versions && (hash == view->hash || len > MAX_CHANGES - state->mounts_changed))
		return NULL;
	if (view->versions++)
		state->mounts_changed += len;
	view->hash = hash;
	if (view->mnt_ns != state->own_mnt_ns) {
		state->containers_due = state->foreign = true;
		err = containers_see_mounts(state->containers, content, len);
		if (err)
			return err;
	}
	snprintf(path, sizeof(path), "/proc/%u/mountinfo", view->pid);
	return embed_bytes(state->context, &file, content, len);
}

static struct ebt_error *add_view(struct snapshot_state *state, int dir, struct mount_view first,
				  const void *key, size_t key_len)
{
	struct mount_view *view;

	if (state->n_views == MAX_MNT_NS)
		return NULL;
	if (ebt_array_reserve(&state->views, state->n_views, &state->views_capacity))
		return &ebt_enomem;
	first.root = strdup(first.root);
	if (!first.root || !keymap_put(&state->mnt_ns, key, key_len, state->n_views)) {
		free(first.root);
		return &ebt_enomem;
	}
	view = &state->views[state->n_views++];
	*view = first;
	return store(state, dir, view);
}

struct ebt_error *snapshot_mountinfo(struct snapshot_state *state, int dir,
				     const struct mount_viewer *viewer)
{
	const struct mount_view first = {
		.mnt_ns = viewer->mnt_ns,
		.pid = viewer->pid,
		.root = (char *)viewer->root,
		.mounts = viewer->mounts,
	};
	const size_t root_len = strnlen(viewer->root, PATH_MAX);
	char key[sizeof(viewer->mnt_ns) + PATH_MAX];
	struct mount_view *view;
	uint64_t i;

	/* Where the root is not that of the namespace, only what is below it is to be seen. */
	memcpy(key, &viewer->mnt_ns, sizeof(viewer->mnt_ns));
	memcpy(key + sizeof(viewer->mnt_ns), viewer->root, root_len);
	if (!viewer->mnt_ns || !root_len)
		return NULL;
	if (keymap_find(&state->mnt_ns, key, sizeof(viewer->mnt_ns) + root_len, &i))
		*(dir < 0 ? &state->views[i].told : &state->views[i].pid) = viewer->pid;
	else if (!keymap_find(&state->mnt_ns, key, sizeof(viewer->mnt_ns) + 1, &i))
		return dir < 0 ? NULL
			       : add_view(state, dir, first, key,
					  sizeof(viewer->mnt_ns) + root_len);
	view = &state->views[i];
	view->mounts = viewer->mounts;
	if (!view->versions && dir >= 0)
		return store(state, dir, view);
	view->dirty |= !viewer->mounts || viewer->mounts != view->stored_mounts ||
		       clocks_now() >= view->old_at;
	return NULL;
}

/* A folder of /proc of somebody who sees the table so; -1: there is none. */
static int open_viewer(const struct mount_view *view, uint32_t pid)
{
	_cleanup_close_ int dir = pid ? procfs_open(pid) : -1;
	char root[PATH_MAX];

	if (dir < 0 || procfs_ns(dir, "ns/mnt") != view->mnt_ns ||
	    procfs_link(dir, "root", root, sizeof(root)) < 0 || strcmp(root, view->root))
		return -1;
	return take_fd(&dir);
}

struct ebt_error *snapshot_mounts_again(struct snapshot_state *state, bool last)
{
	const uint64_t now = clocks_now();
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < state->n_views && !err; i++) {
		struct mount_view *view = &state->views[i];
		_cleanup_close_ int dir = -1;

		if (!last &&
		    (!view->dirty || now < view->next_check || view->versions >= MAX_VERSIONS))
			continue;
		dir = open_viewer(view, view->pid);
		if (dir < 0)
			dir = open_viewer(view, view->told);
		if (dir < 0)
			dir = open_viewer(view, (uint32_t)getpid());
		if (dir < 0) /* the next process of the namespace will tell */
			view->dirty = false;
		else
			err = store(state, dir, view);
	}
	return err;
}
