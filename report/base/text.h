/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing string, and the ways to put strangers' bytes into it safely. Memory failure is kept
 * in the string and asked for once, with text_error().
 */
#ifndef REPORT_BASE_TEXT_H
#define REPORT_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "format/base/error.h"
#include "format/read/reader.h"

struct text {
	char *data; /* NUL-terminated where not NULL */
	size_t len, capacity;
	bool failed;
};
#define TEXT_INIT \
	{         \
		0 \
	}

static inline void text_deinit(struct text *text)
{
	free(text->data);
}
#define _cleanup_text_ __attribute__((cleanup(text_deinit)))

static inline void text_clear(struct text *text)
{
	text->len = 0;
}

/* &ebt_enomem if something did not fit, else NULL. */
struct ebt_error *text_error(const struct text *text);

/* Never NULL. */
const char *text_get(const struct text *text);
/* The same with its length. */
struct ebt_str text_str(const struct text *text);

void text_add(struct text *text, const char *s, size_t len);
void text_addc(struct text *text, char c);
void text_cstr(struct text *text, const char *s);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Decimal and hexadecimal (lower case, without 0x), faster than text_printf(). */
void text_u64(struct text *text, uint64_t v);
void text_hex(struct text *text, uint64_t v);
/* Two digits a byte. */
void text_hex_bytes(struct text *text, struct ebt_str bytes);

/* For terminals and plain text: control characters (C0, DEL, C1) and bytes that are not UTF-8 as
 * \xNN a byte; also: bidirectional controls, which reorder what is around them. */
void text_terminal(struct text *text, struct ebt_str s);
/* For formats whose texts are UTF-8 without NUL: U+FFFD in the place of what is not. */
void text_utf8(struct text *text, struct ebt_str s);
/* For XML and HTML, content and attributes: & < > " ' as entities; bytes that XML cannot hold
 * as \xNN. */
void text_xml(struct text *text, struct ebt_str s);
/* One CSV field (RFC 4180), escaped as for terminals; a ' goes before = + - @ that begin it, which
 * spreadsheets take for formulas. */
void text_csv(struct text *text, struct ebt_str s);
/* A word of a line for a shell, escaped as for terminals: quoted where it has to be. */
void text_shell(struct text *text, struct ebt_str s);
/* As FORMAT.md section 7 prints strings, quotes included. */
void text_dump_string(struct text *text, struct ebt_str s);

/* 1.234 ms, 12.3 s, 0 ns: four significant digits. */
void text_duration(struct text *text, uint64_t ns);
/* 1.234567: a time in seconds since the start; "-0.000001" is before. */
void text_seconds(struct text *text, uint64_t time, uint64_t start_ns);
/* 1.2 MiB, 17 B. */
void text_bytes(struct text *text, uint64_t bytes);

/* A number of this unit: "ns" and "bytes" as above, others as `12 events`. */
void text_amount(struct text *text, uint64_t amount, const char *unit);

/* What a sentence says of n things: `one` of a single one, else `many`; "run" or "runs", "" or "s",
 * "has" or "have". */
static inline const char *text_plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

/* For qsort(): below, at or above 0. */
int text_compare(struct ebt_str a, struct ebt_str b);

/* What a thread or process is called in a text; one whose name is not known is "[unknown]". */
struct ebt_str text_comm(struct ebt_str comm);
/* "comm (number)" and "comm/number", the name as it is. */
void text_task(struct text *text, struct ebt_str comm, uint32_t number);
void text_thread(struct text *text, struct ebt_str comm, uint32_t tid);
/* "number × comm": so many processes of a program. */
void text_program(struct text *text, struct ebt_str comm, uint64_t number);

/* Columns that valid UTF-8 takes on a terminal (one a character, wide and combining ones by
 * wcwidth's classes that matter here: combining 0, East Asian wide 2). */
size_t text_columns(const char *s, size_t len);
/* Bytes of s that fit into so many columns. */
size_t text_fit(const char *s, size_t len, size_t columns);

#endif
