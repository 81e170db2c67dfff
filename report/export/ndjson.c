/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows as lines of JSON, with what is missing between them. docs/EXPORT.md. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/export/export.h"
#include "report/export/gaps.h"
#include "report/share/dump.h"
#include "symbolize/symbolize.h"

#define FORMAT_NAME    "ebt-ndjson"
#define FORMAT_VERSION 2
#define BATCH	       10000 /* rows between two lines that say how far it has come */

struct exporter {
	struct report *report;
	FILE *f;
	struct json json; /* of the line at hand */
	uint64_t seq;	  /* of the next line: from 0, so that a receiver sees a missing one */
	struct dump_tables t;
	struct text text;
	struct sym *sym; /* with --symbols */
	struct export_gaps gaps;
	bool *told;	      /* by index of table: the line with its columns is written */
	uint64_t *noted;      /* likewise: lost rows of it that lines have told */
	uint64_t rows, lost;  /* so far */
	uint64_t batch, left; /* rows in a batch, and until the next one */
	uint64_t until;	      /* time of the last row */
};

static void export_deinit(struct exporter *e)
{
	dump_tables_deinit(&e->t);
	text_deinit(&e->text);
	free(e->told);
	free(e->noted);
}

static void put_time(struct exporter *e, const char *key, uint64_t time)
{
	json_put(&e->json, key, time, time, e->t.start_ns);
}

static struct json *begin_line(struct exporter *e, const char *kind)
{
	struct json *json = &e->json;

	json->comma = false;
	json_open_object(json);
	json_put(json, "seq", u64, e->seq++);
	json_put(json, "kind", cstr, kind);
	return json;
}

/* --- the first and the last line --- */

static struct ebt_error *put_meta(struct exporter *e, const char *name, const char *key)
{
	const char *value;
	struct ebt_error *err = ebt_reader_meta(trace_reader(e->report->trace), key, &value);

	if (!err)
		json_put(&e->json, name, cstr, value);
	return err;
}

static struct ebt_error *put_header(struct exporter *e)
{
	const struct options *o = e->report->options;
	struct trace *trace = e->report->trace;
	const struct ebt_reader_info *info = ebt_reader_info(trace_reader(trace));
	struct json *json = begin_line(e, "header");
	struct ebt_error *err;

	json_put(json, "format", cstr, FORMAT_NAME);
	json_put(json, "version", u64, FORMAT_VERSION);
	json_put(json, "program", cstr, "ebreport " EBT_VERSION);
	json_put(json, "file", cstr, info->path);
	text_clear(&e->text);
	for (size_t i = 0; i < sizeof(info->uuid); i++)
		text_printf(&e->text, "%02x", info->uuid[i]);
	json_put(json, "uuid", cstr, text_get(&e->text));
	json_put(json, "created_realtime_ns", wide_u64, info->created_ns);
	json_put(json, "clock", cstr, "CLOCK_MONOTONIC");
	json_put(json, "start_ns", wide_u64, e->t.start_ns);
	json_put(json, "live", bool, trace_is_live(trace));
	json_put(json, "filtered", bool,
		 trace_has_task_filter(trace) || trace_has_cpu_filter(trace) ||
			 trace_is_cut(trace) || options_string(o, "table"));
	json_put(json, "host", open_object);
	err = put_meta(e, "name", "host.name");
	if (!err)
		err = put_meta(e, "release", "host.release");
	if (!err)
		err = put_meta(e, "machine", "host.machine");
	json_end(json);
	if (!err)
		err = put_meta(e, "command_line", "ebrec.command_line");
	json_end(&e->json);
	return err;
}

/* Why the lines are not all that was recorded. */
static void put_reasons(struct exporter *e, const struct ebt_error *failed)
{
	const struct ebt_reader_info *info = ebt_reader_info(trace_reader(e->report->trace));
	uint64_t missing = trace_missing_chunks(e->report->trace);
	struct json *json = &e->json;

	if (failed)
		json_cstr(json, failed->message);
	if (!info->complete)
		json_cstr(json, "the file has no end: the recording was not finished, or the file "
				"was cut");
	text_clear(&e->text);
	if (e->gaps.total)
		text_printf(&e->text, "%" PRIu64 " part%s of the file could not be read",
			    e->gaps.total, text_plural(e->gaps.total, "", "s"));
	if (e->text.len)
		json_cstr(json, text_get(&e->text));
	text_clear(&e->text);
	if (missing)
		text_printf(&e->text, "missing chunks: %" PRIu64, missing);
	if (e->text.len)
		json_cstr(json, text_get(&e->text));
}

static void put_totals(struct exporter *e, struct json *json)
{
	json_put(json, "rows", u64, e->rows);
	json_put(json, "lost", u64, e->lost);
}

static void put_end(struct exporter *e, const struct ebt_error *failed)
{
	const struct ebt_reader_info *info = ebt_reader_info(trace_reader(e->report->trace));
	struct json *json = begin_line(e, "end");

	put_totals(e, json);
	json_put(json, "complete", bool,
		 !failed && info->complete && !e->gaps.total &&
			 !trace_missing_chunks(e->report->trace));
	json_put(json, "why", open_array);
	put_reasons(e, failed);
	json_end(json);
	json_end(&e->json);
	fflush(e->f);
}

static void put_batch(struct exporter *e)
{
	struct json *json = begin_line(e, "batch");

	put_totals(e, json);
	put_time(e, "to_ns", e->until);
	json_end(&e->json);
	fflush(e->f);
	e->left = e->batch;
}

/* --- what is missing --- */

/* Of which table, by its id; NULL: not known. */
static const struct ebt_table *table_of(const struct exporter *e, uint64_t id)
{
	size_t i = id <= UINT16_MAX ? e->t.by_id[id] : 0;

	return i ? &e->t.tables[i - 1] : NULL;
}

static bool is_chosen(const struct exporter *e, uint64_t id)
{
	size_t i = id <= UINT16_MAX ? e->t.by_id[id] : 0;

	return !i || e->t.chosen[i - 1];
}

/* count NULL: not known. reason is open then, for more members. */
static struct json *begin_lost(struct exporter *e, uint64_t table_id, const uint64_t *count,
			       uint64_t from, uint64_t to)
{
	struct json *json = begin_line(e, "lost");
	const struct ebt_table *table = table_of(e, table_id);

	json_put(json, "table", cstr, table ? table->name : NULL);
	json_key(json, "count");
	if (count)
		json_u64(json, *count);
	else
		json_put_null(json);
	put_time(e, "from_ns", from);
	put_time(e, "to_ns", to);
	if (count && table)
		e->noted[e->t.by_id[table->id] - 1] += *count;
	if (count && __builtin_add_overflow(e->lost, *count, &e->lost))
		e->lost = UINT64_MAX;
	return json;
}

/* A row of table `lost`. */
static void put_lost(struct exporter *e, const struct ebt_row *row)
{
	uint64_t count = ebt_lost_count(row), id = ebt_lost_table_id(row);
	uint64_t reason = ebt_lost_reason(row);
	const char *name = ebt_value_name(&row->batch->table->fields[EBT_F_lost_reason], reason);
	struct ebt_str source = ebt_lost_source(row);
	struct ebt_str detail = ebt_lost_detail(row);
	struct json *json;

	if (!is_chosen(e, id))
		return;
	json = begin_lost(e, id, &count, ebt_lost_from(row), row->time);
	json_put(json, "reason", cstr, name ? name : "other");
	json_put(json, "source", str, source.data, source.len);
	json_put(json, "detail", str, detail.data, detail.len);
	json_end(&e->json);
}

static bool in_window(const struct exporter *e, const struct export_gap *gap)
{
	return trace_overlaps(e->report->trace, gap->from, gap->to);
}

static void put_gaps(struct exporter *e, uint64_t time)
{
	const struct export_gap *gap;

	export_gaps_update(&e->gaps, trace_reader(e->report->trace));
	while ((gap = export_gaps_tell(&e->gaps, time))) {
		uint64_t rows = gap->rows;
		struct json *json;

		if ((gap->is_chunk && !is_chosen(e, gap->table)) || !in_window(e, gap))
			continue;
		json = begin_lost(e, gap->is_chunk ? gap->table : UINT64_MAX,
				  gap->is_chunk ? &rows : NULL, gap->from, gap->to);
		json_put(json, "reason", cstr, "damaged file");
		json_put(json, "detail", cstr, gap->what);
		json_put(json, "offset", u64, gap->offset);
		json_put(json, "length", u64, gap->length);
		json_end(&e->json);
	}
}

/* Heads of chunks count losses too; what table `lost` told may be in a chunk that is not there. */
static struct ebt_error *put_counted(struct exporter *e)
{
	struct trace *trace = e->report->trace;
	const struct ebt_reader_info *info = ebt_reader_info(trace_reader(trace));
	_cleanup_free_ struct trace_loss *losses = NULL;
	size_t n;
	struct ebt_error *err = trace_losses(trace, LOSSES_OF_ALL, &losses, &n);

	for (size_t i = 0; !err && i < n; i++) {
		uint64_t noted = e->noted[e->t.by_id[losses[i].table->id] - 1], more;
		struct json *json;

		if (losses[i].lost <= noted || !is_chosen(e, losses[i].table->id) ||
		    trace_has_task_filter(trace) || trace_is_cut(trace))
			continue;
		more = losses[i].lost - noted;
		json = begin_lost(e, losses[i].table->id, &more, info->recorded_ns,
				  info->recorded_to_ns);
		json_put(json, "reason", cstr, "counted in heads of chunks alone");
		json_end(&e->json);
	}
	return err;
}

/* --- rows --- */

static void put_table(struct exporter *e, const struct dump_fields *fields)
{
	struct json *json = begin_line(e, "table");

	json_put(json, "table", cstr, fields->table->name);
	json_put(json, "class", cstr, dump_class_name(fields->table));
	json_put(json, "columns", open_array);
	for (uint32_t i = 0; i < fields->n; i++) {
		const struct ebt_field *field = &fields->table->fields[fields->index[i]];

		text_clear(&e->text);
		dump_json_key(&e->text, field);
		json_open_object(json);
		json_put(json, "name", cstr, text_get(&e->text));
		json_put(json, "type", cstr, ebt_type_name(field->type));
		json_put(json, "unit", cstr, field->unit ? field->unit : "");
		json_end(json);
	}
	json_end(json);
	json_end(&e->json);
}

static struct ebt_error *put_address(struct exporter *e, const struct ebt_row *row,
				     const struct ebt_task *task, const struct ebt_stack *stack,
				     uint32_t at, bool caller)
{
	struct json *json = &e->json;
	struct sym_frames frames;
	struct ebt_error *err;

	err = sym_resolve(e->sym, task, row->time, stack->attrs, stack->addresses[at], caller,
			  &frames);
	for (size_t i = 0; !err && i < frames.n; i++) {
		const struct sym_frame *frame = &frames.frames[i];

		json_open_object(json);
		json_put(json, "function", cstr, frame->func->name);
		json_put(json, "object", cstr, frame->func->object);
		json_put(json, "inlined", bool, frame->inlined);
		if (frame->file) {
			json_put(json, "file", cstr, frame->file);
			json_put(json, "line", u64, frame->line);
		}
		if (frame->func->reason != SYM_OK)
			json_put(json, "unresolved", cstr, sym_reason_name(frame->func->reason));
		json_end(json);
	}
	return err;
}

/* Stacks of a row are of the task that its first TASK field names. */
static struct ebt_error *put_symbols(struct exporter *e, const struct ebt_row *row,
				     const struct dump_fields *fields)
{
	struct json *json = &e->json;
	const struct ebt_task *task = NULL;
	struct ebt_error *err = NULL;
	bool below_kernel = false;

	json_put(json, "symbols", open_object);
	for (uint32_t i = 0; !err && i < fields->n; i++) {
		const struct ebt_field *field = &fields->table->fields[fields->index[i]];
		const struct ebt_stack *stack;

		if (field->type == EBT_TYPE_TASK && !task)
			task = ebt_task(row, fields->index[i]);
		stack = field->type == EBT_TYPE_STACK ? ebt_stack(row, fields->index[i]) : NULL;
		if (!stack)
			continue;
		json_put(json, field->name, open_array);
		for (uint32_t k = 0; !err && k < stack->n; k++) {
			bool user = stack->attrs & EBT_STACK_USER;

			if (!sym_is_shown_by_next(stack, k))
				err = put_address(e, row, task, stack, k,
						  k > 0 || (user && below_kernel));
		}
		json_end(json);
		below_kernel |= !(stack->attrs & EBT_STACK_USER);
	}
	json_end(json);
	return err;
}

static struct ebt_error *put_row(struct exporter *e, const struct ebt_row *row)
{
	size_t table = e->t.by_id[row->batch->table->id] - 1u;
	const struct dump_fields *fields = &e->t.fields[table];
	struct ebt_error *err = NULL;
	struct json *json;

	if (!e->told[table])
		put_table(e, fields);
	e->told[table] = true;
	json = begin_line(e, "row");
	dump_json(json, &e->text, row, fields);
	if (e->sym && ebt_table_has_type(fields->table, EBT_TYPE_STACK))
		err = put_symbols(e, row, fields);
	json_end(&e->json);
	e->rows++;
	e->until = row->time;
	return err ? err : text_error(&e->text);
}

/* Of all tables, merged, with those of `lost` among them. */
static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct exporter *e = arg;
	struct ebt_error *err = NULL;

	put_gaps(e, row->time);
	if (row->batch->table->id == EBT_T_lost) {
		put_lost(e, row);
	} else {
		err = put_row(e, row);
		if (!err && !--e->left)
			put_batch(e);
	}
	return err ? err : ferror(e->f) ? &trace_enough : NULL;
}

static struct ebt_error *put_tables(struct exporter *e, const struct ebt_want *wants, size_t n)
{
	if (!n || ferror(e->f))
		return NULL;
	return trace_read_rows(e->report->trace, wants, n, 0, take_row, e);
}

/* Tables that describe the file, one after the other. `lost` is among the others, but where those
 * that come later are not there yet: its rows have no place in their order. */
static bool comes_first(const struct exporter *e, size_t table)
{
	const struct ebt_table *t = &e->t.tables[table];

	return t->class == EBT_CLASS_META &&
	       (t->id != EBT_T_lost || trace_is_live(e->report->trace));
}

/* Those that come first, then all others merged. passed: chunks of which the former were given.
 * empty: nothing of the latter is there. */
static struct ebt_error *put_window(struct exporter *e, size_t passed, bool empty)
{
	_cleanup_free_ struct ebt_want *wants = calloc(e->t.n + 1, sizeof(*wants));
	struct ebt_error *err = NULL;
	size_t n = 0;

	if (!wants)
		return &ebt_enomem;
	ebt_reader_pass(trace_reader(e->report->trace), passed);
	for (uint32_t id = 0; !err && id <= UINT16_MAX; id++) {
		const struct ebt_want want = { (uint16_t)id, ~UINT64_C(0) };
		size_t i = e->t.by_id[id];

		if (!i || (id != EBT_T_lost && !e->t.chosen[i - 1]))
			continue;
		if (comes_first(e, i - 1))
			err = put_tables(e, &want, 1);
		else
			wants[n++] = want;
	}
	ebt_reader_pass(trace_reader(e->report->trace), 0);
	return err || empty ? err : put_tables(e, wants, n);
}

/* What has come, up to the time before which nothing else will. */
static struct ebt_error *put_live(struct exporter *e)
{
	struct trace *trace = e->report->trace;
	unsigned int place = TRACE_FIRST_WINDOW;
	uint64_t from = 0, until;
	struct ebt_error *err = NULL;
	bool end = false;
	size_t passed = 0, n;

	while (!err && !end && !ferror(e->f)) {
		err = trace_more(trace, &until, &end);
		if (err)
			break;
		trace_set_window(trace, from, until,
				 place | (end ? (unsigned int)TRACE_LAST_WINDOW : 0));
		err = put_window(e, passed, until == from && !end);
		e->until = until;
		put_batch(e);
		ebt_reader_chunks(trace_reader(trace), &n);
		passed = n;
		from = until;
		place = 0;
	}
	return err;
}

static struct ebt_error *put_all(struct exporter *e)
{
	struct ebt_error *err =
		trace_is_live(e->report->trace) ? put_live(e) : put_window(e, 0, false);

	put_gaps(e, UINT64_MAX - 1);
	return err ? err : put_counted(e);
}

static struct ebt_error *prepare(struct exporter *e)
{
	const struct options *o = e->report->options;
	struct ebt_error *err;

	e->batch = e->left = options_u64(o, "batch", BATCH);
	if (!e->batch)
		return ebt_error_create(EBT_ERR_INVALID, "--batch: a batch has at least 1 row");
	json_init(&e->json, e->f);
	err = dump_tables_init(e->report->trace, &e->t);
	if (err)
		return err;
	err = dump_tables_choose(&e->t, o, options_string(o, "table"));
	if (err)
		return err;
	if (options_flag(o, "symbols"))
		err = trace_sym(e->report->trace, &e->sym);
	if (err)
		return err;
	e->told = calloc(e->t.n + 1, sizeof(*e->told));
	e->noted = calloc(e->t.n + 1, sizeof(*e->noted));
	return e->told && e->noted ? NULL : &ebt_enomem;
}

struct ebt_error *export_ndjson(struct export *export)
{
	__attribute__((cleanup(export_deinit))) struct exporter e = { .report = export->report,
								      .f = export->f };
	struct ebt_error *err = prepare(&e);

	if (err)
		return err;
	err = put_header(&e);
	if (!err)
		err = put_all(&e);
	put_end(&e, err);
	return err;
}
