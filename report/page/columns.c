/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of a page; see columns.h. */
#include "report/page/columns.h"

#include <assert.h>
#include <stdlib.h>
#include <zlib.h>

#include "format/base/array.h"

struct page_bytes {
	unsigned char *data;
	size_t len, capacity;
	int64_t last; /* value of the row before */
};

struct page_rows {
	const char *name;
	const struct page_column *columns;
	size_t n;
	struct page_bytes *bytes; /* by column */
	size_t rows;
};

static const struct {
	const char *name;
	bool is_signed;
} types[] = {
	[PAGE_U8] = { "u8", false },	   [PAGE_U16] = { "u16", false },
	[PAGE_U32] = { "u32", false },	   [PAGE_I32] = { "i32", true },
	[PAGE_TIME] = { "time", true },	   [PAGE_F64] = { "f64", false },
	[PAGE_BYTES] = { "bytes", false },
};

struct ebt_error *page_rows_create(const char *name, const struct page_column *columns, size_t n,
				   struct page_rows **ret)
{
	struct page_rows *section = calloc(1, sizeof(*section));

	if (!section)
		return &ebt_enomem;
	section->name = name;
	section->columns = columns;
	section->n = n;
	section->bytes = calloc(n, sizeof(*section->bytes));
	if (!section->bytes) {
		free(section);
		return &ebt_enomem;
	}
	*ret = section;
	return NULL;
}

void page_rows_destroy(struct page_rows *section)
{
	if (!section)
		return;
	for (size_t i = 0; i < section->n; i++)
		free(section->bytes[i].data);
	free(section->bytes);
	free(section);
}

static bool is_zigzag(const struct page_column *column)
{
	return column->delta || types[column->type].is_signed;
}

static struct ebt_error *add(struct page_bytes *bytes, const void *data, size_t len)
{
	struct ebt_error *err =
		len ? ebt_array_reserve(&bytes->data, bytes->len + len - 1, &bytes->capacity)
		    : NULL;

	if (err)
		return err;
	if (len)
		memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
	return NULL;
}

static struct ebt_error *add_varint(struct page_bytes *bytes, uint64_t value)
{
	unsigned char out[10];
	size_t n = 0;

	while (value >= 128) {
		out[n++] = (unsigned char)(value | 128);
		value >>= 7;
	}
	out[n++] = (unsigned char)value;
	return add(bytes, out, n);
}

static struct ebt_error *add_value(struct page_bytes *bytes, const struct page_column *column,
				   uint64_t value)
{
	if (column->type == PAGE_F64)
		return add(bytes, &value, sizeof(value));
	if (column->type == PAGE_BYTES)
		return NULL;
	if (column->delta) {
		const uint64_t before = (uint64_t)bytes->last;

		bytes->last = (int64_t)value;
		value -= before;
	}
	if (is_zigzag(column))
		value = value << 1 ^ (uint64_t)((int64_t)value >> 63);
	return add_varint(bytes, value);
}

struct ebt_error *page_row_n(struct page_rows *section, const uint64_t *values, size_t n)
{
	assert(n == section->n);
	for (size_t i = 0; i < n; i++) {
		struct ebt_error *err =
			add_value(&section->bytes[i], &section->columns[i], values[i]);

		if (err)
			return err;
	}
	section->rows++;
	return NULL;
}

struct ebt_error *page_rows_text(struct page_rows *section, const char *bytes, size_t len)
{
	assert(section->columns[section->n - 1].type == PAGE_BYTES);
	return add(&section->bytes[section->n - 1], bytes, len);
}

size_t page_rows_n(const struct page_rows *section)
{
	return section->rows;
}

const char *page_rows_name(const struct page_rows *section)
{
	return section->name;
}

void page_rows_describe(const struct page_rows *section, struct json *json)
{
	json_put(json, section->name, open_object);
	json_put(json, "rows", u64, section->rows);
	json_put(json, "columns", open_array);
	for (size_t i = 0; i < section->n; i++) {
		const struct page_column *column = &section->columns[i];

		json_open_object(json);
		json_put(json, "name", cstr, column->name);
		json_put(json, "type", cstr, types[column->type].name);
		json_put(json, "delta", bool, column->delta);
		json_put(json, "zigzag", bool, is_zigzag(column));
		json_put(json, "bytes", u64, section->bytes[i].len);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

#define GZIP_WINDOW (15 + 16) /* the largest, with gzip's header */

struct ebt_error *page_rows_pack(const struct page_rows *section, unsigned char **ret,
				 size_t *ret_len)
{
	z_stream z = { 0 };
	size_t raw = 0;
	int status = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
				  Z_DEFAULT_STRATEGY);

	if (status != Z_OK)
		return &ebt_enomem;
	for (size_t i = 0; i < section->n; i++)
		raw += section->bytes[i].len;
	*ret_len = deflateBound(&z, raw);
	*ret = malloc(*ret_len);
	if (!*ret) {
		deflateEnd(&z);
		return &ebt_enomem;
	}
	/* zlib counts what is left of a buffer in 32 bits. */
	z.next_out = *ret;
	for (size_t i = 0; i <= section->n; i++) {
		const struct page_bytes *bytes = i < section->n ? &section->bytes[i] : NULL;
		size_t at = 0;

		do {
			const size_t left = bytes ? bytes->len - at : 0;
			const size_t room = *ret_len - (size_t)(z.next_out - *ret);

			z.next_in = left ? bytes->data + at : NULL;
			z.avail_in = left < 1u << 30 ? (unsigned int)left : 1u << 30;
			z.avail_out = room < 1u << 30 ? (unsigned int)room : 1u << 30;
			at += z.avail_in;
			status = deflate(&z, bytes ? Z_NO_FLUSH : Z_FINISH);
			at -= z.avail_in;
		} while (bytes ? at < bytes->len : status == Z_OK);
	}
	*ret_len = (size_t)(z.next_out - *ret);
	deflateEnd(&z);
	return NULL;
}

void page_base64(FILE *f, const unsigned char *bytes, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char out[4096];
	size_t n = 0;

	for (size_t i = 0; i < len; i += 3) {
		const size_t left = len - i;
		const uint32_t three = (uint32_t)bytes[i] << 16 |
				       (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				       (left > 2 ? bytes[i + 2] : 0);

		out[n++] = digits[three >> 18];
		out[n++] = digits[three >> 12 & 63];
		out[n++] = left > 1 ? digits[three >> 6 & 63] : '=';
		out[n++] = left > 2 ? digits[three & 63] : '=';
		if (n == sizeof(out)) {
			fwrite(out, 1, n, f);
			n = 0;
		}
	}
	fwrite(out, 1, n, f);
}
