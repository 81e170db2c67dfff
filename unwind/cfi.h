/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame information as a sorted table of small rows: what `.eh_frame` or `.debug_frame`
 * says about every address of a file, in a form that a BPF program can search. A row holds from
 * its pc up to the next row's.
 *
 * Sources: DWARF 5 section 6.4; LSB 5.0 core, 10.6 (.eh_frame); DWARF for the Arm 64-bit
 * Architecture (RA_SIGN_STATE). The bytes are hostile: every read is checked, and rows, work and
 * nesting are limited.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "unwind/cfi_row.h"

enum cfi_arch { CFI_X86_64, CFI_AARCH64 };

/* DWARF numbers of registers (System V ABI for x86-64, figure 3.36; AADWARF64). */
enum { CFI_X86_RBP = 6, CFI_X86_RSP = 7, CFI_ARM_X29 = 29, CFI_ARM_X30 = 30, CFI_ARM_SP = 31 };

static inline unsigned int cfi_sp(enum cfi_arch arch)
{
	return arch == CFI_X86_64 ? CFI_X86_RSP : CFI_ARM_SP;
}

static inline unsigned int cfi_fp(enum cfi_arch arch)
{
	return arch == CFI_X86_64 ? CFI_X86_RBP : CFI_ARM_X29;
}

/* Rows of one file. */
#define CFI_MAX_ROWS (4u << 20)

struct cfi_section {
	const void *data;
	size_t len;
	uint64_t address;  /* where the file wants it, for pc-relative pointers */
	bool debug_frame;  /* .debug_frame: other offsets, no augmentation pointers */
	bool ends_at_zero; /* len is a bound; an entry of length zero is the end */
};

struct cfi_rows {
	struct cfi_row *rows; /* ascending pc, no two the same */
	size_t n;
};

/* What was in a section, for statistics. */
struct cfi_stats {
	uint32_t fdes;
	uint32_t bad_fdes;    /* passed over: not well formed */
	uint32_t unsupported; /* rows whose rules the table cannot express */
};

/*
 * Rows of n sections together; pc is relative to base (the file's lowest load address), and what
 * lies outside base … base + 4 GiB is left out. *ret is freed with cfi_rows_deinit(). A section
 * that is cut or lies gives the rows before that, and is counted; EBT_ERR_LIMIT: more rows or work
 * than any compiler makes. Where functions overlap, which only lies do, one of them wins.
 */
struct ebt_error *cfi_parse(const struct cfi_section *sections, size_t n, enum cfi_arch arch,
			    uint64_t base, struct cfi_rows *ret, struct cfi_stats *ret_stats);
void cfi_rows_deinit(struct cfi_rows *rows);

/* The row that holds at pc, or NULL. */
const struct cfi_row *cfi_rows_find(const struct cfi_rows *rows, uint32_t pc);

#endif
