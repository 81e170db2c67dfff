/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport merge`: one trace of several, of one machine or more. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/share/copying.h"
#include "report/share/merge.h"
#include "report/share/merge_moments.h"
#include "report/share/merge_options.h"
#include "report/share/merge_parts.h"
#include "report/share/merge_twins.h"
#include "report/share/scrub_names.h"
#include "report/trace/cut_lists.h"
#include "report/trace/trace.h"

#define MAX_INPUTS EBT_MAX_HOSTS
_Static_assert(MAX_INPUTS <= TWINS_INPUTS, "each input has a bit");

struct inputs;

/* What is of one machine, and is merged. */
struct machine {
	struct inputs *inputs;
	struct ebt_reader *readers[MAX_INPUTS];
	size_t n;
	struct merge *merge;
};

struct inputs {
	struct report *report;
	struct ebt_reader *readers[MAX_INPUTS]; /* the first is the trace's own */
	size_t n;
	struct machine machines[EBT_MAX_HOSTS];
	size_t n_machines;
	bool parts;		  /* of one recording */
	struct ebt_window window; /* of all parts */
};

static const char *path_of(const struct ebt_reader *reader)
{
	return ebt_reader_info(reader)->path;
}

static struct ebt_error *open_input(struct inputs *inputs, const char *path, uint32_t host)
{
	struct ebt_reader *reader;
	struct ebt_error *err;

	if (inputs->n == MAX_INPUTS)
		return ebt_error_create(EBT_ERR_INVALID, "%s: %u traces are the most", path,
					MAX_INPUTS);
	err = ebt_reader_open(path, &reader);
	if (err)
		return err;
	inputs->readers[inputs->n++] = reader;
	return host ? ebt_reader_choose_host(reader, host) : NULL;
}

/* Those that are behind the first in the file of the newest input. */
static struct ebt_error *open_other_hosts(struct inputs *inputs)
{
	const struct ebt_reader_info *info = ebt_reader_info(inputs->readers[inputs->n - 1]);
	struct ebt_error *err = NULL;

	for (size_t i = 1; !err && i < info->n_hosts; i++)
		err = open_input(inputs, info->path, info->hosts[i]);
	return err;
}

static struct ebt_error *open_inputs(struct inputs *inputs)
{
	const struct options *o = inputs->report->options;
	struct ebt_error *err;

	inputs->readers[inputs->n++] = trace_reader(inputs->report->trace);
	err = open_other_hosts(inputs);
	for (size_t i = 0; !err && i < o->n_words; i++)
		err = open_input(inputs, o->words[i], 0) ?: open_other_hosts(inputs);
	return err;
}

static void close_inputs(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->n_machines; i++)
		merge_destroy(inputs->machines[i].merge);
	for (size_t i = 1; i < inputs->n; i++)
		ebt_reader_close(inputs->readers[i]);
}

/* --- what is of which machine? --- */

static struct ebt_error *check_recording(const struct inputs *inputs, size_t i)
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
		const struct ebt_reader_info *other = ebt_reader_info(inputs->readers[k]);

		if (!memcmp(other->uuid, info->uuid, sizeof(info->uuid)))
			return ebt_error_create(EBT_ERR_INVALID,
						"%s and %s are of the same recording", other->path,
						info->path);
	}
	return NULL;
}

/* What scrubbing put in its place is the same in every copy. */
static bool is_boot_id(const char *boot)
{
	return boot && !scrub_is_alias(ebt_str_of(boot));
}

/* Of one boot of one kernel, and seen from one pid namespace: numbers of processes and addresses
 * are the same then. */
static struct ebt_error *is_same(struct ebt_reader *a, struct ebt_reader *b, bool *ret,
				 bool *ret_other_space)
{
	const char *boots[2], *spaces[2];
	struct ebt_error *err = ebt_reader_meta(a, "host.boot_id", &boots[0])
					?: ebt_reader_meta(b, "host.boot_id", &boots[1])
					?: ebt_reader_meta(a, "host.pid_ns", &spaces[0])
					?: ebt_reader_meta(b, "host.pid_ns", &spaces[1]);
	const bool boot = !err && is_boot_id(boots[0]) && spaces[0] && spaces[1] && boots[1] &&
			  !strcmp(boots[0], boots[1]);

	*ret = boot && !strcmp(spaces[0], spaces[1]);
	*ret_other_space = boot && !*ret;
	return err;
}

static struct ebt_error *warn_space(struct inputs *inputs, struct ebt_reader *a,
				    struct ebt_reader *b)
{
	return trace_warn(
		inputs->report->trace,
		"%s and %s are of one machine and two pid namespaces: processes have other "
		"numbers, so they are kept apart as two machines",
		path_of(a), path_of(b));
}

static struct ebt_error *warn_unknown(struct inputs *inputs, struct ebt_reader *reader)
{
	const char *boot, *space;
	struct ebt_error *err = ebt_reader_meta(reader, "host.boot_id", &boot)
					?: ebt_reader_meta(reader, "host.pid_ns", &space);

	if (err || (is_boot_id(boot) && space))
		return err;
	return trace_warn(
		inputs->report->trace,
		"%s does not say of which boot of which machine it is%s: it is kept apart as "
		"a machine of its own",
		path_of(reader), boot && space ? ", as it is scrubbed" : "");
}

static struct ebt_error *place_input(struct inputs *inputs, struct ebt_reader *reader)
{
	struct machine *machine = inputs->machines;
	struct ebt_reader *beside = NULL; /* of the same machine, in another pid namespace */
	struct ebt_error *err = warn_unknown(inputs, reader);
	bool same = false, other_space;

	for (; !err && machine < inputs->machines + inputs->n_machines; machine++) {
		err = is_same(machine->readers[0], reader, &same, &other_space);
		if (err || same)
			break;
		if (other_space && !beside)
			beside = machine->readers[0];
	}
	if (!err && !same && beside)
		err = warn_space(inputs, beside, reader);
	if (err)
		return err;
	inputs->n_machines += !same;
	machine->inputs = inputs;
	machine->readers[machine->n++] = reader;
	return NULL;
}

/* Parts of one recording, of the same processes. */
static struct ebt_error *are_parts(const struct inputs *inputs, bool *ret)
{
	const char *first, *pids;
	struct ebt_error *err = ebt_reader_meta(inputs->readers[0], CUT_PIDS, &first);

	*ret = merge_parts_are(inputs->readers, inputs->n);
	for (size_t i = 1; !err && *ret && i < inputs->n; i++) {
		err = ebt_reader_meta(inputs->readers[i], CUT_PIDS, &pids);
		*ret = !err && (pids && first ? !strcmp(pids, first) : pids == first);
	}
	return err;
}

static struct ebt_error *place_inputs(struct inputs *inputs)
{
	struct machine *machine = inputs->machines;
	struct ebt_error *err = are_parts(inputs, &inputs->parts);

	if (!err && inputs->parts) {
		inputs->n_machines = 1;
		machine->inputs = inputs;
		machine->n = inputs->n;
		memcpy(machine->readers, inputs->readers, inputs->n * sizeof(inputs->readers[0]));
		return merge_parts_window(inputs->readers, inputs->n, &inputs->window);
	}
	for (size_t i = 0; !err && i < inputs->n; i++)
		err = check_recording(inputs, i) ?: place_input(inputs, inputs->readers[i]);
	return err;
}

/* --- other options --- */

static struct ebt_error *warn_pair(const struct machine *machine, struct ebt_reader *a,
				   struct ebt_reader *b, struct text *said)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	bool shared = false;
	struct ebt_error *err = merge_options_compare(a, b, said, &text, &shared);

	if (err || !text.len)
		return err;
	return trace_warn(machine->inputs->report->trace,
			  "%s and %s recorded %swith other options: %s%s", path_of(a), path_of(b),
			  shared ? "at the same time " : "", text_get(&text),
			  shared ? ". What both recorded is as the first has it" : "");
}

static struct ebt_error *warn_options(const struct machine *machine)
{
	_cleanup_text_ struct text said = TEXT_INIT;
	struct ebt_error *err = NULL;

	for (size_t i = 1; !err && i < machine->n; i++) {
		for (size_t k = 0; !err && k < i; k++)
			err = warn_pair(machine, machine->readers[k], machine->readers[i], &said);
	}
	return err;
}

/* --- the copy --- */

static struct ebt_error *append(void *arg, struct ebt_stream *stream)
{
	const struct machine *machine = merge_arg(arg);
	_cleanup_text_ struct text count = TEXT_INIT;
	struct ebt_error *err;
	uint64_t time = 0;

	for (size_t i = 0; i < machine->n; i++) {
		const uint64_t behind = copying_meta_ns(machine->readers[i]);

		time = behind > time ? behind : time;
	}
	text_printf(&count, "%zu", machine->n);
	err = text_error(&count)
		      ?: merge_append(machine->merge, stream, time)
		      ?: copying_meta_at(stream, time, "merge.version", EBT_VERSION)
		      ?: copying_meta_at(stream, time, "merge.inputs", text_get(&count));
	for (size_t i = 0; !err && i < machine->n; i++)
		err = copying_note_damage(machine->readers[i], stream);
	/* Parts have the moments of their recording. */
	for (size_t i = 0; !err && !machine->inputs->parts && i < machine->n; i++)
		err = merge_moments_append(machine->readers[i], stream);
	return err;
}

static struct ebt_error *set_options(struct machine *machine, uint32_t host,
				     struct ebt_copy_options *options)
{
	struct ebt_error *err =
		warn_options(machine)
			?: merge_create(machine->readers, machine->n, machine, &machine->merge);

	if (err)
		return err;
	for (size_t i = 0; i < machine->n; i++) {
		merge_set_options(machine->merge, i, &options[i]);
		options[i].host = host;
	}
	options[0].append = append;
	return NULL;
}

/* Inputs of a machine stand behind each other. */
static struct ebt_error *write_copy(struct inputs *inputs)
{
	struct ebt_reader *readers[MAX_INPUTS];
	struct ebt_copy_options options[MAX_INPUTS] = { 0 };
	struct ebt_error *err = NULL;
	size_t n = 0;

	for (size_t i = 0; !err && i < inputs->n_machines; i++) {
		struct machine *machine = &inputs->machines[i];

		memcpy(&readers[n], machine->readers, machine->n * sizeof(readers[0]));
		err = set_options(machine, inputs->n_machines > 1 ? (uint32_t)i + 1 : 0,
				  &options[n]);
		n += machine->n;
	}
	options[0].window = inputs->window;
	err = err ?: copying_open(inputs->report, &options[0]);
	return err ?: ebt_copy_several(readers, options, n);
}

static struct ebt_error *run_merge(struct report *report)
{
	struct inputs *inputs = calloc(1, sizeof(*inputs));
	struct ebt_error *err;

	if (!inputs)
		return &ebt_enomem;
	inputs->report = report;
	err = open_inputs(inputs) ?: place_inputs(inputs) ?: write_copy(inputs);
	close_inputs(inputs);
	free(inputs);
	return err;
}

const struct command command_merge = {
	.name = "merge",
	.fn = run_merge,
	.flags = COMMAND_NO_TERMINAL | COMMAND_NO_TABLES | COMMAND_NO_FILTERS | COMMAND_PRIVATE |
		 COMMAND_COPY | COMMAND_ALL_HOSTS | COMMAND_NO_NAMES,
	.summary = "one trace of several, of one machine or more",
	.help = "  ebreport merge sched.ebt syscalls.ebt -o both.ebt\n"
		"  ebreport merge web.ebt db.ebt cache.ebt -o site.ebt\n"
		"\n"
		"The traces may have been recorded at the same time or one after the other, with\n"
		"other sources or of other processes. What several have recorded is in the copy\n"
		"once, from the first of them: name first the one that knows most. Parts that cut\n"
		"made of one trace and that adjoin are joined.\n"
		"\n"
		"Of several machines, or boots, each keeps its own processes and times. Reports "
		"come once\n"
		"for each, or are of the one that is chosen; windows count from the earliest "
		"beginning\n"
		"by the clocks of the machines, whose difference nobody knows.\n",
	.words = "FILE…",
	.min_words = 1,
	.max_words = MAX_INPUTS - 1,
};
