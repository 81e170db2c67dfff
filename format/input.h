/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a trace file: opened once, of a size that is fixed then, read at any offset. A
 * pipe is copied to an unlinked temporary file first. Nothing is mapped: a file that shrinks
 * while it is read gives an error, not a SIGBUS.
 */
#ifndef EBT_INPUT_H
#define EBT_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct ebt_input {
	char *path; /* as given, for messages */
	int fd;
	uint64_t size;
};

/* "-" is standard input. On failure *ret is untouched. */
struct ebt_error *ebt_input_open(const char *path, struct ebt_input *ret);
void ebt_input_close(struct ebt_input *input);

/* Fills buf. EBT_ERR_CORRUPT when the file ends before. */
struct ebt_error *ebt_input_read(const struct ebt_input *input, uint64_t offset, void *buf,
				 size_t len);

#endif
