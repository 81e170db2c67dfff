/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compressed sections, unpacked piece by piece to memory or to a file. */
#ifndef SYMBOLIZE_ELF_UNPACK_H
#define SYMBOLIZE_ELF_UNPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"

enum unpack_method { UNPACK_ZLIB, UNPACK_ZSTD };

struct unpack_from {
	int fd;		    /* -1: */
	const char *memory; /* of the whole file */
	uint64_t offset, size;
	enum unpack_method method;
};

struct unpack_to {
	char *memory; /* NULL: to the file */
	int fd;
	uint64_t offset, size; /* which must be what it unpacks to */
};

/* *ret_good false: the section is not what it says, or the file cannot be written. */
struct ebt_error *unpack_section(const struct unpack_from *from, const struct unpack_to *to,
				 bool *ret_good);

/* A file without a name, on disk, where there is room for many bytes. -1: there is none. */
int unpack_file(void);

#endif
