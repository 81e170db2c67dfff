/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Build-ids of ELF files, for a recorder that runs as root over files made by anyone: regular
 * files only, read with pread, every offset checked, nothing but notes looked at.
 */
#ifndef RECORD_BASE_BUILDID_H
#define RECORD_BASE_BUILDID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

#define BUILDID_MAX 64u

struct buildid {
	uint8_t len; /* 0: none */
	uint8_t bytes[BUILDID_MAX];
};

/* Returns false where there is none, or this is no ELF file. */
bool buildid_of_memory(const void *image, size_t len, struct buildid *ret);
/* Never blocks: whatever is not a regular file has none. */
bool buildid_of_fd(int fd, struct buildid *ret);
/* The note section as such, /sys/kernel/notes. */
bool buildid_of_notes(const void *notes, size_t len, struct buildid *ret);

/* Files that have been looked at, by device, inode, size and time of change. */
struct buildid_cache;

struct ebt_error *buildid_cache_create(struct buildid_cache **ret);
/* Accepts NULL. */
void buildid_cache_destroy(struct buildid_cache *cache);

/* Returns 0, or a negative errno where it cannot be read (gone, no permission); a file without
 * build-id, or what is no regular file, gives len 0. Never blocks on a FIFO or a device. */
int buildid_of_path(struct buildid_cache *cache, const char *path, struct buildid *ret);

/* The same for the path as this process sees it, if it is that inode; else -ENOENT. */
int buildid_of_inode(struct buildid_cache *cache, const char *path, uint32_t dev_major,
		     uint32_t dev_minor, uint64_t inode, struct buildid *ret);

/* The same for the file that the process has mapped at start to end. */
int buildid_of_mapping(struct buildid_cache *cache, uint32_t pid, uint64_t start, uint64_t end,
		       struct buildid *ret);

#endif
