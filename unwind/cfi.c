/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of .eh_frame and .debug_frame, run and turned into rows; see cfi.h. */
#include "unwind/cfi.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/cleanup.h"
#include "format/base/search.h"
#include "unwind/cfi_program.h"

struct parser {
	const struct cfi_section *section;
	enum cfi_arch arch;
	uint64_t base;
	struct cfi_vec *rows;
	struct cfi_stats stats;
	/* The last CIE, kept because neighbours share it. */
	struct cfi_cie cie;
	uint64_t cie_offset;
	bool have_cie;
	uint64_t work; /* bytes of the section read so far, again and again */
};

/* Length and id of an entry; the contents behind them. */
struct cfi_entry {
	struct ebt_bytes body;
	uint64_t id;	    /* CIE pointer or CIE id */
	uint64_t id_offset; /* of that field */
	bool is_cie;
	bool wide; /* 64-bit DWARF */
};

static uint64_t offset_of(const struct parser *p, const unsigned char *pos)
{
	return (uint64_t)(pos - (const unsigned char *)p->section->data);
}

/* False at the end, be it a terminator or damage. */
static bool next_entry(const struct parser *p, struct ebt_bytes *in, struct cfi_entry *ret)
{
	uint32_t len32, id32;
	uint64_t len;

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
			if (encoding != CFI_PE_OMIT &&
			    !cfi_pointer(p->section, &in, encoding & CFI_PE_FORMAT, &ignored))
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

/* Alignment factors and the return address's register. */
static bool read_factors(struct ebt_bytes *in, uint8_t version, struct cfi_cie *cie)
{
	uint8_t address_size, segment_size, reg;

	if (version == 4 && (!ebt_bytes_u8(in, &address_size) || address_size != 8 ||
			     !ebt_bytes_u8(in, &segment_size) || segment_size))
		return false;
	if (!ebt_bytes_varint(in, &cie->code_align) || !ebt_bytes_sleb(in, &cie->data_align))
		return false;
	if (version > 1)
		return ebt_bytes_varint(in, &cie->ra_register);
	if (!ebt_bytes_u8(in, &reg))
		return false;
	cie->ra_register = reg;
	return true;
}

static bool read_cie(const struct parser *p, const struct cfi_entry *entry, struct cfi_cie *ret)
{
	struct ebt_bytes in = entry->body, augmentation;
	struct cfi_cie cie = {
		.section = p->section,
		.arch = p->arch,
		.base = p->base,
		.pointer_encoding = CFI_PE_ABSPTR,
	};
	const char *letters;
	uint8_t version;
	uint64_t len;

	if (!ebt_bytes_u8(&in, &version) || (version != 1 && version != 3 && version != 4))
		return false;
	letters = (const char *)in.pos;
	if (!ebt_bytes_skip(&in, strnlen(letters, ebt_bytes_left(&in)) + UINT64_C(1)))
		return false;
	/* Before "z" there was "eh": a pointer to the compiler's own data. */
	if (!strcmp(letters, "eh") ? !ebt_bytes_skip(&in, 8) : *letters && *letters != 'z')
		return false;
	if (!read_factors(&in, version, &cie))
		return false;
	if (*letters == 'z') {
		if (!ebt_bytes_varint(&in, &len) || !ebt_bytes_take(&in, len, &augmentation) ||
		    !read_augmentation(p, letters + 1, augmentation, &cie))
			return false;
		cie.augmented = true;
	}
	if (!cfi_run_initial(&cie, in))
		return false;
	*ret = cie;
	return true;
}

/* The CIE of an FDE: the last one, or read from where the FDE says it is. */
static const struct cfi_cie *cie_of(struct parser *p, const struct cfi_entry *fde)
{
	uint64_t offset = p->section->debug_frame ? fde->id : fde->id_offset - fde->id;
	struct ebt_bytes in = ebt_bytes(p->section->data, p->section->len);
	struct cfi_entry entry;

	if (p->have_cie && p->cie_offset == offset)
		return &p->cie;
	p->have_cie = false;
	if (!ebt_bytes_skip(&in, offset) || !next_entry(p, &in, &entry) || !entry.is_cie)
		return NULL;
	p->work += ebt_bytes_left(&entry.body);
	if (!read_cie(p, &entry, &p->cie))
		return NULL;
	p->have_cie = true;
	p->cie_offset = offset;
	return &p->cie;
}

static bool read_fde(struct parser *p, const struct cfi_entry *entry)
{
	const struct cfi_cie *cie = cie_of(p, entry);
	struct ebt_bytes in = entry->body;
	struct cfi_range range;
	uint64_t start, length, len;

	if (!cie || !cfi_pointer(p->section, &in, cie->pointer_encoding, &start) ||
	    !cfi_pointer(p->section, &in, cie->pointer_encoding & CFI_PE_FORMAT, &length))
		return false;
	if (cie->augmented && (!ebt_bytes_varint(&in, &len) || !ebt_bytes_skip(&in, len)))
		return false;
	/* Discarded functions are left behind at address 0 or without a length. */
	if (!length || !start || start < p->base || start - p->base > UINT32_MAX ||
	    length > UINT32_MAX - (start - p->base))
		return true;
	range.start = start - p->base;
	range.end = range.start + length;
	return cfi_run(cie, in, range, p->rows, &p->stats.unsupported);
}

/*
 * Neighbours share a CIE, so that a section is read once, or twice where each FDE has a small CIE
 * of its own. Where more is read, a large CIE is used again and again to keep us busy.
 */
static bool works_too_long(const struct parser *p)
{
	return p->work / 4 > p->section->len;
}

/*
 * Terminators, entries of length zero, are in the middle where a linker only put sections one
 * behind the other. Whoever searches by .eh_frame_hdr never sees them.
 */
static void skip_terminators(struct ebt_bytes *in)
{
	while (ebt_bytes_left(in) >= 4 && !ebt_load_u32(in->pos))
		in->pos += 4;
}

static struct ebt_error *parse_section(struct parser *p)
{
	struct ebt_bytes in = ebt_bytes(p->section->data, p->section->len);
	struct cfi_entry entry;

	p->have_cie = false;
	p->work = 0;
	while (!p->rows->failed && !p->rows->full) {
		if (!p->section->ends_at_zero)
			skip_terminators(&in);
		if (!next_entry(p, &in, &entry))
			break;
		if (entry.is_cie)
			continue;
		p->stats.fdes++;
		p->work += ebt_bytes_left(&entry.body);
		if (!read_fde(p, &entry))
			p->stats.bad_fdes++;
		if (works_too_long(p))
			return ebt_error_create(EBT_ERR_LIMIT,
						"unwind information takes too long to read");
	}
	return NULL;
}

struct ebt_error *cfi_parse(const struct cfi_section *sections, size_t n, enum cfi_arch arch,
			    uint64_t base, struct cfi_rows *ret, struct cfi_stats *ret_stats)
{
	_cleanup_(cfi_vec_deinit) struct cfi_vec rows = { 0 };
	struct parser p = { .arch = arch, .base = base, .rows = &rows };
	struct ebt_error *err;

	for (size_t i = 0; i < n; i++) {
		p.section = &sections[i];
		err = parse_section(&p);
		if (err)
			return err;
	}
	if (ret_stats)
		*ret_stats = p.stats;
	return cfi_vec_finish(&rows, ret);
}

void cfi_rows_deinit(struct cfi_rows *rows)
{
	free(rows->rows);
	*rows = (struct cfi_rows){ 0 };
}

const struct cfi_row *cfi_rows_find(const struct cfi_rows *rows, uint32_t pc)
{
	size_t n = ebt_count_first(rows->n, i, rows->rows[i].pc <= pc);

	return n ? &rows->rows[n - 1] : NULL;
}
