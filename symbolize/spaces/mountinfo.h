/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mount table as /proc/PID/mountinfo has it, recorded elsewhere: hostile text. */
#ifndef SYMBOLIZE_SPACES_MOUNTINFO_H
#define SYMBOLIZE_SPACES_MOUNTINFO_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/base/map.h"
#include "symbolize/spaces/beneath.h"

/* Texts are unescaped, but for options. */
struct mount {
	uint32_t id, parent; /* of the mount that it is on */
	uint32_t major, minor;
	const char *root; /* what of the file system is mounted */
	const char *point;
	const char *type, *source;
	const char *options; /* of the file system, escaped: see mount_layers() */
};

struct mount_table {
	char *text;
	struct mount *mounts;
	size_t n;
	struct ebt_map by_point, by_device;
};

/* Lines that cannot be understood are left out. */
struct ebt_error *mount_table_create(const char *text, size_t len, struct mount_table **ret);
/* Accepts NULL. */
void mount_table_destroy(struct mount_table *table);

/* The mount that an absolute path is on, the newest where several are at one place; NULL: none.
 * *ret_tail: the path below it, "" or "/…". */
const struct mount *mount_table_find(const struct mount_table *table, const char *path,
				     const char **ret_tail);

/* The next mount of that device; *at is 0 for the first. */
const struct mount *mount_table_device(const struct mount_table *table, uint32_t major,
				       uint32_t minor, size_t *at);

/*
 * Adds the layers that options of overlay or fuse-overlayfs name, upper one first. base: what
 * relative ones are put behind, or NULL: they are left out.
 */
struct ebt_error *mount_layers(const char *options, const char *base, struct layers *layers);

/* Adds BASE/DIR, or DIR alone where base is NULL or dir is absolute. */
struct ebt_error *layers_add(struct layers *layers, const char *base, const char *dir, size_t len);
void layers_deinit(struct layers *layers);

/* What of `path` is below `prefix` by whole components: "" or "/…"; NULL: it is not. */
const char *path_below(const char *path, const char *prefix);

#endif
