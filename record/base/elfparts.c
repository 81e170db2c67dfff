/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Headers of both classes and byte orders are brought into one form first. */
#include "record/base/elfparts.h"

#include <elf.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/pread.h"

#define MAX_SEGMENTS 128u
#define MAX_SECTIONS 512u
/* Of the names of sections, which take some hundred bytes. */
#define MAX_NAMES (16u << 10)

#ifdef __x86_64__
#define NATIVE_MACHINE EM_X86_64
#else
#define NATIVE_MACHINE EM_AARCH64
#endif

struct image {
	int fd;
	uint64_t size;
	bool is64, swap, native;
	uint64_t phoff, shoff;
	unsigned int phnum, phentsize, shnum, shentsize, shstrndx;
};

struct section {
	uint32_t name, type;
	uint64_t flags, address, offset, size;
};

static bool read_at(const struct image *image, uint64_t offset, void *ret, size_t len)
{
	return offset <= image->size && len <= image->size - offset &&
	       ebt_pread(image->fd, offset, ret, len);
}

static uint64_t fix(const struct image *image, uint64_t v, size_t size)
{
	if (!image->swap)
		return v;
	return size == 2   ? __builtin_bswap16((uint16_t)v)
	       : size == 4 ? __builtin_bswap32((uint32_t)v)
			   : __builtin_bswap64(v);
}
#define FIX(image, field) fix(image, field, sizeof(field))

#define TAKE_HEADER(image, e)                                                   \
	do {                                                                    \
		(image)->phoff = FIX(image, (e).e_phoff);                       \
		(image)->shoff = FIX(image, (e).e_shoff);                       \
		(image)->phnum = (unsigned int)FIX(image, (e).e_phnum);         \
		(image)->phentsize = (unsigned int)FIX(image, (e).e_phentsize); \
		(image)->shnum = (unsigned int)FIX(image, (e).e_shnum);         \
		(image)->shentsize = (unsigned int)FIX(image, (e).e_shentsize); \
		(image)->shstrndx = (unsigned int)FIX(image, (e).e_shstrndx);   \
	} while (0)

static bool read_header(struct image *image)
{
	unsigned char ident[EI_NIDENT];

	if (!read_at(image, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG))
		return false;
	image->is64 = ident[EI_CLASS] == ELFCLASS64;
	image->swap = (ident[EI_DATA] == ELFDATA2MSB) != (BYTE_ORDER == BIG_ENDIAN);
	if (image->is64) {
		Elf64_Ehdr e;

		if (!read_at(image, 0, &e, sizeof(e)))
			return false;
		TAKE_HEADER(image, e);
		image->native = !image->swap && e.e_machine == NATIVE_MACHINE;
	} else {
		Elf32_Ehdr e;

		if (ident[EI_CLASS] != ELFCLASS32 || !read_at(image, 0, &e, sizeof(e)))
			return false;
		TAKE_HEADER(image, e);
	}
	return true;
}

#define TAKE_LOAD(image, p, ret)                          \
	do {                                              \
		(ret)->offset = FIX(image, (p).p_offset); \
		(ret)->vaddr = FIX(image, (p).p_vaddr);   \
		(ret)->filesz = FIX(image, (p).p_filesz); \
		(ret)->memsz = FIX(image, (p).p_memsz);   \
		(ret)->flags = FIX(image, (p).p_flags);   \
	} while (0)

/* False: it is no PT_LOAD, or cannot be read. */
static bool read_load(const struct image *image, unsigned int i, struct elfparts_load *ret)
{
	const uint64_t at = image->phoff + (uint64_t)i * image->phentsize;

	if (image->is64) {
		Elf64_Phdr p;

		if (image->phentsize < sizeof(p) || !read_at(image, at, &p, sizeof(p)) ||
		    FIX(image, p.p_type) != PT_LOAD)
			return false;
		TAKE_LOAD(image, p, ret);
	} else {
		Elf32_Phdr p;

		if (image->phentsize < sizeof(p) || !read_at(image, at, &p, sizeof(p)) ||
		    FIX(image, p.p_type) != PT_LOAD)
			return false;
		TAKE_LOAD(image, p, ret);
	}
	return true;
}

#define TAKE_SECTION(image, s, ret)                              \
	do {                                                     \
		(ret)->name = (uint32_t)FIX(image, (s).sh_name); \
		(ret)->type = (uint32_t)FIX(image, (s).sh_type); \
		(ret)->flags = FIX(image, (s).sh_flags);         \
		(ret)->address = FIX(image, (s).sh_addr);        \
		(ret)->offset = FIX(image, (s).sh_offset);       \
		(ret)->size = FIX(image, (s).sh_size);           \
	} while (0)

static void take_section(const struct image *image, const unsigned char *header,
			 struct section *ret)
{
	if (image->is64) {
		Elf64_Shdr s;

		memcpy(&s, header, sizeof(s));
		TAKE_SECTION(image, s, ret);
	} else {
		Elf32_Shdr s;

		memcpy(&s, header, sizeof(s));
		TAKE_SECTION(image, s, ret);
	}
}

/* All headers of sections at once, to be freed; NULL: there are none that can be right. */
static unsigned char *read_headers(const struct image *image)
{
	const size_t least = image->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	const size_t len = (size_t)image->shnum * image->shentsize;
	_cleanup_free_ unsigned char *headers = NULL;

	if (!image->shnum || image->shnum > MAX_SECTIONS || image->shentsize < least ||
	    image->shentsize > 4 * least || image->shstrndx >= image->shnum)
		return NULL;
	headers = malloc(len);
	return headers && read_at(image, image->shoff, headers, len) ? take_ptr(headers) : NULL;
}

/* A name, then zeros up to a multiple of 4, then the CRC. */
static void read_debuglink(const struct image *image, const struct section *s, struct elfparts *ret)
{
	char content[sizeof(ret->debuglink) + 8] = "";
	size_t len = s->size < sizeof(content) ? (size_t)s->size : sizeof(content), name;
	uint32_t crc;

	if (!read_at(image, s->offset, content, len))
		return;
	name = strnlen(content, len);
	if (!name || name >= sizeof(ret->debuglink) || (name + 4) / 4 * 4 + sizeof(crc) > len)
		return;
	memcpy(&crc, content + (name + 4) / 4 * 4, sizeof(crc));
	memcpy(ret->debuglink, content, name + 1);
	ret->debuglink_crc = (uint32_t)FIX(image, crc);
}

/* Of what is loaded, unwind tables and the stubs of the procedure linkage table have a use. */
static bool is_dull(const struct section *s, const char *name)
{
	return s->type == SHT_PROGBITS && (s->flags & SHF_ALLOC) &&
	       strncmp(name, ".eh_frame", strlen(".eh_frame")) &&
	       strncmp(name, ".plt", strlen(".plt"));
}

static void read_sections(const struct image *image, struct elfparts *ret)
{
	_cleanup_free_ unsigned char *headers = read_headers(image);
	_cleanup_free_ char *names = calloc(1, MAX_NAMES + 1);
	struct section s;
	size_t len;

	if (!headers || !names)
		return;
	take_section(image, headers + (size_t)image->shstrndx * image->shentsize, &s);
	len = s.size < MAX_NAMES ? (size_t)s.size : MAX_NAMES;
	if (!read_at(image, s.offset, names, len))
		return;
	for (unsigned int i = 0; i < image->shnum; i++) {
		take_section(image, headers + (size_t)i * image->shentsize, &s);
		if (s.name >= len)
			continue;
		if (!strcmp(names + s.name, ".stapsdt.base"))
			ret->stapsdt_base = s.address;
		if (!strcmp(names + s.name, ".gnu_debuglink"))
			read_debuglink(image, &s, ret);
		else if (!strcmp(names + s.name, ".note.stapsdt") && image->native)
			ret->stapsdt = (struct elfparts_range){ s.offset, s.size };
		else if (is_dull(&s, names + s.name) && ret->n_dull < ELFPARTS_MAX_DULL)
			ret->dull[ret->n_dull++] = (struct elfparts_range){ s.offset, s.size };
	}
}

bool elfparts_read(int fd, uint64_t size, struct elfparts *ret)
{
	struct image image = { .fd = fd, .size = size };

	*ret = (struct elfparts){ 0 };
	if (!read_header(&image))
		return false;
	for (unsigned int i = 0; i < image.phnum && i < MAX_SEGMENTS; i++) {
		if (ret->n_loads == ELFPARTS_MAX_LOADS)
			break;
		ret->n_loads += read_load(&image, i, &ret->loads[ret->n_loads]);
	}
	read_sections(&image, ret);
	return true;
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
