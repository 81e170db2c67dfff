/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of the reports. Each command is run on the trace as for --json, with an output that keeps
 * its tables; and once more for each slice of the time, where a table has figures that the page can
 * put together again. The section is one text in JSON: an array of tables.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "report/out/interval.h"
#include "report/page/page.h"
#include "report/page/private.h"
#include "report/page/slices.h"

#define MAX_ROWS       2000u  /* of a table */
#define MAX_SLICE_ROWS 20000u /* that a slice may have, to find those of the table among them */
#define MAX_SLICES     100u
/* What slices may take as text: those of a table, and all. */
#define MAX_SLICE_BYTES	 (400u << 10)
#define MAX_SLICES_BYTES (2u << 20)
/* Each row is read once more for slices, by each report that reads it. */
#define MAX_SLICED_ROWS UINT64_C(20000000)

/* One as it is written. */
struct table {
	char *key;
	char *text; /* of its object, which is open until it is finished */
	size_t len;
	FILE *f;
	struct json json;
	struct page_slices *slices; /* or NULL */
};

struct texts {
	char **list;
	size_t n, capacity;
};

struct tables {
	struct page *page;
	const struct command *command; /* that is at work */
	const char *option;	       /* with this one of its own; or NULL */
	struct options options;	       /* of it */
	struct trace *trace;	       /* as it sees it */
	struct table **list;	       /* those of the command begin at first */
	size_t n, capacity, first;
	struct page_slice_times times;
	size_t slices_bytes;
	struct texts notes; /* for the head */
	struct texts said;  /* remarks on tables so far */
};

static void table_destroy(struct table *table)
{
	if (!table)
		return;
	if (table->f)
		fclose(table->f);
	page_slices_destroy(table->slices);
	free(table->text);
	free(table->key);
	free(table);
}

static void texts_deinit(struct texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		free(texts->list[i]);
	free(texts->list);
}

static void tables_deinit(struct tables *t)
{
	for (size_t i = 0; i < t->n; i++)
		table_destroy(t->list[i]);
	texts_deinit(&t->notes);
	texts_deinit(&t->said);
	free(t->list);
}

/* --- a table --- */

static const char *type_name(enum out_type type)
{
	static const char *const names[] = {
		[OUT_STRING] = "string", [OUT_LIST] = "list",	      [OUT_U64] = "u64",
		[OUT_I64] = "i64",	 [OUT_HEX] = "hex",	      [OUT_ID] = "id",
		[OUT_SIGNED_ID] = "id",	 [OUT_DURATION] = "duration", [OUT_TIME] = "time",
		[OUT_BYTES] = "bytes",	 [OUT_PERCENT] = "percent",   [OUT_FLOAT] = "float",
		[OUT_NUMBER] = "number", [OUT_BOOL] = "bool",	      [OUT_SERIES] = "series",
	};

	return names[type];
}

/* On a terminal there is none of a detail: LATENCY-MAX of latency_max. */
static void put_header(struct json *json, const struct out_column *column)
{
	char header[64];
	size_t n = 0;

	for (const char *p = column->key; *p && n < sizeof(header); p++)
		header[n++] = *p == '_' ? '-' : (char)toupper((unsigned char)*p);
	json_key(json, "header");
	if (column->header)
		json_cstr(json, column->header);
	else
		json_str(json, header, n);
}

static void put_column(struct json *json, const struct out_column *column)
{
	const char *merge = page_slices_merge(column);

	json_open_object(json);
	json_put(json, "key", cstr, column->key);
	put_header(json, column);
	json_put(json, "type", cstr, type_name(column->type));
	json_put(json, "merge", cstr, merge);
	if (column->flags & (OUT_BEGINS | OUT_ENDS))
		json_put(json, "time", cstr, column->flags & OUT_BEGINS ? "begin" : "end");
	if (column->of)
		json_put(json, "of", cstr, column->of);
	if (column->by)
		json_put(json, "by", cstr, column->by);
	if (column->percent > 0)
		json_put(json, "percent", f64, column->percent);
	if (column->flags & OUT_DETAIL)
		json_put(json, "detail", bool, true);
	if (column->flags & OUT_INDENT)
		json_put(json, "indent", bool, true);
	json_end(json);
}

static void put_columns(struct json *json, const struct out_table *table)
{
	json_put(json, "columns", open_array);
	for (size_t i = 0; i < table->n_columns; i++) {
		if (!page_slices_leave_out(&table->columns[i]))
			put_column(json, &table->columns[i]);
	}
	json_end(json);
}

static void put_rows(const struct tables *t, struct json *json, const struct out_captured *from)
{
	json_put(json, "rows", open_array);
	for (size_t i = 0; i < from->n; i++) {
		const struct out_line *line = &from->lines[from->order ? from->order[i] : i];

		json_newline(json);
		json_open_array(json);
		for (size_t k = 0; k < from->table->n_columns; k++) {
			const struct out_column *column = &from->table->columns[k];

			if (!page_slices_leave_out(column))
				out_json_value(json, t->page->start_ns, column->type,
					       &line->values[k]);
		}
		if (line->depth)
			json_u64(json, line->depth);
		json_end(json);
	}
	json_end(json);
}

/* As people type it. */
static void name_command(const struct tables *t, char *to, size_t size)
{
	snprintf(to, size, "%s%s%s", t->command->name, t->option ? " --" : "",
		 t->option ? t->option : "");
}

static const char *summary_of(const struct tables *t)
{
	static const char instead[] = "instead: ";

	for (const struct option_def *def = t->command->options; t->option && def->name; def++) {
		if (!strcmp(def->name, t->option))
			return def->help +
			       (strncmp(def->help, instead, strlen(instead)) ? 0 : strlen(instead));
	}
	return t->command->summary;
}

static void put_head(const struct tables *t, struct json *json, const struct out_table *table)
{
	const char *title = table->title ? table->title + strspn(table->title, "\n") : "";

	char command[80];

	name_command(t, command, sizeof(command));
	json_put(json, "command", cstr, command);
	json_put(json, "key", cstr, table->key);
	json_put(json, "summary", cstr, summary_of(t));
	if (*title)
		json_put(json, "title", cstr, title);
	for (size_t i = 0; i < table->n_columns; i++) {
		if ((table->columns[i].flags & OUT_SORT) && !(table->flags & OUT_KEEP_ORDER)) {
			json_put(json, "sort", cstr, table->columns[i].key);
			break;
		}
	}
}

static struct ebt_error *add_table(struct tables *t, struct table **ret)
{
	struct table *table;
	struct ebt_error *err = ebt_array_reserve(&t->list, t->n, &t->capacity);

	if (err)
		return err;
	table = calloc(1, sizeof(*table));
	if (!table)
		return &ebt_enomem;
	t->list[t->n++] = table;
	table->f = open_memstream(&table->text, &table->len);
	if (!table->f)
		return &ebt_enomem;
	json_init(&table->json, table->f);
	*ret = table;
	return NULL;
}

/* Of the whole window. */
static struct ebt_error *take_whole(void *arg, const struct out_captured *captured)
{
	struct tables *t = arg;
	struct table *table;
	struct ebt_error *err = captured->n ? add_table(t, &table) : NULL;

	if (err || !captured->n)
		return err;
	table->key = strdup(captured->table->key);
	if (!table->key)
		return &ebt_enomem;
	json_newline(&table->json);
	json_open_object(&table->json);
	put_head(t, &table->json, captured->table);
	put_columns(&table->json, captured->table);
	put_rows(t, &table->json, captured);
	if (captured->left_out)
		json_put(&table->json, "left_out", u64, captured->left_out);
	return page_slices_create(captured, t->page->start_ns, &table->slices);
}

/* Of one slice. */
static struct ebt_error *take_slice(void *arg, const struct out_captured *captured)
{
	struct tables *t = arg;
	const uint64_t from = page_time(t->page, captured->from_ns) - t->times.from_ns;
	const uint32_t number = (uint32_t)(from / t->times.length_ns);

	for (size_t i = t->first; i < t->n; i++) {
		if (t->list[i]->slices && !strcmp(t->list[i]->key, captured->table->key))
			return page_slices_add(t->list[i]->slices, number, captured);
	}
	return NULL;
}

/* --- a command --- */

/* Filters that the command refuses: what it says is not of what they leave. */
static bool refuses(const struct command *command, const struct options *o)
{
	const bool of_threads = o->tids.n || o->comms.n;
	const bool any = of_threads || o->pids.n || o->cpu_first.n || o->from.set || o->to.set;

	return (any && (command->flags & COMMAND_NO_FILTERS)) ||
	       (of_threads && (command->flags & COMMAND_NO_THREADS)) ||
	       (o->cpu_first.n && (command->flags & (COMMAND_NO_CPUS | COMMAND_NO_THREADS)));
}

static bool has_rows(const struct trace *trace, const struct command_subject *subject)
{
	for (const uint16_t *table = subject->tables; *table; table++) {
		if (trace_has_rows(trace, *table))
			return true;
	}
	return false;
}

static bool is_in_page(const struct page *page, const struct command *command)
{
	const unsigned int without = COMMAND_NO_TABLES | COMMAND_NO_TERMINAL | COMMAND_FOLDER |
				     COMMAND_COPY | COMMAND_COMPARES | COMMAND_ALL_ROWS |
				     COMMAND_NOT_IN_PAGE;

	return !(command->flags & without) && !command->min_words &&
	       !refuses(command, page->report->options) &&
	       (!command->subject || has_rows(page->trace, command->subject));
}

/* --interval is none of its options. */
static bool is_of_whole(const struct command *command)
{
	return command->flags & (COMMAND_NO_INTERVALS | COMMAND_NO_FILTERS);
}

static struct ebt_error *run_opened(struct tables *t, const struct out_capture *capture)
{
	_cleanup_(out_destroyp) struct out *out = NULL;
	struct ebt_error *err = out_create_capture(&t->options, t->trace, capture, &out);
	struct report report = { t->command, &t->options, t->trace, out, NULL };

	err = err ?: interval_run(&report);
	ebt_error_destroy(report.verdict);
	return err;
}

static void end_run(struct tables *t)
{
	trace_close(t->trace);
	t->trace = NULL;
	free(t->options.values);
	t->options.values = NULL;
}

/* Ends with end_run(). interval_ns 0: of the whole window. */
static struct ebt_error *run(struct tables *t, uint64_t interval_ns,
			     const struct out_capture *capture)
{
	struct ebt_error *err =
		options_of(t->page->report->options, t->command, t->option, &t->options);

	if (err)
		return err;
	t->options.format = FORMAT_JSON;
	t->options.interval_ns = interval_ns;
	return trace_open_beside(&t->options, t->page->trace, &t->trace) ?: run_opened(t, capture);
}

/* One that is of the command, and no reason to make no page. */
static bool is_of_command(const struct ebt_error *err)
{
	return err->code != EBT_ERR_NOMEM && err->code != EBT_ERR_SYSTEM &&
	       err->code != EBT_ERR_CANCELLED;
}

/* Takes the text over; NULL: there was no memory for it. */
static struct ebt_error *add_text(struct texts *texts, char *text)
{
	struct ebt_error *err =
		text ? ebt_array_reserve(&texts->list, texts->n, &texts->capacity) : &ebt_enomem;

	if (err)
		free(text);
	else
		texts->list[texts->n++] = text;
	return err;
}

static struct ebt_error *add_note(struct tables *t, const char *message)
{
	char command[80], *text;

	name_command(t, command, sizeof(command));
	if (asprintf(&text, "%s: %s", command, message) < 0)
		text = NULL;
	return add_text(&t->notes, text);
}

static bool is_among(const char *text, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(list[i], text))
			return true;
	}
	return false;
}

/* What the command has to say of its tables, and the page has not said of the trace. */
static struct ebt_error *put_remarks(struct tables *t, struct json *json)
{
	const char *const *said, *const *list;
	bool any = false;
	size_t n_said, n;
	struct ebt_error *err = trace_warnings(t->page->trace, &said, &n_said)
					?: trace_warnings(t->trace, &list, &n);

	if (err)
		return err;
	if (trace_n_left_out(t->trace))
		json_put(json, "kernel_threads_left_out", u64, trace_n_left_out(t->trace));
	for (size_t i = 0; !err && i < n; i++) {
		if (is_among(list[i], said, n_said) ||
		    is_among(list[i], (const char *const *)t->said.list, t->said.n))
			continue;
		if (!any)
			json_put(json, "remarks", open_array);
		any = true;
		json_cstr(json, list[i]);
		err = add_text(&t->said, strdup(list[i]));
	}
	if (any)
		json_end(json);
	return err;
}

static struct ebt_error *run_whole(struct tables *t)
{
	const struct out_capture capture = { take_whole, t, MAX_ROWS };
	struct ebt_error *err = run(t, 0, &capture);

	if (!err && t->n > t->first)
		err = put_remarks(t, &t->list[t->first]->json);
	end_run(t);
	if (err && is_of_command(err)) {
		struct ebt_error *other = add_note(t, err->message);

		ebt_error_destroy(err);
		err = other;
	}
	return err;
}

static void drop_slices(struct tables *t)
{
	for (size_t i = t->first; i < t->n; i++) {
		page_slices_destroy(t->list[i]->slices);
		t->list[i]->slices = NULL;
	}
}

static struct ebt_error *run_slices(struct tables *t)
{
	const struct out_capture capture = { take_slice, t, MAX_SLICE_ROWS };
	struct ebt_error *err;
	bool any = false;

	for (size_t i = t->first; i < t->n; i++)
		any |= t->list[i]->slices != NULL;
	if (!any || !t->times.length_ns || is_of_whole(t->command)) {
		drop_slices(t);
		return NULL;
	}
	err = run(t, t->times.length_ns, &capture);
	end_run(t);
	if (err && is_of_command(err)) {
		ebt_error_destroy(err);
		drop_slices(t);
		return NULL;
	}
	return err;
}

static struct ebt_error *finish_table(struct tables *t, struct table *table)
{
	const size_t left = MAX_SLICES_BYTES - t->slices_bytes;
	struct ebt_error *err = NULL;
	size_t bytes = 0;
	int failed;

	if (table->slices)
		err = page_slices_put(table->slices, &t->times,
				      left < MAX_SLICE_BYTES ? left : MAX_SLICE_BYTES, &table->json,
				      &bytes);
	t->slices_bytes += bytes;
	json_put(&table->json, "window_only", bool, !bytes);
	json_end(&table->json);
	failed = fclose(table->f);
	table->f = NULL;
	page_slices_destroy(table->slices);
	table->slices = NULL;
	return err ? err : failed ? &ebt_enomem : NULL;
}

static struct ebt_error *put_tables(struct tables *t, const struct command *command,
				    const char *option)
{
	struct ebt_error *err;

	t->command = command;
	t->option = option;
	t->first = t->n;
	err = run_whole(t) ?: run_slices(t);
	for (size_t i = t->first; !err && i < t->n; i++)
		err = finish_table(t, t->list[i]);
	return err;
}

static struct ebt_error *put_command(struct tables *t, const struct command *command)
{
	struct ebt_error *err = put_tables(t, command, NULL);

	for (const char *const *option = command->page_options; !err && option && *option; option++)
		err = put_tables(t, command, *option);
	return err;
}

/* --- all of them --- */

/* 1, 2 or 5 and zeros, so that people can type where a slice begins. */
static uint64_t round_up(uint64_t ns)
{
	uint64_t length = 1;

	while (length < ns && length < UINT64_MAX / 10) {
		if (2 * length >= ns)
			return 2 * length;
		if (5 * length >= ns)
			return 5 * length;
		length *= 10;
	}
	return length;
}

static uint64_t count_rows(const struct trace *trace)
{
	uint64_t rows = 0;
	size_t n;
	const struct ebt_chunk_info *chunks = ebt_reader_chunks(trace_reader(trace), &n);

	for (size_t i = 0; i < n; i++)
		rows += chunks[i].rows;
	return rows;
}

static struct ebt_error *choose_slices(struct tables *t)
{
	const struct trace *trace = t->page->trace;
	const uint64_t span = trace_window_ns(trace), rows = count_rows(trace);
	struct page_slice_times *times = &t->times;
	const uint64_t to = page_time(t->page, trace_window_end_ns(trace));
	char *note;

	if (!span || to > PAGE_MOST_NS)
		return NULL;
	if (rows > MAX_SLICED_ROWS) {
		if (asprintf(&note,
			     "tables are of the whole time: the recording has %" PRIu64
			     " million rows, and up to %" PRIu64
			     " million are read again for tables of parts of the time",
			     (rows - 1) / 1000000 + 1, MAX_SLICED_ROWS / 1000000) < 0)
			note = NULL;
		return add_text(&t->notes, note);
	}
	times->from_ns = page_time(t->page, trace_from_ns(trace));
	times->to_ns = to;
	times->length_ns = round_up((span - 1) / MAX_SLICES + 1);
	times->n = (uint32_t)((span - 1) / times->length_ns + 1);
	return NULL;
}

static struct ebt_error *put_section(struct tables *t)
{
	static const struct page_column columns[] = { { "text", PAGE_BYTES, false } };
	struct page_rows *section;
	struct ebt_error *err = page_add_rows(t->page, "tables", columns, 1, &section)
					?: page_row(section, 0)
					?: page_rows_text(section, "[", 1);

	for (size_t i = 0; !err && i < t->n; i++)
		err = page_rows_text(section, i ? "," : "", i != 0)
			      ?: page_rows_text(section, t->list[i]->text, t->list[i]->len);
	return err ? err : page_rows_text(section, "]", 1);
}

static void put_notes(struct tables *t)
{
	struct json *json = &t->page->json;

	json_put(json, "tables_notes", open_array);
	for (size_t i = 0; i < t->notes.n; i++)
		json_cstr(json, t->notes.list[i]);
	json_end(json);
}

struct ebt_error *page_put_tables(struct page *page)
{
	__attribute__((cleanup(tables_deinit))) struct tables t = { .page = page };
	struct ebt_error *err = choose_slices(&t);

	/* What happened in some time comes before what is there. */
	for (int whole = 0; whole < 2; whole++) {
		for (size_t i = 0; !err && commands[i]; i++) {
			if (is_of_whole(commands[i]) == whole && is_in_page(page, commands[i]))
				err = put_command(&t, commands[i]);
		}
	}
	if (err)
		return err;
	put_notes(&t);
	return t.n ? put_section(&t) : NULL;
}
