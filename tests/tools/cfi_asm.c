/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of call frame information, put together by hand; see cfi_asm.h. */
#include "tests/tools/cfi_asm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

void cfi_asm_bytes(struct cfi_asm *a, const void *data, size_t len)
{
	assert_true(len <= sizeof(a->data) - a->len);
	memcpy(a->data + a->len, data, len);
	a->len += len;
}

void cfi_asm_u8(struct cfi_asm *a, uint8_t v)
{
	cfi_asm_bytes(a, &v, sizeof(v));
}

void cfi_asm_u16(struct cfi_asm *a, uint16_t v)
{
	cfi_asm_bytes(a, &v, sizeof(v));
}

void cfi_asm_u32(struct cfi_asm *a, uint32_t v)
{
	cfi_asm_bytes(a, &v, sizeof(v));
}

void cfi_asm_u64(struct cfi_asm *a, uint64_t v)
{
	cfi_asm_bytes(a, &v, sizeof(v));
}

/* Room for a length; returns the place of what it counts. */
static size_t begin(struct cfi_asm *a)
{
	cfi_asm_u32(a, a->wide ? UINT32_MAX : 0);
	if (a->wide)
		cfi_asm_u64(a, 0);
	return a->len;
}

static void end(struct cfi_asm *a, size_t body)
{
	uint64_t len = a->len - body;

	memcpy(a->data + body - (a->wide ? 8 : 4), &len, a->wide ? 8 : 4);
}

/* .eh_frame has 4 bytes for it whatever the length has. */
static void put_id(struct cfi_asm *a, uint64_t id)
{
	if (a->wide && a->debug_frame)
		cfi_asm_u64(a, id);
	else
		cfi_asm_u32(a, (uint32_t)id);
}

static uint8_t encoding_of(const struct cfi_asm *a, const struct cfi_asm_cie *cie)
{
	if (cie && (cie->encoding || cie->no_encoding))
		return cie->encoding;
	return a->debug_frame ? 0 : 0x1b;
}

size_t cfi_asm_cie(struct cfi_asm *a, const struct cfi_asm_cie *cie, const uint8_t *program,
		   size_t len)
{
	const char *letters = cie->augmentation ? cie->augmentation : a->debug_frame ? "" : "zR";
	size_t at = a->len, body = begin(a);
	uint8_t encoding = encoding_of(a, cie);

	put_id(a, a->debug_frame ? UINT64_MAX : 0);
	cfi_asm_u8(a, cie->version ? cie->version : 1);
	cfi_asm_bytes(a, letters, strlen(letters) + 1);
	if (!strcmp(letters, "eh"))
		cfi_asm_u64(a, 0x1122334455667788);
	if (cie->version == 4) {
		cfi_asm_u8(a, 8);
		cfi_asm_u8(a, cie->segment_size);
	}
	cfi_asm_u8(a, cie->code_align ? cie->code_align : 1);
	cfi_asm_u8(a, (uint8_t)(cie->data_align ? cie->data_align : -8) & 0x7f);
	cfi_asm_u8(a, cie->ra_register ? cie->ra_register : 16);
	if (*letters == 'z') {
		cfi_asm_u8(a, (uint8_t)(cie->data ? cie->data_len : 1));
		cfi_asm_bytes(a, cie->data ? cie->data : &encoding, cie->data ? cie->data_len : 1);
	}
	cfi_asm_bytes(a, program, len);
	end(a, body);
	return at;
}

size_t cfi_asm_x86(struct cfi_asm *a)
{
	return cfi_asm_cie(a, &(struct cfi_asm_cie){ 0 }, X86_INITIAL);
}

static void put_number(struct cfi_asm *a, uint8_t encoding, uint64_t v)
{
	switch (encoding & 0x0f) {
	case 0x02:
	case 0x0a:
		cfi_asm_u16(a, (uint16_t)v);
		return;
	case 0x03:
	case 0x0b:
		cfi_asm_u32(a, (uint32_t)v);
		return;
	case 0x01:
	case 0x09:
		/* More bytes than it needs, as assemblers write what is not known yet. */
		for (unsigned int i = 0; i < 4; i++)
			cfi_asm_u8(a, (uint8_t)(v >> 7 * i & 0x7f) | 0x80);
		cfi_asm_u8(a, (uint8_t)(v >> 28 & 0x7f));
		return;
	default:
		cfi_asm_u64(a, v);
	}
}

void cfi_asm_fde(struct cfi_asm *a, size_t cie_at, const struct cfi_asm_cie *cie, uint64_t start,
		 uint64_t length, const uint8_t *program, size_t len)
{
	uint8_t encoding = encoding_of(a, cie);
	size_t body = begin(a);
	const char *letters = cie && cie->augmentation ? cie->augmentation
			      : a->debug_frame	       ? ""
						       : "z";

	put_id(a, a->debug_frame ? cie_at : body - cie_at);
	put_number(a, encoding, encoding & 0x10 ? start - CFI_ASM_ADDRESS - a->len : start);
	put_number(a, encoding & 0x0f, length);
	if (*letters == 'z')
		cfi_asm_u8(a, 0);
	cfi_asm_bytes(a, program, len);
	end(a, body);
}

struct cfi_section cfi_asm_section(const struct cfi_asm *a)
{
	return (struct cfi_section){ .data = a->data,
				     .len = a->len,
				     .address = CFI_ASM_ADDRESS,
				     .debug_frame = a->debug_frame };
}
