/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes of open files, as many as are wanted. What fails leaves the reason in errno. */
#ifndef FORMAT_BASE_FDIO_H
#define FORMAT_BASE_FDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/base/error.h"

/* How many of len bytes there are before the end; -1: reading failed. */
ssize_t ebt_read_full(int fd, void *ret, size_t len);

/* Whether all of it could be read at this offset; else *ret is anything. */
bool ebt_pread(int fd, uint64_t offset, void *ret, size_t len);

/* Whether all of it could be written. */
bool ebt_write(int fd, const void *data, size_t len);

/* A file without a name, which goes with its last descriptor, in this folder; NULL: where temporary
 * files are. */
struct ebt_error *ebt_open_temporary(const char *folder, int *ret);

#endif
