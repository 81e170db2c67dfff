/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands behind the names of sources: `-e NAME:ARGUMENTS`. A source may be given several
 * times. */
#ifndef RECORD_CONFIG_SOURCE_ARGS_H
#define RECORD_CONFIG_SOURCE_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/error.h"

/* Of the name of a tracepoint. */
#define TP_NAME_MAX 128

struct source_arg {
	size_t source; /* index in ebrec_sources */
	char *text;
};

struct source_args {
	struct source_arg *list; /* as they were given */
	size_t n, capacity;
};

/* Lets the source check the text. EBT_ERR_INVALID with a sentence for the user; nothing is added
 * then. */
struct ebt_error *source_args_add(struct source_args *args, size_t source, const char *text,
				  size_t len);

/* The source was taken away again. */
void source_args_remove(struct source_args *args, size_t source);

/* The nth text of the source, or NULL. */
const char *source_args_get(const struct source_args *args, size_t source, size_t n);

/* All texts of the source with commas between, to be freed; NULL: no memory. */
char *source_args_join(const struct source_args *args, size_t source);

/* Is the text CATEGORY:NAME of a tracepoint, with or without wildcards? */
bool source_args_is_tracepoint(const char *text);

void source_args_deinit(struct source_args *args);

#endif
