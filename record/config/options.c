/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of ebrec, and what they mean; see options.h. */
#include "record/config/options.h"

#include <ctype.h>
#include <linux/types.h>
#include <string.h>

#include "record/bpf/shared.h"
#include "record/config/source.h"

#define MAX_FREQUENCY	  100000
#define MAX_UNWIND_MEMORY (UINT64_C(4) << 30)

/* All, or those by default. */
static uint64_t many_sources(bool all)
{
	uint64_t sources = 0;

	for (size_t i = 0; i < ebrec_n_sources; i++) {
		if (all ? !ebrec_sources[i]->args_needed : ebrec_sources[i]->by_default)
			sources |= UINT64_C(1) << i;
	}
	return sources;
}

static struct ebt_error *unknown_source(const char *name, size_t len)
{
	_cleanup_free_ char *word = strndup(name, len);
	struct cli_guess guess = { .word = word };

	if (!word)
		return &ebt_enomem;
	for (size_t i = 0; i < ebrec_n_sources && !guess.name; i++) {
		if (cli_has_word(ebrec_sources[i]->elsewhere, word))
			guess.name = ebrec_sources[i]->name;
	}
	for (size_t i = 0; i < ebrec_n_sources; i++)
		cli_guess(&guess, ebrec_sources[i]->name);
	cli_guess(&guess, "default");
	cli_guess(&guess, "all");
	if (*word && guess.name)
		return ebt_error_create(EBT_ERR_INVALID,
					"there is no event source '%s': did you mean %s?", word,
					guess.name);
	return ebt_error_create(EBT_ERR_INVALID,
				"there is no event source '%s'; --list-events shows them", word);
}

static struct ebt_error *source_set(const char *name, size_t len, uint64_t *ret)
{
	int i = source_by_name(name, len);

	if (i >= 0)
		*ret = UINT64_C(1) << i;
	else if (len == 7 && !memcmp(name, "default", 7))
		*ret = many_sources(false);
	else if (len == 3 && !memcmp(name, "all", 3))
		*ret = many_sources(true);
	else
		return unknown_source(name, len);
	return NULL;
}

/* One entry of a list: "NAME", "NAME:ARGUMENTS" or "-NAME". */
static struct ebt_error *parse_source(const char *text, size_t len, uint64_t *sources,
				      struct source_args *args)
{
	bool remove = len && *text == '-';
	const char *name = text + remove, *colon = memchr(text, ':', len);
	size_t name_len = colon ? (size_t)(colon - name) : len - remove;
	int source = source_by_name(name, name_len);
	uint64_t set;
	struct ebt_error *err = source_set(name, name_len, &set);

	if (err)
		return err;
	if (colon && (remove || source < 0))
		return ebt_error_create(EBT_ERR_INVALID,
					"'%.*s': arguments are for a source that is added",
					(int)len, text);
	if (source >= 0 && ebrec_sources[source]->args_needed && !colon && !remove)
		return ebt_error_create(EBT_ERR_INVALID, "source %s has to be told what: %s:%s",
					ebrec_sources[source]->name, ebrec_sources[source]->name,
					ebrec_sources[source]->args_doc);
	*sources = remove ? *sources & ~set : *sources | set;
	if (remove && source >= 0)
		source_args_remove(args, (size_t)source);
	return colon ? source_args_add(args, (size_t)source, colon + 1,
				       (size_t)(text + len - colon) - 1)
		     : NULL;
}

/*
 * Adds "sched,-offcpu,default,kmem:rate=64K" to a set of sources and what is known of their
 * arguments. A list that begins with a removal begins with the set as it is, or the default set
 * where none was given; others replace a set that was not given.
 */
static struct ebt_error *parse_sources(void *to, const char *text)
{
	struct record_options *o = to;
	uint64_t result = o->sources;
	const char *at = text;

	if (!o->sources_given)
		result = *text == '-' ? many_sources(false) : 0;
	while (at) {
		size_t len;
		const char *name = cli_take_piece(&at, &len);
		struct ebt_error *err = parse_source(name, len, &result, &o->source_args);

		if (err)
			return err;
	}
	o->sources_given = true;
	o->sources = result;
	return NULL;
}

const char *const call_graph_names[] = {
	[CALL_GRAPH_NONE] = "none", [CALL_GRAPH_FP] = "fp",	[CALL_GRAPH_TABLE] = "table",
	[CALL_GRAPH_DUMP] = "dump", [CALL_GRAPH_AUTO] = "auto", [N_CALL_GRAPHS] = NULL,
};

static struct ebt_error *parse_call_graph(void *to, const char *text)
{
	enum call_graph *ret = to;
	size_t i;
	struct ebt_error *err = cli_parse_choice(call_graph_names, text, strlen(text), &i);

	if (!err)
		*ret = (enum call_graph)i;
	return err;
}

static struct ebt_error *parse_capture_output(void *to, const char *text)
{
	static const char *const names[] = { "both", "stdout", "stderr", "apart", NULL };
	static const unsigned int values[] = {
		CAPTURE_STDOUT | CAPTURE_STDERR,
		CAPTURE_STDOUT,
		CAPTURE_STDERR,
		CAPTURE_STDOUT | CAPTURE_STDERR | CAPTURE_APART,
	};
	unsigned int *ret = to;
	size_t i = 0;
	struct ebt_error *err = text ? cli_parse_choice(names, text, strlen(text), &i) : NULL;

	if (!err)
		*ret = values[i];
	return err;
}

static struct ebt_error *parse_list(void *to, const char *text)
{
	struct record_options *o = to;

	if (text && strcmp(text, "tp") &&
	    (strncmp(text, "tp:", 3) || !source_args_is_tracepoint(text + 3)))
		return ebt_error_create(
			EBT_ERR_INVALID,
			"'%s': alone it lists the sources, =tp the kernel's tracepoints, "
			"=tp:CATEGORY:NAME their fields",
			text);
	o->list_events = true;
	o->list = text;
	return NULL;
}

static struct ebt_error *parse_frequency(void *to, const char *text)
{
	_cleanup_error_ struct ebt_error *err = cli_parse_number(text, 1, MAX_FREQUENCY, to);

	return !err ? NULL
		    : ebt_error_create(EBT_ERR_INVALID,
				       "'%s' is no sampling rate from 1 to %d; `-e -sample` turns "
				       "sampling off",
				       text, MAX_FREQUENCY);
}

static struct ebt_error *parse_max_stack(void *to, const char *text)
{
	return cli_parse_number(text, 1, EBREC_MAX_STACK, to);
}

/* Without the option there is no limit, and as much memory as the machine has for it. */
static struct ebt_error *parse_time_limit(void *to, const char *text)
{
	uint64_t time;
	struct ebt_error *err = cli_parse_duration(text, &time);

	if (!err && !time)
		err = ebt_error_create(EBT_ERR_INVALID, "'%s' would record nothing", text);
	if (!err)
		*(uint64_t *)to = time;
	return err;
}

static struct ebt_error *parse_buffer(void *to, const char *text)
{
	uint64_t bytes;
	struct ebt_error *err = cli_parse_size(text, &bytes);

	if (!err && !bytes)
		err = ebt_error_create(EBT_ERR_INVALID, "'%s' leaves no room for events", text);
	if (!err)
		*(uint64_t *)to = bytes;
	return err;
}

static struct ebt_error *count(void *to, const char *arg)
{
	unsigned int *n = to;

	(void)arg;
	++*n;
	return NULL;
}

static struct ebt_error *set_target(struct record_options *o, enum target_kind kind)
{
	if (o->target != TARGET_NONE && o->target != kind)
		return ebt_error_create(EBT_ERR_INVALID, "give one of -p, --cgroup and -a");
	o->target = kind;
	return NULL;
}

static struct ebt_error *add_pid(void *to, const char *piece)
{
	struct record_options *o = to;
	struct ebt_error *err;
	uint64_t pid;

	if (isalpha((unsigned char)piece[0]))
		return ebt_error_create(
			EBT_ERR_INVALID,
			"'%s' is not a number: `-p \"$(pidof %s)\"` records by name", piece, piece);
	err = cli_parse_number(piece, 1, INT32_MAX, &pid);
	if (err)
		return err;
	o->pids[o->n_pids++] = (pid_t)pid;
	return NULL;
}

static struct ebt_error *target_pids(void *to, const char *text)
{
	struct record_options *o = to;
	struct ebt_error *err = set_target(o, TARGET_PIDS);

	if (err)
		return err;
	if (!text[strspn(text, " \n")])
		return ebt_error_create(EBT_ERR_INVALID,
					"there is no process id: pgrep and pidof print none where "
					"no such process runs");
	free(o->pids);
	o->pids = calloc(strlen(text) / 2 + 1, sizeof(*o->pids));
	o->n_pids = 0;
	return o->pids ? cli_each_number(text, o, add_pid) : &ebt_enomem;
}

static struct ebt_error *target_cgroup(void *to, const char *path)
{
	struct record_options *o = to;

	o->cgroup = path;
	return set_target(o, TARGET_CGROUP);
}

static struct ebt_error *target_all(void *to, const char *arg)
{
	(void)arg;
	return set_target(to, TARGET_ALL);
}

#define FIELD(name) .offset = offsetof(struct record_options, name)

static const struct option_def output_options[] = {
	{ "output", OPTION_STRING, "FILE",
	  "the trace (default: " DEFAULT_OUTPUT "); `-` is standard output, and CMD's "
	  "own standard output then goes to standard error",
	  .letter = 'o', FIELD(output) },
	{ "force", OPTION_FLAG, NULL,
	  "replace FILE, trace or not; without, a trace that is there is kept as "
	  "FILE.old, and another file is refused",
	  .letter = 'f', FIELD(force) },
	{ "bundle", OPTION_FLAG, NULL,
	  "put the names of its addresses into FILE at the end, so that it reads "
	  "the same anywhere; takes the `ebreport` of ebrec's own folder or of PATH",
	  FIELD(bundle) },
	{ "quiet", OPTION_FLAG, NULL, "no status, no summary; errors and losses only",
	  .letter = 'q', FIELD(quiet) },
	{ "verbose", OPTION_APPLY, NULL,
	  "say more; twice: what the kernel says of the BPF programs", .letter = 'v',
	  .apply = count, FIELD(verbose) },
	{ .name = NULL },
};

static const struct option_def target_options[] = {
	{ "all", OPTION_APPLY, NULL, "the whole system", .letter = 'a', .apply = target_all },
	{ "pid", OPTION_APPLY, "PID,...",
	  "these processes and their descendants, until they have ended", .letter = 'p',
	  .apply = target_pids },
	{ "cgroup", OPTION_APPLY, "PATH",
	  "processes of this control group (v2) and of those below it", .apply = target_cgroup },
	{ "events", OPTION_APPLY, "LIST",
	  "sources, comma-separated: names of --list-events, `default`, `all`; "
	  "-NAME takes one away (`-e -sample`: all default ones but that); "
	  "NAME:ARGUMENTS for a source that takes some, as "
	  "uprobe:libc.so.6:fopen:path=1/s+ret or tp:sched:sched_wakeup",
	  .letter = 'e', .apply = parse_sources },
	{ "freq", OPTION_APPLY, "HZ", "sampling rate of each CPU (default: 99)", .letter = 'F',
	  .apply = parse_frequency, FIELD(frequency) },
	{ "call-graph", OPTION_APPLY, "HOW",
	  "auto (default: table where the kernel can, else fp), table (unwind "
	  "tables; frame pointers in generated code), fp (frame pointers), "
	  "dump (unwind tables, later, from copies of all stacks) or none",
	  .apply = parse_call_graph, FIELD(call_graph) },
	{ "max-stack", OPTION_APPLY, "N",
	  "frames of a user stack at the most (default: 127; by tables up to 512)",
	  .apply = parse_max_stack, FIELD(max_stack) },
	{ "unwind-mem", OPTION_SIZE, "SIZE",
	  "of unwind tables, all together, at the most (default: 64M)", FIELD(unwind_memory) },
	{ "no-python", OPTION_FLAG, NULL,
	  "show Python's interpreter, and not the functions that it runs", FIELD(no_python) },
	{ "no-stack-dump", OPTION_FLAG, NULL,
	  "never keep memory of stacks that cannot be walked whole at once", FIELD(no_stack_dump) },
	{ "keep-stack-dumps", OPTION_FLAG, NULL,
	  "finish no stack, but keep this memory for ebreport", FIELD(keep_stack_dumps) },
	{ "no-containers", OPTION_FLAG, NULL, "leave out what podman and docker know of containers",
	  FIELD(no_containers) },
	{ "min-block", OPTION_DURATION, "TIME",
	  "off-CPU stacks only for blocks at least this long (default: all)", FIELD(min_block) },
	{ "duration", OPTION_APPLY, "TIME",
	  "end after so long; a CMD that still runs gets SIGTERM, as it does "
	  "when ebrec is interrupted",
	  .letter = 'd', .apply = parse_time_limit, FIELD(duration) },
	{ "buffer-size", OPTION_APPLY, "SIZE",
	  "of the ring buffers for events, all together (default: 64M)", .letter = 'b',
	  .apply = parse_buffer, FIELD(buffer) },
	{ "user", OPTION_STRING, "NAME", "run CMD as NAME", FIELD(user) },
	{ "capture-output", OPTION_APPLY, "[=WHAT]",
	  "CMD's lines become events (`ebreport logs`), and go on to where they "
	  "would have gone; WHAT: stdout, stderr, both (default) or apart (both, "
	  "told apart also where they go to one place)",
	  .apply = parse_capture_output, FIELD(capture_output) },
	{ .name = NULL },
};

static const struct option_def other_options[] = {
	{ "list-events", OPTION_APPLY, "[=TP]",
	  "every source, what it costs, and whether this kernel has it; "
	  "--list-events=tp: the kernel's tracepoints; =tp:CATEGORY:NAME: "
	  "their fields too (* and ? match several)",
	  .apply = parse_list },
	{ "version", OPTION_FLAG, NULL, "print the version", .letter = 'V', FIELD(version) },
	{ "help", OPTION_FLAG, NULL, "print this", .letter = 'h', FIELD(help) },
	{ .name = NULL },
};

const struct option_group record_option_groups[N_RECORD_OPTION_GROUPS] = {
	{ "Output:\n", output_options },
	{ "What to record:\n", target_options },
	{ "", other_options },
};

/* What only shows when all options are known. */
static struct ebt_error *check(struct record_options *o)
{
	const struct {
		bool is;
		const char *wrong;
	} rules[] = {
		{ o->target == TARGET_NONE,
		  "nothing to record: give a command, -p, --cgroup or -a" },
		{ o->user && !o->command, "--user is for a command" },
		{ o->capture_output && !o->command, "--capture-output is for a command" },
		{ o->bundle && !strcmp(o->output, "-"),
		  "--bundle needs a file; `ebrec -o - … | ebreport bundle -` does it behind a "
		  "pipe" },
		{ o->no_stack_dump && o->call_graph == CALL_GRAPH_DUMP,
		  "--call-graph dump and --no-stack-dump contradict each other" },
		{ o->unwind_memory > MAX_UNWIND_MEMORY, "--unwind-mem is at most 4G" },
		{ !o->sources, "no event source is left to record" },
		{ !*o->output, "the name of the output is empty" },
	};

	if (o->help || o->version || o->list_events)
		return NULL;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (rules[i].is)
			return ebt_error_create(EBT_ERR_INVALID, "%s", rules[i].wrong);
	}
	return NULL;
}

struct ebt_error *options_parse(int argc, char **argv, struct record_options *ret)
{
	_cleanup_(options_deinit) struct record_options o = {
		.output = DEFAULT_OUTPUT,
		.frequency = 99,
		.call_graph = CALL_GRAPH_AUTO,
		.max_stack = EBREC_MAX_FRAMES,
		.unwind_memory = 64u << 20,
		.sources = many_sources(false),
	};
	const struct cli cli = { record_option_groups, N_RECORD_OPTION_GROUPS, .program = "ebrec",
				 .abbreviated = true };
	struct ebt_error *err;
	int end;

	err = cli_parse(&cli, argc - 1, argv + 1, &o, &end);
	if (err)
		return err;
	if (end + 1 < argc) {
		o.command = argv + 1 + end;
		if (o.target == TARGET_NONE)
			o.target = TARGET_COMMAND;
	}
	err = check(&o);
	if (err)
		return err;
	*ret = o;
	o = (struct record_options){ 0 };
	return NULL;
}

bool options_record_command(const struct record_options *options)
{
	return options->command &&
	       (options->target == TARGET_COMMAND || options->target == TARGET_ALL);
}

void options_deinit(struct record_options *options)
{
	free(options->pids);
	options->pids = NULL;
	source_args_deinit(&options->source_args);
}
