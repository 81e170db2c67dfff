/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CRC32C (docs/FORMAT.md section 1), by the CPU's instruction where it has one.
 */
#ifndef FORMAT_ENCODING_CRC32C_H
#define FORMAT_ENCODING_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t ebt_crc32c(const void *data, size_t len);

/* The same without the instruction. */
uint32_t ebt_crc32c_portable(const void *data, size_t len);

#endif
