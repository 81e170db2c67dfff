/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that are read page by page; see pages.h. Unpacking is in unpack.c. */
#include "symbolize/elf/pages.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/cleanup.h"
#include "format/base/fdio.h"
#include "symbolize/elf/unpack.h"

#define PAGE UINT64_C(4096)

/* zlib makes debug information 3 to 8 times smaller; above this size, 64 times is a bomb. */
#define SMALL	  (UINT64_C(64) << 20)
#define MAX_RATIO 64
#define MAX_SIZE  (UINT64_C(16) << 30)

/* What is unpacked to memory. More goes to a file. */
#define MAX_MEMORY (UINT64_C(128) << 20)

/* The ELF header of elfutils 0.188 lacks it. */
#define COMPRESS_ZSTD 2

/* Longer strings are given up. */
#define MAX_STRING (UINT64_C(1) << 20)

DEFINE_CLEANUP(struct pages *, pages_destroy);

static const char *const names[PAGES_N_SECTIONS] = {
	[PAGES_INFO] = "info",
	[PAGES_ABBREV] = "abbrev",
	[PAGES_STR] = "str",
	[PAGES_LINE] = "line",
	[PAGES_LINE_STR] = "line_str",
	[PAGES_RANGES] = "ranges",
	[PAGES_RNGLISTS] = "rnglists",
	[PAGES_ADDR] = "addr",
	[PAGES_STR_OFFSETS] = "str_offsets",
	[PAGES_ARANGES] = "aranges",
};

void pages_destroy(struct pages *pages)
{
	if (!pages)
		return;
	if (pages->base)
		munmap(pages->base, pages->size);
	if (pages->fd >= 0)
		close(pages->fd);
	if (pages->unpacked >= 0)
		close(pages->unpacked);
	free(pages->have);
	pthread_mutex_destroy(&pages->lock);
	free(pages);
}

/* --- reading --- */

static bool has_page(const struct pages *pages, uint64_t page)
{
	return pages->have[page / 8] >> page % 8 & 1;
}

static void mark_pages(struct pages *pages, uint64_t first, uint64_t end)
{
	for (uint64_t page = first; page < end; page++)
		pages->have[page / 8] |= (uint8_t)(1 << page % 8);
}

/* Where the file ends and what was unpacked begins. */
static uint64_t boundary(const struct pages *pages)
{
	return (pages->total + PAGE - 1) / PAGE * PAGE;
}

/* Reads pages that are all missing, on one side of the boundary. */
static bool read_pages(struct pages *pages, uint64_t first, uint64_t n)
{
	uint64_t from = first * PAGE, to = (first + n) * PAGE;
	bool good;

	if (from >= boundary(pages)) {
		good = ebt_pread(pages->unpacked, from - boundary(pages), pages->base + from,
				 to - from);
	} else {
		to = to < pages->total ? to : pages->total;
		good = ebt_pread(pages->fd, from, pages->base + from, to - from);
	}
	/* What failed is not tried again: it stays as it is. */
	mark_pages(pages, first, first + n);
	return good;
}

bool pages_need(struct pages *pages, uint64_t offset, uint64_t len)
{
	uint64_t page, end, limit = boundary(pages) / PAGE;
	bool good = true;

	if (offset > pages->size || len > pages->size - offset)
		return false;
	end = (offset + len + PAGE - 1) / PAGE;
	pthread_mutex_lock(&pages->lock);
	for (page = offset / PAGE; page < end;) {
		uint64_t n = 0;

		while (page + n < end && !has_page(pages, page + n) && (!n || page + n != limit))
			n++;
		if (n)
			good &= read_pages(pages, page, n);
		page += n ? n : 1;
	}
	pthread_mutex_unlock(&pages->lock);
	return good;
}

bool pages_need_section(struct pages *pages, enum pages_section section)
{
	return pages_need(pages, pages->sections[section].offset, pages->sections[section].size);
}

void pages_drop(struct pages *pages, uint64_t offset, uint64_t len)
{
	uint64_t from = (offset + PAGE - 1) / PAGE, to = (offset + len) / PAGE;

	if (from >= to || pages->fd < 0)
		return;
	/* What was unpacked to memory cannot be read again. */
	if (pages->unpacked < 0 && to * PAGE > boundary(pages))
		return;
	pthread_mutex_lock(&pages->lock);
	if (!madvise(pages->base + from * PAGE, (to - from) * PAGE, MADV_DONTNEED)) {
		for (uint64_t page = from; page < to; page++)
			pages->have[page / 8] &= (uint8_t) ~(1 << page % 8);
	}
	pthread_mutex_unlock(&pages->lock);
}

const char *pages_string(struct pages *pages, const char *string)
{
	uint64_t offset, len = 0;

	if (!string || string < pages->base || string >= pages->base + pages->size)
		return string;
	offset = (uint64_t)(string - pages->base);
	while (len < MAX_STRING && offset + len < pages->size) {
		uint64_t step = PAGE - (offset + len) % PAGE;

		if (step > pages->size - offset - len)
			step = pages->size - offset - len;
		if (!pages_need(pages, offset + len, step))
			return NULL;
		if (memchr(string + len, 0, step))
			return string;
		len += step;
	}
	return NULL;
}

/* --- opening --- */

/* A section of debug information in a file. */
struct page_section {
	size_t index;	     /* of its header */
	unsigned int number; /* PAGES_N_SECTIONS: not needed */
	uint32_t name;	     /* its offset in the section of names */
	uint64_t flags, offset, packed;
	uint64_t size; /* unpacked */
	enum unpack_method method;
	bool is_packed, old; /* old: by its name, .zdebug */
};

struct opening {
	struct pages *pages;
	const struct elf_file *file;
	GElf_Ehdr ehdr;
	GElf_Shdr names; /* the section of names */
	struct page_section *sections;
	size_t n, n_headers;
	uint64_t packed, unpacked; /* sums of those that are compressed */
};

static bool peek(const struct opening *o, uint64_t offset, void *to, size_t len)
{
	if (offset > o->pages->total || len > o->pages->total - offset)
		return false;
	if (o->pages->fd >= 0)
		return ebt_pread(o->pages->fd, offset, to, len);
	memcpy(to, o->file->image + offset, len);
	return true;
}

/* Takes the header off the contents; false: compressed in an unknown way. */
static bool read_packing(const struct opening *o, struct page_section *s)
{
	bool wide = o->ehdr.e_ident[EI_CLASS] == ELFCLASS64;
	unsigned char head[24];
	size_t len = s->old ? 12 : wide ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	uint32_t type = ELFCOMPRESS_ZLIB;

	if (s->packed <= len || !peek(o, s->offset, head, len))
		return false;
	if (s->old) {
		if (memcmp(head, "ZLIB", 4))
			return false;
		memcpy(&s->size, head + 4, 8);
		s->size = be64toh(s->size);
	} else {
		type = ebt_load_u32(head);
		s->size = wide ? ebt_load_u64(head + 8) : ebt_load_u32(head + 4);
	}
	s->offset += len;
	s->packed -= len;
	s->method = type == ELFCOMPRESS_ZLIB ? UNPACK_ZLIB : UNPACK_ZSTD;
	return type == ELFCOMPRESS_ZLIB || type == COMPRESS_ZSTD;
}

/* Whether the section has to do with debug information, and which it is. */
static bool is_debug(const char *name, struct page_section *s)
{
	s->old = name && !strncmp(name, ".zdebug_", 8);
	if (!name || (!s->old && strncmp(name, ".debug_", 7)))
		return false;
	s->number = 0;
	while (s->number < PAGES_N_SECTIONS && strcmp(name + (s->old ? 8 : 7), names[s->number]))
		s->number++;
	return true;
}

static bool add_section(struct opening *o, Elf_Scn *scn, const char *name)
{
	struct page_section *s = &o->sections[o->n];
	GElf_Shdr shdr;

	*s = (struct page_section){ .index = elf_ndxscn(scn) };
	if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS || !is_debug(name, s))
		return true;
	if (shdr.sh_offset > o->pages->total || shdr.sh_size > o->pages->total - shdr.sh_offset)
		return false;
	s->name = shdr.sh_name;
	s->flags = shdr.sh_flags;
	s->offset = shdr.sh_offset;
	s->packed = s->size = shdr.sh_size;
	s->is_packed = s->old || shdr.sh_flags & SHF_COMPRESSED;
	for (size_t i = 0; i < o->n; i++) {
		if (o->sections[i].number == s->number)
			s->number = PAGES_N_SECTIONS;
	}
	if (s->is_packed && s->number < PAGES_N_SECTIONS) {
		if (!read_packing(o, s) || s->size > MAX_SIZE - o->unpacked)
			return false;
		o->packed += s->packed;
		o->unpacked += s->size;
	}
	o->n++;
	return true;
}

static struct ebt_error *find_sections(struct opening *o, bool *ret_good)
{
	Elf *elf = o->file->elf;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t strings;

	*ret_good = false;
	if (!gelf_getehdr(elf, &o->ehdr) || elf_getshdrnum(elf, &o->n_headers) ||
	    elf_getshdrstrndx(elf, &strings) || o->ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return NULL;
	if (!gelf_getshdr(elf_getscn(elf, strings), &o->names) ||
	    o->names.sh_flags & SHF_COMPRESSED)
		return NULL;
	o->sections = calloc(o->n_headers + 1, sizeof(*o->sections));
	if (!o->sections)
		return &ebt_enomem;
	*ret_good = true;
	while (*ret_good && o->n < o->n_headers && (scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, &shdr))
			*ret_good = add_section(o, scn, elf_strptr(elf, strings, shdr.sh_name));
	}
	*ret_good &= o->unpacked <= SMALL || o->unpacked / MAX_RATIO <= o->packed;
	return NULL;
}

/* Memory for the file and what is unpacked. All of it is there where the file is memory. */
static struct ebt_error *reserve(struct opening *o, bool *ret_good)
{
	struct pages *pages = o->pages;
	void *base;

	/* A page more, for what reads a little too far. */
	pages->size = boundary(pages) + (o->unpacked + PAGE - 1) / PAGE * PAGE + PAGE;
	pages->have = calloc(1, pages->size / PAGE / 8 + 1);
	if (!pages->have)
		return &ebt_enomem;
	base = mmap(NULL, pages->size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* So much may be more than the system gives away (vm.overcommit_memory): names remain. */
	*ret_good = base != MAP_FAILED;
	if (!*ret_good)
		return NULL;
	pages->base = base;
	if (pages->fd < 0) {
		memcpy(base, o->file->image, pages->total);
		memset(pages->have, 0xff, boundary(pages) / PAGE / 8 + 1);
	}
	return NULL;
}

/* A field of a section header of either class. */
#define PUT(field, value)                                                  \
	(wide ? ebt_store_u64(header + offsetof(Elf64_Shdr, field), value) \
	      : ebt_store_u32(header + offsetof(Elf32_Shdr, field), (uint32_t)(value)))

/* Changes a header in the image. Hidden sections have size 0. */
static bool write_header(struct opening *o, const struct page_section *s, uint64_t offset,
			 uint64_t size)
{
	const bool wide = o->ehdr.e_ident[EI_CLASS] == ELFCLASS64;
	uint64_t at = o->ehdr.e_shoff + s->index * o->ehdr.e_shentsize;
	char *header, *name;

	if (!pages_need(o->pages, at, o->ehdr.e_shentsize))
		return false;
	header = o->pages->base + at;
	ebt_store_u32(header + offsetof(Elf64_Shdr, sh_type), size ? SHT_PROGBITS : SHT_NOBITS);
	PUT(sh_flags, s->flags & ~(uint64_t)SHF_COMPRESSED);
	PUT(sh_offset, offset);
	PUT(sh_size, size);
	PUT(sh_addralign, 1);
	/* libdw would unpack what has the old name. */
	if (s->old && pages_need(o->pages, o->names.sh_offset + s->name, sizeof(".zdebug_"))) {
		name = o->pages->base + o->names.sh_offset + s->name;
		memmove(name + 1, name + 2, strlen(name + 1));
	}
	return true;
}

/* Unpacks the sections that are needed, behind the file, and hides those that are not. */
static struct ebt_error *place_sections(struct opening *o, bool *ret_good)
{
	struct pages *pages = o->pages;
	uint64_t at = boundary(pages);

	*ret_good = true;
	if (o->unpacked > MAX_MEMORY)
		pages->unpacked = unpack_file();
	for (size_t i = 0; i < o->n && *ret_good; i++) {
		const struct page_section *s = &o->sections[i];
		struct unpack section = {
			.method = s->method,
			.in_fd = pages->fd,
			.in = o->file->image,
			.in_offset = s->offset,
			.in_size = s->packed,
			.out_fd = pages->unpacked,
			.out = pages->unpacked < 0 ? pages->base + at : NULL,
			.out_size = s->size,
		};
		struct ebt_error *err;

		if (s->number == PAGES_N_SECTIONS || !s->size) {
			*ret_good = write_header(o, s, 0, 0);
			continue;
		}
		pages->sections[s->number].offset = s->is_packed ? at : s->offset;
		pages->sections[s->number].size = s->size;
		if (!s->is_packed)
			continue;
		err = unpack_section(&section, ret_good);
		if (err)
			return err;
		*ret_good = *ret_good && write_header(o, s, at, s->size);
		at += s->size;
	}
	if (pages->unpacked < 0)
		mark_pages(pages, boundary(pages) / PAGE, pages->size / PAGE);
	return NULL;
}

/* What libelf reads by itself. */
static bool read_headers(const struct opening *o)
{
	struct pages *pages = o->pages;
	const GElf_Ehdr *ehdr = &o->ehdr;

	return pages_need(pages, 0, sizeof(Elf64_Ehdr)) &&
	       pages_need(pages, ehdr->e_shoff, o->n_headers * ehdr->e_shentsize) &&
	       pages_need(pages, ehdr->e_phoff, (uint64_t)ehdr->e_phnum * ehdr->e_phentsize) &&
	       pages_need(pages, o->names.sh_offset, o->names.sh_size);
}

static struct ebt_error *open_pages(struct opening *o, bool *ret_good)
{
	struct ebt_error *err = find_sections(o, ret_good);

	if (err || !*ret_good)
		return err;
	err = reserve(o, ret_good);
	if (err || !*ret_good)
		return err;
	*ret_good = read_headers(o);
	return *ret_good ? place_sections(o, ret_good) : NULL;
}

struct ebt_error *pages_create(const struct elf_file *file, struct pages **ret)
{
	_cleanup_(pages_destroyp) struct pages *pages = calloc(1, sizeof(*pages));
	struct opening opening = { .pages = pages, .file = file };
	struct ebt_error *err;
	bool good;

	if (!pages)
		return &ebt_enomem;
	pages->fd = pages->unpacked = -1;
	pages->total = file->size;
	pthread_mutex_init(&pages->lock, NULL);
	*ret = NULL;
	if (!file->image) {
		pages->fd = file->fd < 0 ? -1 : fcntl(file->fd, F_DUPFD_CLOEXEC, 3);
		if (pages->fd < 0)
			return NULL;
	}
	err = open_pages(&opening, &good);
	free(opening.sections);
	if (!err && good)
		*ret = take_ptr(pages);
	return err;
}
