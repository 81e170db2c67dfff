/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as unwind information writes them. */
#ifndef UNWIND_CFI_POINTER_H
#define UNWIND_CFI_POINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "unwind/cfi.h"

/* DW_EH_PE_*, the byte that says how a pointer is written: LSB 5.0 core, 10.5.1. */
enum cfi_encoding {
	CFI_PE_ABSPTR = 0x00,
	CFI_PE_FORMAT = 0x0f, /* mask: the size; without the other bits a plain number */
	CFI_PE_OMIT = 0xff,
};

/* Signed LEB128; of more than 64 bits: false. */
bool cfi_sleb(struct ebt_bytes *in, int64_t *ret);

/* A pointer at in, which lies in the section. False where it cannot be known here: relative to
 * text, data or function, or in memory. */
bool cfi_pointer(const struct cfi_section *section, struct ebt_bytes *in, uint8_t encoding,
		 uint64_t *ret);

#endif
