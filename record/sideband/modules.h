/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel modules that are loaded or unloaded during a recording. The trace has one copy of
 * /proc/kallsyms; where the list of modules is not the same all the time, it gets the functions of
 * the modules as they were at each look that found another list. Used by one thread at a time.
 */
#ifndef RECORD_SIDEBAND_MODULES_H
#define RECORD_SIDEBAND_MODULES_H

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/sideband/context.h"

struct modules;

/* Where the kernel says it; other files are for tests. */
struct modules_paths {
	const char *modules, *kallsyms;
};
extern const struct modules_paths modules_of_proc;

/* Looks for the first time. */
struct ebt_error *modules_create(const struct modules_paths *paths,
				 struct sideband_context *context, struct modules **ret);
/* Accepts NULL. */
void modules_destroy(struct modules *modules);
DEFINE_CLEANUP(struct modules *, modules_destroy);

/* Looks again; cheap where nothing has changed. */
struct ebt_error *modules_look(struct modules *modules);

#endif
