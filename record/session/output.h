/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the trace goes; and `ebrec --bundle`: `ebreport bundle` on it, whose copy takes its place.
 */
#ifndef RECORD_SESSION_OUTPUT_H
#define RECORD_SESSION_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"

struct output;

/*
 * Makes a file in the folder of path, without a name where that can be, readable by its owner
 * only, which is who called sudo; or takes standard output for "-". Never goes through a symbolic
 * link in the last part of the path. What is there stays there until output_publish(); that it may
 * be replaced is checked here: a trace may, and with `force` any file. path must live longer.
 */
struct ebt_error *output_create(const char *path, bool force, struct output **ret);
/* A file that was not published is gone. Accepts NULL. */
void output_destroy(struct output *output);
DEFINE_CLEANUP(struct output *, output_destroy);

/* Belongs to the output. */
int output_fd(const struct output *output);

/* Gives the file its name. Without `force` a trace that is there becomes PATH.old, also one that
 * came meanwhile, and nothing else is replaced. Again it does nothing. */
struct ebt_error *output_publish(struct output *output);
/* Does it have it, or need none? */
bool output_published(const struct output *output);
/* Is there a PATH.old of it? */
bool output_kept(const struct output *output);

/*
 * The ebreport in the folder of this program, or in one of PATH that is not relative to the
 * directory that this runs in; freed with free(). Asked for before a recording begins, so that
 * nothing is recorded in vain.
 */
struct ebt_error *bundle_find(char **ret);

/* Where this fails, the trace is there as it was recorded; so is another file than the recorded one
 * that has its name by now. Ends when a signal's handler has set *abandoned. */
struct ebt_error *bundle_trace(const char *ebreport, const char *trace, const struct stat *recorded,
			       const volatile sig_atomic_t *abandoned);

#endif
