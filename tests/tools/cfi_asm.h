/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of call frame information, put together by hand. */
#ifndef TESTS_TOOLS_CFI_ASM_H
#define TESTS_TOOLS_CFI_ASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"

/* Where sections say that they are loaded. */
#define CFI_ASM_ADDRESS 0x100000

struct cfi_asm {
	unsigned char data[1 << 16];
	size_t len;
	bool debug_frame;
	bool wide; /* 64-bit DWARF for what is added */
};

/* What is zero here has the value that compilers write on x86-64. */
struct cfi_asm_cie {
	uint8_t version;	  /* 1 */
	const char *augmentation; /* "zR" */
	const uint8_t *data;	  /* of the augmentation: { 0x1b } */
	size_t data_len;
	uint8_t code_align;  /* 1 */
	int8_t data_align;   /* -8 */
	uint8_t ra_register; /* 16 */
	uint8_t segment_size;
	uint8_t encoding; /* of the FDEs' pointers: 0x1b; 0 in .debug_frame */
	bool no_encoding; /* 0 it is */
};

/* Instructions, as two arguments. */
#define PROGRAM(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
/* CFA rsp + 8, return address at CFA - 8. */
#define X86_INITIAL PROGRAM(0x0c, 7, 8, 0x90, 1)
#define NOTHING	    PROGRAM(0)

void cfi_asm_u8(struct cfi_asm *a, uint8_t v);
void cfi_asm_u16(struct cfi_asm *a, uint16_t v);
void cfi_asm_u32(struct cfi_asm *a, uint32_t v);
void cfi_asm_u64(struct cfi_asm *a, uint64_t v);
void cfi_asm_bytes(struct cfi_asm *a, const void *data, size_t len);

/* Returns where in the section the CIE is, for its FDEs. */
size_t cfi_asm_cie(struct cfi_asm *a, const struct cfi_asm_cie *cie, const uint8_t *program,
		   size_t len);
/* The usual one, with X86_INITIAL. */
size_t cfi_asm_x86(struct cfi_asm *a);

/* A function of the CIE whose description is given (NULL: the usual one). */
void cfi_asm_fde(struct cfi_asm *a, size_t cie_at, const struct cfi_asm_cie *cie, uint64_t start,
		 uint64_t length, const uint8_t *program, size_t len);

struct cfi_section cfi_asm_section(const struct cfi_asm *a);

#endif
