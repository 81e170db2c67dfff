/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the files in which programs name the code that they generate. They lie in places where
 * everybody may write, below roots that strangers make, so that nothing about them is believed
 * before it is looked at.
 */
#ifndef RECORD_SIDEBAND_PERFMAP_FILE_H
#define RECORD_SIDEBAND_PERFMAP_FILE_H

#include <linux/limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "record/base/mapping.h"

/* Who a process is to the files that it may have made. */
struct perfmap_owner {
	uint32_t inner;	  /* pid in its own pid namespace */
	uint32_t uids[4]; /* real, effective, saved, of the file system */
};

/* dir: of procfs_open(). False where the process has gone. */
bool perfmap_owner(int dir, struct perfmap_owner *ret);

/* The process's /tmp, as a handle that outlives it, or a negative errno. */
int perfmap_tmp(int dir);

/*
 * These return a handle that names the file also after it was deleted, or a negative errno: only
 * a regular file of the process's owner or root, and no link.
 */
int perfmap_open(int tmp, const struct perfmap_owner *owner, struct stat *ret);
int perfmap_open_dump(int dir, const struct perfmap_owner *owner, const struct mapping *mapping,
		      struct stat *ret);

/* Is the mapping that of a jitdump file? */
bool perfmap_is_dump(const struct mapping *mapping);

/* Is it memory whose code has no file, or none that others can see? */
bool perfmap_is_generated(const struct mapping *mapping);

/* Whether the content begins as such a file does. Nothing else is worth keeping, and none of what
 * somebody may have put in its place. */
bool perfmap_looks_right(bool dump, const char *content, size_t len);

#endif
