/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame instructions (DWARF 5 section 6.4.2) run to unwind rows, and (cfi_vec.c) the way of
 * these to a sorted table without repetitions.
 */
#ifndef UNWIND_CFI_PROGRAM_H
#define UNWIND_CFI_PROGRAM_H

#include <stdbool.h>

#include "format/base/bytes.h"
#include "unwind/cfi.h"

struct cfi_vec {
	struct cfi_row *rows;
	size_t n, capacity;
	bool failed; /* memory ran out */
	bool full;   /* CFI_MAX_ROWS, and another one was to be added */
};

void cfi_vec_add(struct cfi_vec *vec, struct cfi_row row);
void cfi_vec_deinit(struct cfi_vec *vec);

/* Sorts, drops what says nothing new, and hands the rows over. */
struct ebt_error *cfi_vec_finish(struct cfi_vec *vec, struct cfi_rows *ret);

/* DW_EH_PE_*, the byte that says how a pointer is written: LSB 5.0 core, 10.5.1. */
enum cfi_encoding {
	CFI_PE_ABSPTR = 0x00,
	CFI_PE_FORMAT = 0x0f, /* mask: the size; without the other bits a plain number */
	CFI_PE_OMIT = 0xff,
};

/* A pointer at in, which lies in the section. False where it cannot be known here: relative to
 * text, data or function, or in memory. */
bool cfi_pointer(const struct cfi_section *section, struct ebt_bytes *in, uint8_t encoding,
		 uint64_t *ret);

enum cfi_rule_kind {
	CFI_RULE_NONE, /* nothing said: as the caller left it, for what a row keeps */
	CFI_RULE_UNDEFINED,
	CFI_RULE_SAME,
	CFI_RULE_OFFSET,     /* at CFA + offset */
	CFI_RULE_REGISTER,   /* in register `offset` */
	CFI_RULE_EXPRESSION, /* at the address that the expression gives */
	CFI_RULE_OTHER,	     /* what no row can express */
};

struct cfi_rule {
	enum cfi_rule_kind kind;
	int64_t offset;
	struct ebt_bytes expression;
};

/* The rules that a row keeps. */
struct cfi_state {
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct ebt_bytes cfa_expression; /* empty: register and offset count */
	struct cfi_rule ra, fp, sp;
};

struct cfi_cie {
	const struct cfi_section *section;
	enum cfi_arch arch;
	uint64_t base;
	uint64_t code_align, ra_register;
	int64_t data_align;
	uint8_t pointer_encoding;
	bool augmented, signal;
	struct cfi_state initial;
};

/* Offsets from the base of the file. */
struct cfi_range {
	uint64_t start, end;
};

/* Runs a CIE's instructions into its initial state. */
bool cfi_run_initial(struct cfi_cie *cie, struct ebt_bytes program);

/* Runs an FDE's instructions and adds rows of its range. What has been read when an instruction
 * turns out bad stays; then false. */
bool cfi_run(const struct cfi_cie *cie, struct ebt_bytes program, struct cfi_range range,
	     struct cfi_vec *rows, uint32_t *unsupported);

#endif
