/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How processes of a trace saw files: by their mount namespace, their root, their container. And
 * which of these views had a file mapped, so that its path can be understood.
 */
#ifndef SYMBOLIZE_SPACES_VIEWS_H
#define SYMBOLIZE_SPACES_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "symbolize/elf/elffile.h"
#include "symbolize/spaces/mountinfo.h"
#include "symbolize/spaces/storage.h"

/* Views of one file that are looked at. */
#define VIEWS_MAX 16

struct view {
	uint64_t mnt_ns;      /* 0: not known */
	const char *root;     /* of the process in its namespace: "/", or where it did chroot() */
	char *container;      /* id, or "" */
	const char *root_dir; /* where the user says that its files are here, or NULL */
};

/* A recorded mount table. */
struct view_table {
	uint64_t ns;
	bool whole; /* of a process with the namespace's own root */
	const struct mount_table *mounts;
	const char *container; /* that files bound over others are of, or "" */
};

/* A running fuse-overlayfs. */
struct view_fuse {
	uint64_t ns;
	const char *point; /* where it is mounted, in that namespace */
	struct layers layers;
};

struct views;

/* roots: "CONTAINER=DIR" or "PID=DIR", NULL-terminated, which must live longer; or NULL. */
struct ebt_error *views_create(struct ebt_reader *reader, const char *const *roots,
			       struct views **ret);
/* Accepts NULL. */
void views_destroy(struct views *views);

/* Views that had the file mapped; ret has room for VIEWS_MAX. */
size_t views_of(const struct views *views, const char *path, const struct sym_build_id *id,
		const struct view **ret);

/* The next mount table of a namespace, newest first; *at is 0 for the first. NULL: no more. */
struct ebt_error *views_table(struct views *views, uint64_t ns, size_t *at, struct view_table *ret);

/* The mount namespace that recorded paths of hosts are of. */
uint64_t views_host_ns(const struct views *views);

const struct view_fuse *views_fuse(const struct views *views, size_t *ret_n);
const struct storages *views_storages(const struct views *views);

#endif
