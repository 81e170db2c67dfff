/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of tracepoints; see tp_name.h. */
#include "record/config/tp_name.h"

#include <string.h>

bool tp_name_is_one(const char *text)
{
	const char *colon = strchr(text, ':');

	return colon && colon != text && colon[1] && !strpbrk(colon + 1, ":/") &&
	       !memchr(text, '/', (size_t)(colon - text)) && strlen(text) < TP_NAME_MAX;
}

bool tp_name_is_query(const char *text)
{
	return !strcmp(text, "tp") || (!strncmp(text, "tp:", 3) && tp_name_is_one(text + 3));
}
