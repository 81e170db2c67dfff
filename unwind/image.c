/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading program and section headers for unwinding; see image.h. */
#include "unwind/image.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "unwind/elf_headers.h"

/* 10 to 30 MB in the largest programs. More than this would be more rows than CFI_MAX_ROWS. */
#define MAX_SECTION (64u << 20)
/* A linked file has some fifty, or a hundred when debugged. */
#define MAX_SECTIONS 4096
#define PAGE	     4096u

static struct ebt_error *corrupt(const char *what)
{
	return ebt_error_create(EBT_ERR_CORRUPT, "the ELF file's %s cannot be right", what);
}

static struct ebt_error *set_machine(const struct elf_headers *elf, struct unwind_image *image)
{
	if (!elf_headers_is_le64(elf))
		return ebt_error_create(EBT_ERR_UNSUPPORTED, "not a 64-bit little-endian ELF file");
	if (elf->file.e_machine == EM_X86_64)
		image->arch = CFI_X86_64;
	else if (elf->file.e_machine == EM_AARCH64)
		image->arch = CFI_AARCH64;
	else
		return ebt_error_create(EBT_ERR_UNSUPPORTED, "an ELF file of machine %u",
					elf->file.e_machine);
	image->entry = elf->file.e_entry;
	return NULL;
}

static struct ebt_error *set_segments(const struct elf_headers *elf, struct unwind_image *image)
{
	bool loaded = false;

	for (size_t i = 0; i < elf->n_segments; i++) {
		const Elf64_Phdr *p = &elf->segments[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (!loaded || p->p_vaddr < image->base)
			image->base = p->p_vaddr & ~(uint64_t)(PAGE - 1);
		loaded = true;
		if (!(p->p_flags & PF_X) || image->segments.n == UNWIND_MAX_SEGMENTS)
			continue;
		if (p->p_offset > UINT64_MAX - p->p_filesz || p->p_vaddr > UINT64_MAX - p->p_filesz)
			return corrupt("program header");
		image->segments.list[image->segments.n++] = (struct unwind_segment){
			.offset = p->p_offset, .address = p->p_vaddr, .length = p->p_filesz
		};
	}
	return loaded && elf->n_segments == elf->file.e_phnum ? NULL
							      : corrupt("list of program headers");
}

/* Reads the bytes of a section of which all but data is known. */
static struct ebt_error *take_section(const struct elf_headers *elf, uint64_t offset,
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
	if (offset > elf->size || section.len > elf->size - offset)
		return corrupt("unwind information");
	data = malloc(section.len);
	if (!data)
		return &ebt_enomem;
	if (!elf_headers_read(elf, offset, data, section.len))
		return corrupt("unwind information");
	section.data = take_ptr(data);
	image->sections[image->n_sections++] = section;
	return NULL;
}

static bool is_cfi(const struct elf_headers *elf, const Elf64_Shdr *s, bool debug_frame)
{
	/* Compressed ones, which are Go's, are left alone: a small file could make a huge section.
	 */
	if (s->sh_flags & SHF_COMPRESSED)
		return false;
	if (s->sh_type != SHT_PROGBITS && (debug_frame || s->sh_type != SHT_X86_64_UNWIND))
		return false;
	return elf_headers_is(elf, s, debug_frame ? ".debug_frame" : ".eh_frame");
}

/* The first .eh_frame or .debug_frame. */
static struct ebt_error *from_sections(const struct elf_headers *elf, bool debug_frame,
				       struct unwind_image *image)
{
	for (size_t i = 0; i < elf->n_sections; i++) {
		const Elf64_Shdr *s = &elf->sections[i];

		if (is_cfi(elf, s, debug_frame))
			return take_section(elf, s->sh_offset,
					    (struct cfi_section){ .len = s->sh_size,
								  .address = s->sh_addr,
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
static struct ebt_error *from_hdr(const struct elf_headers *elf, struct unwind_image *image)
{
	unsigned char bytes[8]; /* version, three encodings, the pointer */
	const Elf64_Phdr *hdr = NULL, *p;
	uint64_t address, skip, len;
	int32_t pointer;

	for (size_t i = 0; i < elf->n_segments; i++) {
		if (elf->segments[i].p_type == PT_GNU_EH_FRAME)
			hdr = &elf->segments[i];
	}
	if (!hdr || !elf_headers_read(elf, hdr->p_offset, bytes, sizeof(bytes)) || bytes[0] != 1 ||
	    bytes[1] != HDR_POINTER_ENCODING)
		return NULL;
	memcpy(&pointer, bytes + 4, sizeof(pointer));
	address = hdr->p_vaddr + 4 + (uint64_t)(int64_t)pointer;
	p = elf_headers_segment_at(elf, address, 0);
	if (!p)
		return NULL;
	skip = address - p->p_vaddr;
	len = p->p_filesz - skip;
	return take_section(elf, p->p_offset + skip,
			    (struct cfi_section){
				    .len = len < MAX_SECTION ? len : MAX_SECTION,
				    .address = address,
				    .ends_at_zero = true,
			    },
			    image);
}

static struct ebt_error *read_image(struct elf_headers *elf, struct unwind_image *ret)
{
	_cleanup_(unwind_image_deinit) struct unwind_image image = { 0 };
	struct ebt_error *err;

	err = set_machine(elf, &image) ?: set_segments(elf, &image);
	if (err)
		return err;
	if (!elf_headers_sections(elf, MAX_SECTIONS))
		return &ebt_enomem;
	err = from_sections(elf, false, &image);
	if (!err && !image.n_sections)
		err = from_hdr(elf, &image);
	if (err)
		return err;
	/* What was built without unwind tables may still say it to debuggers; .eh_frame is there
	 * at the same time, for the C library's part. */
	err = from_sections(elf, true, &image);
	if (err)
		return err;
	*ret = image;
	image.n_sections = 0;
	return NULL;
}

struct ebt_error *unwind_image_read(int fd, struct unwind_image *ret)
{
	_cleanup_(elf_headers_deinit) struct elf_headers elf;

	return elf_headers_of_fd(fd, &elf) ? read_image(&elf, ret) : &ebt_enomem;
}

struct ebt_error *unwind_image_read_memory(const void *data, size_t len, struct unwind_image *ret)
{
	_cleanup_(elf_headers_deinit) struct elf_headers elf;

	return elf_headers_of_memory(data, len, &elf) ? read_image(&elf, ret) : &ebt_enomem;
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
