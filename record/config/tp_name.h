/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracepoints as users write them. */
#ifndef RECORD_CONFIG_TP_NAME_H
#define RECORD_CONFIG_TP_NAME_H

#include <stdbool.h>

#define TP_NAME_MAX 128

/* Is the text CATEGORY:NAME, with or without wildcards? */
bool tp_name_is_one(const char *text);

/* May it follow --list-events: "tp" or "tp:CATEGORY:NAME"? */
bool tp_name_is_query(const char *text);

#endif
