/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The headers of an ELF file of any class and byte order, as those of 64 bits in the byte order of
 * this machine. The one reader of headers for record/ and unwind/: root reads files of anyone with
 * it, by pread(2), and every offset is checked. The file may say anything: what is not in it is
 * left out, and counts are bounded before memory is taken.
 *
 *	_cleanup_(elf_headers_deinit) struct elf_headers elf;
 *
 *	if (!elf_headers_of_fd(fd, &elf) || !elf_headers_sections(&elf, MAX_SECTIONS))
 *		return &ebt_enomem;
 */
#ifndef UNWIND_ELF_HEADERS_H
#define UNWIND_ELF_HEADERS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Linkers make a dozen; Linux runs no file with more. */
#define ELF_MAX_SEGMENTS 1024u

struct elf_headers {
	const unsigned char *memory; /* the bytes, or NULL: those of fd. The caller keeps both */
	int fd;
	uint64_t size;
	bool swap;	 /* the byte order is not this machine's */
	Elf64_Ehdr file; /* all zero: this is no ELF file */
	Elf64_Phdr *segments;
	size_t n_segments; /* fewer than file.e_phnum where the list cannot be right */
	Elf64_Shdr *sections;
	size_t n_sections; /* the same */
	char *names;	   /* of sections, and a zero byte behind them */
	size_t names_len;
};

/* The header of the file, and the segments. False: there is no memory. What is no ELF file, and no
 * regular file, has neither segments nor sections. */
bool elf_headers_of_fd(int fd, struct elf_headers *ret);
bool elf_headers_of_memory(const void *data, size_t len, struct elf_headers *ret);
void elf_headers_deinit(struct elf_headers *elf);

/* The first sections, max at the most, and their names. False: there is no memory. */
bool elf_headers_sections(struct elf_headers *elf, size_t max);

/* An ELF file of 64 bits, little-endian. */
bool elf_headers_is_le64(const struct elf_headers *elf);
/* One that this machine can run. */
bool elf_headers_is_native(const struct elf_headers *elf);

/* Bytes of the file; false where it ends before, or cannot be read; then *ret is anything. */
bool elf_headers_read(const struct elf_headers *elf, uint64_t offset, void *ret, size_t len);

/* A number of 2, 4 or 8 bytes of the file, of which these are the bytes. */
uint64_t elf_headers_load(const struct elf_headers *elf, const void *p, size_t size);

bool elf_headers_is(const struct elf_headers *elf, const Elf64_Shdr *section, const char *name);

/* The first section of this name; NULL: there is none. */
const Elf64_Shdr *elf_headers_section(const struct elf_headers *elf, const char *name);

/* The first PT_LOAD with these flags that has the byte at this address in the file; NULL: there is
 * none. */
const Elf64_Phdr *elf_headers_segment_at(const struct elf_headers *elf, uint64_t address,
					 uint32_t flags);

#endif
