/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebrec --bundle`: `ebreport bundle` on the new trace, whose copy takes its place. */
#ifndef RECORD_SESSION_BUNDLE_H
#define RECORD_SESSION_BUNDLE_H

#include "format/base/error.h"

/* The ebreport in the folder of this program, freed with free(). Asked for before a recording
 * begins, so that nothing is recorded in vain. */
struct ebt_error *bundle_find(char **ret);

/* Where this fails, the trace is there as it was recorded. */
struct ebt_error *bundle_trace(const char *ebreport, const char *trace);

#endif
