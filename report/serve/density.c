/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows by time; see density.h. */
#include "report/serve/density.h"

#include <stdlib.h>

#include "format/base/array.h"
#include "format/encoding/layout.h"

/* A chunk of events; NULL: of something else. */
static const struct ebt_table *table_of(const struct trace *trace,
					const struct ebt_chunk_info *chunk)
{
	const struct ebt_table *table =
		chunk->type == EBT_CHUNK_TABLE ? ebt_reader_table(trace_reader(trace), chunk->table)
					       : NULL;

	return table && table->class == EBT_CLASS_EVENT ? table : NULL;
}

/* Which part of a chunk's time, from 0 to 1, is from <= time < to. */
static double share(const struct ebt_chunk_info *chunk, double from, double to)
{
	const double begin = (double)chunk->time_min, end = (double)chunk->time_max + 1;

	from = from > begin ? from : begin;
	to = to < end ? to : end;
	return to > from && end > begin ? (to - from) / (end - begin) : 0;
}

/* The window, whose end may be the last time that there is. */
static double from_of(const struct trace *trace)
{
	return (double)trace_from_ns(trace);
}

static double to_of(const struct trace *trace)
{
	return (double)trace_window_end_ns(trace) + 1;
}

double density_rows(const struct trace *trace)
{
	const double from = from_of(trace), to = to_of(trace);
	const struct ebt_chunk_info *chunks;
	double rows = 0;
	size_t n;

	chunks = ebt_reader_chunks(trace_reader(trace), &n);
	for (size_t i = 0; i < n; i++) {
		if (table_of(trace, &chunks[i]))
			rows += chunks[i].rows * share(&chunks[i], from, to);
	}
	return rows;
}

static struct ebt_error *find_table(struct density *density, const struct ebt_table *table,
				    struct density_table **ret)
{
	struct ebt_error *err;
	size_t i = 0;

	while (i < density->n && density->tables[i].table != table)
		i++;
	if (i == density->n) {
		err = ebt_array_reserve(&density->tables, i, &density->capacity);
		if (err)
			return err;
		density->tables[density->n++] = (struct density_table){ .table = table };
	}
	*ret = &density->tables[i];
	return NULL;
}

/* Into the bins that the chunk overlaps. */
static void spread(struct density_table *table, const struct ebt_chunk_info *chunk, double from,
		   double to)
{
	const double width = (to - from) / DENSITY_BINS;
	double first = ((double)chunk->time_min - from) / width;
	double last = ((double)chunk->time_max - from) / width;

	first = first > 0 ? first : 0;
	last = last > 0 ? last : 0;
	last = last < DENSITY_BINS - 1 ? last : DENSITY_BINS - 1;
	for (size_t i = (size_t)first; i <= (size_t)last; i++) {
		const double begin = from + (double)i * width;

		table->bins[i] += chunk->rows * share(chunk, begin, begin + width);
	}
}

static struct ebt_error *add_chunk(struct density *density, const struct ebt_table *table,
				   const struct ebt_chunk_info *chunk, double from, double to)
{
	const double part = share(chunk, from, to);
	struct density_table *of;
	struct ebt_error *err;

	if (part <= 0)
		return NULL;
	err = find_table(density, table, &of);
	if (err)
		return err;
	spread(of, chunk, from, to);
	of->rows += chunk->rows * part;
	of->lost += chunk->lost * part;
	density->rows += chunk->rows * part;
	return NULL;
}

struct ebt_error *density_create(const struct trace *trace, struct density *ret)
{
	const double from = from_of(trace), to = to_of(trace);
	const struct ebt_chunk_info *chunks;
	struct density density = { 0 };
	struct ebt_error *err = NULL;
	size_t n;

	chunks = ebt_reader_chunks(trace_reader(trace), &n);
	for (size_t i = 0; !err && to > from && i < n; i++) {
		const struct ebt_table *table = table_of(trace, &chunks[i]);

		if (table)
			err = add_chunk(&density, table, &chunks[i], from, to);
	}
	if (err)
		density_deinit(&density);
	else
		*ret = density;
	return err;
}

void density_deinit(struct density *density)
{
	free(density->tables);
}
