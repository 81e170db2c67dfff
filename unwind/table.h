/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unwind table of one file: rows, cut into pages that can be searched one by one. */
#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "unwind/cfi.h"
#include "unwind/image.h"

#define UNWIND_TABLE_PAGE_BITS 16

/* Rows that hold in one stretch of 64 KiB; the first holds at its first byte. n 0: none. */
struct unwind_table_page {
	uint32_t first, n;
};

struct unwind_table {
	enum cfi_arch arch;
	uint64_t base; /* row pc 0 is this load address */
	struct unwind_segments segments;
	struct cfi_row *rows;
	size_t n_rows;
	struct unwind_table_page *pages;
	size_t n_pages;
	struct cfi_stats stats;
};

/* A file without unwind information gives a table without pages. */
struct ebt_error *unwind_table_build(const struct unwind_image *image, struct unwind_table **ret);
void unwind_table_destroy(struct unwind_table *table);
DEFINE_CLEANUP(struct unwind_table *, unwind_table_destroy);

/* What to subtract from an address of a mapping of the file to get a row's pc: bytes from file
 * offset pgoff on are mapped at start. False: that part of the file is no code. */
bool unwind_table_bias(const struct unwind_table *table, uint64_t start, uint64_t pgoff,
		       uint64_t *ret);

/* The row that holds at an address less the bias, or NULL. */
const struct cfi_row *unwind_table_find(const struct unwind_table *table, uint64_t pc);

#endif
