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

#include "record/base/keymap.h"

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

/* Build-ids by a key of bytes. Bounded: what comes after `max` keys is not remembered. */
struct buildid_map {
	struct keymap keys; /* to an index of ids */
	struct buildid *ids;
	size_t capacity, max;
};

/* Accepts a map that is all zero. */
void buildid_map_deinit(struct buildid_map *map);
bool buildid_map_find(const struct buildid_map *map, const void *key, size_t len,
		      struct buildid *ret);
/* Adds or replaces. What there is no memory for is not remembered either. */
void buildid_map_put(struct buildid_map *map, const void *key, size_t len,
		     const struct buildid *id);

/* Distinct files that a cache has room for: by device, inode, size and time of change. */
#define BUILDID_MAX_FILES 65536u

/* Returns 0, or a negative errno where it cannot be read (gone, no permission); a file without
 * build-id, or what is no regular file, gives len 0. Never blocks on a FIFO or a device. */
int buildid_of_path(struct buildid_map *cache, const char *path, struct buildid *ret);

/* The same for the path as this process sees it, if it is that inode; else -ENOENT. */
int buildid_of_inode(struct buildid_map *cache, const char *path, uint32_t dev_major,
		     uint32_t dev_minor, uint64_t inode, struct buildid *ret);

/* The same for the file that the process has mapped at start to end. */
int buildid_of_mapping(struct buildid_map *cache, uint32_t pid, uint64_t start, uint64_t end,
		       struct buildid *ret);

#endif
