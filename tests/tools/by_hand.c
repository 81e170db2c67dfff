/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Putting files together, and looking at what a reader makes of them. */
#include "tests/tools/by_hand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/encoding/crc32c.h"
#include "tests/tools/make_trace.h"

#define TAG 0x12345678u

void hand_begin(struct by_hand *hand)
{
	unsigned char header[EBT_FILE_HEADER_LEN + 64] = EBT_FILE_MAGIC;

	ebt_store_u16(header + EBT_FH_MAJOR, 1);
	ebt_store_u16(header + EBT_FH_MINOR, 7);
	ebt_store_u32(header + EBT_FH_LEN, EBT_FILE_HEADER_LEN + hand->header_extra);
	ebt_store_u64(header + EBT_FH_COMPAT, UINT64_C(1) << 63);
	ebt_store_u32(header + EBT_FH_UUID, TAG);
	ebt_store_u32(header + EBT_FH_CRC, ebt_crc32c(header, EBT_FH_CRC));
	ebt_buffer_put(&hand->file, header, EBT_FILE_HEADER_LEN + hand->header_extra);
}

void hand_entry(struct by_hand *hand, uint64_t id, uint8_t encoding, const void *data, size_t len)
{
	ebt_buffer_put_varint(&hand->directory, id);
	ebt_buffer_put_u8(&hand->directory, encoding);
	ebt_buffer_put_varint(&hand->directory, len);
	ebt_buffer_put(&hand->contents, data, len);
	hand->entries++;
}

void hand_column(struct by_hand *hand, uint64_t id, const char *values, size_t rows)
{
	hand_entry(hand, id, EBT_ENC_VARINT, values, rows);
}

void hand_strings(struct by_hand *hand, const char *all, size_t len)
{
	struct ebt_buffer dict = EBT_BUFFER_INIT;
	unsigned int n = 0;

	for (const char *s = all; s < all + len; s += strlen(s) + 1)
		n++;
	ebt_buffer_put_varint(&dict, n);
	for (const char *s = all; s < all + len; s += strlen(s) + 1)
		ebt_buffer_put_varint(&dict, strlen(s));
	for (const char *s = all; s < all + len; s += strlen(s) + 1)
		ebt_buffer_put(&dict, s, strlen(s));
	hand_entry(hand, 0, EBT_ENC_STRINGS, dict.data, dict.len);
	ebt_buffer_deinit(&dict);
}

void hand_raw_chunk(struct by_hand *hand, const struct ebt_chunk_info *info, const void *stored,
		    size_t len)
{
	unsigned char header[EBT_CHUNK_HEADER_LEN + 64] = { 0 };
	size_t header_len = EBT_CHUNK_HEADER_LEN + hand->header_extra;

	ebt_store_u32(header + EBT_CH_MAGIC, EBT_CHUNK_MAGIC);
	ebt_store_u16(header + EBT_CH_TYPE, info->type);
	ebt_store_u16(header + EBT_CH_FLAGS, info->flags);
	ebt_store_u32(header + EBT_CH_LEN, (uint32_t)header_len);
	ebt_store_u32(header + EBT_CH_TAG, TAG);
	ebt_store_u64(header + EBT_CH_SEQ, hand->chunks++);
	ebt_store_u16(header + EBT_CH_TABLE, info->table);
	ebt_store_u64(header + EBT_CH_STORED, len);
	ebt_store_u64(header + EBT_CH_RAW, info->raw);
	ebt_store_u64(header + EBT_CH_TIME_MIN, info->time_min);
	ebt_store_u64(header + EBT_CH_TIME_MAX, info->time_max);
	ebt_store_u32(header + EBT_CH_ROWS, info->rows);
	ebt_store_u32(header + EBT_CH_CRC, ebt_crc32c(stored, len));
	ebt_store_u32(header + EBT_CH_HEADER_CRC, ebt_crc32c(header, EBT_CH_HEADER_CRC));
	ebt_buffer_put(&hand->file, header, header_len);
	ebt_buffer_put(&hand->file, stored, len);
	while (hand->file.len % EBT_ALIGN)
		ebt_buffer_put_u8(&hand->file, 0);
}

void hand_chunk(struct by_hand *hand, uint16_t table, unsigned int rows)
{
	struct ebt_buffer payload = EBT_BUFFER_INIT;
	struct ebt_chunk_info info = { .type = EBT_CHUNK_TABLE,
				       .table = table,
				       .rows = rows,
				       .time_min = 1,
				       .time_max = rows };

	ebt_buffer_put_varint(&payload, hand->entries);
	ebt_buffer_put(&payload, hand->directory.data, hand->directory.len);
	ebt_buffer_put(&payload, hand->contents.data, hand->contents.len);
	info.raw = payload.len;
	hand_raw_chunk(hand, &info, payload.data, payload.len);
	ebt_buffer_deinit(&payload);
	ebt_buffer_deinit(&hand->directory);
	ebt_buffer_deinit(&hand->contents);
	hand->entries = 0;
}

void hand_schema(struct by_hand *hand, const struct schema_row *rows, unsigned int n)
{
	struct ebt_buffer all = EBT_BUFFER_INIT, cols[7] = { EBT_BUFFER_INIT };

	for (unsigned int i = 0; i < n; i++) {
		ebt_buffer_put(&all, rows[i].table_name, strlen(rows[i].table_name) + 1);
		ebt_buffer_put(&all, rows[i].field_name, strlen(rows[i].field_name) + 1);
		ebt_buffer_put_varint(&cols[0], i + 1);
		ebt_buffer_put_varint(&cols[1], rows[i].table);
		ebt_buffer_put_varint(&cols[2], rows[i].field);
		ebt_buffer_put_varint(&cols[3], rows[i].class);
		ebt_buffer_put_varint(&cols[4], rows[i].type);
		ebt_buffer_put_varint(&cols[5], 2 * i + 1);
		ebt_buffer_put_varint(&cols[6], 2 * i + 2);
	}
	hand_strings(hand, (const char *)all.data, all.len);
	for (unsigned int i = 0; i < 7; i++) {
		hand_entry(hand, 1 + i, EBT_ENC_VARINT, cols[i].data, cols[i].len);
		ebt_buffer_deinit(&cols[i]);
	}
	ebt_buffer_deinit(&all);
	hand_chunk(hand, EBT_T_schema, n);
}

struct ebt_error *hand_open(struct by_hand *hand, const char *path, struct ebt_reader **ret)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_false(hand->file.failed);
	assert_int_equal(fwrite(hand->file.data, 1, hand->file.len, f), hand->file.len);
	fclose(f);
	ebt_buffer_deinit(&hand->file);
	return ebt_reader_open(path, ret);
}

struct ebt_row first_row(struct ebt_reader *reader, uint16_t table, struct ebt_cursor **ret_cursor)
{
	const struct ebt_want want = { table, ~UINT64_C(0) };
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };
	struct ebt_row row;

	assert_no_error(ebt_cursor_create(reader, &query, ret_cursor));
	assert_no_error(ebt_cursor_next(*ret_cursor, &row));
	return row;
}

void assert_damage(struct ebt_reader *reader, size_t expected, const char *part)
{
	const struct ebt_damage *damage;
	uint64_t total;
	size_t n;

	damage = ebt_reader_damage(reader, &n, &total);
	if (n != expected)
		fail_msg("%zu damaged places, not %zu%s%s", n, expected, n ? ": " : "",
			 n ? damage[0].what : "");
	assert_int_equal(total, expected);
	if (expected && !strstr(damage[0].what, part))
		fail_msg("'%s' does not say '%s'", damage[0].what, part);
}
