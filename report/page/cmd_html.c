/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport html`: one page that carries the trace, for a browser. */
#include "report/out/out.h"
#include "report/page/page.h"

/* The page of a trace, or of two that are compared. */
struct html {
	struct report *report;
	struct options other_options; /* those of the second trace: the same but for the file */
	struct trace *other;
	struct page *pages[2];
};

static void html_deinit(struct html *html)
{
	page_destroy(html->pages[0]);
	page_destroy(html->pages[1]);
	trace_close(html->other);
}

/* What is to be said of the second trace stands in its part of the page; who ran the command reads
 * it, too. */
static struct ebt_error *tell_warnings(const struct html *html)
{
	const char *const *warnings;
	size_t n;
	struct ebt_error *err = trace_warnings(html->other, &warnings, &n);

	for (size_t i = 0; !err && i < n; i++)
		err = trace_warn(html->report->trace, "%s: %s", html->other_options.file,
				 warnings[i]);
	return err;
}

static struct ebt_error *read_other(struct html *html)
{
	struct report other = *html->report;
	struct ebt_error *err;

	html->other_options = *html->report->options;
	html->other_options.file = html->report->options->words[0];
	err = trace_open(&html->other_options, &html->other);
	if (err)
		return err;
	if (trace_n_hosts(html->other) && !html->other_options.host)
		return trace_choose_one(html->other, "two traces are compared, each of one");
	other.options = &html->other_options;
	other.trace = html->other;
	err = page_create(&other, &html->pages[1]);
	return err ? ebt_error_prefix(err, "%s", html->other_options.file) : tell_warnings(html);
}

static struct ebt_error *run_html(struct report *report)
{
	__attribute__((cleanup(html_deinit))) struct html html = { .report = report };
	const bool two = report->options->n_words > 0;
	struct ebt_error *err = page_create(report, &html.pages[0]);

	if (!err && two)
		err = read_other(&html);
	return err ? err : page_write(out_file(report->out), html.pages, two ? 2 : 1);
}

static const char help[] =
	"One HTML file with the data inside. It needs neither this program nor a network: open it\n"
	"in a browser, attach it to a bug report. It has a time axis with all CPUs, threads and\n"
	"events, the critical path, flame graphs, functions, and the tables of the other reports.\n"
	"What is chosen on the axis is what all of them show. `?` in the page lists its keys.\n"
	"\n"
	"A large trace is summarised, and the page says what was: it is exact for a part by "
	"--from,\n"
	"--to and --pid. With a second FILE the flame graph shows what changed.\n"
	"\n"
	"The page has what the trace has: names of files and programs, arguments of calls.\n"
	"`ebreport scrub` makes a trace without.\n"
	"\n"
	"  ebreport html t.ebt\n"
	"  ebreport html --from 2s --to 3s -o part.html t.ebt\n"
	"  ebreport html -o compared.html before.ebt after.ebt\n";

const struct command command_html = {
	.name = "html",
	.fn = run_html,
	.flags = COMMAND_NO_TERMINAL | COMMAND_NO_TABLES | COMMAND_PRIVATE | COMMAND_PICTURE |
		 COMMAND_COMPARES | COMMAND_NO_CPUS,
	.summary = "one page for a browser: time axis, flame graphs, tables",
	.help = help,
	.words = "[FILE]",
	.max_words = 1,
	.ending = ".html",
};
