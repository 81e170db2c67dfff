/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of `log` from what a command has written, a row a line. */
#ifndef RECORD_COMMAND_TEE_LINES_H
#define RECORD_COMMAND_TEE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/write/writer.h"

/* Bytes of a line that are kept. */
#define TEE_LINE 4096

struct tee_lines {
	enum ebt_log_origin origin;
	uint32_t task;
	uint64_t end;	/* no row is later; 0: not known yet */
	uint64_t first; /* when the line began that has not ended; 0: none has begun */
	uint64_t last;	/* when the last of it was read */
	size_t len;
	uint64_t cut; /* bytes of it that are not kept */
	enum {
		TEE_NOT_AFTER_CR,
		TEE_AFTER_LINE, /* which the \r ended: a \n that follows belongs to it */
		TEE_AFTER_CR,
	} state;
	uint64_t rows;	       /* so far */
	struct ebt_record rec; /* of whoever has the lines to release */
	char text[TEE_LINE];
};

/* Lines end with \n, \r\n or \r; of \r alone, nothing is made where nothing is before it. */
struct ebt_error *tee_lines_add(struct tee_lines *lines, struct ebt_stream *stream, uint64_t time,
				const char *data, size_t len);

/* Makes a row of a line that has not ended, if there is one. */
struct ebt_error *tee_lines_flush(struct tee_lines *lines, struct ebt_stream *stream);

/* Here something is missing: so many ends of lines. */
struct ebt_error *tee_lines_lost(struct tee_lines *lines, struct ebt_stream *stream, uint64_t ends);

#endif
