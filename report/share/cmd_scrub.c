/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport scrub`: a copy of a trace that can be handed to strangers. */
#include <inttypes.h>

#include "format/base/cleanup.h"
#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/share/copying.h"
#include "report/share/scrub.h"
#include "report/share/scrub_copy.h"
#include "report/trace/trace.h"

DEFINE_CLEANUP(struct scrub *, scrub_destroy);

/* --- what was done --- */

/* For people. */
static const char *describe(const struct scrub_count *count)
{
	static const char *const words[SCRUB_N_ACTIONS] = {
		[SCRUB_KEEP] = "dropped", /* kernel stacks */
		[SCRUB_DROP] = "dropped",
		[SCRUB_ARGS] = "alias",
		[SCRUB_HOST] = "alias",
		[SCRUB_BOOT] = "alias",
		[SCRUB_LOGIN] = "alias",
		[SCRUB_FILE] = "dropped",
		[SCRUB_PATH] = "aliases for parts of paths",
		[SCRUB_COMM] = "alias",
		[SCRUB_CGROUP] = "aliases for parts of paths",
		[SCRUB_FUNCTION] = "alias",
		[SCRUB_SOURCE] = "aliases for parts of paths",
		[SCRUB_PROSE] = "dropped",
		[SCRUB_ARGUMENT] = "zero",
		[SCRUB_RESULT] = "zero",
		[SCRUB_USER] = "another number",
		[SCRUB_META] = "alias",
		[SCRUB_DEVICE] = "alias",
		[SCRUB_INSTANCE] = "alias",
		[SCRUB_ADDRESS] = "an address that no host has",
	};
	const struct ebt_table *of = ebt_table_by_name(count->table);
	int field = count->field ? ebt_field_by_name(of, count->field) : -1;

	if (!count->field)
		return "rows dropped";
	if (field < 0)
		return "dropped";
	if (of->fields[field].type == EBT_TYPE_TASK)
		return "alias for the name";
	return words[scrub_field_action(count->table, &of->fields[field])];
}

#define COUNTS(X)                                                     \
	X("table", "TABLE", OUT_STRING, out_cstr(counts[i].table))    \
	X("field", "FIELD", OUT_STRING, out_cstr_if(counts[i].field)) \
	X("changed", "CHANGED", OUT_U64, out_u64(counts[i].changed))  \
	X("what", "WHAT", OUT_STRING, out_cstr(describe(&counts[i])))

static struct ebt_error *put_counts(struct report *report, struct scrub *scrub)
{
	const struct out_table table = OUT_TABLE_OF("rows", COUNTS, .flags = OUT_KEEP_ORDER);
	const struct scrub_count *counts;
	struct ebt_error *err;
	size_t n;

	err = scrub_counts(scrub, &counts, &n);
	if (err)
		return err;
	return out_rows(report->out, &table, n, i, out_row(report->out, 0, OUT_VALUES(COUNTS)));
}

static struct ebt_error *run_scrub(struct report *report)
{
	_cleanup_(scrub_destroyp) struct scrub *scrub = NULL;
	struct scrub_options options = { 0 };
	struct scrub_copy copy = { .report = report, .reader = trace_reader(report->trace) };
	struct ebt_copy_options copy_options = scrub_copy_options(&copy);
	struct ebt_error *err = scrub_read_options(report->options, &options)
					?: scrub_create(copy.reader, &options, &scrub);

	if (err)
		return err;
	copy.scrub = scrub;
	err = copying_run(report, &copy_options)
		      ?: put_counts(report, scrub)
		      ?: scrub_warn(scrub, report->trace);
	if (!err && scrub_unknown(scrub))
		err = trace_warn(report->trace,
				 "%" PRIu64 " %s of a kind that this version does not know "
				 "%s dropped",
				 scrub_unknown(scrub),
				 text_plural(scrub_unknown(scrub), "chunk", "chunks"),
				 text_plural(scrub_unknown(scrub), "was", "were"));
	return err;
}

static const char help[] =
	"Command lines, names of programs that are not the system's, host and users, and parts of\n"
	"paths outside of /usr and the like become aliases, as prog-1 and dir-3, the same word "
	"the\n"
	"same alias; arguments of system calls become 0 but for descriptors, offsets and flags;\n"
	"embedded files that are not public and memory of stacks are dropped. What was done is\n"
	"written as a table: to standard output with -o, else to standard error. Names of\n"
	"functions, times and build-ids stay: look at the copy before you hand it on. Bundle\n"
	"first: names are looked up by paths.\n"
	"\n"
	"  ebreport bundle t.ebt | ebreport scrub - -o public.ebt\n";

const struct command command_scrub = {
	.name = "scrub",
	.fn = run_scrub,
	.flags = COMMAND_NO_TERMINAL | COMMAND_NO_FILTERS | COMMAND_COPY | COMMAND_NO_NAMES,
	.summary = "copy of a trace without what is private, to hand on",
	.elsewhere = "anonymize anonymise redact",
	.help = help,
	.options = scrub_options,
};
