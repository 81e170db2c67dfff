/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counters of programs are called: by who defined them, and their numbers. */
#ifndef RECORD_SOURCES_SYSPROF_COUNTERS_H
#define RECORD_SOURCES_SYSPROF_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/sources/sysprof_frames.h"

struct sysprof_counters;

/* NUL-terminated; longer ones than Sysprof's do not exist. */
struct sysprof_definition {
	bool is_double;
	char category[33], name[33], description[53];
};

struct ebt_error *sysprof_counters_create(struct sysprof_counters **ret);
/* Accepts NULL. */
void sysprof_counters_destroy(struct sysprof_counters *counters);
DEFINE_CLEANUP(struct sysprof_counters *, sysprof_counters_destroy);

/* The memory is bounded: where there are too many, the oldest is forgotten. */
struct ebt_error *sysprof_counters_define(struct sysprof_counters *counters, uint64_t writer,
					  const struct sysprof_counter *counter);

/* NULL: there is none. Good until the next is defined. */
const struct sysprof_definition *sysprof_counters_find(const struct sysprof_counters *counters,
						       uint64_t writer, uint32_t id);

#endif
