/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that every command has: reading their values. The table is in usage.c. */
#include "report/cli/options_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"

struct ebt_error *options_parse_u64(const char *text, uint64_t max, uint64_t *ret)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || errno || v > max)
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not a number from 0 to %llu",
					text, (unsigned long long)max);
	*ret = v;
	return NULL;
}

static bool unit_ns(const char *s, size_t len, double *ret)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {
		{ "ns", 1 },  { "us", 1e3 }, { "ms", 1e6 },
		{ "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) == len && !memcmp(units[i].name, s, len)) {
			*ret = units[i].ns;
			return true;
		}
	}
	return false;
}

struct ebt_error *options_parse_duration(const char *text, uint64_t *ret)
{
	double total = 0, v, ns;
	const char *p = text;

	while (*p) {
		size_t digits = strspn(p, "0123456789."), len;
		char *end;

		v = strtod(p, &end);
		if (!digits || end != p + digits)
			goto invalid;
		p = end;
		len = strcspn(p, "0123456789.");
		if (!len && !*p && digits == strlen(text))
			ns = 1e9; /* a bare number */
		else if (!unit_ns(p, len, &ns))
			goto invalid;
		p += len;
		total += v * ns;
	}
	if (p == text || total >= 9e18)
		goto invalid;
	*ret = (uint64_t)(total + 0.5);
	return NULL;
invalid:
	return ebt_error_create(EBT_ERR_INVALID, "'%s' is not a time: try 5s, 500ms or 1m30s",
				text);
}

static struct ebt_error *parse_time(const char *text, struct option_time *ret)
{
	size_t len = strlen(text);
	struct ebt_error *err;
	uint64_t ns = 0;

	if (len > 1 && text[len - 1] == '%') {
		char *end;
		double share = strtod(text, &end);

		if (strspn(text, "0123456789.") != len - 1 || end != text + len - 1 || share > 100)
			return ebt_error_create(EBT_ERR_INVALID,
						"'%s' is not a share from 0%% to 100%%", text);
		*ret = (struct option_time){ .set = true, .percent = true, .share = share / 100 };
		return NULL;
	}
	err = options_parse_duration(text, &ns);
	if (!err)
		*ret = (struct option_time){ .set = true, .ns = ns };
	return err;
}

static struct ebt_error *add_u32(struct option_u32s *list, uint64_t v)
{
	uint32_t *grown = reallocarray(list->v, list->n + 1, sizeof(*grown));

	if (!grown)
		return &ebt_enomem;
	grown[list->n++] = (uint32_t)v;
	list->v = grown;
	return NULL;
}

static struct ebt_error *add_string(struct option_strings *list, const char *s)
{
	const char **grown = reallocarray(list->v, list->n + 2, sizeof(*grown));
	char *copy;

	if (!grown)
		return &ebt_enomem;
	list->v = grown;
	copy = strdup(s);
	if (!copy)
		return &ebt_enomem;
	grown[list->n++] = copy;
	grown[list->n] = NULL;
	return NULL;
}

/* Calls add for each piece between commas. */
static struct ebt_error *each_piece(const char *arg, struct options *options,
				    struct ebt_error *(*add)(struct options *, const char *))
{
	_cleanup_free_ char *copy = strdup(arg);
	char *rest = copy, *piece;
	struct ebt_error *err;

	if (!copy)
		return &ebt_enomem;
	while ((piece = strsep(&rest, ","))) {
		if (!*piece)
			return ebt_error_create(EBT_ERR_INVALID, "'%s' has an empty entry", arg);
		err = add(options, piece);
		if (err)
			return err;
	}
	return NULL;
}

static struct ebt_error *add_pid(struct options *options, const char *piece)
{
	struct ebt_error *err;
	uint64_t v = 0;

	err = options_parse_u64(piece, UINT32_MAX, &v);
	return err ? err : add_u32(&options->pids, v);
}

static struct ebt_error *add_tid(struct options *options, const char *piece)
{
	struct ebt_error *err;
	uint64_t v = 0;

	err = options_parse_u64(piece, UINT32_MAX, &v);
	return err ? err : add_u32(&options->tids, v);
}

static struct ebt_error *add_comm(struct options *options, const char *piece)
{
	return add_string(&options->comms, piece);
}

/* N or N-M */
static struct ebt_error *add_cpus(struct options *options, const char *piece)
{
	_cleanup_free_ char *first = strdup(piece);
	uint64_t low = 0, high;
	struct ebt_error *err;
	char *dash;

	if (!first)
		return &ebt_enomem;
	dash = strchr(first, '-');
	if (dash)
		*dash = '\0';
	err = options_parse_u64(first, UINT32_MAX, &low);
	high = low;
	if (!err && dash)
		err = options_parse_u64(dash + 1, UINT32_MAX, &high);
	if (!err && high < low)
		err = ebt_error_create(EBT_ERR_INVALID, "'%s' ends before it begins", piece);
	if (!err)
		err = add_u32(&options->cpu_first, low);
	return err ? err : add_u32(&options->cpu_last, high);
}

/* --- the options that every command has: the functions of the table --- */

struct ebt_error *option_pid(struct options *options, const char *arg)
{
	return each_piece(arg, options, add_pid);
}

struct ebt_error *option_tid(struct options *options, const char *arg)
{
	return each_piece(arg, options, add_tid);
}

struct ebt_error *option_comm(struct options *options, const char *arg)
{
	return each_piece(arg, options, add_comm);
}

struct ebt_error *option_cpu(struct options *options, const char *arg)
{
	return each_piece(arg, options, add_cpus);
}

struct ebt_error *option_from(struct options *options, const char *arg)
{
	return parse_time(arg, &options->from);
}

struct ebt_error *option_to(struct options *options, const char *arg)
{
	return parse_time(arg, &options->to);
}

struct ebt_error *option_interval(struct options *options, const char *arg)
{
	struct ebt_error *err = options_parse_duration(arg, &options->interval_ns);

	if (!err && !options->interval_ns)
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is no time at all", arg);
	return err;
}

static struct ebt_error *set_format(struct options *options, enum option_format format)
{
	if (options->format != FORMAT_TABLE && options->format != format)
		return ebt_error_create(EBT_ERR_INVALID, "--json and --csv exclude each other");
	options->format = format;
	return NULL;
}

struct ebt_error *option_json(struct options *options, const char *arg)
{
	(void)arg;
	return set_format(options, FORMAT_JSON);
}

struct ebt_error *option_csv(struct options *options, const char *arg)
{
	(void)arg;
	return set_format(options, FORMAT_CSV);
}

struct ebt_error *option_output(struct options *options, const char *arg)
{
	options->output = strcmp(arg, "-") ? arg : NULL;
	return NULL;
}

struct ebt_error *option_top(struct options *options, const char *arg)
{
	return options_parse_u64(arg, UINT64_MAX, &options->top);
}

struct ebt_error *option_columns(struct options *options, const char *arg)
{
	options->columns = arg;
	return NULL;
}

struct ebt_error *option_sort(struct options *options, const char *arg)
{
	options->sort_reverse = arg[0] == '-';
	options->sort = arg + options->sort_reverse;
	return NULL;
}

struct ebt_error *option_no_color(struct options *options, const char *arg)
{
	(void)arg;
	options->no_color = true;
	return NULL;
}

struct ebt_error *option_debug_dir(struct options *options, const char *arg)
{
	return add_string(&options->debug_dirs, arg);
}

struct ebt_error *option_root(struct options *options, const char *arg)
{
	const char *equals = strchr(arg, '=');

	if (!equals || equals == arg || !equals[1])
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not CONTAINER=DIR, nor PID=DIR",
					arg);
	return add_string(&options->roots, arg);
}

struct ebt_error *option_sysroot(struct options *options, const char *arg)
{
	options->sysroot = arg;
	return NULL;
}

struct ebt_error *option_debuginfod(struct options *options, const char *arg)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	bool set = urls && *urls;

	if (!arg && !set)
		return ebt_error_create(EBT_ERR_INVALID,
					"which servers? DEBUGINFOD_URLS is not set, and there is "
					"no --debuginfod=URLS");
	options->debuginfod = true;
	options->debuginfod_urls = NULL;
	if (arg && !strcmp(arg, "env"))
		options->debuginfod = set;
	else
		options->debuginfod_urls = arg;
	return NULL;
}

struct ebt_error *option_debuginfod_timeout(struct options *options, const char *arg)
{
	struct ebt_error *err = options_parse_duration(arg, &options->debuginfod_timeout_ns);

	if (!err && !options->debuginfod_timeout_ns)
		return ebt_error_create(EBT_ERR_INVALID, "'%s' leaves no time at all", arg);
	return err;
}

struct ebt_error *option_no_symbols(struct options *options, const char *arg)
{
	(void)arg;
	options->no_symbols = true;
	return NULL;
}

struct ebt_error *option_no_inline(struct options *options, const char *arg)
{
	(void)arg;
	options->no_inline = true;
	return NULL;
}

struct ebt_error *option_no_symbol_cache(struct options *options, const char *arg)
{
	(void)arg;
	options->no_symbol_cache = true;
	return NULL;
}

struct ebt_error *option_help(struct options *options, const char *arg)
{
	(void)arg;
	options->help = true;
	return NULL;
}
