/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of ClickHouse's format Native; see native.h. Numbers are little-endian. */
#include "report/export/native.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/interned.h"
#include "report/base/text.h"

/* LowCardinality(String): shared dictionaries with additional keys; then, of a block, additional
 * keys and an update of the dictionary, with numbers of 32 bits. */
#define WORDS_VERSION 1
#define WORDS_FLAGS   (1u << 9 | 1u << 10 | 2)

struct native_data {
	struct text bytes;
	struct text ends; /* of an array: where each ends, in elements */
	uint64_t elements;
	struct interned words;
};

struct native_block {
	const struct native_column *columns;
	struct native_data *data; /* one a column */
	size_t n;
	uint64_t rows;
	struct ebt_error *err;
};

static const struct {
	const char *name;
	unsigned int width; /* in bytes, of a number */
} types[NATIVE_N_TYPES] = {
	[NATIVE_U8] = { "UInt8", 1 },
	[NATIVE_U32] = { "UInt32", 4 },
	[NATIVE_U64] = { "UInt64", 8 },
	[NATIVE_I64] = { "Int64", 8 },
	[NATIVE_TIME] = { "DateTime64(9, 'UTC')", 8 },
	[NATIVE_DAY] = { "Date", 2 },
	[NATIVE_UUID] = { "UUID", 0 },
	[NATIVE_STRING] = { "String", 0 },
	[NATIVE_WORD] = { "LowCardinality(String)", 0 },
	[NATIVE_U32S] = { "Array(UInt32)", 4 },
	[NATIVE_U64S] = { "Array(UInt64)", 8 },
	[NATIVE_STRINGS] = { "Array(String)", 0 },
};

const char *native_type_name(enum native_type type)
{
	return types[type].name;
}

/* --- a block --- */

static void empty(struct native_block *block)
{
	for (size_t i = 0; i < block->n; i++) {
		text_clear(&block->data[i].bytes);
		text_clear(&block->data[i].ends);
		block->data[i].elements = 0;
		interned_deinit(&block->data[i].words);
		block->data[i].words = (struct interned){ 0 };
	}
	block->rows = 0;
}

struct ebt_error *native_block_create(const struct native_column *columns, size_t n,
				      struct native_block **ret)
{
	struct native_block *block = calloc(1, sizeof(*block));

	if (!block)
		return &ebt_enomem;
	block->columns = columns;
	block->n = n;
	block->data = calloc(n, sizeof(*block->data));
	if (!block->data) {
		free(block);
		return &ebt_enomem;
	}
	*ret = block;
	return NULL;
}

void native_block_destroy(struct native_block *block)
{
	if (!block)
		return;
	for (size_t i = 0; i < block->n; i++) {
		text_deinit(&block->data[i].bytes);
		text_deinit(&block->data[i].ends);
		interned_deinit(&block->data[i].words);
	}
	free(block->data);
	ebt_error_destroy(block->err);
	free(block);
}

uint64_t native_block_rows(const struct native_block *block)
{
	return block->rows;
}

size_t native_block_size(const struct native_block *block)
{
	size_t size = 0;

	for (size_t i = 0; i < block->n; i++)
		size += block->data[i].bytes.len + block->data[i].ends.len +
			block->data[i].words.texts.len;
	return size;
}

/* --- values --- */

static void put_number(struct text *to, uint64_t v, unsigned int width)
{
	char bytes[8];

	for (unsigned int i = 0; i < width; i++)
		bytes[i] = (char)(v >> 8 * i);
	text_add(to, bytes, width);
}

/* LEB128. */
static void put_length(struct text *to, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		text_addc(to, (char)(v | 0x80));
	text_addc(to, (char)v);
}

static void put_string(struct text *to, struct ebt_str s)
{
	put_length(to, s.len);
	text_add(to, s.data ? s.data : "", s.len);
}

void native_u64(struct native_block *block, size_t column, uint64_t v)
{
	put_number(&block->data[column].bytes, v, types[block->columns[column].type].width);
	block->data[column].elements++;
}

/* The first word of a dictionary stands for nothing: the empty one. */
static void put_word(struct native_block *block, struct native_data *data, struct ebt_str s)
{
	uint32_t number = 0;
	struct ebt_error *err = NULL;

	if (!data->words.n)
		err = interned_add(&data->words, (struct ebt_str){ "", 0 }, &number);
	err = err ?: interned_add(&data->words, s, &number);
	put_number(&data->bytes, number == INTERNED_NONE ? 0 : number, 4);
	if (block->err)
		ebt_error_destroy(err);
	else
		block->err = err;
}

void native_str(struct native_block *block, size_t column, struct ebt_str s)
{
	struct native_data *data = &block->data[column];

	if (block->columns[column].type == NATIVE_WORD)
		put_word(block, data, s);
	else
		put_string(&data->bytes, s);
	data->elements++;
}

void native_cstr(struct native_block *block, size_t column, const char *s)
{
	native_str(block, column, s ? ebt_str_of(s) : (struct ebt_str){ "", 0 });
}

/* Two halves, each with its last byte first. */
void native_uuid(struct native_block *block, size_t column, const uint8_t uuid[16])
{
	for (int half = 0; half < 16; half += 8) {
		for (int i = 7; i >= 0; i--)
			text_addc(&block->data[column].bytes, (char)uuid[half + i]);
	}
}

void native_array_end(struct native_block *block, size_t column)
{
	put_number(&block->data[column].ends, block->data[column].elements, 8);
}

void native_row_end(struct native_block *block)
{
	block->rows++;
}

/* --- to a file --- */

static void write_text(const struct text *text, FILE *f)
{
	fwrite(text_get(text), 1, text->len, f);
}

static void put_words(struct text *head, const struct native_data *data, uint64_t rows)
{
	put_number(head, WORDS_VERSION, 8);
	put_number(head, WORDS_FLAGS, 8);
	put_number(head, data->words.n, 8);
	for (uint32_t i = 0; i < data->words.n; i++)
		put_string(head, interned_get(&data->words, i));
	put_number(head, rows, 8);
}

static struct ebt_error *write_column(const struct native_block *block, size_t i, FILE *f)
{
	_cleanup_text_ struct text head = TEXT_INIT;
	const struct native_column *column = &block->columns[i];
	const struct native_data *data = &block->data[i];
	const char *type = native_type_name(column->type);

	put_string(&head, ebt_str_of(column->name));
	put_string(&head, ebt_str_of(type));
	if (column->type == NATIVE_WORD)
		put_words(&head, data, block->rows);
	write_text(&head, f);
	write_text(&data->ends, f);
	write_text(&data->bytes, f);
	return text_error(&head) ?: text_error(&data->ends) ?: text_error(&data->bytes);
}

struct ebt_error *native_block_write(struct native_block *block, FILE *f)
{
	_cleanup_text_ struct text head = TEXT_INIT;
	struct ebt_error *err = block->err;

	block->err = NULL;
	if (!block->rows || err)
		return err;
	put_length(&head, block->n);
	put_length(&head, block->rows);
	write_text(&head, f);
	err = text_error(&head);
	for (size_t i = 0; !err && i < block->n; i++)
		err = write_column(block, i, f);
	empty(block);
	return err;
}
