/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzing payloads: directory, dictionaries, columns. */
#include "format/base/bytes.h"
#include "format/read/batch.h"
#include "tests/fuzz/fuzz.h"

/* What a batch promises: times ascend, ids are in their dictionaries. */
static void check(const struct ebt_batch *batch)
{
	const struct ebt_table *table = batch->table;

	for (uint32_t i = 0; i < batch->rows; i++)
		fuzz_expect(!i || batch->col[0][i] >= batch->col[0][i - 1], "times ascend");
	for (uint32_t field = 0; field < table->n_fields; field++) {
		uint64_t most = UINT64_MAX;

		if (!batch->col[field])
			continue;
		if (table->fields[field].type == EBT_TYPE_TASK)
			most = batch->n_tasks;
		if (table->fields[field].type == EBT_TYPE_STACK)
			most = batch->n_stacks;
		if (table->fields[field].type == EBT_TYPE_STRING)
			most = batch->n_strings;
		for (uint32_t i = 0; i < batch->rows; i++)
			fuzz_expect(batch->col[field][i] <= most, "ids are in their dictionary");
	}
}

bool fuzz_chunk(const uint8_t *data, size_t len)
{
	struct ebt_decoded decoded = { 0 };
	struct ebt_chunk_info info = { 0 };
	const struct ebt_table *table;
	struct ebt_task_set tasks;
	struct ebt_error *err;

	if (len < FUZZ_CHUNK_HEAD)
		return false;
	table = ebt_table_by_id(ebt_load_u16(data + FUZZ_CHUNK_TABLE));
	info.rows = ebt_load_u32(data + FUZZ_CHUNK_ROWS) % (1 << 14);
	info.time_min = ebt_load_u64(data + FUZZ_CHUNK_TIME_MIN);
	info.time_max = ebt_load_u64(data + FUZZ_CHUNK_TIME_MAX);
	if (!table)
		return false;
	ebt_task_set_init(&tasks);
	err = ebt_batch_decode(ebt_bytes(data + FUZZ_CHUNK_HEAD, len - FUZZ_CHUNK_HEAD), &info,
			       table, ebt_load_u64(data + FUZZ_CHUNK_COLUMNS), &tasks, &decoded);
	if (!err)
		check(&decoded.batch);
	ebt_decoded_deinit(&decoded);
	ebt_task_set_deinit(&tasks);
	return fuzz_succeeded(err);
}
