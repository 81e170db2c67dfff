/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that somebody means by the PATH of a probe. */
#ifndef RECORD_PROBES_PATH_H
#define RECORD_PROBES_PATH_H

#include "format/base/error.h"
#include "record/config/options.h"

/*
 * A path is taken as it is. A name is that of a library which a recorded process has mapped, or
 * which the dynamic linker would find for the command; else of a program. Freed with free().
 */
struct ebt_error *probe_path_find(const struct record_options *options, const char *name,
				  char **ret);

#endif
