/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Footer and index chunks. The chain is followed from its end, so that the list is made
 * backwards and turned round. */
#include "format/read/index.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/limits.h"
#include "format/encoding/crc32c.h"
#include "format/read/batch.h"

struct ebt_error *ebt_chunk_list_add(struct ebt_chunk_list *list,
				     const struct ebt_chunk_info *chunk)
{
	struct ebt_error *err = ebt_array_reserve(&list->chunk, list->n, &list->capacity);

	if (!err)
		list->chunk[list->n++] = *chunk;
	return err;
}

void ebt_chunk_list_deinit(struct ebt_chunk_list *list)
{
	free(list->chunk);
	*list = (struct ebt_chunk_list){ 0 };
}

struct ebt_error *ebt_footer_read(const struct ebt_input *input, uint32_t tag,
				  struct ebt_footer *ret, bool *ret_there)
{
	unsigned char bytes[EBT_FOOTER_LEN];
	struct ebt_error *err;

	*ret_there = false;
	if (input->size < EBT_FILE_HEADER_LEN + EBT_FOOTER_LEN)
		return NULL;
	err = ebt_input_read(input, input->size - EBT_FOOTER_LEN, bytes, sizeof(bytes));
	if (err)
		return err;
	if (ebt_load_u32(bytes + EBT_FT_MAGIC) != EBT_FOOTER_MAGIC ||
	    ebt_load_u32(bytes + EBT_FT_LEN) != EBT_FOOTER_LEN ||
	    ebt_load_u32(bytes + EBT_FT_TAG) != tag ||
	    ebt_load_u32(bytes + EBT_FT_CRC) != ebt_crc32c(bytes, EBT_FT_CRC))
		return NULL;
	*ret = (struct ebt_footer){
		.offset = input->size - EBT_FOOTER_LEN,
		.index = ebt_load_u64(bytes + EBT_FT_INDEX),
		.chunks = ebt_load_u64(bytes + EBT_FT_CHUNKS),
	};
	*ret_there = true;
	return NULL;
}

static struct ebt_error *bad_row(uint32_t row)
{
	return ebt_error_create(EBT_ERR_CORRUPT, "row %u of the index is out of bounds", row);
}

static struct ebt_error *info_of_row(const struct ebt_batch *batch, uint32_t i,
				     struct ebt_chunk_info *ret)
{
	const struct ebt_row row = { .batch = batch, .i = i };
	uint64_t type = ebt_index_type(&row);
	uint64_t table = ebt_index_table_id(&row);
	uint64_t stream = ebt_index_stream(&row);
	uint64_t epoch = ebt_index_epoch(&row);
	uint64_t rows = ebt_index_rows(&row);
	uint64_t lost = ebt_index_lost(&row);

	if (type > UINT16_MAX || table > UINT16_MAX || stream > UINT16_MAX || epoch > UINT32_MAX ||
	    rows > EBT_MAX_ROWS || lost > UINT32_MAX)
		return bad_row(i);
	*ret = (struct ebt_chunk_info){
		.offset = ebt_index_offset(&row),
		.stored = ebt_index_stored(&row),
		.raw = ebt_index_raw(&row),
		.time_min = ebt_index_time_min(&row),
		.time_max = ebt_index_time_max(&row),
		.watermark = ebt_index_watermark(&row),
		.pids = { ebt_index_pids_low(&row), ebt_index_pids_high(&row) },
		.epoch = (uint32_t)epoch,
		.rows = (uint32_t)rows,
		.lost = (uint32_t)lost,
		.type = (uint16_t)type,
		.table = (uint16_t)table,
		.stream = (uint16_t)stream,
	};
	if (ret->stored > EBT_MAX_STORED || ret->raw > EBT_MAX_RAW)
		return bad_row(i);
	return NULL;
}

static uint64_t end_of(const struct ebt_chunk_info *chunk)
{
	struct ebt_chunk_header header = { .info = *chunk, .len = EBT_CHUNK_HEADER_LEN };

	return chunk->offset + ebt_chunk_extent(&header);
}

/* Appends the chunks that an index chunk names, last first. Each must end where the one behind
 * it begins, which bounds their number by the size of the file. Sequence numbers are not in the
 * index: they follow from the last chunk's. */
static struct ebt_error *add_rows(const struct ebt_batch *batch, struct ebt_chunk_list *list)
{
	struct ebt_chunk_info info;
	struct ebt_error *err;

	for (uint32_t i = batch->rows; i--;) {
		err = info_of_row(batch, i, &info);
		if (err)
			return err;
		if (info.offset >= list->chunk[list->n - 1].offset ||
		    end_of(&info) != list->chunk[list->n - 1].offset)
			return ebt_error_create(EBT_ERR_CORRUPT,
						"the index leaves a gap before offset %" PRIu64,
						list->chunk[list->n - 1].offset);
		info.seq = list->chunk[list->n - 1].seq - 1;
		err = ebt_chunk_list_add(list, &info);
		if (err)
			return err;
	}
	return NULL;
}

static bool is_index(const struct ebt_chunk_info *chunk)
{
	return chunk->type == EBT_CHUNK_TABLE && chunk->table == EBT_T_index;
}

/* Follows the chain. The list's last chunk is the index chunk to read next. */
static struct ebt_error *follow(struct ebt_chunk_reader *chunks, uint64_t first,
				struct ebt_task_set *no_tasks, struct ebt_decoded *decoded,
				struct ebt_chunk_list *list)
{
	const struct ebt_table *table = ebt_table_by_id(EBT_T_index);

	for (;;) {
		struct ebt_chunk_info index = list->chunk[list->n - 1];
		struct ebt_bytes payload;
		struct ebt_error *err;

		err = ebt_chunk_reader_load(chunks, &index, &payload);
		if (err)
			return err;
		err = ebt_batch_decode(payload, &index, table, ~UINT64_C(0), no_tasks, decoded);
		if (err)
			return err;
		err = add_rows(&decoded->batch, list);
		if (err)
			return err;
		if (list->chunk[list->n - 1].offset == first)
			return NULL;
		if (!decoded->batch.rows || !is_index(&list->chunk[list->n - 1]))
			return ebt_error_create(EBT_ERR_CORRUPT,
						"the index ends at offset %" PRIu64,
						list->chunk[list->n - 1].offset);
	}
}

static void reverse(struct ebt_chunk_list *list)
{
	for (size_t i = 0; i < list->n / 2; i++) {
		struct ebt_chunk_info other = list->chunk[i];

		list->chunk[i] = list->chunk[list->n - 1 - i];
		list->chunk[list->n - 1 - i] = other;
	}
}

static struct ebt_error *load(struct ebt_chunk_reader *chunks, const struct ebt_footer *footer,
			      uint64_t first, struct ebt_decoded *decoded,
			      struct ebt_chunk_list *list)
{
	struct ebt_task_set no_tasks = { 0 };
	struct ebt_chunk_header last;
	struct ebt_error *err;

	if (footer->index < first || footer->index >= footer->offset)
		return ebt_error_create(EBT_ERR_CORRUPT, "the footer points outside of the file");
	err = ebt_chunk_reader_header(chunks, footer->index, &last);
	if (err)
		return err;
	if (!is_index(&last.info) || last.info.seq != footer->chunks - 1 ||
	    footer->index + ebt_chunk_extent(&last) != footer->offset)
		return ebt_error_create(EBT_ERR_CORRUPT,
					"the footer does not point to the last chunk");
	err = ebt_chunk_list_add(list, &last.info);
	if (err)
		return err;
	err = follow(chunks, first, &no_tasks, decoded, list);
	if (err)
		return err;
	if (list->n != footer->chunks)
		return ebt_error_create(EBT_ERR_CORRUPT,
					"the index has %zu chunks, the footer %" PRIu64, list->n,
					footer->chunks);
	reverse(list);
	return NULL;
}

struct ebt_error *ebt_index_load(struct ebt_chunk_reader *chunks, const struct ebt_footer *footer,
				 uint64_t first, struct ebt_chunk_list *ret)
{
	struct ebt_decoded decoded = { 0 };
	struct ebt_chunk_list list = { 0 };
	struct ebt_error *err;

	err = load(chunks, footer, first, &decoded, &list);
	ebt_decoded_deinit(&decoded);
	if (err) {
		ebt_chunk_list_deinit(&list);
		return ebt_error_prefix(err, "the index cannot be used");
	}
	*ret = list;
	return NULL;
}
