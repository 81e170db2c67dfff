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

#define NODES(X)                                                                              \
	X("thread", "THREAD", OUT_STRING, out_str(text_str(&label)),                          \
	  OUT_TEXT_ONLY | OUT_INDENT | OUT_FLEX)                                              \
	X("tid", NULL, OUT_U64, task ? out_u64(task->tid) : out_null(), OUT_DETAIL)           \
	X("pid", NULL, OUT_U64, task ? out_u64(task->pid) : out_null(), OUT_DETAIL)           \
	X("comm", NULL, OUT_STRING, task ? out_str(name) : out_null(), OUT_DETAIL)            \
	X("interrupt", NULL, OUT_BOOL, out_u64(!task), OUT_DETAIL)                            \
	X("again", NULL, OUT_BOOL, out_u64(node->again), OUT_DETAIL)                          \
	X("count", "COUNT", OUT_U64, out_u64_if(woken, node->count))                          \
	X("soft_count", NULL, OUT_U64, out_u64_if(woken, node->soft), OUT_DETAIL)             \
	X("latency_total_ns", "LAT-TOTAL", OUT_DURATION, out_u64_if(woken, node->latency_ns)) \
	X("latency_avg_ns", "LAT-AVG", OUT_DURATION,                                          \
	  woken ? out_u64(node->latency_ns / node->count) : out_null())                       \
	X("latency_max_ns", "LAT-MAX", OUT_DURATION, out_u64_if(woken, node->max_ns))         \
	X("latency_max_at_ns", "LAT-MAX-AT", OUT_TIME, out_u64_if(woken, node->max_at),       \
	  OUT_OPTIONAL)                                                                       \
	X("chain_avg_ns", "CHAIN-AVG", OUT_DURATION, out_u64_if(woken, node->chain_ns),       \
	  OUT_OPTIONAL)                                                                       \
	X("count_below", "WITH-BELOW", OUT_U64, out_u64(node->below), OUT_OPTIONAL)

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
	return out_row(v->out, node->depth - 1, OUT_VALUES(NODES));
}

static struct ebt_error *put_nodes(struct tree_view *v)
{
	const struct out_table table =
		OUT_TABLE_OF("rows", NODES, .flags = OUT_KEEP_ORDER | OUT_TREE);

	return out_rows(v->out, &table, waketree_n(v->tree), i,
			put_node(v, waketree_node(v->tree, i)));
}

struct ebt_error *sched_tree(struct report *report)
{
	_cleanup_(waketree_destroyp) struct waketree *tree = NULL;
	struct tree_view v = { .trace = report->trace, .out = report->out };
	const struct sched_feed feed = {
		.handler = { .off = on_off },
		.all = true,
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
	err = sched_feed_run(report->trace, &feed, &partial) ?: waketree_finish(tree);
	if (err)
		return err;
	err = put_nodes(&v);
	if (!err && waketree_left_out(tree))
		err = trace_warn(report->trace, "%" PRIu64 " %s in longer or more chains than fit",
				 waketree_left_out(tree),
				 text_plural(waketree_left_out(tree), "wake-up is",
					     "wake-ups are"));
	return err;
}
