/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of the server; see answer.h. */
#include "report/serve/answer.h"

#include <inttypes.h>
#include <string.h>

#include "report/base/json.h"
#include "report/page/page.h"
#include "report/serve/density.h"

/* The part of the time that is asked for, as --from and --to have it, within those of the command
 * line; and the processes. */
struct serve_part {
	struct options options;
	uint32_t pids[SERVE_MOST_PIDS];
};

static struct option_time time_option(uint64_t ns)
{
	return (struct option_time){ .set = true, .ns = ns };
}

/* Which of the processes the command line lets pass. */
static struct ebt_error *narrow_pids(struct serve_part *part, const struct serve_question *question)
{
	const struct option_u32s *given = &part->options.pids;
	size_t n = 0;

	for (size_t i = 0; i < question->n_pids; i++) {
		if (!given->n || option_u32s_has(given, question->pids[i]))
			part->pids[n++] = question->pids[i];
	}
	if (question->n_pids && !n)
		return ebt_error_create(
			EBT_ERR_INVALID,
			"the server was started with --pid, and with none of these");
	if (n)
		part->options.pids = (struct option_u32s){ part->pids, n };
	return NULL;
}

/* Times in options count from when the first machine of a file began. */
static void narrow_time(struct serve_part *part, const struct trace *trace,
			const struct serve_question *question)
{
	const uint64_t zero = trace_start_ns(trace);
	const uint64_t first = trace_from_ns(trace) - zero, last = trace_to_ns(trace) - zero;
	const uint64_t later = ebt_reader_info(trace_reader(trace))->later_ns;

	/* Without a part the times stay as they are, and what is outside of the window with them.
	 */
	if (!question->from_ns && question->to_ns == UINT64_MAX)
		return;
	part->options.from =
		time_option(later + (question->from_ns > first ? question->from_ns : first));
	part->options.to = time_option(later + (question->to_ns < last ? question->to_ns : last));
}

static void format_version(const struct trace *trace, char ret[SERVE_VERSION_LEN + 1])
{
	const uint8_t *uuid = ebt_reader_info(trace_reader(trace))->uuid;

	for (size_t i = 0; i < SERVE_VERSION_LEN / 2; i++)
		sprintf(ret + 2 * i, "%02x", uuid[i]);
}

static struct ebt_error *check_version(const struct trace *trace,
				       const struct serve_question *question)
{
	char version[SERVE_VERSION_LEN + 1];

	format_version(trace, version);
	if (!*question->version || !strcmp(version, question->version))
		return NULL;
	return ebt_error_create(EBT_ERR_NOT_FOUND, "there is another trace in the place of the one "
						   "that the page is of: load the page again");
}

static struct ebt_error *open_trace(const struct options *options, struct trace **ret)
{
	_cleanup_(trace_closep) struct trace *trace = NULL;
	struct ebt_error *err = trace_open(options, &trace);

	if (!err && trace_n_hosts(trace) && !options->host)
		err = trace_choose_one(trace, "a page is of one");
	if (!err)
		*ret = take_ptr(trace);
	return err;
}

/* --- for a list --- */

static struct ebt_error *put_meta(struct json *json, const struct trace *trace, const char *name,
				  const char *key)
{
	const char *value;
	struct ebt_error *err = ebt_reader_meta(trace_reader(trace), key, &value);

	if (!err)
		json_put(json, name, cstr, value);
	return err;
}

static uint64_t rounded(double rows)
{
	return (uint64_t)(rows + 0.5);
}

static struct ebt_error *put_facts(const struct trace *trace, struct json *json)
{
	const struct ebt_reader_info *info = ebt_reader_info(trace_reader(trace));

	json_put(json, "duration_ns", u64, trace_window_ns(trace));
	json_put(json, "started_ns", u64, info->start_realtime_ns);
	json_put(json, "rows", u64, rounded(density_rows(trace)));
	json_put(json, "complete", bool, info->complete);
	return put_meta(json, trace, "host", "host.name")
		       ?: put_meta(json, trace, "command", "ebrec.command_line");
}

/* --- what there is, and when --- */

static void put_table(struct json *json, const struct density_table *table)
{
	json_open_object(json);
	json_put(json, "name", cstr, table->table->name);
	json_put(json, "rows", u64, rounded(table->rows));
	json_put(json, "lost", u64, rounded(table->lost));
	json_put(json, "bins", open_array);
	for (size_t i = 0; i < DENSITY_BINS; i++)
		json_u64(json, rounded(table->bins[i]));
	json_end(json);
	json_end(json);
}

static struct ebt_error *put_overview(const struct trace *trace,
				      const struct serve_question *question, struct json *json)
{
	const uint64_t start = trace_start_ns(trace);
	const char *slash = strrchr(question->file, '/');
	struct density density;
	char version[SERVE_VERSION_LEN + 1];
	struct ebt_error *err = density_create(trace, &density);

	if (err)
		return err;
	format_version(trace, version);
	json_put(json, "version", cstr, version);
	json_put(json, "name", cstr, slash ? slash + 1 : question->file);
	json_put(json, "from_ns", i64, (int64_t)(trace_from_ns(trace) - start));
	json_put(json, "to_ns", i64, (int64_t)(trace_window_end_ns(trace) - start));
	json_put(json, "rows", u64, rounded(density.rows));
	json_put(json, "most_rows", u64, question->most_rows);
	json_put(json, "tables", open_array);
	for (size_t i = 0; i < density.n; i++)
		put_table(json, &density.tables[i]);
	json_end(json);
	density_deinit(&density);
	return NULL;
}

/* --- the page --- */

static struct ebt_error *check_size(const struct trace *trace,
				    const struct serve_question *question)
{
	const double rows = density_rows(trace);

	if (rows <= (double)question->most_rows)
		return NULL;
	return ebt_error_create(EBT_ERR_LIMIT,
				"some %.0f rows are more than the %" PRIu64
				" that fit into --memory: choose a shorter part of the time",
				rows, question->most_rows);
}

static struct ebt_error *put_data(const struct options *options, struct trace *trace, FILE *to)
{
	_cleanup_(page_destroyp) struct page *page = NULL;
	struct report report = { .command = options->command, .options = options, .trace = trace };
	struct ebt_error *err = page_create(&report, &page);

	return err ? err : page_write_data(to, page);
}

/* The trace is opened twice: only the first time tells what times of the question mean. Another
 * file may be there each time. */
static struct ebt_error *answer_data(const struct options *options,
				     const struct serve_question *question, FILE *to)
{
	_cleanup_(trace_closep) struct trace *whole = NULL;
	_cleanup_(trace_closep) struct trace *trace = NULL;
	struct serve_part part = { .options = *options };
	struct ebt_error *err = open_trace(options, &whole) ?: check_version(whole, question)
							    ?: narrow_pids(&part, question);

	if (err)
		return err;
	narrow_time(&part, whole, question);
	trace_close(take_ptr(whole));
	err = open_trace(&part.options, &trace) ?: check_version(trace, question)
						?: check_size(trace, question);
	return err ? err : put_data(&part.options, trace, to);
}

static struct ebt_error *answer_json(const struct options *options,
				     const struct serve_question *question, FILE *to)
{
	_cleanup_(trace_closep) struct trace *trace = NULL;
	struct json json;
	struct ebt_error *err = open_trace(options, &trace);

	if (err)
		return err;
	json_init(&json, to);
	json_open_object(&json);
	err = question->what == SERVE_FACTS ? put_facts(trace, &json)
					    : put_overview(trace, question, &json);
	json_end(&json);
	return err;
}

struct ebt_error *serve_answer(const struct options *options, const struct serve_question *question,
			       FILE *to)
{
	struct options of = *options;

	of.file = question->file;
	return question->what == SERVE_DATA ? answer_data(&of, question, to)
					    : answer_json(&of, question, to);
}
