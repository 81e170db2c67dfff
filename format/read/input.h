/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a trace file: opened once, of a size that is fixed then, read at any offset. A
 * pipe is copied to an unlinked temporary file first, and what zstd or gzip compressed is unpacked
 * to one. Nothing is mapped: a file that shrinks while it is read gives an error, not a SIGBUS.
 */
#ifndef FORMAT_READ_INPUT_H
#define FORMAT_READ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

struct ebt_input {
	char *path; /* as given, for messages */
	int fd;
	uint64_t size;
	int pipe; /* that is still being copied; -1: none */
};

/* "-" is standard input. On failure *ret is untouched. */
struct ebt_error *ebt_input_open(const char *path, struct ebt_input *ret);
void ebt_input_close(struct ebt_input *input);

/* The same, but of what cannot seek nothing but the magic is copied yet. */
struct ebt_error *ebt_input_open_live(const char *path, struct ebt_input *ret);
/* Waits until more comes, and copies that: size grows. *ret_end: nothing more will come. */
struct ebt_error *ebt_input_more(struct ebt_input *input, bool *ret_end);

/* Fills buf. EBT_ERR_CORRUPT when the file ends before. */
struct ebt_error *ebt_input_read(const struct ebt_input *input, uint64_t offset, void *buf,
				 size_t len);

#endif
