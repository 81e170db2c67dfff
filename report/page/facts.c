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

struct ebt_error *page_put_facts(struct page *page)
{
	struct json *json = &page->json;
	const char *file = page->report->options->file, *slash = strrchr(file, '/');
	struct ebt_error *err = put_facts(page) ?: put_warnings(page);

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
	json_end(json);
	put_started(page);
	put_words(json);
	return NULL;
}
