/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading headers of ELF files; see elf_headers.h. */
#include "unwind/elf_headers.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/base/cleanup.h"
#include "format/base/fdio.h"

/* Bytes of names of sections that are read, for each section; they have some ten. */
#define NAME_BYTES 256u

#if defined(__x86_64__)
#define NATIVE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define NATIVE_MACHINE EM_AARCH64
#else
#define NATIVE_MACHINE EM_NONE
#endif

bool elf_headers_read(const struct elf_headers *elf, uint64_t offset, void *ret, size_t len)
{
	if (offset > elf->size || len > elf->size - offset)
		return false;
	if (!elf->memory)
		return ebt_pread(elf->fd, offset, ret, len);
	memcpy(ret, elf->memory + offset, len);
	return true;
}

uint64_t elf_headers_load(const struct elf_headers *elf, const void *p, size_t size)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (size) {
	case sizeof(v16):
		memcpy(&v16, p, size);
		return elf->swap ? __builtin_bswap16(v16) : v16;
	case sizeof(v32):
		memcpy(&v32, p, size);
		return elf->swap ? __builtin_bswap32(v32) : v32;
	default:
		memcpy(&v64, p, sizeof(v64));
		return elf->swap ? __builtin_bswap64(v64) : v64;
	}
}

static bool is64(const struct elf_headers *elf)
{
	return elf->file.e_ident[EI_CLASS] == ELFCLASS64;
}

/* --- from both classes to one --- */

#define LOAD_AS(type, field) \
	elf_headers_load(elf, p + offsetof(type, field), sizeof(((type *)0)->field))
/* Sets ret->field to what a struct of this class has at p. */
#define TAKE(type, field)                                                               \
	(ret->field = (__typeof__(ret->field))(is64(elf) ? LOAD_AS(Elf64_##type, field) \
							 : LOAD_AS(Elf32_##type, field)))

static void take_file(const struct elf_headers *elf, const unsigned char *p, Elf64_Ehdr *ret)
{
	TAKE(Ehdr, e_machine);
	TAKE(Ehdr, e_entry);
	TAKE(Ehdr, e_phoff);
	TAKE(Ehdr, e_phentsize);
	TAKE(Ehdr, e_phnum);
	TAKE(Ehdr, e_shoff);
	TAKE(Ehdr, e_shentsize);
	TAKE(Ehdr, e_shnum);
	TAKE(Ehdr, e_shstrndx);
}

static void take_segment(const struct elf_headers *elf, const unsigned char *p, Elf64_Phdr *ret)
{
	TAKE(Phdr, p_type);
	TAKE(Phdr, p_flags);
	TAKE(Phdr, p_offset);
	TAKE(Phdr, p_vaddr);
	TAKE(Phdr, p_filesz);
	TAKE(Phdr, p_memsz);
	TAKE(Phdr, p_align);
}

static void take_section(const struct elf_headers *elf, const unsigned char *p, Elf64_Shdr *ret)
{
	TAKE(Shdr, sh_name);
	TAKE(Shdr, sh_type);
	TAKE(Shdr, sh_flags);
	TAKE(Shdr, sh_addr);
	TAKE(Shdr, sh_offset);
	TAKE(Shdr, sh_size);
	TAKE(Shdr, sh_link);
	TAKE(Shdr, sh_addralign);
}

/* --- reading --- */

static bool read_file(struct elf_headers *elf)
{
	unsigned char bytes[sizeof(Elf64_Ehdr)], *ident = elf->file.e_ident;
	size_t len;

	if (!elf_headers_read(elf, 0, ident, EI_NIDENT) || memcmp(ident, ELFMAG, SELFMAG) ||
	    (ident[EI_CLASS] != ELFCLASS64 && ident[EI_CLASS] != ELFCLASS32))
		return false;
	elf->swap = (ident[EI_DATA] == ELFDATA2MSB) != (BYTE_ORDER == BIG_ENDIAN);
	len = is64(elf) ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	if (!elf_headers_read(elf, 0, bytes, len))
		return false;
	take_file(elf, bytes, &elf->file);
	return true;
}

/* As many of *n entries as are in the file; NULL: there is no memory. */
static unsigned char *read_list(const struct elf_headers *elf, uint64_t offset, size_t entry,
				size_t *n)
{
	uint64_t left = offset < elf->size ? elf->size - offset : 0;
	unsigned char *list;

	if (*n > left / entry)
		*n = (size_t)(left / entry);
	list = malloc(*n * entry + 1);
	if (list && !elf_headers_read(elf, offset, list, *n * entry))
		*n = 0;
	return list;
}

static bool read_segments(struct elf_headers *elf)
{
	const size_t entry = is64(elf) ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	_cleanup_free_ unsigned char *list = NULL;
	size_t n = elf->file.e_phnum;

	if (elf->file.e_phentsize != entry)
		return true;
	if (n > ELF_MAX_SEGMENTS)
		n = ELF_MAX_SEGMENTS;
	list = read_list(elf, elf->file.e_phoff, entry, &n);
	elf->segments = calloc(n + 1, sizeof(*elf->segments));
	if (!list || !elf->segments)
		return false;
	for (; elf->n_segments < n; elf->n_segments++)
		take_segment(elf, list + elf->n_segments * entry, &elf->segments[elf->n_segments]);
	return true;
}

static bool read_headers(struct elf_headers *elf, struct elf_headers *ret)
{
	*ret = *elf;
	if (!read_file(ret)) {
		ret->file = (Elf64_Ehdr){ 0 };
		return true;
	}
	if (read_segments(ret))
		return true;
	elf_headers_deinit(ret);
	return false;
}

bool elf_headers_of_fd(int fd, struct elf_headers *ret)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		st.st_size = 0;
	return read_headers(&(struct elf_headers){ .fd = fd, .size = (uint64_t)st.st_size }, ret);
}

bool elf_headers_of_memory(const void *data, size_t len, struct elf_headers *ret)
{
	return read_headers(&(struct elf_headers){ .memory = data, .fd = -1, .size = len }, ret);
}

void elf_headers_deinit(struct elf_headers *elf)
{
	free(elf->segments);
	free(elf->sections);
	free(elf->names);
	*elf = (struct elf_headers){ .fd = -1 };
}

static bool read_names(struct elf_headers *elf)
{
	size_t len = elf->n_sections * NAME_BYTES;
	const Elf64_Shdr *s;

	if (elf->file.e_shstrndx >= elf->n_sections)
		return true;
	s = &elf->sections[elf->file.e_shstrndx];
	if (len > s->sh_size)
		len = (size_t)s->sh_size;
	if (s->sh_offset > elf->size || len > elf->size - s->sh_offset)
		return true;
	elf->names = calloc(1, len + 1);
	if (!elf->names)
		return false;
	elf->names_len = elf_headers_read(elf, s->sh_offset, elf->names, len) ? len : 0;
	return true;
}

bool elf_headers_sections(struct elf_headers *elf, size_t max)
{
	const size_t entry = is64(elf) ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	_cleanup_free_ unsigned char *list = NULL;
	size_t n = elf->file.e_shnum < max ? elf->file.e_shnum : max;

	if (elf->file.e_shentsize != entry)
		return true;
	list = read_list(elf, elf->file.e_shoff, entry, &n);
	elf->sections = calloc(n + 1, sizeof(*elf->sections));
	if (!list || !elf->sections)
		return false;
	for (; elf->n_sections < n; elf->n_sections++)
		take_section(elf, list + elf->n_sections * entry, &elf->sections[elf->n_sections]);
	return read_names(elf);
}

/* --- what they say --- */

bool elf_headers_is_le64(const struct elf_headers *elf)
{
	return is64(elf) && elf->file.e_ident[EI_DATA] == ELFDATA2LSB;
}

bool elf_headers_is_native(const struct elf_headers *elf)
{
	return elf_headers_is_le64(elf) && elf->file.e_machine == NATIVE_MACHINE;
}

bool elf_headers_is(const struct elf_headers *elf, const Elf64_Shdr *section, const char *name)
{
	return section->sh_name < elf->names_len && !strcmp(elf->names + section->sh_name, name);
}

const Elf64_Shdr *elf_headers_section(const struct elf_headers *elf, const char *name)
{
	for (size_t i = 0; i < elf->n_sections; i++) {
		if (elf_headers_is(elf, &elf->sections[i], name))
			return &elf->sections[i];
	}
	return NULL;
}

const Elf64_Phdr *elf_headers_segment_at(const struct elf_headers *elf, uint64_t address,
					 uint32_t flags)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		const Elf64_Phdr *p = &elf->segments[i];

		if (p->p_type == PT_LOAD && (p->p_flags & flags) == flags &&
		    address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
			return p;
	}
	return NULL;
}
