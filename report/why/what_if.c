/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changes would bring; see what_if.h. */
#include "report/why/what_if.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/text.h"
#include "report/out/out.h"
#include "report/why/candidates.h"

#define MAX_CHANGES 32 /* in one --what-if */
#define MAX_FACTOR  1000
#define MAX_CPUS    8192

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

#define CHANGES(X)                                                                          \
	X("change", "CHANGE", OUT_STRING, out_cstr(name), OUT_FLEX)                         \
	X("wall_ns", "RECORDED", OUT_DURATION, out_u64(w->wall_ns))                         \
	X("replayed_ns", "REPLAYED", OUT_DURATION, out_u64(w->replayed_ns))                 \
	X("predicted_ns", "PREDICTED", OUT_DURATION, out_u64(predicted))                    \
	X("saved_ns", "SAVED", OUT_DURATION,                                                \
	  out_u64(w->wall_ns > predicted ? w->wall_ns - predicted : 0), OUT_SORT)           \
	X("saved_percent", "SAVED-%", OUT_FLOAT,                                            \
	  out_f64(w->wall_ns ? 100.0 - 100.0 * (double)predicted / (double)w->wall_ns : 0)) \
	X("uncertain_percent", "UNCERTAIN-%", OUT_FLOAT,                                    \
	  out_f64(w->wall_ns ? 100 * uncertain / (double)w->wall_ns : 0), 0, 100)

/* Of the path, what no row tells the cause of. */
static uint64_t unknown_ns(const struct why *why)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < why->n_causes; i++) {
		const struct why_cause *cause = &why->causes[i];

		if (cause->kind == WHY_UNKNOWN ||
		    (cause->kind == WHY_WAIT && cause->wake == WHY_WAKE_SOFT_INTERRUPT))
			ret += cause->ns;
	}
	return ret;
}

/* So many ns of the recorded time may take another way than the replay: those that it got wrong
 * without a change, those whose cause is not known, and what samples are wrong by: one standard
 * error. */
static double uncertain_ns(const struct what_if *w, const struct why_change *changes, size_t n,
			   uint64_t predicted)
{
	const double wall = (double)w->wall_ns, replayed = (double)w->replayed_ns;
	double ret =
		(wall > replayed ? wall - replayed : replayed - wall) + (double)unknown_ns(w->why);
	bool sampled = false;

	for (size_t i = 0; i < n; i++)
		sampled |= changes[i].of == WHY_OF_FUNCTION;
	if (sampled && w->why->samples && w->wall_ns > predicted)
		ret += (wall - (double)predicted) / sqrt((double)w->why->samples);
	return ret < wall ? ret : wall;
}

static struct ebt_error *put_change(const struct what_if *w, const char *name,
				    const struct why_change *changes, size_t n)
{
	uint64_t ns, predicted = 0;
	struct ebt_error *err = why_replay_run(w->replay, changes, n, &ns);
	double uncertain;

	if (err)
		return err;
	/* What the replay is wrong by without any change, it is with one. */
	if (w->replayed_ns)
		predicted = (uint64_t)((double)w->wall_ns * (double)ns / (double)w->replayed_ns);
	uncertain = uncertain_ns(w, changes, n, predicted);
	return out_row(w->report->out, 0, OUT_VALUES(CHANGES));
}

/* --- what would bring most --- */

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

static struct ebt_error *put_candidate(struct what_if *w, const struct why_candidate *found)
{
	struct why_change change = { .of = found->of, .name = found->name, .factor = 0.5 };
	_cleanup_text_ struct text line = TEXT_INIT;
	_cleanup_free_ char *glob = quote(found->name);

	if (!glob)
		return &ebt_enomem;
	if (found->of != WHY_OF_WAIT)
		change.name = glob;
	for (size_t i = 0; i < N_KINDS; i++) {
		if (kinds[i].of == found->of)
			text_cstr(&line, kinds[i].prefix);
	}
	text_printf(&line, "%s=%g", found->name, change.factor);
	return text_error(&line) ?: put_change(w, text_get(&line), &change, 1);
}

static struct ebt_error *put_cpus(const struct what_if *w)
{
	const struct why_change more = { .of = WHY_OF_CPUS,
					 .cpus = 2 * why_replay_cpus(w->replay) };
	char name[32];

	snprintf(name, sizeof(name), "cpus=%" PRIu32, more.cpus);
	return put_change(w, name, &more, 1);
}

/* Each at half of its time, and twice the CPUs. */
static struct ebt_error *put_opportunities(struct what_if *w)
{
	struct why_candidate list[WHY_MAX_CANDIDATES];
	size_t n;
	struct ebt_error *err = why_candidates_find(w->why, w->names, list, &n) ?: put_cpus(w);

	for (size_t i = 0; !err && i < n; i++)
		err = put_candidate(w, &list[i]);
	why_candidates_deinit(list, n);
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
