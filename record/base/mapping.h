/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mapping, as /proc/PID/maps and the side-band tell it, on its way to whoever follows. */
#ifndef RECORD_BASE_MAPPING_H
#define RECORD_BASE_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "record/base/buildid.h"

struct mapping {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	uint64_t start, length, pgoff, inode;
	uint32_t pid, tid, prot, flags; /* tid: who mapped it. PROT_*; MAP_SHARED or MAP_PRIVATE */
	uint32_t dev_major, dev_minor;	/* as /proc/PID/maps and mmap events show them */
	const char *path; /* as the kernel names it, not NUL-terminated; good during the call */
	size_t path_len;  /* 0: memory without a file */
	struct buildid build_id;
};

#endif
