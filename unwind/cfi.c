/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of .eh_frame and .debug_frame, run and turned into rows; see cfi.h. */
#include "cfi.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "cfi_program.h"
#include "cfi_vec.h"
#include "cleanup.h"

/* DW_EH_PE_*: LSB 5.0 core, 10.5.1. */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_APPLICATION = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

struct parser {
	const struct cfi_section *section;
	const unsigned char *start;
	enum cfi_arch arch;
	uint64_t base;
	struct cfi_vec rows;
	struct cfi_stats stats;
	/* The last CIE, kept because neighbours share it. */
	struct cfi_cie cie;
	uint64_t cie_offset;
	bool have_cie;
	uint64_t work; /* bytes interpreted so far */
};

/* Length and id of an entry; the contents behind them. */
struct entry {
	struct ebt_bytes body;
	uint64_t offset;    /* of the entry in the section */
	uint64_t id;	    /* CIE pointer or CIE id */
	uint64_t id_offset; /* of that field */
	bool is_cie;
	bool wide; /* 64-bit DWARF */
};

static uint64_t offset_of(const struct parser *p, const unsigned char *pos)
{
	return (uint64_t)(pos - p->start);
}

/* False at the end, be it the terminator or damage. */
static bool next_entry(const struct parser *p, struct ebt_bytes *in, struct entry *ret)
{
	uint32_t len32, id32;
	uint64_t len;

	ret->offset = offset_of(p, in->pos);
	if (!ebt_bytes_u32(in, &len32) || !len32)
		return false;
	len = len32;
	ret->wide = len32 == UINT32_MAX;
	if (ret->wide && !ebt_bytes_u64(in, &len))
		return false;
	if (!ebt_bytes_take(in, len, &ret->body))
		return false;
	ret->id_offset = offset_of(p, ret->body.pos);
	if (ret->wide && p->section->debug_frame) {
		if (!ebt_bytes_u64(&ret->body, &ret->id))
			return false;
		ret->is_cie = ret->id == UINT64_MAX;
	} else {
		if (!ebt_bytes_u32(&ret->body, &id32))
			return false;
		ret->id = id32;
		ret->is_cie = id32 == (p->section->debug_frame ? UINT32_MAX : 0);
	}
	return true;
}

static bool read_pointer(const struct parser *p, struct ebt_bytes *in, uint8_t encoding,
			 uint64_t *ret)
{
	uint64_t at = p->section->address + offset_of(p, in->pos), value;
	uint32_t v32;
	uint16_t v16;

	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		if (!ebt_bytes_u64(in, &value))
			return false;
		break;
	case PE_UDATA4:
	case PE_SDATA4:
		if (!ebt_bytes_u32(in, &v32))
			return false;
		value = (encoding & PE_FORMAT) == PE_SDATA4 ? (uint64_t)(int32_t)v32 : v32;
		break;
	case PE_UDATA2:
	case PE_SDATA2:
		if (!ebt_bytes_u16(in, &v16))
			return false;
		value = (encoding & PE_FORMAT) == PE_SDATA2 ? (uint64_t)(int16_t)v16 : v16;
		break;
	case PE_ULEB:
		if (!ebt_bytes_varint(in, &value))
			return false;
		break;
	case PE_SLEB:
		if (!cfi_sleb(in, (int64_t *)&value))
			return false;
		break;
	default:
		return false;
	}
	/* A position relative to text, data or function is not known here, nor is memory. */
	if (encoding & PE_INDIRECT || ((encoding & PE_APPLICATION) & ~PE_PCREL))
		return false;
	*ret = encoding & PE_PCREL ? value + at : value;
	return true;
}

/* The letters of "zPLRSB…", whose data is in in. */
static bool read_augmentation(const struct parser *p, const char *letters, struct ebt_bytes in,
			      struct cfi_cie *cie)
{
	uint8_t encoding;
	uint64_t ignored;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			if (!ebt_bytes_u8(&in, &cie->pointer_encoding))
				return false;
			break;
		case 'P':
			if (!ebt_bytes_u8(&in, &encoding))
				return false;
			/* Where the personality is does not matter, only how long it is. */
			if (encoding != PE_OMIT &&
			    !read_pointer(p, &in, encoding & PE_FORMAT, &ignored))
				return false;
			break;
		case 'L':
			if (!ebt_bytes_u8(&in, &encoding))
				return false;
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* arm64: return addresses signed with the B key; stripped alike */
		case 'G': /* arm64: memory tagging; no data */
			break;
		default:
			return false;
		}
	}
	return true;
}

static bool read_cie(struct parser *p, struct entry *entry, struct cfi_cie *ret)
{
	struct ebt_bytes in = entry->body, augmentation = { in.pos, in.pos };
	struct cfi_cie cie = { .arch = p->arch, .pointer_encoding = PE_ABSPTR };
	const char *letters = (const char *)in.pos + 1;
	uint8_t version, byte;
	uint64_t len;
	size_t n;

	if (!ebt_bytes_u8(&in, &version) || (version != 1 && version != 3 && version != 4))
		return false;
	n = strnlen(letters, ebt_bytes_left(&in));
	if (!ebt_bytes_skip(&in, (uint64_t)n + 1) || (*letters && *letters != 'z'))
		return false;
	if (version == 4 && (!ebt_bytes_u8(&in, &byte) || byte != 8 || !ebt_bytes_u8(&in, &byte)))
		return false;
	if (!ebt_bytes_varint(&in, &cie.code_align) || !cfi_sleb(&in, &cie.data_align))
		return false;
	if (version == 1) {
		if (!ebt_bytes_u8(&in, &byte))
			return false;
		cie.ra_register = byte;
	} else if (!ebt_bytes_varint(&in, &cie.ra_register)) {
		return false;
	}
	if (*letters == 'z') {
		if (!ebt_bytes_varint(&in, &len) || !ebt_bytes_take(&in, len, &augmentation) ||
		    !read_augmentation(p, letters + 1, augmentation, &cie))
			return false;
		cie.augmented = true;
	}
	p->work += ebt_bytes_left(&in);
	if (!cfi_run_initial(&cie, in))
		return false;
	*ret = cie;
	return true;
}

/* The CIE of an FDE: the last one, or read from where the FDE says it is. */
static const struct cfi_cie *cie_of(struct parser *p, const struct entry *fde)
{
	uint64_t offset = p->section->debug_frame ? fde->id : fde->id_offset - fde->id;
	struct ebt_bytes in = ebt_bytes(p->section->data, p->section->len);
	struct entry entry;

	if (p->have_cie && p->cie_offset == offset)
		return &p->cie;
	p->have_cie = false;
	if (!ebt_bytes_skip(&in, offset) || !next_entry(p, &in, &entry) || !entry.is_cie ||
	    !read_cie(p, &entry, &p->cie))
		return NULL;
	p->have_cie = true;
	p->cie_offset = offset;
	return &p->cie;
}

static bool read_fde(struct parser *p, struct entry *entry)
{
	const struct cfi_cie *cie = cie_of(p, entry);
	struct ebt_bytes in = entry->body;
	struct cfi_range range;
	uint64_t length, len;

	if (!cie || !read_pointer(p, &in, cie->pointer_encoding, &range.start) ||
	    !read_pointer(p, &in, cie->pointer_encoding & PE_FORMAT, &length))
		return false;
	if (cie->augmented && (!ebt_bytes_varint(&in, &len) || !ebt_bytes_skip(&in, len)))
		return false;
	/* Discarded functions are left behind at address 0 or without a length. */
	if (!length || range.start < p->base || range.start - p->base > UINT32_MAX ||
	    length > UINT32_MAX - (range.start - p->base))
		return true;
	range.start -= p->base;
	range.end = range.start + length;
	p->work += ebt_bytes_left(&in);
	return cfi_run(cie, in, range, &p->rows, &p->stats.unsupported);
}

/* More than this many bytes interpreted for each byte there is, and the file is playing games:
 * a large CIE that is run again and again. */
#define MAX_WORK 64

static struct ebt_error *parse_entries(struct parser *p)
{
	struct ebt_bytes in = ebt_bytes(p->section->data, p->section->len);
	struct entry entry;

	while (next_entry(p, &in, &entry)) {
		if (entry.is_cie)
			continue;
		p->stats.fdes++;
		if (!read_fde(p, &entry))
			p->stats.bad_fdes++;
		if (p->rows.failed)
			return &ebt_enomem;
		if (p->rows.n > CFI_MAX_ROWS)
			return ebt_error_create(EBT_ERR_LIMIT, "more than %u unwind rows",
						CFI_MAX_ROWS);
		if (p->work / MAX_WORK > p->section->len)
			return ebt_error_create(EBT_ERR_LIMIT,
						"unwind information takes too long to read");
	}
	return NULL;
}

struct ebt_error *cfi_parse(const struct cfi_section *section, enum cfi_arch arch, uint64_t base,
			    struct cfi_rows *ret, struct cfi_stats *ret_stats)
{
	struct parser p = {
		.section = section, .start = section->data, .arch = arch, .base = base
	};
	struct ebt_error *err;

	err = parse_entries(&p);
	if (!err)
		err = cfi_vec_finish(&p.rows, ret);
	if (!err && ret_stats)
		*ret_stats = p.stats;
	cfi_vec_deinit(&p.rows);
	return err;
}

void cfi_rows_deinit(struct cfi_rows *rows)
{
	free(rows->rows);
	*rows = (struct cfi_rows){ 0 };
}

const struct cfi_row *cfi_rows_find(const struct cfi_rows *rows, uint32_t pc)
{
	size_t low = 0, high = rows->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows->rows[middle].pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &rows->rows[low - 1] : NULL;
}
