/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A path as a process saw it to places of the machine's own tree: through bind mounts, overlays,
 * chroot and containers, by the mount tables of the trace. Nothing is opened here.
 */
#ifndef SYMBOLIZE_SPACES_TRANSLATE_H
#define SYMBOLIZE_SPACES_TRANSLATE_H

#include "format/base/error.h"
#include "symbolize/spaces/views.h"

/* A place where the file may be: DIR and a path below it, or layers and a path in them. */
struct candidate {
	char *dir; /* NULL: layers */
	struct layers layers;
	char *path;
};

struct candidates {
	struct candidate *items;
	size_t n, capacity;
};

/* Appends candidates, best first. */
struct ebt_error *translate(struct views *views, const struct view *view, const char *path,
			    struct candidates *ret);
void candidates_deinit(struct candidates *candidates);

#endif
