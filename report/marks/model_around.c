/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happened during marks; see model_around.h. */
#include "report/marks/model_around.h"

#include <stdlib.h>

#include "format/base/cleanup.h"
#include "report/marks/arrange.h"
#include "report/sched/feed.h"

/* --- what weighs most --- */

static void tally_deinit(struct tally *tally)
{
	free(tally->entries);
	ebt_map_deinit(&tally->at);
}

/* owner: below 2^24; what: below 2^40. */
static struct ebt_error *tally_add(struct tally *tally, uint32_t owner, uint64_t what,
				   uint64_t weight)
{
	struct tally_entry *entry;
	struct ebt_error *err;
	uint32_t i;

	err = ebt_map_element(&tally->at, (uint64_t)owner << 40 | what, &tally->entries, &tally->n,
			      &tally->capacity, &i);
	if (err)
		return err;
	entry = &tally->entries[i];
	*entry = (struct tally_entry){ owner, what, entry->weight + weight };
	return NULL;
}

/* ret[owner], for each below n: the entry that weighs most; weight 0: there is none. */
static void tally_heaviest(const struct tally *tally, struct tally_entry *ret, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ret[i] = (struct tally_entry){ .owner = i };
	for (size_t i = 0; i < tally->n; i++) {
		const struct tally_entry *entry = &tally->entries[i];

		if (entry->owner < n && entry->weight > ret[entry->owner].weight)
			ret[entry->owner] = *entry;
	}
}

/* --- the spans --- */

/* As far as switches tell what happened. */
static struct ebt_error *add_span(const struct around *around, struct span_set *set, size_t i,
				  uint32_t id)
{
	const struct mark *mark = marks_at(around->marks, i);
	uint64_t from = mark->start > around->from ? mark->start : around->from;
	uint64_t to = mark->end < around->to ? mark->end : around->to;

	return span_set_add(set, mark->task, from, to, id);
}

static struct ebt_error *add_all(struct around *around)
{
	struct around_sum *sum = &around->sum;
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < marks_n(around->marks); i++) {
		const struct mark *mark = marks_at(around->marks, i);
		const uint64_t ns = mark_duration(mark);

		if (mark->kind != MARK_SPAN) {
			sum->instants++;
			continue;
		}
		sum->unowned += !mark->task && around->options.scope != SPAN_OF_SYSTEM;
		sum->sum_ns = sum->sum_ns + ns < ns ? UINT64_MAX : sum->sum_ns + ns;
		sum->max_ns = ns > sum->max_ns ? ns : sum->max_ns;
		sum->marks++;
		err = add_span(around, around->all, i, 0);
	}
	span_set_finish(around->all, true);
	sum->covered_ns = span_set_total_ns(around->all);
	return err;
}

static struct ebt_error *add_longest(struct around *around)
{
	size_t n, most = around->options.slowest;
	_cleanup_free_ uint32_t *longest = NULL;
	struct ebt_error *err = marks_longest(around->marks, true, &longest, &n);

	if (err)
		return err;
	most = most < AROUND_MAX_SLOWEST ? most : AROUND_MAX_SLOWEST;
	n = n < most ? n : most;
	around->slowest = calloc(n + 1, sizeof(*around->slowest));
	if (!around->slowest)
		return &ebt_enomem;
	around->n_slowest = (uint32_t)n;
	for (uint32_t i = 0; !err && i < n; i++) {
		around->slowest[i].mark = longest[i];
		err = add_span(around, around->each, longest[i], i);
	}
	span_set_finish(around->each, false);
	return err;
}

static struct ebt_error *add_spans(struct around *around)
{
	const struct names *names;
	struct ebt_error *err;

	err = trace_names(around->trace, &names);
	if (err)
		return err;
	err = span_set_create(around->options.scope, names, &around->all);
	if (err)
		return err;
	err = span_set_create(around->options.scope, names, &around->each);
	if (err)
		return err;
	err = add_all(around);
	return err || !around->options.slowest ? err : add_longest(around);
}

/* --- for each of the longest --- */

/* An interval of a thread, on its way to the marks that it is in. */
struct told {
	struct around *around;
	const struct wall_interval *interval;
	uint32_t func; /* that called for it; UINT32_MAX: not known */
};

static struct ebt_error *take_piece(void *arg, const struct span_piece *piece)
{
	const struct told *told = arg;
	const enum wall_kind kind = told->interval->kind;
	const uint64_t ns = piece->to - piece->from;

	told->around->slowest[piece->id].ns[kind] += ns;
	if (kind < WALL_SLEEP || told->func == UINT32_MAX)
		return NULL;
	return tally_add(&told->around->blocked, piece->id, told->func, ns);
}

static struct ebt_error *on_interval(void *arg, const struct ebt_task *task,
				     const struct wall_interval *interval)
{
	struct told told = { arg, interval, UINT32_MAX };

	if (interval->node)
		told.func = calltree_caller(wall_tree(told.around->wall), interval->node);
	return span_set_each(told.around->each, task, interval->from, interval->to, take_piece,
			     &told);
}

struct sampled {
	struct around *around;
	uint32_t func;
	bool known;
};

static struct ebt_error *take_sample(void *arg, const struct span_piece *piece)
{
	const struct sampled *sampled = arg;

	sampled->around->slowest[piece->id].samples++;
	if (!sampled->known)
		return NULL;
	return tally_add(&sampled->around->functions, piece->id, sampled->func, 1);
}

static struct ebt_error *on_sample(void *arg, const struct ebt_task *task, uint64_t time,
				   uint32_t node)
{
	struct sampled sampled = { .around = arg };
	const struct calltree *tree = wall_tree(sampled.around->wall);
	uint32_t n;

	sampled.func = calltree_nodes(tree, &n)[node].func;
	sampled.known = node && calltree_funcs(tree, &n)[sampled.func].kind != CALLTREE_ROOT;
	return span_set_each(sampled.around->each, task, time, time, take_sample, &sampled);
}

struct called {
	struct around *around;
	uint64_t what;
};

static struct ebt_error *take_call(void *arg, const struct span_piece *piece)
{
	const struct called *called = arg;
	struct around_slow *slow = &called->around->slowest[piece->id];

	slow->calls++;
	slow->calls_ns += piece->to - piece->from;
	return tally_add(&called->around->calls, piece->id, called->what, piece->to - piece->from);
}

static struct ebt_error *on_call(void *arg, const struct ebt_row *row)
{
	const uint64_t duration = ebt_syscall_duration(row);
	const uint64_t nr = (uint32_t)ebt_syscall_nr(row);
	struct called called = { arg,
				 nr << 1 | (ebt_syscall_abi(row) != EBT_V_syscall_abi_native) };

	return span_set_each(called.around->each, ebt_syscall_task(row),
			     row->time > duration ? row->time - duration : 0, row->time, take_call,
			     &called);
}

static struct ebt_error *find_heaviest(struct around *around)
{
	const uint32_t n = around->n_slowest;
	_cleanup_free_ struct tally_entry *best = calloc((size_t)n + 1, sizeof(*best));
	uint32_t n_funcs;
	const struct calltree_func *funcs = calltree_funcs(wall_tree(around->wall), &n_funcs);

	if (!best)
		return &ebt_enomem;
	tally_heaviest(&around->functions, best, n);
	for (uint32_t i = 0; i < n; i++) {
		around->slowest[i].function = best[i].weight ? funcs[best[i].what].name : NULL;
		around->slowest[i].function_samples = best[i].weight;
	}
	tally_heaviest(&around->blocked, best, n);
	for (uint32_t i = 0; i < n; i++) {
		around->slowest[i].blocked_in = best[i].weight ? funcs[best[i].what].name : NULL;
		around->slowest[i].blocked_ns = best[i].weight;
	}
	tally_heaviest(&around->calls, best, n);
	for (uint32_t i = 0; i < n; i++) {
		around->slowest[i].top_nr = (uint32_t)(best[i].what >> 1);
		around->slowest[i].top_compat = best[i].what & 1;
		around->slowest[i].top_ns = best[i].weight;
	}
	return NULL;
}

/* --- all together --- */

static struct ebt_error *read_wall(struct around *around)
{
	const struct wall_options options = {
		.roots = CALLTREE_BY_COMM,
		.figures_only = around->options.figures_only,
		.within = around->all,
		.interval = around->n_slowest ? on_interval : NULL,
		.sample = around->n_slowest ? on_sample : NULL,
		.arg = around,
	};
	struct around_sum *sum = &around->sum;
	const struct wall_thread *threads;
	uint32_t n;
	struct ebt_error *err = wall_create(around->trace, &options, &around->wall);

	if (err)
		return err;
	err = wall_read(around->wall);
	if (err)
		return err;
	threads = wall_threads(around->wall, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (!threads[i].task)
			continue;
		sum->threads++;
		sum->threads_ns +=
			span_set_ns(around->all, threads[i].task, threads[i].from, threads[i].to);
		sum->samples += threads[i].samples;
		for (int kind = 0; kind < WALL_N_KINDS; kind++)
			sum->ns[kind] += threads[i].ns[kind];
	}
	return NULL;
}

static struct ebt_error *read_syscalls(struct around *around)
{
	const struct syscall_within within = {
		.spans = around->all,
		.call = around->n_slowest ? on_call : NULL,
		.arg = around,
	};

	return syscall_model_create(around->trace, &within, &around->syscalls);
}

static struct ebt_error *count_event(void *arg, const struct ebt_row *row)
{
	struct around *around = arg;
	const bool fault = row->batch->table->id == EBT_T_fault;
	const struct ebt_task *task = fault ? ebt_fault_task(row) : ebt_block_io_task(row);
	const uint64_t duration = fault ? ebt_fault_duration(row) : ebt_block_io_duration(row);
	const uint64_t began = row->time > duration ? row->time - duration : 0;
	struct around_events *events = &around->events[AROUND_BLOCK_IO];

	if (!span_set_touches(around->all, task, began, row->time))
		return NULL;
	if (fault)
		events = &around->events[ebt_fault_kind(row) != EBT_V_fault_kind_minor
						 ? AROUND_MAJOR_FAULT
						 : AROUND_MINOR_FAULT];
	else
		events->bytes += ebt_block_io_bytes(row);
	events->count++;
	events->ns += span_set_ns(around->all, task, began, row->time);
	return NULL;
}

static struct ebt_error *read_events(struct around *around)
{
	static const struct ebt_want wants[] = {
		EBT_WANT(fault, task, kind, duration),
		EBT_WANT(block_io, task, duration, bytes),
	};

	return trace_read_rows(around->trace, wants, 2, 0, count_event, around);
}

struct ebt_error *around_create(struct trace *trace, const struct marks *marks,
				const struct around_options *options, struct around **ret)
{
	_cleanup_(around_destroyp) struct around *around = calloc(1, sizeof(*around));
	struct ebt_error *err;

	if (!around)
		return &ebt_enomem;
	around->trace = trace;
	around->marks = marks;
	around->options = *options;
	sched_feed_bounds(trace, &around->from, &around->to);
	err = add_spans(around);
	if (err)
		return err;
	err = read_wall(around);
	if (err)
		return err;
	err = read_syscalls(around);
	if (err)
		return err;
	err = read_events(around);
	if (err)
		return err;
	err = find_heaviest(around);
	if (!err)
		*ret = take_ptr(around);
	return err;
}

void around_destroy(struct around *around)
{
	if (!around)
		return;
	wall_destroy(around->wall);
	syscall_model_destroy(around->syscalls);
	span_set_destroy(around->all);
	span_set_destroy(around->each);
	tally_deinit(&around->functions);
	tally_deinit(&around->blocked);
	tally_deinit(&around->calls);
	free(around->slowest);
	free(around);
}
