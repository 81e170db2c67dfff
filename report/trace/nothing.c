/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a report has none of what it is about; see trace.h. */
#include <string.h>

#include "format/base/cleanup.h"
#include "format/read/rows.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/trace/private.h"

struct source {
	const char *name;
	bool known; /* by a row of the trace */
	uint64_t status;
	struct text detail;
};

static struct ebt_error *find_source(void *arg, const struct ebt_row *row)
{
	const struct ebt_str name = ebt_source_name(row), detail = ebt_source_detail(row);
	struct source *source = arg;

	if (name.len != strlen(source->name) || memcmp(name.data, source->name, name.len) != 0)
		return NULL;
	source->known = true;
	source->status = ebt_source_status(row);
	text_clear(&source->detail);
	text_add(&source->detail, detail.data, detail.len);
	return text_error(&source->detail);
}

static struct ebt_error *read_source(struct trace *trace, struct source *source)
{
	return trace_read_table(trace, EBT_T_source, TRACE_UNFILTERED | TRACE_QUIET, find_source,
				source);
}

static bool is_on(const struct source *source)
{
	return source->known && (source->status == EBT_V_source_status_on ||
				 source->status == EBT_V_source_status_partial);
}

struct ebt_error *trace_source_is_on(struct trace *trace, const char *name, bool *ret)
{
	struct source source = { .name = name, .detail = TEXT_INIT };
	struct ebt_error *err = read_source(trace, &source);

	*ret = is_on(&source);
	text_deinit(&source.detail);
	return err;
}

/* The options that leave rows out. */
static void put_filters(const struct trace *trace, struct text *text)
{
	const struct options *o = trace->options;
	const struct {
		bool is;
		const char *name;
	} filters[] = {
		{ trace_has_pid_filter(trace), "--pid" },
		{ o->tids.n, "--tid" },
		{ o->comms.n, "--comm" },
		{ trace_has_cpu_filter(trace), "--cpu" },
		{ (trace->asked_from || trace->asked_to) && !trace->window, "--from and --to" },
	};

	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		if (filters[i].is)
			text_printf(text, "%s%s", text->len ? ", " : "", filters[i].name);
	}
}

static void put_source(const struct source *source, const char *what, struct text *text)
{
	text_printf(text, "no %s in this trace: ", what);
	if (source->status == EBT_V_source_status_unavailable)
		text_printf(text, "source %s was asked for and could not be had: %s", source->name,
			    text_get(&source->detail));
	else if (is_on(source))
		text_printf(text, "source %s was on, and saw none", source->name);
	else
		text_printf(text, "ebrec records them with -e %s", source->name);
}

struct ebt_error *trace_nothing(struct trace *trace, const struct command_subject *subject,
				struct text *text)
{
	struct source source = { .name = subject->source, .detail = TEXT_INIT };
	_cleanup_text_ struct text filters = TEXT_INIT;
	struct ebt_error *err = NULL;
	bool there = false;

	for (const uint16_t *table = subject->tables; *table; table++)
		there |= trace_has_rows(trace, *table);
	if (there) {
		put_filters(trace, &filters);
		text_printf(text, "no %s ", subject->what);
		if (filters.len)
			text_printf(text, "pass %s", text_get(&filters));
		else
			text_cstr(text, trace->window ? "in this part" : "while it was recorded");
		text_printf(text, ": the trace has some");
	} else {
		err = read_source(trace, &source);
		put_source(&source, subject->what, text);
	}
	text_deinit(&source.detail);
	return err ?: text_error(&filters) ?: text_error(text);
}

struct ebt_error *trace_warn_nothing(struct trace *trace, const struct command_subject *subject)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct ebt_error *err = trace_nothing(trace, subject, &text);

	return err ?: trace_warn(trace, "%s", text_get(&text));
}
