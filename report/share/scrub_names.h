/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Aliases in the place of words: prog-1, dir-3. In one copy the same word has the same alias
 * everywhere, so that what belongs together still does. They are numbered as they come, by kind,
 * and so tell nothing about the words. Of a word no more is kept than its hash, under a random key.
 *
 * Of so many words, that is: of any more nothing is kept, and the alias is made of the hash. It is
 * the same everywhere in the copy, too, but says of what kind the word is no more, as name-1267….
 */
#ifndef REPORT_SHARE_SCRUB_NAMES_H
#define REPORT_SHARE_SCRUB_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/base/text.h"

enum scrub_kind {
	SCRUB_PROGRAM,
	SCRUB_THREAD,
	SCRUB_FOLDER,
	SCRUB_NAMED_FILE,
	SCRUB_COMMAND_LINE,
	SCRUB_HOST_NAME,
	SCRUB_BOOT_ID,
	SCRUB_USER_NAME,
	SCRUB_CONTROL_GROUP,
	SCRUB_NET_DEVICE,
	SCRUB_NAME,
	/* These become numbers, and have no alias. */
	SCRUB_USER_ID,
	SCRUB_HOST_ADDRESS,
	SCRUB_N_KINDS,
};

struct scrub_key {
	uint64_t k[2];
};

/* SipHash-2-4. */
uint64_t scrub_hash(const struct scrub_key *key, const void *data, size_t len);

struct scrub_names;

#define SCRUB_MOST_WORDS (UINT32_C(1) << 21) /* 34 to 80 bytes each */

/* most: words of which something is kept, as SCRUB_MOST_WORDS. */
struct ebt_error *scrub_names_create(size_t most, struct scrub_names **ret);
/* Accepts NULL. */
void scrub_names_destroy(struct scrub_names *names);

/* This is the name of a file that is run: it is of kind `prog`, wherever it comes first, and so is
 * what the kernel makes of it as the name of a thread. */
struct ebt_error *scrub_names_program(struct scrub_names *names, struct ebt_str name);

/* Appends the alias of a word, of this kind where the word is new; nothing for nothing. */
void scrub_alias(struct scrub_names *names, enum scrub_kind kind, struct ebt_str word,
		 struct text *to);

/* The number of these bytes among those of their kind, from 1 on; behind the last that is kept one
 * of 28 bits, which two may share. 0: there is no memory. */
uint32_t scrub_number_of(struct scrub_names *names, enum scrub_kind kind, const void *data,
			 size_t len);

/* &ebt_enomem if there was no memory for one of them, else NULL. */
struct ebt_error *scrub_names_error(const struct scrub_names *names);

/* Were there more words than are kept? */
bool scrub_names_overflowed(const struct scrub_names *names);

/* Was this word replaced? Where there were too many to know, it was. */
bool scrub_names_have(const struct scrub_names *names, struct ebt_str word);

/* Does it read as an alias does? */
bool scrub_is_alias(struct ebt_str word);

#endif
