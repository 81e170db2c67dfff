/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes by name; see probe.h. */
#include "report/trees/probe.h"

#include <fnmatch.h>
#include <string.h>

#include "format/base/spelling.h"
#include "report/trace/probe_args.h"

/* Ends of "libstdc++.so.6.0.30" that may be left out. */
#define MAX_ENDS 6
/* Probes that are told by name. */
#define MAX_TOLD 20
/* More than a recording has; of a file that means no good. */
#define MAX_PROBES 1024

/* Returns true to stop. */
typedef bool spelling_fn(void *arg, const char *spelling);

struct speller {
	const struct probe *probe;
	spelling_fn *fn;
	void *arg;
	struct text text;
};

static const char *kind_name(const struct probe *probe)
{
	static const char *const names[] = { "tp", "uprobe", "usdt" };

	return probe->kind < sizeof(names) / sizeof(*names) ? names[probe->kind] : "probe";
}

static const char *file_name(const struct probe *probe)
{
	const char *slash = strrchr(probe->path, '/');

	return slash ? slash + 1 : probe->path;
}

/* The name behind a group or a file, if len is not 0, with and without the kind before them. */
static bool spell(struct speller *s, const char *place, size_t len, const char *provider)
{
	bool stop = false;

	for (int with_kind = 0; with_kind < 2 && !stop; with_kind++) {
		text_clear(&s->text);
		if (with_kind)
			text_printf(&s->text, "%s:", kind_name(s->probe));
		text_add(&s->text, place, len);
		if (len)
			text_addc(&s->text, ':');
		if (provider)
			text_printf(&s->text, "%s:", provider);
		text_cstr(&s->text, s->probe->name);
		stop = s->fn(s->arg, text_get(&s->text));
	}
	return stop;
}

/* The file may have been named by a link, which has less of its version. */
static bool spell_file(struct speller *s, const char *file)
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
	const char *provider = s->probe->kind == EBT_V_probe_kind_usdt ? s->probe->group : NULL;
	size_t len = strlen(file);
	bool stop = spell(s, file, len, provider);

	for (int i = 0; i < MAX_ENDS && !stop; i++) {
		const char *dot = memrchr(base, '.', len - (size_t)(base - file));

		if (!dot || dot == base)
			break;
		len = (size_t)(dot - file);
		stop = spell(s, file, len, provider);
	}
	return stop;
}

/* Calls fn with what somebody may write who means this probe, until it says true: *ret. */
static struct ebt_error *each_spelling(const struct probe *probe, spelling_fn *fn, void *arg,
				       bool *ret)
{
	struct speller s = { .probe = probe, .fn = fn, .arg = arg };
	struct ebt_error *err;

	*ret = spell(&s, "", 0, NULL) || spell(&s, probe->group, strlen(probe->group), NULL) ||
	       (*probe->path && (spell_file(&s, probe->path) || spell_file(&s, file_name(probe))));
	err = text_error(&s.text);
	text_deinit(&s.text);
	return err;
}

/* What tells it from all others, as a rule. */
static void add_title(const struct probe *probe, struct text *text)
{
	text_printf(text, "%s:", kind_name(probe));
	if (probe->kind == EBT_V_probe_kind_usdt)
		text_printf(text, "%s:", file_name(probe));
	text_printf(text, "%s:%s", probe->group, probe->name);
}

/* --- finding --- */

struct wanted {
	const char *text;
	bool glob;
};

static bool fits(void *arg, const char *spelling)
{
	const struct wanted *wanted = arg;

	return wanted->glob ? !fnmatch(wanted->text, spelling, 0) : !strcmp(wanted->text, spelling);
}

/* What has no colon is a name: "u*" does not mean all that begin with "uprobe:". */
static struct ebt_error *is_meant(const struct probe *probe, struct wanted *wanted, bool *ret)
{
	if (strchr(wanted->text, ':'))
		return each_spelling(probe, fits, wanted, ret);
	*ret = fits(wanted, probe->name);
	return NULL;
}

/* Without the folder of "uprobe:./program:function", which is not the same to who reads. */
static struct ebt_error *take_folder(const char *want, struct text *ret)
{
	const char *colon = strchr(want, ':'), *file = colon ? colon + 1 : NULL, *slash;
	bool has_file = !strncmp(want, "uprobe:", 7) || !strncmp(want, "usdt:", 5);
	size_t len = has_file ? strcspn(file, ":") : 0;

	slash = len && *file != '/' ? memrchr(file, '/', len) : NULL;
	text_add(ret, want, slash ? (size_t)(file - want) : strlen(want));
	if (slash)
		text_cstr(ret, slash + 1);
	return text_error(ret);
}

/* "main+0x12" and "main+0" are places, of which no return is seen. */
static bool is_call(const struct probe *probe)
{
	const char *plus = strrchr(probe->name, '+');
	char *end = NULL;

	if (plus && plus[1] >= '0' && plus[1] <= '9')
		strtoull(plus + 1, &end, 0);
	return probe->kind == EBT_V_probe_kind_uprobe && (!end || *end);
}

static struct ebt_error *choose(const struct probe *list, size_t n, struct wanted wanted,
				struct tree_probes *ret)
{
	const struct probe *one = NULL;
	_cleanup_text_ struct text title = TEXT_INIT;
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < n && i < MAX_PROBES && !err; i++) {
		uint32_t unused;
		bool is;

		err = is_meant(&list[i], &wanted, &is);
		if (err || !is)
			continue;
		one = &list[i];
		ret->calls |= is_call(one);
		err = ebt_map_add(&ret->numbers, one->number, (uint32_t)ret->numbers.n, &unused);
	}
	if (err || !one)
		return err;
	if (ret->numbers.n > 1)
		text_cstr(&title, wanted.text);
	else
		add_title(one, &title);
	ret->title = strdup(text_get(&title));
	return ret->title ? text_error(&title) : &ebt_enomem;
}

struct ebt_error *tree_probes_find(struct trace *trace, const char *want, struct tree_probes *ret)
{
	_cleanup_(probe_args_destroyp) struct probe_args *probes = NULL;
	_cleanup_text_ struct text text = TEXT_INIT;
	const struct probe *list;
	struct wanted wanted = { .glob = false };
	struct ebt_error *err;
	size_t n;

	err = probe_args_create(trace, &probes) ?: take_folder(want, &text);
	if (err)
		return err;
	wanted.text = text_get(&text);
	list = probe_args_all(probes, &n);
	/* Names of functions may have * and [ of their own. */
	err = choose(list, n, wanted, ret);
	wanted.glob = strpbrk(wanted.text, "*?[") != NULL;
	if (!err && !ret->title && wanted.glob)
		err = choose(list, n, wanted, ret);
	return err;
}

/* --- listing --- */

struct nearest {
	const char *want;
	size_t distance;
	bool found;
};

static bool measure(void *arg, const char *spelling)
{
	struct nearest *nearest = arg;
	size_t distance = ebt_spelling_distance(nearest->want, spelling);

	if (distance < nearest->distance) {
		nearest->distance = distance;
		nearest->found = true;
	}
	return false;
}

struct ebt_error *tree_probes_list(struct trace *trace, const char *want, struct text *names,
				   struct text *near, size_t *distance)
{
	_cleanup_(probe_args_destroyp) struct probe_args *probes = NULL;
	struct nearest nearest = { .want = want, .distance = *distance };
	const struct probe *list;
	struct ebt_error *err;
	bool stopped;
	size_t n;

	err = probe_args_create(trace, &probes);
	if (err)
		return err;
	list = probe_args_all(probes, &n);
	for (size_t i = 0; i < n && i < MAX_PROBES && !err; i++) {
		if (i < MAX_TOLD) {
			text_cstr(names, ", ");
			add_title(&list[i], names);
		}
		nearest.found = false;
		err = each_spelling(&list[i], measure, &nearest, &stopped);
		if (err || !nearest.found)
			continue;
		text_clear(near);
		add_title(&list[i], near);
	}
	if (n > MAX_TOLD)
		text_printf(names, " and %zu more %s", n - MAX_TOLD,
			    text_plural(n - MAX_TOLD, "probe", "probes"));
	*distance = nearest.distance;
	return err;
}
