/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changes would bring; see what_if.h. */
#include "report/why/what_if.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/text.h"
#include "report/out/out.h"
#include "report/why/replay.h"

#define MAX_CHANGES	  32 /* in one --what-if */
#define MAX_OPPORTUNITIES 12
#define MAX_FACTOR	  1000
#define MAX_CPUS	  8192

struct what_if {
	struct report *report;
	const struct why *why;
	const struct names *names;
	struct why_replay *replay;
	uint64_t wall_ns, replayed_ns; /* as recorded, and what the replay makes of that */
	char *owned[MAX_CHANGES];      /* names of changes */
	size_t n_owned;
};

static const struct {
	const char *prefix;
	enum why_change_of of;
} kinds[] = {
	{ "wait:", WHY_OF_WAIT },
	{ "process:", WHY_OF_PROCESS },
	{ "function:", WHY_OF_FUNCTION },
	{ "object:", WHY_OF_OBJECT },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* --- what is asked for --- */

static struct ebt_error *nothing_like(const char *name)
{
	return ebt_error_create(
		EBT_ERR_INVALID,
		"--what-if: nothing that was recorded is called '%s': a function "
		"that samples met, a process, a file, device, lock or peer that was "
		"waited for, a kind of wait (disk, timer …), or cpus; 'function:', "
		"'process:', 'object:' or 'wait:' may stand before it",
		name);
}

static bool is_wait(const char *name)
{
	for (int i = 0; i < WAIT_N_REASONS; i++) {
		if (!strcmp(wait_reason_name((enum wait_reason)i), name))
			return true;
	}
	return false;
}

/* By its prefix, or by what there is. That there were no waits of a kind is no mistake. */
static struct ebt_error *find_kind(const struct what_if *w, struct why_change *change)
{
	const char *name = change->name;
	struct ebt_error *err = NULL;
	uint64_t ns = 0;

	change->of = WHY_OF_WAIT;
	if (is_wait(name))
		return NULL;

	for (size_t i = 0; !err && !ns && i < N_KINDS; i++) {
		const size_t len = strlen(kinds[i].prefix);

		change->of = kinds[i].of;
		change->name = name;
		if (!strncmp(name, kinds[i].prefix, len))
			change->name = name + len;
		else if (kinds[i].of != WHY_OF_OBJECT && strchr(name, ':') && !strstr(name, "::"))
			continue;
		err = why_replay_concerns(w->replay, change, &ns);
	}
	return err || ns ? err : nothing_like(name);
}

static struct ebt_error *parse_change(struct what_if *w, const char *text, size_t len,
				      struct why_change *ret)
{
	char *name = strndup(text, len), *factor = name ? strrchr(name, '=') : NULL, *end;

	if (!name)
		return &ebt_enomem;
	w->owned[w->n_owned++] = name;
	if (factor) {
		*factor++ = '\0';
		ret->factor = strtod(factor, &end);
	}
	if (!factor || end == factor || *end || !(ret->factor >= 0 && ret->factor <= MAX_FACTOR))
		return ebt_error_create(EBT_ERR_INVALID,
					"--what-if: '%.*s' is no NAME=FACTOR, as in memcpy=0.5, "
					"gcc=0, disk=0.1 or cpus=8",
					(int)len, text);
	ret->name = name;
	if (strcmp(name, "cpus") != 0)
		return find_kind(w, ret);
	ret->of = WHY_OF_CPUS;
	ret->cpus = (uint32_t)ret->factor;
	if (ret->factor < 1 || ret->factor > MAX_CPUS)
		return ebt_error_create(EBT_ERR_INVALID, "--what-if: cpus=%g is not 1 to %d",
					ret->factor, MAX_CPUS);
	return NULL;
}

static struct ebt_error *parse_changes(struct what_if *w, const char *text,
				       struct why_change ret[MAX_CHANGES], size_t *ret_n)
{
	struct ebt_error *err = NULL;

	*ret_n = 0;
	while (!err && text && *text) {
		size_t len;
		const char *piece = cli_take_piece(&text, &len);

		if (*ret_n == MAX_CHANGES)
			return ebt_error_create(EBT_ERR_INVALID, "--what-if: more than %d changes",
						MAX_CHANGES);
		err = parse_change(w, piece, len, &ret[*ret_n]);
		*ret_n += !err;
	}
	return err;
}

/* --- rows --- */

#define CHANGES(X)                                                                \
	X("change", "CHANGE", OUT_STRING, out_cstr(name), OUT_FLEX)               \
	X("wall_ns", "RECORDED", OUT_DURATION, out_u64(w->wall_ns))               \
	X("replayed_ns", "REPLAYED", OUT_DURATION, out_u64(w->replayed_ns))       \
	X("predicted_ns", "PREDICTED", OUT_DURATION, out_u64(predicted))          \
	X("saved_ns", "SAVED", OUT_DURATION,                                      \
	  out_u64(w->wall_ns > predicted ? w->wall_ns - predicted : 0), OUT_SORT) \
	X("saved_percent", "SAVED-%", OUT_FLOAT,                                  \
	  out_f64(w->wall_ns ? 100.0 - 100.0 * (double)predicted / (double)w->wall_ns : 0))

static struct ebt_error *put_change(const struct what_if *w, const char *name,
				    const struct why_change *changes, size_t n)
{
	uint64_t ns, predicted = 0;
	struct ebt_error *err = why_replay_run(w->replay, changes, n, &ns);

	if (err)
		return err;
	/* What the replay is wrong by without any change, it is with one. */
	if (w->replayed_ns)
		predicted = (uint64_t)((double)w->wall_ns * (double)ns / (double)w->replayed_ns);
	return out_row(w->report->out, 0, OUT_VALUES(CHANGES));
}

/* --- what would bring most --- */

/* Of the causes, the longest first. False: nobody can change that. */
static bool change_of(const struct what_if *w, const struct why_cause *cause, struct text *text,
		      struct why_change *ret)
{
	const struct ebt_task *task = why_task(w->why, cause->task);
	uint32_t n;
	const struct calltree_func *funcs = calltree_funcs(why_graph_tree(w->why->graph), &n);

	text_clear(text);
	ret->factor = 0.5;
	switch ((enum why_kind)cause->kind) {
	case WHY_WAIT:
		ret->of = WHY_OF_WAIT;
		text_cstr(text, wait_reason_name((enum wait_reason)cause->what));
		return true;
	case WHY_CPU:
		ret->of = cause->func < n ? WHY_OF_FUNCTION : WHY_OF_PROCESS;
		if (cause->func < n)
			text_cstr(text, funcs[cause->func].name);
		else if (task)
			text_add(text, names_process(w->names, task).data,
				 names_process(w->names, task).len);
		return true;
	case WHY_RUNQUEUE:
	case WHY_UNKNOWN:
		break;
	}
	return false;
}

/* A name as a glob that matches it alone. */
static char *quote(const char *name)
{
	char *ret = malloc(2 * strlen(name) + 1), *to = ret;

	for (; ret && *name; *to++ = *name++) {
		if (strchr("*?[\\", *name))
			*to++ = '\\';
	}
	if (ret)
		*to = '\0';
	return ret;
}

struct opportunity {
	struct why_change change;
	char *name;
};

static bool is_there(const struct opportunity *list, size_t n, enum why_change_of of,
		     const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (list[i].change.of == of && !strcmp(list[i].name, name))
			return true;
	}
	return false;
}

static struct ebt_error *put_opportunity(struct what_if *w, struct opportunity *found)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	char *glob = quote(found->name);
	struct ebt_error *err;

	if (!glob)
		return &ebt_enomem;
	found->change.name = found->change.of == WHY_OF_WAIT ? found->name : glob;
	for (size_t i = 0; i < N_KINDS; i++) {
		if (kinds[i].of == found->change.of)
			text_cstr(&line, kinds[i].prefix);
	}
	text_printf(&line, "%s=%g", found->name, found->change.factor);
	err = text_error(&line) ?: put_change(w, text_get(&line), &found->change, 1);
	free(glob);
	return err;
}

static struct ebt_error *put_cpus(const struct what_if *w)
{
	const struct why_change more = { .of = WHY_OF_CPUS,
					 .cpus = 2 * why_replay_cpus(w->replay) };
	char name[32];

	snprintf(name, sizeof(name), "cpus=%" PRIu32, more.cpus);
	return put_change(w, name, &more, 1);
}

/* Each of the longest causes at half of its time, and twice the CPUs. */
static struct ebt_error *put_opportunities(struct what_if *w)
{
	struct opportunity list[MAX_OPPORTUNITIES] = { 0 };
	_cleanup_text_ struct text name = TEXT_INIT;
	struct ebt_error *err = put_cpus(w);
	size_t n = 0;

	for (size_t i = 0; !err && i < w->why->n_causes && n < MAX_OPPORTUNITIES; i++) {
		struct opportunity *next = &list[n];

		if (!change_of(w, &w->why->causes[i], &name, &next->change) || !name.len ||
		    is_there(list, n, next->change.of, text_get(&name)))
			continue;
		next->name = strdup(text_get(&name));
		err = next->name ? NULL : &ebt_enomem;
		n += !err;
		if (!err)
			err = put_opportunity(w, next);
	}
	for (size_t i = 0; i < n; i++)
		free(list[i].name);
	return err;
}

/* --- the table --- */

static struct ebt_error *put_rows(struct what_if *w)
{
	const struct out_table table = OUT_TABLE_OF("rows", CHANGES);
	const char *text = options_string(w->report->options, "what-if");
	struct why_change changes[MAX_CHANGES] = { 0 };
	size_t n;
	struct ebt_error *err =
		parse_changes(w, text, changes, &n) ?: out_begin(w->report->out, &table);

	if (!err && text)
		err = put_change(w, text, changes, n);
	if (!err && options_flag(w->report->options, "opportunities"))
		err = put_opportunities(w);
	return err ? err : out_end(w->report->out);
}

struct ebt_error *why_put_what_if(struct report *report, const struct why *why,
				  const struct names *names)
{
	struct what_if w = { .report = report,
			     .why = why,
			     .names = names,
			     .wall_ns = why->path.to - why->path.from };
	struct ebt_error *err = why_replay_create(why, names, &w.replay) ?:
				why_replay_run(w.replay, NULL, 0, &w.replayed_ns) ?:
				put_rows(&w);

	why_replay_destroy(w.replay);
	for (size_t i = 0; i < w.n_owned; i++)
		free(w.owned[i]);
	return err;
}
