/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jitdump files: what code a process generated, moved and described, each with its time. The
 * layout is that of tools/perf/Documentation/jitdump-specification.txt of the kernel.
 */
#ifndef SYMBOLIZE_RUNTIMES_JIT_DUMP_H
#define SYMBOLIZE_RUNTIMES_JIT_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

struct jit_dump;

/* What a file may make us remember. */
#define JIT_DUMP_MAX_RECORDS (512u << 10)

struct jit_dump_hit {
	const char *name; /* in the data; NULL: nothing was at the address then */
	size_t name_len;
	const char *file; /* NULL: not known */
	size_t file_len;
	uint32_t line;
	uint64_t from, to; /* the same answer holds for from <= time < to */
};

/*
 * Takes the data, also on failure. read_ns: when the file was read; a file whose times are later
 * uses another clock, and is believed without them. What follows a bad record is ignored.
 */
struct ebt_error *jit_dump_create(char *data, size_t len, uint64_t read_ns, struct jit_dump **ret);
/* Accepts NULL. */
void jit_dump_destroy(struct jit_dump *dump);

struct ebt_error *jit_dump_find(struct jit_dump *dump, uint64_t address, uint64_t time_ns,
				struct jit_dump_hit *ret);

/* Bytes of memory that it takes. */
size_t jit_dump_size(const struct jit_dump *dump);

#endif
