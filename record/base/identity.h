/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the file behind a mapping, and what tells one ELF file from another besides its build-id:
 * its segments and the name of its debug file; and which of its bytes nobody needs who only looks
 * for names. The files are anyone's.
 */
#ifndef RECORD_BASE_IDENTITY_H
#define RECORD_BASE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "record/base/buildid.h"
#include "record/base/mapping.h"

/* Linkers make four; what is beyond is not looked at. */
#define ELFPARTS_MAX_LOADS 32u
/* Sections of code and data: a dozen, or thousands with -ffunction-sections in a relocatable file,
 * which nobody maps. */
#define ELFPARTS_MAX_DULL 64u

/* A PT_LOAD, as in table object: little-endian when stored. */
struct elfparts_load {
	uint64_t offset, vaddr, filesz, memsz, flags;
};

struct elfparts_range {
	uint64_t offset, len;
};

struct elfparts {
	struct elfparts_load loads[ELFPARTS_MAX_LOADS];
	size_t n_loads;
	char debuglink[256]; /* empty: none */
	uint32_t debuglink_crc;
	/* Code, constants and data: they name nothing, and unwinding does without them. */
	struct elfparts_range dull[ELFPARTS_MAX_DULL];
	size_t n_dull;
	/* Notes of USDT probes, in a file that this machine can run; len 0: there are none. And
	 * where in memory the section is that they count from; 0: it is not there. */
	struct elfparts_range stapsdt;
	uint64_t stapsdt_base;
};

/* Returns false where this is no ELF file. What is wrong in one is left out. */
bool elfparts_read(int fd, struct elfparts *ret);

/* Overwrites what is dull in a copy of the file. */
void elfparts_blank(const struct elfparts *parts, char *content, size_t len);

struct identity {
	struct stat st;
	uint64_t inode; /* as mappings show it, which on an overlay differs from what stat() says */
	uint32_t dev_major, dev_minor;
	bool elf;
	struct elfparts parts;
	struct buildid id;
};

/*
 * Returns a descriptor to read from, or -1 where the file cannot be had: its process may have
 * gone, and its name lead to another. The mapping needs device and inode or a build-id.
 */
int identity_of_mapping(const struct mapping *mapping, struct identity *ret);

#endif
