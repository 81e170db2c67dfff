/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces that hold address spaces and kernel symbols, row by row, made by the real writer. */
#ifndef TESTS_TOOLS_SYMTRACE_H
#define TESTS_TOOLS_SYMTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/read/reader.h"
#include "symbolize/elf/elffile.h"

struct symtrace;

/* Every function fails the test on any error. */
struct symtrace *symtrace_create(void);
void symtrace_destroy(struct symtrace *trace);

/* From now on the tid is this task. */
void symtrace_task(struct symtrace *trace, uint32_t tid, uint32_t pid, uint64_t start_ns);

struct symtrace_mapping {
	uint64_t start, length, pgoff;
	const char *path;
	struct sym_build_id id;
	bool snapshot;
};

void symtrace_mmap(struct symtrace *trace, uint64_t time, uint32_t tid,
		   const struct symtrace_mapping *mapping);
void symtrace_fork(struct symtrace *trace, uint64_t time, uint32_t parent, uint32_t child,
		   bool thread);
void symtrace_exec(struct symtrace *trace, uint64_t time, uint32_t pid, const char *filename);
void symtrace_exit(struct symtrace *trace, uint64_t time, uint32_t tid);
void symtrace_process(struct symtrace *trace, uint64_t time, uint32_t tid);
void symtrace_ksymbol(struct symtrace *trace, uint64_t time, uint64_t address, uint32_t length,
		      bool unregister, const char *name);
void symtrace_file(struct symtrace *trace, const char *role, const void *data, size_t len);
/* One that is a process's. */
void symtrace_file_of(struct symtrace *trace, uint64_t time, uint32_t pid, const char *role,
		      const void *data, size_t len);

/* An embedded file with everything that can be said of it. */
struct symtrace_embedded {
	const char *role, *path;
	uint64_t time, ns;
	uint32_t pid;
};

void symtrace_embed(struct symtrace *trace, const struct symtrace_embedded *file, const void *data,
		    size_t len);

/* A look at a process: its mount namespace, root and cgroup. */
void symtrace_view(struct symtrace *trace, uint64_t time, uint32_t tid, uint64_t mnt_ns,
		   const char *root, const char *cgroup);

/* What was seen of a mapped file: table object. hash: 16 bytes, or NULL. */
struct symtrace_object {
	const char *path;
	struct sym_build_id id;
	uint64_t size;
	int64_t mtime_ns;
	const void *hash;
	const void *segments;
	size_t segments_len;
};

void symtrace_object(struct symtrace *trace, const struct symtrace_object *object);
void symtrace_meta(struct symtrace *trace, const char *key, const char *value);

/* Ends writing and opens what was written; the reader belongs to the trace. */
struct ebt_reader *symtrace_read(struct symtrace *trace);

#endif
