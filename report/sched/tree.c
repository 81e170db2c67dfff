/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport sched --tree: who woke whom; see views.h. */
#include <inttypes.h>

#include "report/base/names.h"
#include "report/base/text.h"
#include "report/out/out.h"
#include "report/sched/feed.h"
#include "report/sched/model_waketree.h"
#include "report/sched/views.h"

struct tree_view {
	struct trace *trace;
	struct out *out;
	const struct names *names;
	struct waketree *tree;
};

static struct ebt_error *on_run(void *arg, const struct sched_run *run)
{
	(void)arg;
	(void)run;
	return NULL;
}

static struct ebt_error *on_off(void *arg, const struct sched_off *off)
{
	struct tree_view *v = arg;
	bool counted = sched_feed_wanted(v->trace, off->task, off->cpu) ||
		       (off->waker && trace_has_task_filter(v->trace) &&
			sched_feed_wanted(v->trace, off->waker, off->cpu));

	return waketree_off(v->tree, off, counted);
}

static struct ebt_error *on_row(void *arg, const struct ebt_row *row)
{
	struct tree_view *v = arg;

	return row->batch->table->id == EBT_T_sched_waking ? waketree_waking(v->tree, row) : NULL;
}

static const struct out_column columns[] = {
	{ "thread", "THREAD", OUT_STRING, OUT_TEXT_ONLY | OUT_INDENT | OUT_FLEX },
	{ "tid", NULL, OUT_U64, OUT_DETAIL },
	{ "pid", NULL, OUT_U64, OUT_DETAIL },
	{ "comm", NULL, OUT_STRING, OUT_DETAIL },
	{ "interrupt", NULL, OUT_BOOL, OUT_DETAIL },
	{ "again", NULL, OUT_BOOL, OUT_DETAIL },
	{ "count", "WAKE-UPS", OUT_U64, 0 },
	{ "soft_count", NULL, OUT_U64, OUT_DETAIL },
	{ "latency_total_ns", "LATENCY", OUT_DURATION, 0 },
	{ "latency_avg_ns", "AVG", OUT_DURATION, 0 },
	{ "latency_max_ns", "MAX", OUT_DURATION, 0 },
	{ "latency_max_at_ns", "MAX-AT", OUT_TIME, OUT_OPTIONAL },
	{ "chain_avg_ns", "CHAIN-AVG", OUT_DURATION, OUT_OPTIONAL },
	{ "count_below", "WITH BELOW", OUT_U64, OUT_OPTIONAL },
};

static struct ebt_error *put_node(struct tree_view *v, const struct waketree_node *node)
{
	const struct ebt_task *task = node->task;
	const struct ebt_str name = task ? names_task(v->names, task) : (struct ebt_str){ "", 0 };
	const bool woken = node->count > 0;
	_cleanup_text_ struct text label = TEXT_INIT;

	if (task) {
		text_task(&label, name, task->tid);
		text_cstr(&label, node->again ? " again" : "");
	} else {
		text_cstr(&label, "[interrupt]");
	}
	if (text_error(&label))
		return text_error(&label);
	return out_row(v->out, node->depth - 1,
		       (struct out_value[]){
			       out_str(text_str(&label)),
			       task ? out_u64(task->tid) : out_null(),
			       task ? out_u64(task->pid) : out_null(),
			       task ? out_str(name) : out_null(),
			       out_u64(!task),
			       out_u64(node->again),
			       out_u64_if(woken, node->count),
			       out_u64_if(woken, node->soft),
			       out_u64_if(woken, node->latency_ns),
			       woken ? out_u64(node->latency_ns / node->count) : out_null(),
			       out_u64_if(woken, node->max_ns),
			       out_u64_if(woken, node->max_at),
			       out_u64_if(woken, node->chain_ns),
			       out_u64(node->below),
		       });
}

static struct ebt_error *put_nodes(struct tree_view *v)
{
	static const struct out_table table =
		OUT_TABLE("rows", columns, .flags = OUT_KEEP_ORDER | OUT_TREE);

	return out_rows(v->out, &table, waketree_n(v->tree), i,
			put_node(v, waketree_node(v->tree, i)));
}

struct ebt_error *sched_tree(struct report *report)
{
	_cleanup_(waketree_destroyp) struct waketree *tree = NULL;
	struct tree_view v = { .trace = report->trace, .out = report->out };
	const struct sched_feed feed = {
		.handler = { .run = on_run, .off = on_off },
		.row = on_row,
		.arg = &v,
	};
	struct ebt_error *err = trace_names(report->trace, &v.names);
	bool partial;

	if (!err)
		err = waketree_create(&tree);
	v.tree = tree;
	if (err)
		return err;
	err = sched_feed_run(report->trace, &feed, &partial);
	if (err)
		return err;
	err = waketree_finish(tree);
	if (err)
		return err;
	err = put_nodes(&v);
	if (!err && waketree_left_out(tree))
		err = trace_warn(report->trace,
				 "%" PRIu64 " wake-ups are in longer or more chains than fit",
				 waketree_left_out(tree));
	return err;
}
