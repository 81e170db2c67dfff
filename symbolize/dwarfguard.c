/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes of what libdw would make; see dwarfguard.h. */
#include "dwarfguard.h"

#include <dwarf.h>
#include <endian.h>
#include <gelf.h>
#include <string.h>

#include "bytes.h"

/* zlib makes debug information 3 to 8 times smaller; above this size, 64 times is a bomb. */
#define SMALL_SECTION (UINT64_C(64) << 20)
#define MAX_RATIO     64

/* All tables of lines of one file. The whole of chromium's needs 14 GiB, the units that a profile
 * meets a hundredth of it. */
#define MAX_LINES (UINT64_C(4) << 30)

/* What libdw takes for a row, which a byte of a line program can make. */
#define ROW_SIZE 48

/* What libdw takes for a file or directory, beside its path. */
#define FILE_SIZE 64

static bool is_plausible(uint64_t packed, uint64_t unpacked)
{
	return unpacked <= SMALL_SECTION || unpacked / MAX_RATIO <= packed;
}

bool dwarf_guard_sections(const struct elf_file *file)
{
	uint64_t total = 0, packed = 0;
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return true;
	while ((scn = elf_nextscn(file->elf, scn))) {
		const Elf_Data *data;
		GElf_Shdr shdr;
		GElf_Chdr chdr;
		const char *name;
		uint64_t size;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(file->elf, names, shdr.sh_name);
		if ((shdr.sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &chdr)) {
			size = chdr.ch_size;
		} else if (name && !strncmp(name, ".zdebug", 7)) {
			/* "ZLIB", then the size, big-endian. */
			data = elf_rawdata(scn, NULL);
			if (!data || !data->d_buf || data->d_size < 12)
				continue;
			memcpy(&size, (const char *)data->d_buf + 4, sizeof(size));
			size = be64toh(size);
		} else {
			continue;
		}
		if (size > UINT64_MAX - total)
			return false;
		total += size;
		packed += shdr.sh_size;
	}
	return is_plausible(packed, total);
}

static Elf_Data *section_data(const struct elf_file *file, const char *name, const char *other)
{
	Elf_Scn *scn = elf_file_section(file, name);

	if (!scn)
		scn = elf_file_section(file, other);
	return scn ? elf_rawdata(scn, NULL) : NULL;
}

void dwarf_guard_init(struct dwarf_guard *guard, const struct elf_file *file)
{
	GElf_Ehdr ehdr;

	*guard = (struct dwarf_guard){ 0 };
	/* The headers of big-endian files are not understood here: they get no lines. */
	if (!gelf_getehdr(file->elf, &ehdr) || ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return;
	guard->line = section_data(file, ".debug_line", ".zdebug_line");
	guard->line_str = section_data(file, ".debug_line_str", ".zdebug_line_str");
	guard->str = section_data(file, ".debug_str", ".zdebug_str");
	guard->left = MAX_LINES;
}

static bool spend(struct dwarf_guard *guard, uint64_t bytes)
{
	if (bytes > guard->left) {
		guard->left = 0;
		return false;
	}
	guard->left -= bytes;
	return true;
}

/* One header of a line table under way. */
struct header {
	struct dwarf_guard *guard;
	struct ebt_bytes in;
	bool wide; /* 64-bit DWARF */
};

/* Passes over a string, and keeps the largest length. */
static bool read_string(struct header *header, size_t *longest)
{
	const void *nul = memchr(header->in.pos, 0, ebt_bytes_left(&header->in));
	size_t len = nul ? (size_t)((const unsigned char *)nul - header->in.pos) : 0;

	if (!nul)
		return false;
	*longest = len > *longest ? len : *longest;
	return ebt_bytes_skip(&header->in, len + 1);
}

static bool read_offset(struct header *header, uint64_t *ret)
{
	uint32_t narrow;

	if (header->wide)
		return ebt_bytes_u64(&header->in, ret);
	if (!ebt_bytes_u32(&header->in, &narrow))
		return false;
	*ret = narrow;
	return true;
}

/* A string of another section. Looking for its end is paid for as well. */
static bool read_string_at(struct header *header, const Elf_Data *section, size_t *longest)
{
	uint64_t offset;
	size_t len;

	if (!read_offset(header, &offset) || !section || !section->d_buf ||
	    offset >= section->d_size)
		return false;
	len = strnlen((const char *)section->d_buf + offset, section->d_size - offset);
	*longest = len > *longest ? len : *longest;
	return spend(header->guard, len);
}

/* A value of an entry of version 5. */
static bool read_form(struct header *header, uint64_t form, size_t *longest)
{
	uint64_t n;

	switch (form) {
	case DW_FORM_string:
		return read_string(header, longest);
	case DW_FORM_line_strp:
		return read_string_at(header, header->guard->line_str, longest);
	case DW_FORM_strp:
		return read_string_at(header, header->guard->str, longest);
	case DW_FORM_udata:
		return ebt_bytes_varint(&header->in, &n);
	case DW_FORM_block:
		return ebt_bytes_varint(&header->in, &n) && ebt_bytes_skip(&header->in, n);
	case DW_FORM_data1:
		return ebt_bytes_skip(&header->in, 1);
	case DW_FORM_data2:
		return ebt_bytes_skip(&header->in, 2);
	case DW_FORM_data4:
		return ebt_bytes_skip(&header->in, 4);
	case DW_FORM_data8:
		return ebt_bytes_skip(&header->in, 8);
	case DW_FORM_data16:
		return ebt_bytes_skip(&header->in, 16);
	default:
		return false;
	}
}

/* A list of directories or files of version 5. */
static bool read_entries(struct header *header, uint64_t *ret_n, size_t *longest)
{
	uint64_t forms[256], kind;
	uint8_t n_forms;

	if (!ebt_bytes_u8(&header->in, &n_forms))
		return false;
	for (unsigned int i = 0; i < n_forms; i++) {
		if (!ebt_bytes_varint(&header->in, &kind) ||
		    !ebt_bytes_varint(&header->in, &forms[i]))
			return false;
	}
	if (!ebt_bytes_varint(&header->in, ret_n) || *ret_n > ebt_bytes_left(&header->in) ||
	    (*ret_n && !n_forms))
		return false;
	for (uint64_t entry = 0; entry < *ret_n; entry++) {
		for (unsigned int i = 0; i < n_forms; i++) {
			if (!read_form(header, forms[i], longest))
				return false;
		}
	}
	return true;
}

/* The lists of version 2 to 4 end with an empty string. */
static bool read_old_entries(struct header *header, bool files, uint64_t *ret_n, size_t *longest)
{
	for (*ret_n = 0;; ++*ret_n) {
		uint64_t number;

		if (!ebt_bytes_left(&header->in))
			return false;
		if (!*header->in.pos)
			return ebt_bytes_skip(&header->in, 1);
		if (!read_string(header, longest))
			return false;
		for (int i = 0; files && i < 3; i++) {
			if (!ebt_bytes_varint(&header->in, &number))
				return false;
		}
	}
}

/* Reads the fields up to the lists. *program: bytes of the unit, its header included. */
static bool read_start(struct header *header, uint16_t *version, uint64_t *program)
{
	struct ebt_bytes *in = &header->in, unit;
	uint8_t opcode_base;
	uint64_t length;
	uint32_t word;

	if (!ebt_bytes_u32(in, &word))
		return false;
	header->wide = word == UINT32_MAX;
	length = word;
	if (header->wide && !ebt_bytes_u64(in, &length))
		return false;
	if (!ebt_bytes_take(in, length, &unit))
		return false;
	*in = unit;
	if (!ebt_bytes_u16(in, version))
		return false;
	*program = length;
	return *version >= 2 && *version <= 5 && ebt_bytes_skip(in, *version >= 5 ? 2 : 0) &&
	       read_offset(header, &length) &&
	       /* Instruction length, operations (version 4), statement flag, base, range. */
	       ebt_bytes_skip(in, *version >= 4 ? 5 : 4) && ebt_bytes_u8(in, &opcode_base) &&
	       ebt_bytes_skip(in, opcode_base ? opcode_base - 1 : 0);
}

bool dwarf_guard_lines(struct dwarf_guard *guard, uint64_t offset, size_t comp_dir_len)
{
	size_t longest_dir = 0, longest_file = 0, path;
	uint64_t program, n_dirs, n_files;
	struct header header = { guard, { 0 }, false };
	uint16_t version;

	if (!guard->line || !guard->line->d_buf || offset >= guard->line->d_size)
		return false;
	header.in =
		ebt_bytes((const char *)guard->line->d_buf + offset, guard->line->d_size - offset);
	if (!read_start(&header, &version, &program))
		return false;
	if (version >= 5 ? !read_entries(&header, &n_dirs, &longest_dir) ||
				   !read_entries(&header, &n_files, &longest_file)
			 : !read_old_entries(&header, false, &n_dirs, &longest_dir) ||
				   !read_old_entries(&header, true, &n_files, &longest_file))
		return false;
	/* A program of an old version can add files, of 6 bytes at the least. */
	if (version < 5)
		n_files += ebt_bytes_left(&header.in) / 6;
	path = comp_dir_len + longest_dir + longest_file + FILE_SIZE;
	return n_files <= UINT64_MAX / path - n_dirs && spend(guard, (n_files + n_dirs) * path) &&
	       spend(guard, program * ROW_SIZE);
}
