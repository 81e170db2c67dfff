/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the side-band's ring buffers, which the kernel writes: checked, not believed. */
#ifndef RECORD_SIDEBAND_PARSE_H
#define RECORD_SIDEBAND_PARSE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include "record/base/mapping.h"

/* What attr.sample_type must be: with sample_id_all each record ends in its time, a u64. */
#define SIDEBAND_SAMPLE_TYPE PERF_SAMPLE_TIME

enum sideband_kind {
	SIDEBAND_OTHER, /* of a type that nobody asked for */
	SIDEBAND_MMAP,
	SIDEBAND_KSYMBOL,
	SIDEBAND_LOST,
	SIDEBAND_MALFORMED, /* too short for its type; only the time may be right */
};

struct sideband_event {
	enum sideband_kind kind;
	/* Of a symbol there are time, start and length, and its name is the path; of others the
	 * time alone. Device and inode are 0 where there is a build-id. */
	struct mapping mapping;
	uint64_t generation; /* of the inode */

	/* Of a symbol. */
	uint32_t type;
	bool unregister;

	uint64_t lost; /* records */
};

/*
 * Reads the record at the beginning of `bytes`. Returns its length, or 0 where it cannot be one;
 * what follows cannot be read then either.
 */
size_t sideband_parse(const void *bytes, size_t len, struct sideband_event *ret);

#endif
