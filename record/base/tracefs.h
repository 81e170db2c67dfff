/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's descriptions of its trace events. tracefs need not be mounted: a mount that nobody
 * else sees is made for the one descriptor.
 */
#ifndef RECORD_BASE_TRACEFS_H
#define RECORD_BASE_TRACEFS_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

/* The folder `events`, to be closed. EBT_ERR_UNSUPPORTED: why not, in words for the user. */
struct ebt_error *tracefs_open(int *ret);

/* "CATEGORY:NAME" of all events that can be recorded, in order. */
struct tracefs_names {
	char **names;
	size_t n, capacity;
};

struct ebt_error *tracefs_list(int events, struct tracefs_names *ret);
void tracefs_names_deinit(struct tracefs_names *names);

/* Number of the event, for perf, and the text of its file `format`, to be freed. */
struct ebt_error *tracefs_event(int events, const char *name, uint64_t *ret_id, char **ret_format);

#endif
