/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of files that rows name by device and inode. Table `inode_path` has the path in the file
 * system; the recorded mount tables say where that file system was mounted.
 */
#ifndef REPORT_TRACE_INODE_PATHS_H
#define REPORT_TRACE_INODE_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/text.h"
#include "report/trace/trace.h"

struct inode_key {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint32_t generation;
	uint32_t name_hash; /* which name: field of `inode_path`; 0: any */
};

/* Of the fields that a row of this table has. */
#define INODE_KEY(table, row)                                          \
	((struct inode_key){                                           \
		.inode = ebt_##table##_inode(row),                     \
		.dev_major = (uint32_t)ebt_##table##_dev_major(row),   \
		.dev_minor = (uint32_t)ebt_##table##_dev_minor(row),   \
		.generation = (uint32_t)ebt_##table##_generation(row), \
	})

/* The same of a row that says by which name. */
#define INODE_NAME_KEY(table, row)                                     \
	((struct inode_key){                                           \
		.inode = ebt_##table##_inode(row),                     \
		.dev_major = (uint32_t)ebt_##table##_dev_major(row),   \
		.dev_minor = (uint32_t)ebt_##table##_dev_minor(row),   \
		.generation = (uint32_t)ebt_##table##_generation(row), \
		.name_hash = (uint32_t)ebt_##table##_name_hash(row),   \
	})

/* hash: of what comes before, or 0. */
uint64_t inode_key_hash(uint64_t hash, const struct inode_key *key);
bool inode_key_equal(const struct inode_key *a, const struct inode_key *b);

struct inode_paths;

/* The trace must outlive it. */
struct ebt_error *inode_paths_create(struct trace *trace, struct inode_paths **ret);
void inode_paths_destroy(struct inode_paths *paths);
DEFINE_CLEANUP(struct inode_paths *, inode_paths_destroy);

/* Is there any name of it; and one that begins at the root of a file system? */
bool inode_paths_is_named(const struct inode_paths *paths, const struct inode_key *key);
bool inode_paths_is_absolute(const struct inode_paths *paths, const struct inode_key *key);

/*
 * Adds the path as the machine's own processes saw it; with "[8:1]" in front where the file system
 * was not mounted for them; "[inode 5 of 8:1]" where no name is known; "[device 8:1]" for what is
 * read of a disk itself. Any bytes, as in the trace.
 */
void inode_paths_add(const struct inode_paths *paths, const struct inode_key *key,
		     struct text *text);
/* The same of a file that was reached through a mount, by its id: as its processes saw it. */
void inode_paths_add_of_mount(const struct inode_paths *paths, const struct inode_key *key,
			      uint32_t mount, struct text *text);
/* The device that a file stands for: "1:3" of /dev/null; false: none, or not known. */
bool inode_paths_add_device(const struct inode_paths *paths, const struct inode_key *key,
			    struct text *text);
/* Adds the file system of a file, and where that mount, or any other of it, was: "ext4 on /home";
 * false: none is known. */
bool inode_paths_add_filesystem(const struct inode_paths *paths, const struct inode_key *key,
				uint32_t mount, struct text *text);

#endif
