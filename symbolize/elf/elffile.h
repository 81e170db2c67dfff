/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One ELF file that is open for reading: who it is (build-id), where its bytes are mapped
 * (PT_LOAD), and what it has to name addresses by. Files are read, never mapped, so that one that
 * shrinks meanwhile is an error and no signal.
 */
#ifndef SYMBOLIZE_ELF_ELFFILE_H
#define SYMBOLIZE_ELF_ELFFILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

#define SYM_BUILD_ID_MAX 64

struct sym_build_id {
	uint8_t len; /* 0: none */
	uint8_t bytes[SYM_BUILD_ID_MAX];
};

/* Whether both are known and equal. */
bool sym_build_id_equal(const struct sym_build_id *a, const struct sym_build_id *b);

struct elf_load {
	uint64_t offset, filesz;
	uint64_t vaddr, memsz;
	bool exec;
};

struct elf_file {
	Elf *elf;
	int fd;		   /* -1: from memory, or everything has been read */
	char *path;	   /* where it was opened; NULL: from memory */
	const char *image; /* NULL: not from memory */
	uint64_t size;
	struct sym_build_id id;
	struct elf_load *loads;
	size_t n_loads;
	bool has_code; /* contents of executable segments are in this file */
	bool has_symtab;
	bool has_dwarf;
};

/*
 * Opens a regular file. EBT_ERR_NOT_FOUND: there is none, or it may not be read; EBT_ERR_CORRUPT:
 * it is no ELF file.
 */
struct ebt_error *elf_file_open(const char *path, struct elf_file **ret);

/* The same for what is open already: fd is taken over, also on failure. path: to name it by. */
struct ebt_error *elf_file_open_fd(int fd, const char *path, struct elf_file **ret);

/* The image must live, unchanged, as long as the file. */
struct ebt_error *elf_file_from_memory(char *image, size_t len, struct elf_file **ret);

/* Closes the file descriptor: nothing that was not read before can be read any more. */
void elf_file_done_reading(struct elf_file *file);

void elf_file_close(struct elf_file *file);

/* Opens for reading what is a regular file, without waiting and without side effects. Returns -1
 * where it is not. *ret_size: bytes. */
int sym_open_regular(const char *path, uint64_t *ret_size);

/* Whether the descriptor, which O_PATH may have made, is of a regular file that is stored: not one
 * that the kernel makes up, as in /proc and /sys, where reading can wait or do things. */
bool sym_is_stored(int fd);

/* The address that byte `offset` of the file is linked to; false: it is in no segment. */
bool elf_file_address(const struct elf_file *file, uint64_t offset, uint64_t *ret);

/*
 * As above, for a file of debug information whose segments have lost their offsets. The answer
 * follows from a mapping (pgoff and length, bytes) when that can only be the one executable
 * segment.
 */
bool elf_file_address_by_mapping(const struct elf_file *file, uint64_t pgoff, uint64_t length,
				 uint64_t offset, uint64_t *ret);

/* The section of that name that has contents in the file, or NULL. */
Elf_Scn *elf_file_section(const struct elf_file *file, const char *name);

/* .gnu_debuglink: the name and checksum of a file of separate debug information. */
struct debuglink {
	const char *name; /* belongs to the file that has the link; without '/' */
	uint32_t crc;
};

/* false: the file has no good link. */
bool debuglink_read(const struct elf_file *file, struct debuglink *ret);

/* Whether the file, which is open for reading, is the one that the link means: by its build-id, or,
 * where it has none, by its checksum. */
bool debuglink_accepts(const struct debuglink *link, const struct sym_build_id *id,
		       const struct elf_file *file);

#endif
