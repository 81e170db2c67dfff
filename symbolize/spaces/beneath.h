/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening files below a folder whose content belongs to somebody else: no link and no ".." in it
 * leads out of it. Only regular files are opened, never what waits or does things when opened.
 */
#ifndef SYMBOLIZE_SPACES_BENEATH_H
#define SYMBOLIZE_SPACES_BENEATH_H

#include <stdbool.h>
#include <stddef.h>

/* The regular file at `path` where `root` is "/". Returns a file descriptor, or -1. *ret_path:
 * where the file really is; freed with free(). */
int beneath_open(const char *root, const char *path, char **ret_path);

/* Layers of an overlay, the upper one first. */
struct layers {
	char **dirs;
	size_t n, capacity;
};

/*
 * The regular file that the overlay shows at `path`: of the first layer that has it, unless an
 * upper one says that it was deleted (a whiteout), that its folder was made anew (opaque), or that
 * it was renamed.
 * Links are not followed: recorded paths have none. sysroot: where paths of layers begin, or NULL.
 */
int beneath_open_layers(const struct layers *layers, const char *sysroot, const char *path,
			char **ret_path);

#endif
