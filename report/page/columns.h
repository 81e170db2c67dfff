/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sections of a page: rows of columns, as the page's script reads them (report/page/model.js). A
 * number is a LEB128 varint, seven bits a byte and the lowest first; one that may be negative is
 * zigzag: 0, -1, 1, -2 … are 0, 1, 2, 3 …. Equal and small numbers cost next to nothing then, once
 * all is compressed.
 */
#ifndef REPORT_PAGE_COLUMNS_H
#define REPORT_PAGE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "format/base/error.h"
#include "report/base/json.h"

enum page_type {
	PAGE_U8, /* unsigned, and what they take in the page once they are read */
	PAGE_U16,
	PAGE_U32,
	PAGE_I32,
	PAGE_TIME,  /* ns since the start of the trace, as an int64_t; exact up to 2^53 */
	PAGE_F64,   /* page_f64() */
	PAGE_BYTES, /* page_rows_text(), any number of bytes; not a value of each row */
};

struct page_column {
	const char *name;
	enum page_type type;
	bool delta; /* written as the difference to the row before */
};

struct page_rows;

/* The columns must outlive the section. The one that is PAGE_BYTES is the last. */
struct ebt_error *page_rows_create(const char *name, const struct page_column *columns, size_t n,
				   struct page_rows **ret);
void page_rows_destroy(struct page_rows *section);

/* A row of n values, one a column (asserted), 0 for PAGE_BYTES. Of signed types the int64_t. */
struct ebt_error *page_row_n(struct page_rows *section, const uint64_t *values, size_t n);
#define page_row(section, ...)                                   \
	page_row_n((section), (const uint64_t[]){ __VA_ARGS__ }, \
		   sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

struct ebt_error *page_rows_text(struct page_rows *section, const char *bytes, size_t len);

static inline uint64_t page_f64(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

size_t page_rows_n(const struct page_rows *section);
const char *page_rows_name(const struct page_rows *section);
/* Rows and columns, as a member of an object of JSON. */
void page_rows_describe(const struct page_rows *section, struct json *json);
/* gzip(1) of all columns, one behind the other. Free *ret with free(). */
struct ebt_error *page_rows_pack(const struct page_rows *section, unsigned char **ret,
				 size_t *ret_len);

/* RFC 4648, section 4. Write errors stay in the FILE. */
void page_base64(FILE *f, const unsigned char *bytes, size_t len);

#endif
