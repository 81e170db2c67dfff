/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compressed sections, unpacked piece by piece to memory or to a file. */
#ifndef SYMBOLIZE_ELF_UNPACK_H
#define SYMBOLIZE_ELF_UNPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"

enum unpack_method { UNPACK_ZLIB, UNPACK_ZSTD };

/* One section; unpack_section() changes it. */
struct unpack {
	enum unpack_method method;
	int in_fd;	/* -1: from memory */
	const char *in; /* the memory, of the whole file */
	uint64_t in_offset, in_size;
	char *out; /* NULL: to the file, behind what was written last */
	int out_fd;
	uint64_t out_size; /* which must be what it unpacks to */
};

/* *ret_good false: the section is not what it says, or the file cannot be written. */
struct ebt_error *unpack_section(struct unpack *section, bool *ret_good);

/* A file without a name, on disk, where there is room for many bytes. -1: there is none. */
int unpack_file(void);

#endif
