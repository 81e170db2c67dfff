/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as unwind information writes them; see cfi_pointer.h. */
#include "unwind/cfi_pointer.h"

/* The rest of enum cfi_encoding. */
enum {
	PE_ULEB = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_NOT_KNOWN = 0xe0, /* indirect, and relative to anything else */
};

bool cfi_sleb(struct ebt_bytes *in, int64_t *ret)
{
	struct ebt_bytes copy = *in;
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		if (!ebt_bytes_u8(&copy, &byte))
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && shift + 7 < 64)
			value |= ~UINT64_C(0) << (shift + 7);
		*in = copy;
		*ret = (int64_t)value;
		return true;
	}
	return false;
}

static bool read_fixed(struct ebt_bytes *in, uint8_t format, uint64_t *ret)
{
	uint32_t v32;
	uint16_t v16;

	if (format == PE_UDATA2 || format == PE_SDATA2) {
		if (!ebt_bytes_u16(in, &v16))
			return false;
		*ret = format == PE_SDATA2 ? (uint64_t)(int16_t)v16 : v16;
		return true;
	}
	if (format == PE_UDATA4 || format == PE_SDATA4) {
		if (!ebt_bytes_u32(in, &v32))
			return false;
		*ret = format == PE_SDATA4 ? (uint64_t)(int32_t)v32 : v32;
		return true;
	}
	return ebt_bytes_u64(in, ret);
}

static bool read_number(struct ebt_bytes *in, uint8_t format, uint64_t *ret)
{
	int64_t value;

	switch (format) {
	case PE_ULEB:
		return ebt_bytes_varint(in, ret);
	case PE_SLEB:
		if (!cfi_sleb(in, &value))
			return false;
		*ret = (uint64_t)value;
		return true;
	case CFI_PE_ABSPTR:
	case PE_UDATA2:
	case PE_UDATA4:
	case PE_UDATA8:
	case PE_SDATA2:
	case PE_SDATA4:
	case PE_SDATA8:
		return read_fixed(in, format, ret);
	default:
		return false;
	}
}

bool cfi_pointer(const struct cfi_section *section, struct ebt_bytes *in, uint8_t encoding,
		 uint64_t *ret)
{
	const unsigned char *start = section->data;
	uint64_t at = section->address + (uint64_t)(in->pos - start), value;

	if (encoding & PE_NOT_KNOWN || !read_number(in, encoding & CFI_PE_FORMAT, &value))
		return false;
	*ret = encoding & PE_PCREL ? value + at : value;
	return true;
}
