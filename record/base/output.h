/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the trace goes. */
#ifndef RECORD_BASE_OUTPUT_H
#define RECORD_BASE_OUTPUT_H

#include <stdbool.h>

#include "format/base/error.h"

/*
 * Makes the file, readable by its owner only, or takes standard output for "-". Never goes
 * through a symbolic link in the last part of the path. A file that is there is replaced if it is
 * a trace, or `force` is given; *ret is closed by the caller.
 */
struct ebt_error *output_open(const char *path, bool force, int *ret);

#endif
