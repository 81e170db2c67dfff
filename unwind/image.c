/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading program and section headers for unwinding; see image.h. */
#include "unwind/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/pread.h"

/* 10 to 30 MB in the largest programs. More than this would be more rows than CFI_MAX_ROWS. */
#define MAX_SECTION (64u << 20)
/* A linked file has some ten segments and fifty sections, or a hundred when debugged. */
#define MAX_SEGMENTS 1024
#define MAX_SECTIONS 4096
#define PAGE	     4096u

/* Where the bytes come from: memory, or fd where data is NULL. */
struct source {
	const unsigned char *data;
	uint64_t len;
	int fd;
};

static bool read_at(const struct source *source, uint64_t offset, void *ret, size_t len)
{
	if (offset > source->len || len > source->len - offset)
		return false;
	if (source->data) {
		memcpy(ret, source->data + offset, len);
		return true;
	}
	return ebt_pread(source->fd, offset, ret, len);
}

static struct ebt_error *corrupt(const char *what)
{
	return ebt_error_create(EBT_ERR_CORRUPT, "the ELF file's %s cannot be right", what);
}

static struct ebt_error *read_header(const struct source *source, Elf64_Ehdr *ret,
				     struct unwind_image *image)
{
	if (!read_at(source, 0, ret, sizeof(*ret)) || memcmp(ret->e_ident, ELFMAG, SELFMAG) ||
	    ret->e_ident[EI_CLASS] != ELFCLASS64 || ret->e_ident[EI_DATA] != ELFDATA2LSB)
		return ebt_error_create(EBT_ERR_UNSUPPORTED, "not a 64-bit little-endian ELF file");
	if (ret->e_machine == EM_X86_64)
		image->arch = CFI_X86_64;
	else if (ret->e_machine == EM_AARCH64)
		image->arch = CFI_AARCH64;
	else
		return ebt_error_create(EBT_ERR_UNSUPPORTED, "an ELF file of machine %u",
					ret->e_machine);
	image->entry = ret->e_entry;
	return NULL;
}

/* Segments, and where .eh_frame_hdr is; *ret_hdr stays as it was where there is none. */
static struct ebt_error *read_segments(const struct source *source, const Elf64_Ehdr *header,
				       struct unwind_image *image, Elf64_Phdr *ret_hdr)
{
	bool loaded = false;

	if (header->e_phnum > MAX_SEGMENTS ||
	    (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr)))
		return corrupt("number or size of program headers");
	for (unsigned int i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr p;

		if (!read_at(source, header->e_phoff + i * sizeof(p), &p, sizeof(p)))
			return corrupt("list of program headers");
		if (p.p_type == PT_GNU_EH_FRAME)
			*ret_hdr = p;
		if (p.p_type != PT_LOAD)
			continue;
		if (!loaded || p.p_vaddr < image->base)
			image->base = p.p_vaddr & ~(uint64_t)(PAGE - 1);
		loaded = true;
		if (!(p.p_flags & PF_X) || image->segments.n == UNWIND_MAX_SEGMENTS)
			continue;
		if (p.p_offset > UINT64_MAX - p.p_filesz || p.p_vaddr > UINT64_MAX - p.p_filesz)
			return corrupt("program header");
		image->segments.list[image->segments.n++] = (struct unwind_segment){
			.offset = p.p_offset, .address = p.p_vaddr, .length = p.p_filesz
		};
	}
	return loaded ? NULL : corrupt("list of program headers");
}

/* Reads the bytes of a section of which all but data is known. */
static struct ebt_error *take_section(const struct source *source, uint64_t offset,
				      struct cfi_section section, struct unwind_image *image)
{
	_cleanup_free_ void *data = NULL;

	if (!section.len)
		return NULL;
	if (section.len > MAX_SECTION)
		return ebt_error_create(EBT_ERR_LIMIT,
					"%zu bytes of unwind information, more than %u",
					section.len, MAX_SECTION);
	/* No memory for what the file does not have. */
	if (offset > source->len || section.len > source->len - offset)
		return corrupt("unwind information");
	data = malloc(section.len);
	if (!data)
		return &ebt_enomem;
	if (!read_at(source, offset, data, section.len))
		return corrupt("unwind information");
	section.data = take_ptr(data);
	image->sections[image->n_sections++] = section;
	return NULL;
}

static bool has_name(const struct source *source, const Elf64_Shdr *names, const Elf64_Shdr *s,
		     const char *name)
{
	char buf[sizeof(".debug_frame")];
	size_t len = strlen(name) + 1;

	return read_at(source, names->sh_offset + s->sh_name, buf, len) && !memcmp(buf, name, len);
}

static bool is_cfi(const struct source *source, const Elf64_Shdr *names, const Elf64_Shdr *s,
		   bool debug_frame)
{
	/* Compressed ones, which are Go's, are left alone: a small file could make a huge section.
	 */
	if (s->sh_flags & SHF_COMPRESSED)
		return false;
	if (s->sh_type != SHT_PROGBITS && (debug_frame || s->sh_type != SHT_X86_64_UNWIND))
		return false;
	return has_name(source, names, s, debug_frame ? ".debug_frame" : ".eh_frame");
}

/* The first .eh_frame or .debug_frame. */
static struct ebt_error *from_sections(const struct source *source, const Elf64_Ehdr *header,
				       bool debug_frame, struct unwind_image *image)
{
	Elf64_Shdr names, s;

	if (header->e_shentsize != sizeof(s) || header->e_shnum > MAX_SECTIONS ||
	    header->e_shstrndx >= header->e_shnum ||
	    !read_at(source, header->e_shoff + header->e_shstrndx * sizeof(s), &names,
		     sizeof(names)))
		return NULL;
	for (unsigned int i = 0; i < header->e_shnum; i++) {
		if (!read_at(source, header->e_shoff + i * sizeof(s), &s, sizeof(s)))
			return NULL;
		if (is_cfi(source, &names, &s, debug_frame))
			return take_section(source, s.sh_offset,
					    (struct cfi_section){ .len = s.sh_size,
								  .address = s.sh_addr,
								  .debug_frame = debug_frame },
					    image);
	}
	return NULL;
}

/* DW_EH_PE_pcrel | DW_EH_PE_sdata4, what every linker writes. */
#define HDR_POINTER_ENCODING 0x1b

/*
 * Without section headers: .eh_frame_hdr points to the section, whose length is not said. It ends
 * in a zero entry, or with its segment.
 */
static struct ebt_error *from_hdr(const struct source *source, const Elf64_Ehdr *header,
				  const Elf64_Phdr *hdr, struct unwind_image *image)
{
	unsigned char bytes[8]; /* version, three encodings, the pointer */
	uint64_t address;
	int32_t pointer;

	if (hdr->p_type == PT_NULL || !read_at(source, hdr->p_offset, bytes, sizeof(bytes)) ||
	    bytes[0] != 1 || bytes[1] != HDR_POINTER_ENCODING)
		return NULL;
	memcpy(&pointer, bytes + 4, sizeof(pointer));
	address = hdr->p_vaddr + 4 + (uint64_t)(int64_t)pointer;
	for (unsigned int i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr p;
		uint64_t skip, len;

		if (!read_at(source, header->e_phoff + i * sizeof(p), &p, sizeof(p)))
			return NULL;
		if (p.p_type != PT_LOAD || address < p.p_vaddr || address - p.p_vaddr >= p.p_filesz)
			continue;
		skip = address - p.p_vaddr;
		len = p.p_filesz - skip;
		return take_section(source, p.p_offset + skip,
				    (struct cfi_section){
					    .len = len < MAX_SECTION ? len : MAX_SECTION,
					    .address = address,
					    .ends_at_zero = true,
				    },
				    image);
	}
	return NULL;
}

static struct ebt_error *read_image(const struct source *source, struct unwind_image *ret)
{
	_cleanup_(unwind_image_deinit) struct unwind_image image = { 0 };
	struct ebt_error *err;
	Elf64_Ehdr header;
	Elf64_Phdr hdr = { .p_type = PT_NULL };

	err = read_header(source, &header, &image);
	if (!err)
		err = read_segments(source, &header, &image, &hdr);
	if (!err)
		err = from_sections(source, &header, false, &image);
	if (!err && !image.n_sections)
		err = from_hdr(source, &header, &hdr, &image);
	/* What was built without unwind tables may still say it to debuggers; .eh_frame is there
	 * at the same time, for the C library's part. */
	if (!err)
		err = from_sections(source, &header, true, &image);
	if (err)
		return err;
	*ret = image;
	image.n_sections = 0;
	return NULL;
}

struct ebt_error *unwind_image_read(int fd, struct unwind_image *ret)
{
	struct stat st;

	if (fstat(fd, &st))
		return ebt_error_errno(errno, "cannot look at an ELF file");
	return read_image(&(struct source){ .len = (uint64_t)st.st_size, .fd = fd }, ret);
}

struct ebt_error *unwind_image_read_memory(const void *data, size_t len, struct unwind_image *ret)
{
	return read_image(&(struct source){ .data = data, .len = len, .fd = -1 }, ret);
}

void unwind_image_deinit(struct unwind_image *image)
{
	for (size_t i = 0; i < image->n_sections; i++)
		free((void *)image->sections[i].data);
	*image = (struct unwind_image){ 0 };
}

bool unwind_segments_address(const struct unwind_segments *segments, uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < segments->n; i++) {
		const struct unwind_segment *s = &segments->list[i];
		uint64_t start = s->offset & ~(uint64_t)(PAGE - 1);

		/* Whole pages are mapped, so that a mapping may begin below its segment. */
		if (offset < start || offset - start >= s->length + (s->offset - start))
			continue;
		*ret = s->address - s->offset + offset;
		return true;
	}
	return false;
}
