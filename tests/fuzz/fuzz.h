/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is fuzzed: each takes any bytes, and may only return: true where nothing was wrong with
 * them. libFuzzer calls them (entry.c), and so does test_mutate. They abort() where something that
 * is promised does not hold.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole file: opened, all rows of all tables read, embedded files put together. */
bool fuzz_reader(const uint8_t *data, size_t len);

/* One payload, after a head: see FUZZ_CHUNK_HEAD. */
bool fuzz_chunk(const uint8_t *data, size_t len);

/* One column: u8 encoding, u16 rows, contents. */
bool fuzz_column(const uint8_t *data, size_t len);

/* Payloads of tables `schema` and `schema_value`: u16 rows of each, u32 length of the first. */
bool fuzz_schema(const uint8_t *data, size_t len);

/* A file of the symbol cache. */
bool fuzz_symcache(const uint8_t *data, size_t len);

/* Unwind information, after one byte that says what it is: FUZZ_CFI_*, plus 8 for arm64. */
bool fuzz_cfi(const uint8_t *data, size_t len);

enum {
	FUZZ_CFI_EH_FRAME,
	FUZZ_CFI_UNTIL_ZERO, /* .eh_frame of unknown length */
	FUZZ_CFI_DEBUG_FRAME,
	FUZZ_CFI_ELF, /* a whole file */
	FUZZ_CFI_KINDS,
	FUZZ_CFI_ARM64 = 8,
};

/* Names of generated code, after one byte that says what it is: FUZZ_JIT_*. */
bool fuzz_jit(const uint8_t *data, size_t len);

enum { FUZZ_JIT_DUMP, FUZZ_JIT_MAP };

/* What a program does through Sysprof's protocols, after one byte that says how:
 * FUZZ_SYSPROF_*. */
bool fuzz_sysprof(const uint8_t *data, size_t len);

enum { FUZZ_SYSPROF_FRAMES, FUZZ_SYSPROF_RING, FUZZ_SYSPROF_FILE };

/* Bytes before the payload in an input of fuzz_chunk: offsets. */
enum {
	FUZZ_CHUNK_TABLE = 0,	  /* u16 */
	FUZZ_CHUNK_ROWS = 2,	  /* u32 */
	FUZZ_CHUNK_COLUMNS = 6,	  /* u64 */
	FUZZ_CHUNK_TIME_MIN = 14, /* u64 */
	FUZZ_CHUNK_TIME_MAX = 22, /* u64 */
	FUZZ_CHUNK_HEAD = 30,
};

/* Aborts where it does not hold. */
void fuzz_expect(bool holds, const char *what);

/* Frees an error, which must be as it should: a known code, and a message that says something.
 * Returns whether there was none. */
struct ebt_error;
bool fuzz_succeeded(struct ebt_error *err);

#endif
