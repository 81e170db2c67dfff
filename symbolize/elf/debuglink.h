/* SPDX-License-Identifier: GPL-2.0-or-later */
/* .gnu_debuglink: the name and checksum of a file of separate debug information. */
#ifndef SYMBOLIZE_ELF_DEBUGLINK_H
#define SYMBOLIZE_ELF_DEBUGLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/elf/elffile.h"

struct debuglink {
	const char *name; /* belongs to the file that has the link; without '/' */
	uint32_t crc;
};

/* false: the file has no good link. */
bool debuglink_read(const struct elf_file *file, struct debuglink *ret);

/* Whether the file, which is open for reading, is the one that the link means: by its build-id, or,
 * where it has none, by its checksum. */
bool debuglink_accepts(const struct debuglink *link, const struct sym_build_id *id,
		       const struct elf_file *file);

#endif
