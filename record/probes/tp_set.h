/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracepoints that a user's words stand for, as "sched:sched_switch" and "block:*". */
#ifndef RECORD_PROBES_TP_SET_H
#define RECORD_PROBES_TP_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/probes/tp_event.h"

struct kernel;

struct tp_set {
	const struct kernel *kernel;
	int events;	   /* of tracefs, or -1 */
	char refused[100]; /* why there is no tracefs, or why perf may not use it; or empty */
	bool refused_perf; /* the latter */
	struct tp_event *list;
	size_t n, capacity;
};

struct ebt_error *tp_set_create(const struct kernel *kernel, struct tp_set **ret);
/* Accepts NULL. */
void tp_set_destroy(struct tp_set *set);
DEFINE_CLEANUP(struct tp_set *, tp_set_destroy);

/* Adds what it stands for, without what is there already. EBT_ERR_NOT_FOUND: what there is instead,
 * for the user. */
struct ebt_error *tp_set_add(struct tp_set *set, const char *text);

/* `ebrec --list-events=tp`: prints all names, or those that match with their fields, as they would
 * be recorded. */
struct ebt_error *tp_set_print(FILE *to, const char *query);

#endif
