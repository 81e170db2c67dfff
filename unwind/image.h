/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file as far as unwinding goes: where its code is loaded, and its unwind information.
 * Reads with pread(2) only; the file may be anything.
 */
#ifndef UNWIND_IMAGE_H
#define UNWIND_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "unwind/cfi.h"

/* Linkers make one; some packers several. */
#define UNWIND_MAX_SEGMENTS 16

/* An executable PT_LOAD. */
struct unwind_segment {
	uint64_t offset, address, length; /* bytes of the file, where they are loaded */
};

struct unwind_segments {
	struct unwind_segment list[UNWIND_MAX_SEGMENTS];
	size_t n;
};

struct unwind_image {
	enum cfi_arch arch;
	uint64_t base;	/* lowest load address, rounded down to a page: rows are relative to it */
	uint64_t entry; /* e_entry */
	struct unwind_segments segments;
	struct cfi_section sections[2]; /* .eh_frame and .debug_frame; their data is owned */
	size_t n_sections;
};

/* EBT_ERR_UNSUPPORTED: no ELF file of an architecture that is known here; EBT_ERR_CORRUPT: one
 * that cannot be right. */
struct ebt_error *unwind_image_read(int fd, struct unwind_image *ret);
/* The same of an image in memory, as it is loaded: a vdso. */
struct ebt_error *unwind_image_read_memory(const void *data, size_t len, struct unwind_image *ret);
void unwind_image_deinit(struct unwind_image *image);

/* Load address of a byte of the file; false: it is in no executable segment. */
bool unwind_segments_address(const struct unwind_segments *segments, uint64_t offset,
			     uint64_t *ret);

#endif
