/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces made easy to damage in depth: payloads without compression, and checksums made right
 * again, so that a change reaches the decoders behind them.
 */
#ifndef TESTS_FUZZ_REPACK_H
#define TESTS_FUZZ_REPACK_H

#include "format/base/bytes.h"

/* Makes the CRCs of the file header, of everything at a multiple of 8 that looks like a chunk,
 * and of the footer right, and gives chunks and footer the tag of the file. */
void fix_checksums(uint8_t *data, size_t len);

/* Appends the same trace without compression, its index brought in line. Returns false where it
 * cannot be read. */
bool unpack_trace(const char *path, struct ebt_buffer *ret);

#endif
