/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call tree of a trace; see feed.h. */
#include "report/trees/feed.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/names.h"
#include "report/cli/command.h"
#include "report/sched/feed.h"
#include "report/sched/model_offcpu.h"
#include "report/sched/wait_files.h"
#include "report/stacks/calltree_shape.h"
#include "report/stacks/doubts.h"
#include "report/trace/prepare.h"
#include "report/trees/table.h"

#define DEFAULT_FREQ 99 /* of ebrec, for a trace that does not say */

const char *const tree_feed_events[] = { "cpu", "offcpu", NULL };
const char *const tree_feed_roots[] = { "comm", "process", "thread", "none", "program", NULL };

#define BY_PROGRAM 4 /* of those; the others are enum calltree_roots */

struct ebt_error *tree_feed_sampling(struct trace *trace, const char **ret_event,
				     uint64_t *ret_freq)
{
	const char *event, *freq;
	struct ebt_error *err;

	err = ebt_reader_meta(trace_reader(trace), "sample.event", &event)
		      ?: ebt_reader_meta(trace_reader(trace), "sample.freq", &freq);
	if (err)
		return err;
	*ret_event = event;
	*ret_freq = freq ? strtoull(freq, NULL, 10) : 0;
	return NULL;
}

static struct ebt_str program_name(const void *arg, const struct ebt_task *task)
{
	return programs_name(arg, task);
}

static int chosen_by(const struct options *options)
{
	const char *by = options_string(options, "by");

	for (int i = 0; by && tree_feed_roots[i]; i++) {
		if (strcmp(by, tree_feed_roots[i]) == 0)
			return i;
	}
	return CALLTREE_BY_COMM;
}

static struct ebt_error *create_tree(struct trace *trace, const struct options *options,
				     struct tree_feed *feed)
{
	int by = chosen_by(options);
	struct calltree_options tree = {
		.roots = by == BY_PROGRAM ? CALLTREE_BY_COMM : (enum calltree_roots)by,
		.threads = options_flag(options, "threads"),
	};
	const struct names *names;
	struct sym *sym;
	struct ebt_error *err;

	feed->no_kernel_threads = options_flag(options, "no-kernel-threads");
	err = trace_names(trace, &names) ?: trace_sym(trace, &sym);
	if (!err && (by == BY_PROGRAM || feed->no_kernel_threads))
		err = trace_programs(trace, &feed->programs);
	if (err)
		return err;
	tree.name = by == CALLTREE_BY_THREAD ? calltree_thread_name : calltree_process_name;
	tree.thread_name = calltree_thread_name;
	tree.arg = tree.thread_arg = names;
	if (by == BY_PROGRAM) {
		tree.name = program_name;
		tree.arg = feed->programs;
	}
	return calltree_create(sym, &tree, &feed->tree);
}

bool tree_feed_wanted(const struct tree_feed *feed, const struct ebt_task *task)
{
	return !feed->no_kernel_threads || (task && !programs_is_kernel(feed->programs, task));
}

struct ebt_error *tree_feed_add(struct tree_feed *feed, const struct calltree_stack *stack,
				uint64_t weight)
{
	uint32_t node;
	struct ebt_error *err = calltree_place(feed->tree, stack, &node);

	if (err)
		return err;
	feed->stacks++;
	if (feed->take)
		return feed->take(feed->arg, stack, node, weight);
	calltree_add(feed->tree, node, weight);
	return NULL;
}

/* --- samples --- */

uint64_t tree_feed_sample_ns(const struct ebt_row *row, uint64_t freq)
{
	/* A sample of cycles stands for the time between two samples, as long as it was busy. */
	if (ebt_sample_event(row) != EBT_V_sample_event_cpu_clock)
		return 1000000000 / (freq ? freq : DEFAULT_FREQ);
	return ebt_sample_period(row);
}

static struct ebt_error *add_sample(struct tree_feed *feed, const struct ebt_row *row,
				    uint64_t freq)
{
	const struct calltree_stack stack = calltree_sample_stack(row);

	if (!tree_feed_wanted(feed, stack.task))
		return NULL;
	return tree_feed_add(feed, &stack, tree_feed_sample_ns(row, freq));
}

static const struct command_subject samples = {
	.what = "samples",
	.source = "sample",
	.tables = { EBT_T_sample },
};

static struct ebt_error *read_samples(struct trace *trace, struct tree_feed *feed)
{
	const struct ebt_want want = EBT_WANT(sample, task, event, period, kstack, ustack);
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	const char *event;
	uint64_t freq;
	struct ebt_error *err;

	err = tree_feed_sampling(trace, &event, &freq)
		      ?: trace_cursor_create(trace, &want, 1, 0, &cursor);
	while (!err) {
		struct ebt_row row;

		err = trace_next(cursor, &row);
		if (err || !row.batch)
			break;
		err = add_sample(feed, &row, freq);
	}
	if (!err && !feed->stacks)
		err = trace_warn_nothing(trace, &samples);
	return err;
}

/* --- off CPU --- */

struct off_cpu {
	struct trace *trace;
	struct tree_feed *feed;
	struct wait_files *files; /* NULL: what was waited for is no frame */
};

static bool is_wanted(void *arg, const struct ebt_task *task)
{
	const struct off_cpu *off = arg;

	return tree_feed_wanted(off->feed, task) && !trace_leaves_out(off->trace, task);
}

static struct ebt_error *take_file(void *arg, const struct sched_off *off, uint32_t node,
				   uint32_t file)
{
	const struct off_cpu *o = arg;
	_cleanup_text_ struct text name = TEXT_INIT;
	const struct ebt_str s = wait_files_name(o->files, file);

	o->feed->stacks++;
	o->feed->open += sched_is_open(off->flags);
	text_add(&name, s.data, s.len);
	return text_error(&name)
		       ?: calltree_add_leaf(o->feed->tree, node, text_get(&name), CALLTREE_OFF_CPU,
					    off->end - off->start);
}

static struct ebt_error *take_off(void *arg, const struct sched_off *off, uint32_t node)
{
	const struct off_cpu *o = arg;

	return wait_files_off(o->files, off, node);
}

static struct ebt_error *read_offcpu(struct trace *trace, const struct options *options,
				     struct tree_feed *feed)
{
	struct off_cpu off = { trace, feed, NULL };
	_cleanup_(wait_files_destroyp) struct wait_files *files = NULL;
	struct offcpu_options offcpu_options = {
		.min_ns = options_u64(options, "min", 0),
		.tree = feed->tree,
	};
	_cleanup_(offcpu_destroyp) struct offcpu *offcpu = NULL;
	struct sched_feed sched = { .wanted = is_wanted, .arg = &off, .stacks = true };
	const struct offcpu_thread *threads;
	bool partial;
	uint32_t n;
	struct ebt_error *err;

	err = trace_find_kernel_threads(trace);
	if (!err && options_flag(options, "files")) {
		err = wait_files_create(trace, take_file, &off, &files);
		off.files = files;
		offcpu_options.take = take_off;
		offcpu_options.arg = &off;
	}
	if (!err)
		err = offcpu_create(trace_reader(trace), &offcpu_options, &offcpu);
	sched.offcpu = offcpu;
	if (!err)
		err = sched_feed_run(trace, &sched, &partial);
	if (!err && files)
		err = wait_files_finish(files);
	if (err)
		return err;
	threads = offcpu_threads(offcpu, &n);
	for (uint32_t i = 0; i < n; i++) {
		feed->stacks += threads[i].sum.count;
		feed->open += threads[i].sum.open;
	}
	return NULL;
}

/* What is asked for by --event and --weight: stacks of a table or of probes, unless it is one of
 * the two names. */
static struct ebt_error *choose(struct trace *trace, const struct options *options,
				struct tree_feed *feed, struct tree_table *what)
{
	const char *event = options_string(options, "event");
	const char *weight = options_string(options, "weight");
	struct ebt_error *err;

	feed->unit = "ns";
	feed->offcpu = event && strcmp(event, "offcpu") == 0;
	if (options_flag(options, "files") && !feed->offcpu)
		return ebt_error_create(EBT_ERR_INVALID, "--files goes with --event offcpu");
	if (!event || feed->offcpu || strcmp(event, "cpu") == 0) {
		if (weight)
			return ebt_error_create(EBT_ERR_INVALID,
						"--weight: %s has no columns, name a table by "
						"--event",
						feed->offcpu ? "offcpu" : "cpu");
		return NULL;
	}
	err = tree_table_find(trace, event, weight, &feed->probes, what);
	if (err)
		return err;
	feed->table = feed->probes.title ? feed->probes.title : what->table->name;
	feed->weight = what->weight < 0 ? NULL : what->table->fields[what->weight].name;
	feed->unit = tree_table_unit(what);
	return NULL;
}

/* --- what is shown of it --- */

static bool wants_categories(const struct options *options)
{
	const char *color = options_string(options, "color");

	return options_flag(options, "categories") || options_string(options, "category") ||
	       (color && strcmp(color, "category") == 0);
}

static struct ebt_error *no_category(const char *name)
{
	return ebt_error_create(EBT_ERR_INVALID,
				"--category: no line of the files with categories has '%s'", name);
}

/* Stacks are told apart before frames are left out or turned over. */
static struct ebt_error *categorize(const struct options *options, struct calltree_shape *shape,
				    struct tree_feed *feed, bool **ret_keep)
{
	const char *name = options_string(options, "category");
	_cleanup_tree_categories_ struct tree_categories of = { 0 };
	_cleanup_free_ bool *selected = NULL;
	struct ebt_error *err;
	uint32_t category = 0;

	err = categories_load(options_string(options, "category-file"), &feed->categories)
		      ?: tree_categories_make(feed->tree, feed->categories, true, &of);
	if (!err && name && !categories_find(feed->categories, name, &category))
		err = no_category(name);
	if (!err && name)
		err = tree_categories_with(&of, category, ret_keep);
	shape->keep = *ret_keep;
	if (!err)
		err = calltree_select(feed->tree, shape, &selected);
	return err ? err : tree_categories_sum(&of, selected, &feed->category_sums);
}

/* feed->tree is finished; what the options make of it takes its place. */
static struct ebt_error *select_stacks(const struct options *options, struct tree_feed *feed)
{
	struct calltree_shape shape = {
		.focus = options_string(options, "focus"),
		.ignore = options_string(options, "ignore"),
		.no_recorder = options_flag(options, "no-recorder"),
		.no_libraries = options_flag(options, "no-libraries"),
		.bottom_up = options_flag(options, "bottom-up"),
		.by_weight = options_flag(options, "left-heavy"),
	};
	_cleanup_free_ bool *keep = NULL;
	struct calltree *shaped;
	struct ebt_error *err = NULL;

	if (wants_categories(options))
		err = categorize(options, &shape, feed, &keep);
	else if (options_string(options, "category-file"))
		err = ebt_error_create(EBT_ERR_INVALID,
				       "--category-file: nothing asks for categories");
	if (err || !calltree_is_shaped(&shape))
		return err;
	err = calltree_reshape(feed->tree, &shape, &shaped);
	if (err)
		return err;
	feed->whole = feed->tree;
	feed->tree = shaped;
	return NULL;
}

static struct ebt_error *tell_doubts(struct trace *trace, const struct tree_feed *feed)
{
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(feed->tree, &n);
	struct ebt_error *err = NULL;

	if (!feed->offcpu && !feed->table)
		err = warn_few_samples(trace, nodes[0].stacks);
	return err ? err : warn_nameless(trace, feed->tree);
}

/* --- all --- */

struct ebt_error *tree_feed_read(struct trace *trace, const struct options *options,
				 struct tree_feed *ret)
{
	_cleanup_tree_feed_ struct tree_feed feed = { 0 };
	struct tree_table what = { 0 };
	uint16_t table = EBT_T_sample;
	struct ebt_error *err;

	err = choose(trace, options, &feed, &what) ?: create_tree(trace, options, &feed);
	if (what.table)
		table = what.table->id;
	if (!err)
		err = feed.offcpu ? sched_prepare_names(trace) : prepare_names(trace, table, 0);
	if (!err && feed.offcpu)
		err = read_offcpu(trace, options, &feed);
	else if (!err && what.table)
		err = tree_table_read(trace, &what, &feed);
	else if (!err)
		err = read_samples(trace, &feed);
	if (!err)
		err = calltree_finish(feed.tree);
	if (!err)
		err = select_stacks(options, &feed);
	if (!err && feed.whole && calltree_total(feed.whole) && !calltree_total(feed.tree))
		err = trace_warn(trace, "no stack passes --focus, --ignore and --category");
	if (!err)
		err = tell_doubts(trace, &feed);
	if (err)
		return err;
	*ret = feed;
	feed = (struct tree_feed){ 0 };
	return NULL;
}
