/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block devices by their numbers, from table `block_device`. One that rows name and that was not
 * recorded is there too, and is called unknown.
 */
#ifndef REPORT_IO_BLOCK_NAMES_H
#define REPORT_IO_BLOCK_NAMES_H

#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "report/trace/trace.h"

struct block_device {
	uint32_t major, minor;
	uint32_t disk; /* index of its disk: itself, if it is no partition */
	bool known;
	bool rotational, write_cache;
	uint32_t logical_block, nr_requests;
	uint64_t size;
	struct ebt_str name;				 /* not empty: "unknown 8:1" */
	struct ebt_str alias, scheduler, model, backing; /* empty: none */
};

struct block_names {
	struct block_device *devices;
	size_t n, capacity;
	struct ebt_map by_number;
};

struct ebt_error *block_names_create(struct trace *trace, struct block_names **ret);
void block_names_destroy(struct block_names *names);
DEFINE_CLEANUP(struct block_names *, block_names_destroy);

/* The device, which is made known if it is not: *ret is its index. */
struct ebt_error *block_names_of(struct block_names *names, uint32_t major, uint32_t minor,
				 uint32_t *ret);

#endif
