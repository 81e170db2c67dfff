/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What pprof and OpenTelemetry have in common: stacks of locations, a location being an address of
 * a mapped file with the functions there, and tables of all of these and their texts, each once.
 *
 * No process's addresses are in it, but those of files: each file has a range of its own.
 */
#ifndef REPORT_EXPORT_PROFILE_H
#define REPORT_EXPORT_PROFILE_H

#include "format/base/map.h"
#include "report/base/interned.h"
#include "report/export/export.h"
#include "report/export/threads.h"

#define PROFILE_MOST UINT32_C(0x7fffffff) /* of any table, as OpenTelemetry's numbers are int32 */

/* Names are numbers of texts. Number 0 of each table is nothing. */
struct profile_function {
	uint32_t name, file;
};

struct profile_mapping {
	const struct sym_func
		*sym;	       /* one of its functions: whose kind, object and build_id it has */
	uint64_t least, most;  /* of the addresses that were met */
	uint64_t start, limit; /* after profile_finish() */
	/* What is known of any of its functions. */
	bool functions, files, lines;
	bool program; /* and no library */
};

/* A function at a place, and so those that it is inlined into. */
struct profile_location {
	uint32_t outer; /* location into which it is inlined; 0: none */
	uint32_t func;	/* of the tree */
	uint32_t function, mapping;
	uint32_t number; /* among those that stacks have, from 1 on; 0: it is an outer one only */
};

struct profile {
	struct export *e;
	struct interned texts;
	struct profile_function *functions;
	size_t n_functions, functions_capacity;
	struct profile_mapping *mappings;
	size_t n_mappings, mappings_capacity;
	struct profile_location *locations;
	size_t n_locations, locations_capacity;
	struct export_threads threads;
	uint32_t *used; /* locations by number */
	size_t n_used, used_capacity;
	uint32_t *stack; /* see profile_stack() */
	size_t stack_capacity;
	struct ebt_map by_function, by_object, by_place;
	uint32_t *location_of; /* by node of the tree */
	size_t n_location_of;
	struct text text;
};

struct ebt_error *profile_init(struct profile *profile, struct export *e);
void profile_deinit(struct profile *profile);

/* Number of a text, made fit for protobuf. What there is no room for is "". */
struct ebt_error *profile_text(struct profile *profile, struct ebt_str s, uint32_t *ret);
struct ebt_error *profile_cstr(struct profile *profile, const char *s, uint32_t *ret);
/* With a NUL behind it; until the next call of any of these. */
const char *profile_get_text(struct profile *profile, uint32_t number);

struct ebt_str profile_thread_name(const struct profile *profile, const struct ebt_task *task);

/* The stack of a node of the tree: numbers of locations, the innermost first. Until the next call.
 */
struct ebt_error *profile_stack(struct profile *profile, uint32_t node, const uint32_t **ret,
				size_t *ret_n);

/* The locations whose functions are one: itself, what it is inlined into, and so on. Until the next
 * call. */
struct ebt_error *profile_lines(struct profile *profile, const struct profile_location *location,
				const uint32_t **ret, size_t *ret_n);

/* After the last stack: gives the mapped files their ranges. */
void profile_finish(struct profile *profile);
/* The address of a location in the range of its file. */
uint64_t profile_address(const struct profile *profile, const struct profile_location *location);

/* CLOCK_REALTIME at a time of the trace, in ns. */
uint64_t profile_realtime(const struct profile *profile, uint64_t time);

/* A value as a number with a sign; what is more is the largest. */
static inline int64_t profile_value(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

#endif
