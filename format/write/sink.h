/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file or pipe that a writer appends to. */
#ifndef FORMAT_WRITE_SINK_H
#define FORMAT_WRITE_SINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "format/base/error.h"

struct ebt_sink {
	int fd;
	const char *name;
	uint64_t offset; /* bytes written */
};

/* Writes all of the n parts, which it uses up. After an error some of the bytes may be there. */
struct ebt_error *ebt_sink_write(struct ebt_sink *sink, struct iovec *parts, int n);

#endif
