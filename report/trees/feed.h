/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call tree of a trace, of CPU samples, of time off CPU, or of any table with stacks: what
 * flame, folded and callgraph show. Options that these commands share are here, too.
 */
#ifndef REPORT_TREES_FEED_H
#define REPORT_TREES_FEED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "report/cli/options.h"
#include "report/stacks/model_calltree.h"
#include "report/stacks/model_categories.h"
#include "report/trace/programs.h"
#include "report/trace/trace.h"
#include "report/trees/probe.h"

/* Rows for a command's table of options. */
#define TREE_FEED_OPTIONS                                                                        \
	{ "event", OPTION_STRING, "EVENT",                                                       \
	  "cpu (samples, default), offcpu, a table with stacks, as fault, or a probe, as for "   \
	  "-e" },                                                                                \
		{ "weight", OPTION_STRING, "COLUMN",                                             \
		  "with such a table: a number of it, or rows; default: duration if it has "     \
		  "that" },                                                                      \
		{ "focus", OPTION_STRING, "REGEX", "stacks with such a function only" },         \
		{ "ignore", OPTION_STRING, "REGEX", "stacks without such a function only" },     \
		{ "no-libraries", OPTION_FLAG, NULL,                                             \
		  "without frames of the kernel, of libraries and of files below /usr" },        \
		{ "category", OPTION_STRING, "NAME",                                             \
		  "stacks that belong to this category only, see --help of callgraph" },         \
		{ "category-file", OPTION_STRING, "FILE",                                        \
		  "categories, instead of ~/.config/ebreport/categories" },                      \
		{ "bottom-up", OPTION_FLAG, NULL, "the innermost function first" },              \
		{ "by", OPTION_CHOICE, "WHAT",                                                   \
		  "first frame, one for all of: comm (default), program, process, thread, none", \
		  tree_feed_roots },                                                             \
		{ "threads", OPTION_FLAG, NULL, "a frame for each thread below the first" },     \
		{ "files", OPTION_FLAG, NULL,                                                    \
		  "with --event offcpu: what was waited for, as the innermost frame" },          \
		{ "no-recorder", OPTION_FLAG, NULL,                                              \
		  "without samples of what the recorder did itself, below [ebrec]" },            \
		{ "no-kernel-threads", OPTION_FLAG, NULL,                                        \
		  "without threads of the kernel, and idle CPUs" },                              \
	{                                                                                        \
		"min", OPTION_DURATION, "TIME",                                                  \
			"with --event offcpu: leave shorter intervals out", NULL                 \
	}

/* Those that are no tables. */
extern const char *const tree_feed_events[];
extern const char *const tree_feed_roots[];

struct tree_feed {
	struct calltree *tree;	/* finished */
	struct calltree *whole; /* what it was made of, and has the names of; or NULL */
	bool offcpu;
	const char *table;  /* with stacks of a table: its name, or its probes'; else NULL */
	const char *weight; /* with it: name of the column; NULL: rows */
	const char *unit;   /* of weights: "ns", "bytes", "events" …; names belong to the trace */
	uint64_t stacks;    /* samples, intervals off CPU, or rows */
	uint64_t open;	    /* intervals whose beginning or end is not in the trace */
	/* Where the options ask for them: categories, and what the stacks sum up to in each. */
	struct categories *categories;
	struct category_sum *category_sums;
	const struct programs *programs; /* where the options need them */
	bool no_kernel_threads;
	struct tree_probes probes; /* where some were named */
	/* Gets each stack with its node, and the tree gets no weight; NULL: the tree gets it. */
	struct ebt_error *(*take)(void *arg, const struct calltree_stack *stack, uint32_t node,
				  uint64_t weight);
	void *arg;
};

/* Do the options let the stacks of this task pass? NULL: idle. */
bool tree_feed_wanted(const struct tree_feed *feed, const struct ebt_task *task);
struct ebt_error *tree_feed_add(struct tree_feed *feed, const struct calltree_stack *stack,
				uint64_t weight);

static inline void tree_feed_deinit(struct tree_feed *feed)
{
	calltree_destroy(feed->tree);
	calltree_destroy(feed->whole);
	categories_destroy(feed->categories);
	free(feed->category_sums);
	tree_probes_deinit(&feed->probes);
}
#define _cleanup_tree_feed_ __attribute__((cleanup(tree_feed_deinit)))

struct ebt_error *tree_feed_read(struct trace *trace, const struct options *options,
				 struct tree_feed *ret);

/* The time that a sample stands for; columns event and period. freq: of tree_feed_sampling(). */
uint64_t tree_feed_sample_ns(const struct ebt_row *row, uint64_t freq);

/* What the samples are: "cpu-clock", …, and how many a second; 0: not known. */
struct ebt_error *tree_feed_sampling(struct trace *trace, const char **ret_event,
				     uint64_t *ret_freq);

#endif
