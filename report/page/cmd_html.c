/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport html`: one page that carries the trace, for a browser. */
#include "report/out/out.h"
#include "report/page/page.h"

static struct ebt_error *run_html(struct report *report)
{
	_cleanup_(page_destroyp) struct page *page = NULL;
	struct ebt_error *err = page_create(report, &page);

	return err ? err : page_write(out_file(report->out), &page, 1);
}

static const char help[] =
	"One HTML file that needs nothing else, neither this program nor a network: open it in a\n"
	"browser, attach it to a bug report.\n"
	"\n"
	"  ebreport html -o report.html t.ebt\n"
	"  ebreport html --from 2s --to 3s -o part.html t.ebt\n";

const struct command command_html = {
	.name = "html",
	.fn = run_html,
	.flags = COMMAND_NO_TERMINAL | COMMAND_NO_TABLES | COMMAND_PICTURE,
	.summary = "one page for a browser, with a time axis, flame graphs and tables",
	.help = help,
};
