/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What formats share; see export.h. */
#include "report/export/export.h"

#include <inttypes.h>
#include <string.h>

#include "report/sched/feed.h"
#include "report/sched/model_offcpu.h"
#include "report/trace/prepare.h"
#include "report/trees/feed.h"

#define EXACT (INT64_C(1) << 53) /* what a double holds */

static struct ebt_error *make_tree(struct export *e)
{
	const struct calltree_options options = {
		.roots = CALLTREE_NO_ROOTS,
		.places = true,
		.deciding = e->deciding,
	};
	struct sym *sym;
	struct ebt_error *err;

	if (e->tree)
		return NULL;
	err = trace_sym(e->trace, &sym);
	return err ? err : calltree_create(sym, &options, &e->tree);
}

struct ebt_error *export_stacks(struct export *e, uint16_t table)
{
	return make_tree(e) ?: prepare_names(e->trace, table, 0);
}

struct ebt_error *export_renew_tree(struct export *e, uint32_t most, bool *ret)
{
	uint32_t n = 0;

	if (e->tree)
		calltree_nodes(e->tree, &n);
	*ret = n > most;
	if (!*ret)
		return NULL;
	calltree_destroy(e->tree);
	e->tree = NULL;
	return make_tree(e);
}

void export_leave_out(struct export *e, const char *what, uint64_t n)
{
	size_t i = 0;

	while (i < e->n_left_out && strcmp(e->left_out[i].what, what) != 0)
		i++;
	if (!n || i == EXPORT_MOST_LEFT_OUT)
		return;
	if (i == e->n_left_out)
		e->left_out[e->n_left_out++] = (struct export_left_out){ .what = what };
	e->left_out[i].n += n;
}

void export_holds(struct export *e, const uint16_t *tables)
{
	e->held = tables;
}

/* --- samples of CPUs --- */

struct sample_reader {
	struct export *e;
	export_sample_fn *take;
	void *arg;
	uint64_t freq;
};

static struct ebt_error *take_sample(void *arg, const struct ebt_row *row)
{
	const struct sample_reader *s = arg;
	const struct calltree_stack stack = calltree_sample_stack(row);
	struct export_sample sample = {
		.time = row->time,
		.ns = tree_feed_sample_ns(row, s->freq),
		.task = stack.task,
		.cpu = (uint32_t)ebt_sample_cpu(row),
		.row = row,
	};
	struct ebt_error *err = calltree_place(s->e->tree, &stack, &sample.node);

	return err ? err : s->take(s->arg, &sample);
}

struct ebt_error *export_samples(struct export *e, export_sample_fn *take, void *arg)
{
	static const struct ebt_want want =
		EBT_WANT(sample, task, cpu, event, user, period, kstack, ustack);
	struct sample_reader s = { .e = e, .take = take, .arg = arg };
	const char *event;

	return export_stacks(e, EBT_T_sample)
		       ?: tree_feed_sampling(e->trace, &event, &s.freq)
		       ?: trace_read_rows(e->trace, &want, 1, 0, take_sample, &s);
}

/* --- who ran, who waited --- */

static struct ebt_error *take_run(void *arg, const struct sched_run *run)
{
	const struct export_intervals *intervals = arg;

	return intervals->run ? intervals->run(intervals->arg, run) : NULL;
}

static struct ebt_error *take_off(void *arg, const struct sched_off *off, uint32_t node)
{
	const struct export_intervals *intervals = arg;

	return intervals->off(intervals->arg, off, node);
}

struct ebt_error *export_intervals(struct export *e, const struct export_intervals *intervals)
{
	_cleanup_(offcpu_destroyp) struct offcpu *offcpu = NULL;
	struct offcpu_options options = { .take = take_off, .arg = (void *)intervals };
	struct sched_feed feed = {
		.handler.run = take_run,
		.arg = (void *)intervals,
		.stacks = intervals->off,
		.still = true,
	};
	struct ebt_error *err = NULL;
	bool partial;

	if (intervals->off) {
		err = make_tree(e) ?: sched_prepare_names(e->trace);
		options.tree = e->tree;
		err = err ?: offcpu_create(trace_reader(e->trace), &options, &offcpu);
		feed.offcpu = offcpu;
	}
	return err ? err : sched_feed_run(e->trace, &feed, &partial);
}

/* --- counters --- */

struct ebt_error *
export_counters(struct export *e,
		struct ebt_error *(*take)(void *arg, const struct counter *counter), void *arg)
{
	const struct counters_query query = { .points = true };
	_cleanup_(counters_model_destroyp) struct counters_model *model = NULL;
	const struct counter *const *all = NULL;
	size_t n = 0;
	struct ebt_error *err = counters_model_create(e->trace, &query, &model);

	if (!err)
		all = counters_model_all(model, &n);
	for (size_t i = 0; !err && i < n; i++)
		err = take(arg, all[i]);
	return err;
}

/* --- values --- */

void export_put_scaled(struct json *json, bool negative, uint64_t ns, unsigned int digits)
{
	uint64_t unit = 1;
	char text[40];
	int n, more = 0;

	for (unsigned int i = 0; i < digits; i++)
		unit *= 10;
	n = snprintf(text, sizeof(text), "%s%" PRIu64, negative && ns ? "-" : "", ns / unit);
	if (ns % unit)
		more = snprintf(text + n, sizeof(text) - (size_t)n, ".%0*" PRIu64, (int)digits,
				ns % unit);
	json_written(json, text, (size_t)(n + more));
}

void export_put_value(struct json *json, enum event_kind kind, int64_t value)
{
	const char *key = event_kinds[kind].value;
	char address[32];

	if (kind == EVENT_FAULT) {
		snprintf(address, sizeof(address), "%#" PRIx64, (uint64_t)value);
		json_put(json, key, cstr, address);
	} else if (key && (value > EXACT || value < -EXACT)) {
		json_put(json, key, wide_i64, value);
	} else if (key) {
		json_put(json, key, i64, value);
	}
}
