/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs write of the code that they generate.
 *
 * /tmp/perf-PID.map: a line for each piece, in the order of generation. They say nothing of time:
 * where two overlap, the later one holds.
 *
 * jitdump files: what code a process generated, moved and described, each with its time. The
 * layout is that of tools/perf/Documentation/jitdump-specification.txt of the kernel.
 */
#ifndef SYMBOLIZE_RUNTIMES_JIT_FILES_H
#define SYMBOLIZE_RUNTIMES_JIT_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

/* What a file may make us remember. */
#define JIT_MAP_MAX_ENTRIES  (2u << 20)
#define JIT_DUMP_MAX_RECORDS (512u << 10)

struct jit_map;
struct jit_dump;

/* Text is that of a file. */
struct jit_hit {
	const char *name; /* NULL: nothing is known to have been there */
	size_t name_len;
	const char *file; /* source file, NULL: not known */
	size_t file_len;
	uint32_t line;	   /* 0: not known */
	uint64_t from, to; /* the same answer holds for from <= time < to */
};

/* Takes the text, also on failure. Lines that are none of this form are passed over. */
struct ebt_error *jit_map_create(char *text, size_t len, struct jit_map **ret);
/* Accepts NULL. */
void jit_map_destroy(struct jit_map *map);
/* A name, and no more. */
struct jit_hit jit_map_find(const struct jit_map *map, uint64_t address);
/* Bytes of memory that it takes. */
size_t jit_map_size(const struct jit_map *map);

/*
 * Takes the data, also on failure. read_ns: when the file was read; a file whose times are later
 * uses another clock, and is believed without them. What follows a bad record is ignored.
 */
struct ebt_error *jit_dump_create(char *data, size_t len, uint64_t read_ns, struct jit_dump **ret);
/* Accepts NULL. */
void jit_dump_destroy(struct jit_dump *dump);
struct ebt_error *jit_dump_find(struct jit_dump *dump, uint64_t address, uint64_t time_ns,
				struct jit_hit *ret);
/* Bytes of memory that it takes. */
size_t jit_dump_size(const struct jit_dump *dump);

#endif
