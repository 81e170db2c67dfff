/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebrec --list-events=tp`: which tracepoints there are. */
#ifndef RECORD_PROBES_TP_LIST_H
#define RECORD_PROBES_TP_LIST_H

#include <stdio.h>

#include "format/base/error.h"

/* Prints all names, or those that match with their fields, as they would be recorded. */
struct ebt_error *tp_list_print(FILE *to, const char *query);

#endif
