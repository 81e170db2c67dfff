/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs to look for names in, made by compilers, and what binutils and LLVM say about them. */
#ifndef TESTS_TOOLS_SYMTOOLS_H
#define TESTS_TOOLS_SYMTOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs a shell command in a directory of the test's own, where "$SRC" is tests/fixtures. Returns
 * whether it succeeded; what it prints is lost. */
bool symtools_try(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same; a failure fails the test. */
void symtools_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and returns what it printed: freed with free(). */
char *symtools_output(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Path of a file in that directory; good for 64 more calls. */
const char *symtools_path(const char *name);

/* Removes the directory. */
void symtools_clean(void);

/* Functions of a file by `nm -S`. */
struct symtools_symbol {
	uint64_t start, size;
	char type;
	char *name;
};

size_t symtools_nm(const char *name, const char *options, struct symtools_symbol **ret);
void symtools_free_symbols(struct symtools_symbol *symbols, size_t n);

/* Frames as addr2line or llvm-symbolizer print them. */
struct symtools_frame {
	char *function, *file;
	uint32_t line;
};

struct symtools_frames {
	uint64_t address;
	struct symtools_frame *frames;
	size_t n;
};

/* tool: command that reads addresses and prints as `addr2line -a -i -f -e FILE` does. */
struct symtools_frames *symtools_symbolize(const char *tool, const uint64_t *addresses, size_t n);
void symtools_free_frames(struct symtools_frames *frames, size_t n);

/* Executable segments by `readelf -lW`: what a loader maps. */
struct symtools_segment {
	uint64_t offset, vaddr, filesz;
};

size_t symtools_segments(const char *name, struct symtools_segment *ret, size_t max);

/* Build-id by `readelf -n`; returns its length in bytes, 0: none. */
size_t symtools_build_id(const char *name, uint8_t ret[64]);

#endif
