/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the trace says about a mapped file beside its path and build-id: table `object`. */
#ifndef SYMBOLIZE_FILES_IDENTITY_H
#define SYMBOLIZE_FILES_IDENTITY_H

#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "symbolize/elf/elffile.h"

/* XXH3 of 128 bits, big-endian. */
#define IDENTITY_HASH_SIZE 16

struct identity {
	const char *path;
	struct sym_build_id id;
	uint64_t size;
	int64_t mtime_ns; /* 0: not known */
	uint64_t file_id; /* the embedded file that has it, or 0 */
	bool hashed, noted;
	uint8_t hash[IDENTITY_HASH_SIZE];
	struct elf_load *loads;
	size_t n_loads;	       /* 0: not known */
	const char *debuglink; /* or "" */
	uint32_t debuglink_crc;
};

struct identities;

struct ebt_error *identities_create(struct ebt_reader *reader, struct identities **ret);
/* Accepts NULL. */
void identities_destroy(struct identities *identities);

/* NULL: nothing is said, or, where there is no build-id, of several files at this path. */
const struct identity *identities_find(const struct identities *identities, const char *path,
				       const struct sym_build_id *id);

/* Remembers that a file was taken for this one by size and time alone; how many there are. */
void identities_note(struct identities *identities, const struct identity *identity);
uint32_t identities_noted(const struct identities *identities);

/* Whether the open file has the recorded content. */
bool identity_hash_is(const struct identity *identity, int fd);

#endif
