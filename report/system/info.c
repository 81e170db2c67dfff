/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gathering what `ebreport info` shows: chunk headers, and the small tables that describe a file.
 */
#include "report/system/info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/encoding/layout.h"

/* A file can claim any number of keys, sources and kinds of loss. */
#define MAX_ENTRIES 4096

static uint64_t add_sat(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static char *copy_str(struct ebt_str s)
{
	return strndup(s.data, s.len);
}

static bool str_is(struct ebt_str s, const char *other)
{
	return strlen(other) == s.len && !memcmp(s.data, other, s.len);
}

static void source_deinit(struct info_source *source)
{
	free(source->name);
	free(source->detail);
	free(source->args);
}

void info_deinit(struct info *info)
{
	for (size_t i = 0; i < info->n_meta; i++) {
		free(info->meta[i].key);
		free(info->meta[i].value);
	}
	for (size_t i = 0; i < info->n_sources; i++)
		source_deinit(&info->sources[i]);
	for (size_t i = 0; i < info->n_losses; i++) {
		free(info->losses[i].source);
		free(info->losses[i].detail);
	}
	free(info->meta);
	free(info->sources);
	free(info->losses);
	free(info->tables);
}

const char *info_meta(const struct info *info, const char *key)
{
	for (size_t i = 0; i < info->n_meta; i++) {
		if (!strcmp(info->meta[i].key, key))
			return info->meta[i].value;
	}
	return NULL;
}

bool info_recorder_used(const struct info *info, struct info_used *ret)
{
	const char *user = info_meta(info, "recorder.user_ns");
	const char *system = info_meta(info, "recorder.system_ns");

	if (!user || !system)
		return false;
	ret->user_ns = strtoull(user, NULL, 10);
	ret->system_ns = strtoull(system, NULL, 10);
	return true;
}

const struct info_table *info_table(const struct info *info, uint16_t id)
{
	for (size_t i = 0; i < info->n_tables; i++) {
		if (info->tables[i].table->id == id)
			return &info->tables[i];
	}
	return NULL;
}

void info_add_described(const struct info *info, struct text *text)
{
	const struct info_table *processes = info_table(info, EBT_T_process);

	text_printf(text, "%" PRIu64 " described", processes ? processes->rows : 0);
	if (processes && processes->lost)
		text_printf(text, ", %" PRIu64 " not described whole", processes->lost);
}

/* --- chunk headers --- */

static int compare_tables(const void *a, const void *b)
{
	const struct info_table *x = a, *y = b;

	return (x->table->id > y->table->id) - (x->table->id < y->table->id);
}

static void add_chunk(struct info *info, struct info_table *t, const struct ebt_chunk_info *c)
{
	uint64_t padded = (c->stored + EBT_ALIGN - 1) / EBT_ALIGN * EBT_ALIGN;

	t->rows += c->rows;
	t->lost += c->lost;
	t->bytes = add_sat(t->bytes, EBT_CHUNK_HEADER_LEN + padded);
	t->raw = add_sat(t->raw, c->raw);
	if (!t->chunks || c->time_min < t->first_ns)
		t->first_ns = c->time_min;
	if (c->time_max > t->last_ns)
		t->last_ns = c->time_max;
	if (!c->epoch)
		t->first_rows += c->rows;
	if (c->epoch >= info->epochs)
		info->epochs = (uint64_t)c->epoch + 1;
	t->chunks++;
	info->chunks++;
}

static struct ebt_error *collect_tables(struct trace *trace, struct info *info)
{
	_cleanup_free_ uint16_t *by_id = calloc(UINT16_MAX + 1, sizeof(*by_id));
	_cleanup_free_ struct trace_loss *losses = NULL;
	const struct ebt_chunk_info *chunks;
	const struct ebt_table *tables;
	size_t n_tables, n_chunks, n_losses = 0, kept = 0;
	struct ebt_error *err;

	tables = ebt_reader_tables(trace_reader(trace), &n_tables);
	info->tables = calloc(n_tables + 1, sizeof(*info->tables));
	if (!by_id || !info->tables)
		return &ebt_enomem;
	for (size_t i = 0; i < n_tables; i++) {
		info->tables[i].table = &tables[i];
		by_id[tables[i].id] = (uint16_t)(i + 1);
	}
	chunks = ebt_reader_chunks(trace_reader(trace), &n_chunks);
	for (size_t i = 0; i < n_chunks; i++) {
		if (chunks[i].type == EBT_CHUNK_TABLE && by_id[chunks[i].table])
			add_chunk(info, &info->tables[by_id[chunks[i].table] - 1], &chunks[i]);
	}
	err = trace_losses(trace, LOSSES_OF_ALL, &losses, &n_losses);
	if (err)
		return err;
	for (size_t i = 0; i < n_losses; i++)
		info->tables[by_id[losses[i].table->id] - 1].lost = losses[i].lost;
	for (size_t i = 0; i < n_tables; i++) {
		if (info->tables[i].chunks || info->tables[i].lost)
			info->tables[kept++] = info->tables[i];
	}
	info->n_tables = kept;
	qsort(info->tables, kept, sizeof(*info->tables), compare_tables);
	return NULL;
}

/* --- events of the recording's own time --- */

static struct ebt_error *count_out(void *arg, const struct ebt_row *row)
{
	struct info *info = arg;

	info->events -= info->events > 0;
	if (row->batch->table->id == EBT_T_sample)
		info->samples -= info->samples > 0;
	return NULL;
}

/* Chunks that lie within need not be read. */
static struct ebt_error *count_events(struct trace *trace, struct info *info)
{
	struct ebt_reader *reader = trace_reader(trace);
	_cleanup_free_ struct ebt_want *wants = calloc(info->n_tables + 1, sizeof(*wants));
	struct ebt_query query = { .wants = wants, .to_ns = trace_start_ns(trace) };
	struct ebt_error *err = NULL;

	if (!wants)
		return &ebt_enomem;
	for (size_t i = 0; i < info->n_tables; i++) {
		const struct info_table *t = &info->tables[i];

		if (t->table->class != EBT_CLASS_EVENT)
			continue;
		wants[query.n_wants++].table = t->table->id;
		info->events = add_sat(info->events, t->rows);
		if (t->table->id == EBT_T_sample)
			info->samples = t->rows;
	}
	if (query.to_ns)
		err = ebt_read_rows(reader, &query, count_out, info);
	query.from_ns = add_sat(trace_end_ns(trace), 1);
	query.to_ns = 0;
	return err ?: ebt_read_rows(reader, &query, count_out, info);
}

/* --- small tables --- */

/* The last row of a key counts. */
static struct ebt_error *add_meta(void *arg, const struct ebt_row *row)
{
	struct info *info = arg;
	const struct ebt_str key = ebt_meta_key(row);
	struct ebt_error *err;
	size_t i = 0;

	while (i < info->n_meta && !str_is(key, info->meta[i].key))
		i++;
	if (i == MAX_ENTRIES)
		return NULL;
	err = ebt_array_reserve(&info->meta, i, &info->meta_capacity);
	if (err)
		return err;
	if (i == info->n_meta)
		info->meta[info->n_meta++] = (struct info_pair){ .key = copy_str(key) };
	free(info->meta[i].value);
	info->meta[i].value = copy_str(ebt_meta_value(row));
	return info->meta[i].key && info->meta[i].value ? NULL : &ebt_enomem;
}

/* The last row of a source counts. */
static struct ebt_error *add_source(void *arg, const struct ebt_row *row)
{
	struct info *info = arg;
	const struct ebt_field *status = &row->batch->table->fields[EBT_F_source_status];
	const struct ebt_str name = ebt_source_name(row);
	struct info_source *to;
	struct ebt_error *err;
	size_t i = 0;

	while (i < info->n_sources && !str_is(name, info->sources[i].name))
		i++;
	if (i == MAX_ENTRIES)
		return NULL;
	err = ebt_array_reserve(&info->sources, i, &info->sources_capacity);
	if (err)
		return err;
	to = &info->sources[i];
	if (i == info->n_sources)
		info->n_sources++;
	else
		source_deinit(to);
	*to = (struct info_source){
		.name = copy_str(name),
		.detail = copy_str(ebt_source_detail(row)),
		.args = copy_str(ebt_source_args(row)),
		.status = ebt_value_name(status, ebt_source_status(row)),
	};
	return to->name && to->detail && to->args ? NULL : &ebt_enomem;
}

static bool same_loss(const struct info_loss *loss, const struct ebt_row *row)
{
	return loss->reason_value == ebt_lost_reason(row) &&
	       loss->table_id == ebt_lost_table_id(row) &&
	       str_is(ebt_lost_source(row), loss->source) &&
	       str_is(ebt_lost_detail(row), loss->detail);
}

static struct ebt_error *add_loss(void *arg, const struct ebt_row *row)
{
	struct info *info = arg;
	const struct ebt_field *reason = &row->batch->table->fields[EBT_F_lost_reason];
	uint64_t from = ebt_lost_from(row);
	struct info_loss *to;
	struct ebt_error *err;
	size_t i = 0;

	while (i < info->n_losses && !same_loss(&info->losses[i], row))
		i++;
	info->losses_cut |= i == MAX_ENTRIES;
	if (i == MAX_ENTRIES)
		return NULL;
	err = ebt_array_reserve(&info->losses, i, &info->losses_capacity);
	if (err)
		return err;
	to = &info->losses[i];
	if (i == info->n_losses) {
		info->n_losses++;
		*to = (struct info_loss){
			.source = copy_str(ebt_lost_source(row)),
			.detail = copy_str(ebt_lost_detail(row)),
			.reason = ebt_value_name(reason, ebt_lost_reason(row)),
			.reason_value = ebt_lost_reason(row),
			.table_id = ebt_lost_table_id(row),
			.from_ns = from,
		};
	}
	to->count = add_sat(to->count, ebt_lost_count(row));
	to->from_ns = from < to->from_ns ? from : to->from_ns;
	to->to_ns = row->time > to->to_ns ? row->time : to->to_ns;
	return to->source && to->detail ? NULL : &ebt_enomem;
}

static struct ebt_error *add_clock(void *arg, const struct ebt_row *row)
{
	struct info *info = arg;
	struct info_clocks *c = &info->clocks;

	c->last_mono = row->time;
	c->last_real = ebt_clock_realtime(row);
	if (!c->readings++) {
		c->first_mono = c->last_mono;
		c->first_real = c->last_real;
	}
	if (ebt_clock_uncertainty(row) > c->uncertainty_ns)
		c->uncertainty_ns = ebt_clock_uncertainty(row);
	return NULL;
}

struct ebt_error *info_collect(struct trace *trace, struct info *ret)
{
	static const struct {
		uint16_t id;
		ebt_row_fn *add;
	} tables[] = {
		{ EBT_T_meta, add_meta },
		{ EBT_T_source, add_source },
		{ EBT_T_lost, add_loss },
		{ EBT_T_clock, add_clock },
	};
	struct ebt_error *err;

	err = collect_tables(trace, ret) ?: count_events(trace, ret);
	for (size_t i = 0; !err && i < sizeof(tables) / sizeof(*tables); i++)
		err = trace_read_table(trace, tables[i].id, TRACE_UNFILTERED, tables[i].add, ret);
	return err;
}
