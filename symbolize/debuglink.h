/* SPDX-License-Identifier: GPL-2.0-or-later */
/* .gnu_debuglink: the name and checksum of a file of separate debug information. */
#ifndef SYM_DEBUGLINK_H
#define SYM_DEBUGLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "elffile.h"
#include "error.h"

struct debuglink {
	const char *name; /* belongs to the file that has the link; without '/' */
	uint32_t crc;
};

/* false: the file has no good link. */
bool debuglink_read(const struct elf_file *file, struct debuglink *ret);

/* Opens the linked file if its build-id is `id` or, where it has none, if its checksum is right;
 * *ret is left alone if not. */
struct ebt_error *debuglink_open(const char *path, const struct debuglink *link,
				 const struct sym_build_id *id, struct elf_file **ret);

#endif
