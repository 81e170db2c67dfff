/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing the command line; see options.h. The words of --help are in usage.c. */
#include "record/config/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <linux/types.h>
#include <string.h>

#include "record/bpf/shared.h"
#include "record/config/source.h"
#include "record/config/tp_name.h"

#define MAX_FREQUENCY	  100000
#define MAX_UNWIND_MEMORY (UINT64_C(4) << 30)

struct unit {
	const char *name;
	uint64_t factor;
};

/* "1.5s": a decimal number and the name of a unit. */
static struct ebt_error *parse_quantity(const char *text, const struct unit *units,
					const char *expected, uint64_t *ret)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	/* strtod() knows more than we mean: "inf", "nan", hexadecimal, signs. */
	if (!isdigit((unsigned char)*text) || strpbrk(text, "xXpP") || errno)
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not %s", text, expected);
	for (const struct unit *u = units; u->name; u++) {
		if (strcmp(end, u->name))
			continue;
		value *= (double)u->factor;
		if (value >= (double)INT64_MAX)
			return ebt_error_create(EBT_ERR_INVALID, "'%s' is too much", text);
		*ret = (uint64_t)(value + 0.5);
		return NULL;
	}
	return ebt_error_create(EBT_ERR_INVALID, "'%s' is not %s", text, expected);
}

struct ebt_error *parse_time(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", 1000000000 },
		{ "", 1000000000 },
		{ "m", 60000000000 },
		{ "h", 3600000000000 },
		{ NULL, 0 },
	};

	return parse_quantity(text, units, "a time, as 500ms, 5s or 2m", ret);
}

struct ebt_error *parse_size(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {
		{ "", 1 },	   { "K", 1u << 10 }, { "k", 1u << 10 },
		{ "M", 1u << 20 }, { "G", 1u << 30 }, { NULL, 0 },
	};

	return parse_quantity(text, units, "a size, as 64M", ret);
}

/* A whole number from 1 to max that ends where *ret_end says. */
static bool parse_number(const char *text, long max, long *ret, char **ret_end)
{
	errno = 0;
	*ret = strtol(text, ret_end, 10);
	return isdigit((unsigned char)*text) && !errno && *ret >= 1 && *ret <= max;
}

struct ebt_error *parse_pids(const char *text, pid_t **ret, size_t *ret_n)
{
	_cleanup_free_ pid_t *pids = calloc(strlen(text) / 2 + 1, sizeof(*pids));
	const char *at = text;
	size_t n = 0;
	long pid;
	char *end;

	if (!pids)
		return &ebt_enomem;
	for (;;) {
		if (!parse_number(at, INT32_MAX, &pid, &end) || (*end && *end != ','))
			return ebt_error_create(EBT_ERR_INVALID,
						"'%s' is no list of process ids, as 12,345", text);
		pids[n++] = (pid_t)pid;
		if (!*end)
			break;
		at = end + 1;
	}
	*ret = take_ptr(pids);
	*ret_n = n;
	return NULL;
}

static uint64_t default_sources(void)
{
	uint64_t sources = 0;

	for (size_t i = 0; i < ebrec_n_sources; i++) {
		if (ebrec_sources[i]->by_default)
			sources |= UINT64_C(1) << i;
	}
	return sources;
}

static uint64_t all_sources(void)
{
	uint64_t sources = 0;

	for (size_t i = 0; i < ebrec_n_sources; i++) {
		if (!ebrec_sources[i]->args_needed)
			sources |= UINT64_C(1) << i;
	}
	return sources;
}

static struct ebt_error *source_set(const char *name, size_t len, uint64_t *ret)
{
	int i = source_by_name(name, len);

	if (i >= 0)
		*ret = UINT64_C(1) << i;
	else if (len == 7 && !memcmp(name, "default", 7))
		*ret = default_sources();
	else if (len == 3 && !memcmp(name, "all", 3))
		*ret = all_sources();
	else
		return ebt_error_create(EBT_ERR_INVALID,
					"there is no event source '%.*s'; --list-events shows them",
					(int)len, name);
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
 * where *given is false; others replace an ungiven set.
 */
static struct ebt_error *parse_sources(const char *text, bool *given, uint64_t *sources,
				       struct source_args *args)
{
	uint64_t result = *sources;
	const char *at = text;

	if (!*given)
		result = *text == '-' ? default_sources() : 0;
	for (;;) {
		size_t len = strcspn(at, ",");
		struct ebt_error *err = parse_source(at, len, &result, args);

		if (err)
			return err;
		if (!at[len])
			break;
		at += len + 1;
	}
	*given = true;
	*sources = result;
	return NULL;
}

enum {
	OPT_MIN_BLOCK = 256,
	OPT_BUNDLE,
	OPT_CALL_GRAPH,
	OPT_CAPTURE_OUTPUT,
	OPT_CGROUP,
	OPT_KEEP_STACK_DUMPS,
	OPT_LIST_EVENTS,
	OPT_NO_CONTAINERS,
	OPT_NO_PYTHON,
	OPT_NO_STACK_DUMP,
	OPT_MAX_STACK,
	OPT_UNWIND_MEM,
	OPT_USER,
};

static const char short_options[] = "+:o:fd:e:F:b:p:aqvVh";
static const struct option long_options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "force", no_argument, NULL, 'f' },
	{ "duration", required_argument, NULL, 'd' },
	{ "events", required_argument, NULL, 'e' },
	{ "freq", required_argument, NULL, 'F' },
	{ "buffer-size", required_argument, NULL, 'b' },
	{ "pid", required_argument, NULL, 'p' },
	{ "all", no_argument, NULL, 'a' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "min-block", required_argument, NULL, OPT_MIN_BLOCK },
	{ "bundle", no_argument, NULL, OPT_BUNDLE },
	{ "call-graph", required_argument, NULL, OPT_CALL_GRAPH },
	{ "capture-output", optional_argument, NULL, OPT_CAPTURE_OUTPUT },
	{ "cgroup", required_argument, NULL, OPT_CGROUP },
	{ "keep-stack-dumps", no_argument, NULL, OPT_KEEP_STACK_DUMPS },
	{ "list-events", optional_argument, NULL, OPT_LIST_EVENTS },
	{ "no-containers", no_argument, NULL, OPT_NO_CONTAINERS },
	{ "no-python", no_argument, NULL, OPT_NO_PYTHON },
	{ "no-stack-dump", no_argument, NULL, OPT_NO_STACK_DUMP },
	{ "max-stack", required_argument, NULL, OPT_MAX_STACK },
	{ "unwind-mem", required_argument, NULL, OPT_UNWIND_MEM },
	{ "user", required_argument, NULL, OPT_USER },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static struct ebt_error *parse_call_graph(const char *text, enum call_graph *ret)
{
	if (!strcmp(text, "table"))
		*ret = CALL_GRAPH_TABLE;
	else if (!strcmp(text, "fp"))
		*ret = CALL_GRAPH_FP;
	else if (!strcmp(text, "auto"))
		*ret = CALL_GRAPH_AUTO;
	else if (!strcmp(text, "none"))
		*ret = CALL_GRAPH_NONE;
	else if (!strcmp(text, "dump"))
		*ret = CALL_GRAPH_DUMP;
	else
		return ebt_error_create(EBT_ERR_INVALID,
					"'%s' is no call graph: auto, fp, table, dump or none",
					text);
	return NULL;
}

static struct ebt_error *parse_capture_output(const char *text, unsigned int *ret)
{
	const unsigned int both = CAPTURE_STDOUT | CAPTURE_STDERR;

	if (!text || !strcmp(text, "both"))
		*ret = both;
	else if (!strcmp(text, "stdout"))
		*ret = CAPTURE_STDOUT;
	else if (!strcmp(text, "stderr"))
		*ret = CAPTURE_STDERR;
	else if (!strcmp(text, "apart"))
		*ret = both | CAPTURE_APART;
	else
		return ebt_error_create(EBT_ERR_INVALID,
					"--capture-output=%s: give stdout, stderr, both or apart",
					text);
	return NULL;
}

static struct ebt_error *parse_list(const char *text, struct record_options *o)
{
	if (text && !tp_name_is_query(text))
		return ebt_error_create(
			EBT_ERR_INVALID,
			"--list-events=%s: alone it lists the sources, =tp the kernel's "
			"tracepoints, =tp:CATEGORY:NAME their fields",
			text);
	o->action = ACTION_LIST_EVENTS;
	o->list = text;
	return NULL;
}

static struct ebt_error *parse_frequency(const char *text, uint32_t *ret)
{
	long hz;
	char *end;

	if (!parse_number(text, MAX_FREQUENCY, &hz, &end) || *end)
		return ebt_error_create(EBT_ERR_INVALID,
					"'%s' is no sampling rate from 1 to %d; `-e -sample` turns "
					"sampling off",
					text, MAX_FREQUENCY);
	*ret = (uint32_t)hz;
	return NULL;
}

static struct ebt_error *parse_max_stack(const char *text, uint32_t *ret)
{
	long n;
	char *end;

	if (!parse_number(text, EBREC_MAX_STACK, &n, &end) || *end)
		return ebt_error_create(EBT_ERR_INVALID,
					"--max-stack: '%s' is no number of frames from 1 to %d",
					text, EBREC_MAX_STACK);
	*ret = (uint32_t)n;
	return NULL;
}

static struct ebt_error *set_target(struct record_options *o, enum target_kind kind)
{
	if (o->target != TARGET_NONE && o->target != kind)
		return ebt_error_create(EBT_ERR_INVALID,
					"give one of -p, --cgroup, -a and a command");
	o->target = kind;
	return NULL;
}

static struct ebt_error *parse_target_option(int c, struct record_options *o)
{
	struct ebt_error *err;

	switch (c) {
	case 'p':
		err = set_target(o, TARGET_PIDS);
		free(o->pids);
		o->pids = NULL;
		return err ? err : parse_pids(optarg, &o->pids, &o->n_pids);
	case OPT_CGROUP:
		o->cgroup = optarg;
		return set_target(o, TARGET_CGROUP);
	default:
		return set_target(o, TARGET_ALL);
	}
}

/* What an option without a value sets; NULL: it does not. */
static bool *flag_of(int c, struct record_options *o)
{
	switch (c) {
	case 'f':
		return &o->force;
	case 'q':
		return &o->quiet;
	case OPT_KEEP_STACK_DUMPS:
		return &o->keep_stack_dumps;
	case OPT_NO_CONTAINERS:
		return &o->no_containers;
	case OPT_NO_PYTHON:
		return &o->no_python;
	case OPT_NO_STACK_DUMP:
		return &o->no_stack_dump;
	case OPT_BUNDLE:
		return &o->bundle;
	default:
		return NULL;
	}
}

static struct ebt_error *parse_option(int c, const char *argument, struct record_options *o,
				      bool *sources_given)
{
	bool *flag = flag_of(c, o);

	if (flag) {
		*flag = true;
		return NULL;
	}
	switch (c) {
	case 'o':
		o->output = optarg;
		return NULL;
	case 'd':
		return ebt_error_prefix(parse_time(optarg, &o->duration), "--duration");
	case 'e':
		return ebt_error_prefix(parse_sources(optarg, sources_given, &o->sources,
						      &o->source_args),
					"--events");
	case 'F':
		return ebt_error_prefix(parse_frequency(optarg, &o->frequency), "--freq");
	case 'b':
		return ebt_error_prefix(parse_size(optarg, &o->buffer), "--buffer-size");
	case OPT_MIN_BLOCK:
		return ebt_error_prefix(parse_time(optarg, &o->min_block), "--min-block");
	case OPT_CALL_GRAPH:
		return parse_call_graph(optarg, &o->call_graph);
	case OPT_CAPTURE_OUTPUT:
		return parse_capture_output(optarg, &o->capture_output);
	case 'p':
	case 'a':
	case OPT_CGROUP:
		return parse_target_option(c, o);
	case OPT_MAX_STACK:
		return parse_max_stack(optarg, &o->max_stack);
	case OPT_UNWIND_MEM:
		return ebt_error_prefix(parse_size(optarg, &o->unwind_memory), "--unwind-mem");
	case OPT_USER:
		o->user = optarg;
		return NULL;
	case 'v':
		o->verbose++;
		return NULL;
	case 'V':
		o->action = ACTION_VERSION;
		return NULL;
	case 'h':
		o->action = ACTION_HELP;
		return NULL;
	case OPT_LIST_EVENTS:
		return parse_list(optarg, o);
	case ':':
		return ebt_error_create(EBT_ERR_INVALID, "%s wants a value", argument);
	default:
		return ebt_error_create(EBT_ERR_INVALID, "there is no option %s", argument);
	}
}

/* What only shows when all options are known. */
static struct ebt_error *check(struct record_options *o)
{
	if (o->action != ACTION_RECORD)
		return NULL;
	if (o->target == TARGET_NONE)
		return ebt_error_create(EBT_ERR_INVALID,
					"nothing to record: give a command, -p, --cgroup or -a");
	if (o->user && o->target != TARGET_COMMAND)
		return ebt_error_create(EBT_ERR_INVALID, "--user is for a command");
	if (o->capture_output && o->target != TARGET_COMMAND)
		return ebt_error_create(EBT_ERR_INVALID, "--capture-output is for a command");
	if (o->bundle && !strcmp(o->output, "-"))
		return ebt_error_create(EBT_ERR_INVALID,
					"--bundle needs a file; `ebrec -o - … | ebreport bundle -` "
					"does it behind a pipe");
	if (o->no_stack_dump && o->call_graph == CALL_GRAPH_DUMP)
		return ebt_error_create(
			EBT_ERR_INVALID,
			"--call-graph dump and --no-stack-dump contradict each other");
	if (o->unwind_memory > MAX_UNWIND_MEMORY)
		return ebt_error_create(EBT_ERR_INVALID, "--unwind-mem is at most 4G");
	if (!o->sources)
		return ebt_error_create(EBT_ERR_INVALID, "no event source is left to record");
	if (!*o->output)
		return ebt_error_create(EBT_ERR_INVALID, "the name of the output is empty");
	return NULL;
}

struct ebt_error *options_parse(int argc, char **argv, struct record_options *ret)
{
	struct record_options o = {
		.output = "trace.ebt",
		.frequency = 99,
		.call_graph = CALL_GRAPH_AUTO,
		.max_stack = EBREC_MAX_FRAMES,
		.unwind_memory = 64u << 20,
		.sources = default_sources(),
	};
	struct ebt_error *err = NULL;
	bool sources_given = false;
	int c;

	optind = 0; /* glibc: begin anew */
	opterr = 0;
	while (!err && (c = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		char shown[] = { '-', (char)optopt, 0 };
		bool is_short = (c == '?' || c == ':') && optopt > 0 && optopt < 256 &&
				strncmp(argv[optind - 1], "--", 2);

		err = parse_option(c, is_short ? shown : argv[optind - 1], &o, &sources_given);
	}
	if (!err && optind < argc) {
		err = set_target(&o, TARGET_COMMAND);
		o.command = argv + optind;
	}
	if (!err)
		err = check(&o);
	if (err) {
		options_deinit(&o);
		return err;
	}
	*ret = o;
	return NULL;
}

void options_deinit(struct record_options *options)
{
	free(options->pids);
	options->pids = NULL;
	source_args_deinit(&options->source_args);
}
