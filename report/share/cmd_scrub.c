/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport scrub`: a copy of a trace that can be handed to strangers. */
#include <inttypes.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/share/copying.h"
#include "report/share/scrub.h"
#include "report/trace/trace.h"

DEFINE_CLEANUP(struct scrub *, scrub_destroy);

struct scrub_copy {
	struct report *report;
	struct scrub *scrub;
};

/* --- options --- */

struct word {
	const char *name;
	bool *flag;
};

static struct ebt_error *set_classes(const char *option, const char *list,
				     const struct word *classes, size_t n)
{
	while (list && *list) {
		size_t len = strcspn(list, ","), i = 0;

		while (i < n &&
		       (strlen(classes[i].name) != len || memcmp(classes[i].name, list, len) != 0))
			i++;
		if (i == n)
			return ebt_error_create(EBT_ERR_INVALID,
						"--%s: '%.*s' is not one of the classes: see "
						"`ebreport scrub --help`",
						option, (int)len, list);
		*classes[i].flag = true;
		list += len + (list[len] == ',');
	}
	return NULL;
}

static struct ebt_error *read_options(const struct options *options, struct scrub_options *ret)
{
	const struct word kept[] = {
		{ "args", &ret->keep_args },   { "comms", &ret->keep_comms },
		{ "host", &ret->keep_host },   { "users", &ret->keep_users },
		{ "paths", &ret->keep_paths }, { "syscalls", &ret->keep_syscalls },
	};
	const struct word dropped[] = {
		{ "names", &ret->drop_names },
		{ "kernel", &ret->drop_kernel },
		{ "system-paths", &ret->drop_system_paths },
	};
	struct ebt_error *err;

	err = set_classes("keep", options_string(options, "keep"), kept,
			  sizeof(kept) / sizeof(kept[0]));
	if (!err)
		err = set_classes("drop", options_string(options, "drop"), dropped,
				  sizeof(dropped) / sizeof(dropped[0]));
	ret->keep_files = options_string(options, "keep-file");
	return err;
}

/* --- the copy --- */

static enum ebt_copy_action action(void *arg, const struct ebt_chunk_info *chunk,
				   const struct ebt_table *table)
{
	const struct scrub_copy *copy = arg;

	return scrub_action(copy->scrub, chunk, table);
}

static struct ebt_error *edit_chunk(void *arg, struct ebt_edit *edit, bool *ret_changed)
{
	const struct scrub_copy *copy = arg;

	return scrub_edit(copy->scrub, edit, ret_changed);
}

static struct ebt_error *append(void *arg, struct ebt_stream *stream)
{
	const struct scrub_copy *copy = arg;
	struct ebt_error *err;

	err = copying_meta(copy->report, stream, "scrub.version", EBT_VERSION);
	return err ? err
		   : copying_note_damage(copy->report, trace_reader(copy->report->trace), stream);
}

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
	struct scrub_copy copy = { .report = report };
	struct ebt_copy_options copy_options = {
		.anew = true,
		.arg = &copy,
		.action = action,
		.edit = edit_chunk,
		.append = append,
	};
	struct ebt_error *err;

	err = read_options(report->options, &options);
	if (err)
		return err;
	err = scrub_create(trace_reader(report->trace), &options, &scrub);
	if (err)
		return err;
	copy.scrub = scrub;
	err = copying_run(report, &copy_options);
	if (err)
		return err;
	err = put_counts(report, scrub);
	if (!err && scrub_unknown(scrub))
		err = trace_warn(report->trace,
				 "%" PRIu64 " chunks of a kind that this version does not know "
				 "were dropped",
				 scrub_unknown(scrub));
	return err;
}

static const struct option_def scrub_options[] = {
	{ "keep", OPTION_STRING, "CLASS,…",
	  "leave as they are: args, comms, host, users, paths, syscalls" },
	{ "keep-file", OPTION_STRING, "ROLE,…", "keep embedded files of these roles too" },
	{ "drop", OPTION_STRING, "CLASS,…",
	  "take out too: names (of functions), kernel (addresses), system-paths" },
	{ 0 },
};

static const char help[] =
	"Command lines, names of programs that are not the system's, host and users, and parts of\n"
	"paths outside of /usr and the like become aliases, as prog-1 and dir-3, the same word "
	"the\n"
	"same alias; arguments of system calls become 0; embedded files that are not public and\n"
	"memory of stacks are dropped. What was done is written as a table: to standard output\n"
	"with -o, else to standard error. Names of functions, times and build-ids stay: look at\n"
	"the copy before you hand it on. Bundle first: names are looked up by paths.\n"
	"\n"
	"  ebreport bundle t.ebt | ebreport scrub - -o public.ebt\n";

const struct command command_scrub = {
	.name = "scrub",
	.fn = run_scrub,
	.flags = COMMAND_NO_TERMINAL | COMMAND_NO_FILTERS | COMMAND_COPY,
	.summary = "copy of a trace without what is private, to hand on",
	.elsewhere = "anonymize anonymise redact",
	.help = help,
	.options = scrub_options,
};
