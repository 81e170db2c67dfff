/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport bundle`: a copy of a trace that has the names of its addresses in it. */
#include "format/base/cleanup.h"
#include "report/cli/command.h"
#include "report/share/named_copy.h"
#include "report/share/copying.h"

DEFINE_CLEANUP(struct named_copy *, named_copy_destroy);

static struct ebt_error *run_bundle(struct report *report)
{
	_cleanup_(named_copy_destroyp) struct named_copy *copy = NULL;
	struct ebt_copy_options options;
	struct ebt_error *err =
		named_copy_create(report, options_flag(report->options, "anew"), &copy);

	if (err)
		return err;
	options = named_copy_options(copy);
	return copying_run(report, &options) ?: named_copy_warn(copy);
}

static const struct option_def bundle_options[] = {
	{ "anew", OPTION_FLAG, NULL, "forget the names that a bundle has, and look all up again" },
	{ 0 },
};

const struct command command_bundle = {
	.name = "bundle",
	.fn = run_bundle,
	.flags = COMMAND_NO_TERMINAL | COMMAND_NO_TABLES | COMMAND_NO_FILTERS | COMMAND_PRIVATE |
		 COMMAND_COPY,
	.summary = "copy of a trace with the names of its addresses in it",
	.help = "The copy reads the same on any machine: it has functions, inlined calls, files "
		"and lines\n"
		"for the addresses that occur, and stacks that the recorder could not walk to "
		"their end\n"
		"are walked on. Give --debug-dir and the like here; where the copy is read, no "
		"other file\n"
		"is needed. A bundle can be bundled again: what had no name gets one, if it can.\n"
		"\n"
		"  ebreport bundle t.ebt -o full.ebt\n",
	.options = bundle_options,
};
