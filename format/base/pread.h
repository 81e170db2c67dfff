/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading and writing a piece of a file whole or not at all. */
#ifndef FORMAT_BASE_PREAD_H
#define FORMAT_BASE_PREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False where the file ends before, or cannot be read; then *ret is anything. */
bool ebt_pread(int fd, uint64_t offset, void *ret, size_t len);

/* False: errno says why; a part may have been written. */
bool ebt_write(int fd, const void *data, size_t len);

#endif
