/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport merge`: one trace of several of the same machine. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/share/copying.h"
#include "report/share/merge.h"
#include "report/trace/cut_lists.h"
#include "report/trace/trace.h"

#define MAX_INPUTS 64

struct inputs {
	struct report *report;
	struct ebt_reader *readers[MAX_INPUTS]; /* the first is the trace's own */
	size_t n;
	struct merge *merge;
};

static const char *path_of(const struct inputs *inputs, size_t i)
{
	return ebt_reader_info(inputs->readers[i])->path;
}

static struct ebt_error *open_inputs(struct inputs *inputs)
{
	const struct options *o = inputs->report->options;
	struct ebt_error *err = NULL;

	inputs->readers[inputs->n++] = trace_reader(inputs->report->trace);
	for (size_t i = 0; !err && i < o->n_words; i++) {
		err = ebt_reader_open(o->words[i], &inputs->readers[inputs->n]);
		inputs->n += !err;
	}
	return err;
}

static void close_inputs(struct inputs *inputs)
{
	for (size_t i = 1; i < inputs->n; i++)
		ebt_reader_close(inputs->readers[i]);
	merge_destroy(inputs->merge);
}

/* --- can they be one? --- */

static struct ebt_error *check_recordings(const struct inputs *inputs, size_t i)
{
	const struct ebt_reader_info *info = ebt_reader_info(inputs->readers[i]);
	const char *pids;
	struct ebt_error *err = ebt_reader_meta(inputs->readers[i], CUT_PIDS, &pids);

	if (err)
		return err;
	if (pids || ebt_window_is_set(&info->window))
		return ebt_error_create(EBT_ERR_INVALID,
					"%s: is a part that `ebreport cut` made; merge the whole "
					"traces, and cut what comes out",
					info->path);
	for (size_t k = 0; k < i; k++) {
		if (!memcmp(ebt_reader_info(inputs->readers[k])->uuid, info->uuid,
			    sizeof(info->uuid)))
			return ebt_error_create(EBT_ERR_INVALID,
						"%s and %s are of the same recording",
						path_of(inputs, k), info->path);
	}
	return NULL;
}

/* Numbers of processes, addresses and times are those of one boot of one kernel, as seen from one
 * pid namespace. */
static struct ebt_error *check_machine(const struct inputs *inputs, size_t i)
{
	static const struct {
		const char *key, *what;
	} same[] = {
		{ "host.boot_id", "another machine, or another boot of it" },
		{ "host.pid_ns", "another pid namespace: its processes have other numbers" },
	};

	for (size_t k = 0; k < sizeof(same) / sizeof(same[0]); k++) {
		const char *first, *other;
		struct ebt_error *err =
			ebt_reader_meta(inputs->readers[0], same[k].key, &first)
				?: ebt_reader_meta(inputs->readers[i], same[k].key, &other);

		if (err)
			return err;
		if (!first || !other)
			return ebt_error_create(
				EBT_ERR_INVALID,
				"%s: does not say of which boot of which machine it is (%s)",
				path_of(inputs, first ? i : 0), same[k].key);
		if (strcmp(first, other) != 0)
			return ebt_error_create(EBT_ERR_INVALID, "%s is of %s than %s",
						path_of(inputs, i), same[k].what,
						path_of(inputs, 0));
	}
	return NULL;
}

static struct ebt_error *check_inputs(const struct inputs *inputs)
{
	struct ebt_error *err = check_recordings(inputs, 0);

	for (size_t i = 1; !err && i < inputs->n; i++)
		err = check_recordings(inputs, i) ?: check_machine(inputs, i);
	return err;
}

/* --- the copy --- */

static struct ebt_error *append(void *arg, struct ebt_stream *stream)
{
	const struct inputs *inputs = arg;
	struct report *report = inputs->report;
	_cleanup_text_ struct text count = TEXT_INIT;
	struct ebt_error *err;

	text_printf(&count, "%zu", inputs->n);
	err = text_error(&count)
		      ?: merge_append(inputs->merge, stream)
		      ?: copying_meta(report, stream, "merge.version", EBT_VERSION)
		      ?: copying_meta(report, stream, "merge.inputs", text_get(&count));
	for (size_t i = 0; !err && i < inputs->n; i++)
		err = copying_note_damage(report, inputs->readers[i], stream);
	return err;
}

static struct ebt_error *append_first(void *arg, struct ebt_stream *stream)
{
	return append(merge_arg(arg), stream);
}

static struct ebt_error *write_copy(struct inputs *inputs)
{
	struct ebt_copy_options options[MAX_INPUTS] = { 0 };
	struct ebt_error *err = merge_create(inputs->readers, inputs->n, inputs, &inputs->merge);

	if (err)
		return err;
	for (size_t i = 0; i < inputs->n; i++)
		merge_set_options(inputs->merge, i, &options[i]);
	options[0].append = append_first;
	err = copying_open(inputs->report, &options[0]);
	return err ?: ebt_copy_several(inputs->readers, options, inputs->n);
}

static struct ebt_error *run_merge(struct report *report)
{
	struct inputs inputs = { .report = report };
	struct ebt_error *err = open_inputs(&inputs) ?: check_inputs(&inputs)
						     ?: write_copy(&inputs);

	close_inputs(&inputs);
	return err;
}

const struct command command_merge = {
	.name = "merge",
	.fn = run_merge,
	.flags = COMMAND_NO_TERMINAL | COMMAND_NO_TABLES | COMMAND_NO_FILTERS | COMMAND_PRIVATE |
		 COMMAND_COPY,
	.summary = "one trace of several that were recorded on one machine",
	.help = "  ebreport merge sched.ebt syscalls.ebt -o both.ebt\n"
		"  ebreport merge web.ebt db.ebt cache.ebt -o site.ebt\n"
		"\n"
		"The traces may have been recorded at the same time or one after the other, with\n"
		"other sources or of other processes. What several have recorded is in the copy\n"
		"once, from the first of them: name first the one that knows most.\n",
	.words = "FILE…",
	.min_words = 1,
	.max_words = MAX_INPUTS - 1,
};
