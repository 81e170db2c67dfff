/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damage placed in time; see gaps.h. */
#include "report/export/gaps.h"

/* Rows of a chunk that was there, or what lies between those before and behind the stretch. */
static void place(const struct ebt_reader *reader, struct export_gap *gap)
{
	uint64_t end = ebt_reader_info(reader)->recorded_to_ns;
	const struct ebt_chunk_info *chunks;
	size_t n;

	gap->from = 0;
	gap->to = UINT64_MAX;
	chunks = ebt_reader_chunks(reader, &n);
	for (size_t i = 0; i < n; i++) {
		const struct ebt_table *table = ebt_reader_table(reader, chunks[i].table);

		if (chunks[i].offset == gap->offset) {
			gap->is_chunk = true;
			gap->table = chunks[i].table;
			gap->rows = chunks[i].rows;
			gap->from = chunks[i].time_min;
			gap->to = chunks[i].time_max;
			return;
		}
		if (!table || table->class == EBT_CLASS_META)
			continue;
		/* The watermark: what comes later in the file is not older. */
		if (chunks[i].offset < gap->offset && chunks[i].watermark > gap->from)
			gap->from = chunks[i].watermark;
		if (chunks[i].offset > gap->offset && chunks[i].time_max > gap->to)
			gap->to = chunks[i].time_max;
	}
	if (gap->to > end)
		gap->to = end;
	if (gap->from > gap->to)
		gap->from = gap->to;
}

static bool is_known(const struct export_gaps *gaps, uint64_t offset)
{
	for (size_t i = 0; i < gaps->n; i++) {
		if (gaps->list[i].offset == offset)
			return true;
	}
	return false;
}

static void find_next(struct export_gaps *gaps)
{
	gaps->next = UINT64_MAX;
	for (size_t i = 0; i < gaps->n; i++) {
		if (!gaps->list[i].told && gaps->list[i].from < gaps->next)
			gaps->next = gaps->list[i].from;
	}
}

void export_gaps_update(struct export_gaps *gaps, const struct ebt_reader *reader)
{
	const struct ebt_damage *damage;
	uint64_t total;
	size_t n;

	damage = ebt_reader_damage(reader, &n, &total);
	if (total == gaps->total)
		return;
	gaps->total = total;
	for (size_t i = 0; i < n && gaps->n < EBT_MAX_DAMAGE; i++) {
		if (is_known(gaps, damage[i].offset))
			continue;
		gaps->list[gaps->n] = (struct export_gap){ .offset = damage[i].offset,
							   .length = damage[i].length,
							   .what = damage[i].what };
		place(reader, &gaps->list[gaps->n++]);
	}
	find_next(gaps);
}

const struct export_gap *export_gaps_tell(struct export_gaps *gaps, uint64_t time)
{
	for (size_t i = 0; gaps->next <= time && i < gaps->n; i++) {
		struct export_gap *gap = &gaps->list[i];

		if (gap->told || gap->from != gaps->next)
			continue;
		gap->told = true;
		find_next(gaps);
		return gap;
	}
	return NULL;
}
