/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the trace goes; and `ebrec --bundle`: `ebreport bundle` on it, whose copy takes its place.
 */
#ifndef RECORD_SESSION_OUTPUT_H
#define RECORD_SESSION_OUTPUT_H

#include <stdbool.h>

#include "format/base/error.h"

/*
 * Makes the file, readable by its owner only, or takes standard output for "-". Never goes
 * through a symbolic link in the last part of the path. A file that is there is replaced if it is
 * a trace, or `force` is given; *ret is closed by the caller.
 */
struct ebt_error *output_open(const char *path, bool force, int *ret);

/* The ebreport in the folder of this program, freed with free(). Asked for before a recording
 * begins, so that nothing is recorded in vain. */
struct ebt_error *bundle_find(char **ret);

/* Where this fails, the trace is there as it was recorded. */
struct ebt_error *bundle_trace(const char *ebreport, const char *trace);

#endif
