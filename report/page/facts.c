/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a page says of the recording as a whole: members of its head. */
#include "report/page/page.h"

#include <inttypes.h>
#include <time.h>

#include "report/page/private.h"
#include "report/sched/wait_reason.h"

static void put_fact(struct json *json, const char *label, const char *value)
{
	if (!value || !*value)
		return;
	json_open_array(json);
	json_cstr(json, label);
	json_cstr(json, value);
	json_end(json);
}

static struct ebt_error *put_facts(struct page *page)
{
	static const struct {
		const char *key, *label;
	} facts[] = {
		{ "ebrec.command_line", "Recorded with" },
		{ "host.name", "Host" },
		{ "host.release", "Kernel" },
		{ "host.machine", "Machine" },
		{ "host.cpus", "CPUs" },
		{ "ebrec.version", "Recorder" },
	};
	_cleanup_text_ struct text text = TEXT_INIT;

	json_put(&page->json, "facts", open_array);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		const char *value;
		struct ebt_error *err =
			ebt_reader_meta(trace_reader(page->trace), facts[i].key, &value);

		if (err)
			return err;
		put_fact(&page->json, facts[i].label, value);
	}
	text_duration(&text, trace_window_ns(page->trace));
	put_fact(&page->json, "Duration", text_get(&text));
	json_end(&page->json);
	return text_error(&text);
}

static void put_started(struct page *page)
{
	const uint64_t ns = ebt_reader_info(trace_reader(page->trace))->start_realtime_ns;
	const time_t seconds = (time_t)(ns / 1000000000);
	char date[80] = "", text[120] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm) && strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm))
		snprintf(text, sizeof(text), "%s.%09" PRIu64 "Z", date, ns % 1000000000);
	json_put(&page->json, "started", cstr, text);
}

/* Numbers in columns stand for these. */
static void put_words(struct json *json)
{
	json_put(json, "kinds", open_array);
	for (unsigned int i = 0; i < CALLTREE_N_KINDS; i++)
		json_cstr(json, calltree_kind_name((enum calltree_kind)i));
	json_end(json);
	json_put(json, "reasons", open_array);
	for (unsigned int i = 0; i < WAIT_N_REASONS; i++) {
		json_open_object(json);
		json_put(json, "name", cstr, wait_reason_name((enum wait_reason)i));
		json_put(json, "text", cstr, wait_reason_text((enum wait_reason)i));
		json_end(json);
	}
	json_end(json);
	json_put(json, "whys", open_array);
	for (unsigned int i = 0; i < SCHED_N_WHYS; i++)
		json_cstr(json, sched_why_name((enum sched_why)i));
	json_end(json);
}

static struct ebt_error *put_warnings(struct page *page)
{
	const char *const *list;
	size_t n;
	struct ebt_error *err = trace_warnings(page->trace, &list, &n);

	if (err)
		return err;
	json_put(&page->json, "warnings", open_array);
	for (size_t i = 0; i < n; i++)
		json_cstr(&page->json, list[i]);
	json_end(&page->json);
	list = trace_remarks(page->trace, &n);
	json_put(&page->json, "remarks", open_array);
	for (size_t i = 0; i < n; i++)
		json_cstr(&page->json, list[i]);
	json_end(&page->json);
	return NULL;
}

/* --- sources --- */

#define MOST_SOURCES 1000

struct sources {
	struct json *json;
	size_t n;
};

static struct ebt_error *put_source(void *arg, const struct ebt_row *row)
{
	const struct ebt_str name = ebt_source_name(row), detail = ebt_source_detail(row);
	struct sources *s = arg;

	if (s->n++ == MOST_SOURCES)
		return &trace_enough;
	json_open_object(s->json);
	json_put(s->json, "name", str, name.data, name.len);
	json_put(s->json, "status", cstr,
		 ebt_row_value_name(row, EBT_F_source_status) ?: "unknown");
	json_put(s->json, "detail", str, detail.data, detail.len);
	json_end(s->json);
	return NULL;
}

static struct ebt_error *put_sources(struct page *page)
{
	struct sources s = { &page->json, 0 };
	struct ebt_error *err;

	json_put(s.json, "sources", open_array);
	err = trace_read_table(page->trace, EBT_T_source, TRACE_UNFILTERED | TRACE_QUIET,
			       put_source, &s);
	json_end(s.json);
	return err;
}

/* --- filters --- */

static void add_option(struct text *text, const char *option, const char *value)
{
	text_printf(text, "%s--%s ", text->len ? " " : "", option);
	text_shell(text, ebt_str_of(value));
}

static void add_numbers(struct text *text, const char *option, const struct option_u32s *list)
{
	char number[16];

	for (size_t i = 0; i < list->n; i++) {
		snprintf(number, sizeof(number), "%" PRIu32, list->v[i]);
		add_option(text, option, number);
	}
}

static void add_time(struct text *text, const char *option, const struct option_time *time)
{
	char value[48];

	if (!time->set)
		return;
	if (time->percent)
		snprintf(value, sizeof(value), "%.15g%%", 100 * time->share);
	else
		snprintf(value, sizeof(value), "%" PRIu64 "ns", time->ns);
	add_option(text, option, value);
}

/* As a command line has them, to be repeated. */
static struct ebt_error *put_filters(struct page *page)
{
	const struct options *o = page->report->options;
	_cleanup_text_ struct text text = TEXT_INIT;

	if (o->host)
		add_option(&text, "host", o->host);
	add_numbers(&text, "pid", &o->pids);
	add_numbers(&text, "tid", &o->tids);
	for (size_t i = 0; i < o->comms.n; i++)
		add_option(&text, "comm", o->comms.v[i]);
	add_time(&text, "from", &o->from);
	add_time(&text, "to", &o->to);
	if (o->kernel_threads)
		text_cstr(&text, text.len ? " --kernel-threads" : "--kernel-threads");
	json_put(&page->json, "filters", str, text_get(&text), text.len);
	return text_error(&text);
}

struct ebt_error *page_put_facts(struct page *page)
{
	struct json *json = &page->json;
	const char *file = page->report->options->file, *slash = strrchr(file, '/');
	struct ebt_error *err = put_facts(page) ?:
				put_warnings(page) ?:
				put_sources(page) ?:
				put_filters(page) ?:
				page_put_quality(page);

	if (err)
		return err;
	json_put(json, "name", cstr, slash ? slash + 1 : file);
	json_put(json, "window", open_object);
	json_put(json, "from_ns", i64, (int64_t)page_time(page, trace_from_ns(page->trace)));
	json_put(json, "to_ns", i64, (int64_t)page_time(page, trace_window_end_ns(page->trace)));
	json_end(json);
	json_put(json, "summarised", open_object);
	json_put(json, "spells_ns", u64, page->within_ns);
	json_put(json, "samples_ns", u64, page->samples_within_ns);
	json_put(json, "path_ns", u64, page->path_least_ns);
	page_put_events_said(page, json);
	json_end(json);
	put_started(page);
	put_words(json);
	return NULL;
}
