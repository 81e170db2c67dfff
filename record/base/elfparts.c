/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tells ELF files apart; see elfparts.h. */
#include "record/base/elfparts.h"

#include <string.h>

#include "format/base/cleanup.h"
#include "unwind/elf_headers.h"

#define MAX_SECTIONS 512u

/* A name, then zeros up to a multiple of 4, then the CRC. */
static void read_debuglink(const struct elf_headers *elf, const Elf64_Shdr *s, struct elfparts *ret)
{
	char content[sizeof(ret->debuglink) + 8] = "";
	size_t len = s->sh_size < sizeof(content) ? (size_t)s->sh_size : sizeof(content), name;
	size_t crc;

	if (!elf_headers_read(elf, s->sh_offset, content, len))
		return;
	name = strnlen(content, len);
	crc = (name + 4) / 4 * 4;
	if (!name || name >= sizeof(ret->debuglink) || crc + sizeof(ret->debuglink_crc) > len)
		return;
	memcpy(ret->debuglink, content, name + 1);
	ret->debuglink_crc =
		(uint32_t)elf_headers_load(elf, content + crc, sizeof(ret->debuglink_crc));
}

/* Of what is loaded, unwind tables and the stubs of the procedure linkage table have a use. */
static bool is_dull(const Elf64_Shdr *s, const char *name)
{
	return s->sh_type == SHT_PROGBITS && (s->sh_flags & SHF_ALLOC) &&
	       strncmp(name, ".eh_frame", strlen(".eh_frame")) &&
	       strncmp(name, ".plt", strlen(".plt"));
}

static void take_section(const struct elf_headers *elf, const Elf64_Shdr *s, struct elfparts *ret)
{
	const struct elfparts_range range = { s->sh_offset, s->sh_size };

	if (s->sh_name >= elf->names_len)
		return;
	if (elf_headers_is(elf, s, ".stapsdt.base"))
		ret->stapsdt_base = s->sh_addr;
	if (elf_headers_is(elf, s, ".gnu_debuglink"))
		read_debuglink(elf, s, ret);
	else if (elf_headers_is(elf, s, ".note.stapsdt") && elf_headers_is_native(elf))
		ret->stapsdt = range;
	else if (is_dull(s, elf->names + s->sh_name) && ret->n_dull < ELFPARTS_MAX_DULL)
		ret->dull[ret->n_dull++] = range;
}

bool elfparts_read(int fd, struct elfparts *ret)
{
	_cleanup_(elf_headers_deinit) struct elf_headers elf;

	*ret = (struct elfparts){ 0 };
	if (!elf_headers_of_fd(fd, &elf) || !elf_headers_sections(&elf, MAX_SECTIONS))
		return false;
	for (size_t i = 0; i < elf.n_segments && ret->n_loads < ELFPARTS_MAX_LOADS; i++) {
		const Elf64_Phdr *p = &elf.segments[i];

		if (p->p_type == PT_LOAD)
			ret->loads[ret->n_loads++] =
				(struct elfparts_load){ p->p_offset, p->p_vaddr, p->p_filesz,
							p->p_memsz, p->p_flags };
	}
	for (size_t i = 0; i < elf.n_sections; i++)
		take_section(&elf, &elf.sections[i], ret);
	return elf.file.e_ident[EI_CLASS] != ELFCLASSNONE;
}

void elfparts_blank(const struct elfparts *parts, char *content, size_t len)
{
	for (size_t i = 0; i < parts->n_dull; i++) {
		const struct elfparts_range *range = &parts->dull[i];

		if (range->offset >= len)
			continue;
		memset(content + range->offset, 0,
		       range->len < len - range->offset ? (size_t)range->len
							: len - (size_t)range->offset);
	}
}
