/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding the file behind a mapping, and what tells it from others. */
#ifndef RECORD_BASE_IDENTITY_H
#define RECORD_BASE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "record/base/buildid.h"
#include "record/base/elfparts.h"
#include "record/base/mapping.h"

struct identity {
	struct stat st;
	uint64_t inode; /* as mappings show it, which on an overlay differs from what stat() says */
	uint32_t dev_major, dev_minor;
	bool elf;
	struct elfparts parts;
	struct buildid id;
};

/*
 * Returns a descriptor to read from, or -1 where the file cannot be had: its process may have
 * gone, and its name lead to another. The mapping needs device and inode or a build-id.
 */
int identity_of_mapping(const struct mapping *mapping, struct identity *ret);

#endif
