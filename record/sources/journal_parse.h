/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries of the journal in systemd's export format, piece by piece as they come out of a pipe.
 * Anybody may write to the journal: no length is believed, and memory does not depend on one.
 */
#ifndef RECORD_SOURCES_JOURNAL_PARSE_H
#define RECORD_SOURCES_JOURNAL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

/* In bytes; what a field has beyond is left out. */
#define JOURNAL_MESSAGE 8192
#define JOURNAL_SHORT	256

enum journal_field {
	JOURNAL_MONOTONIC,
	JOURNAL_REALTIME,
	JOURNAL_SOURCE_REALTIME,
	JOURNAL_BOOT_ID,
	JOURNAL_PID,
	JOURNAL_PRIORITY,
	JOURNAL_UNIT,
	JOURNAL_IDENTIFIER,
	JOURNAL_COMM,
	JOURNAL_CURSOR,
	JOURNAL_N_SHORT,
	JOURNAL_MESSAGE_TEXT = JOURNAL_N_SHORT,
	JOURNAL_N_FIELDS,
};

struct journal_text {
	const char *data;
	size_t len;
	uint64_t cut; /* bytes left out */
};

struct journal_parser;

/* One entry is complete; journal_text() tells what it says. */
typedef struct ebt_error *journal_entry_fn(void *arg, const struct journal_parser *parser);

/* How the journal calls the field. */
const char *journal_field_name(enum journal_field field);

struct ebt_error *journal_parser_create(journal_entry_fn *fn, void *arg,
					struct journal_parser **ret);
void journal_parser_destroy(struct journal_parser *parser);

/* What follows is the beginning of an entry. */
void journal_parser_reset(struct journal_parser *parser);

struct ebt_error *journal_parse(struct journal_parser *parser, const char *data, size_t len);

/* Empty where the entry has no such field. The last one counts where it has several. */
struct journal_text journal_text(const struct journal_parser *parser, enum journal_field field);

/* A decimal number; false: it is none. */
bool journal_number(const struct journal_parser *parser, enum journal_field field, uint64_t *ret);

#endif
