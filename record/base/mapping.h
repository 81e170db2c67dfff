/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An executable mapping, as side-band and snapshot find it, on its way to whoever follows. */
#ifndef RECORD_BASE_MAPPING_H
#define RECORD_BASE_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "record/base/buildid.h"

struct mapping {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	uint64_t start, length, pgoff, inode;
	uint32_t pid, prot;
	uint32_t dev_major, dev_minor; /* as /proc/PID/maps and mmap events show them */
	const char *path; /* as the kernel names it, not NUL-terminated; good during the call */
	size_t path_len;
	struct buildid build_id;
};

/* Told of each mapping that becomes a row of table mmap. fn NULL: nobody is. */
struct mapping_listener {
	struct ebt_error *(*fn)(void *arg, const struct mapping *mapping);
	void *arg;
};

#endif
