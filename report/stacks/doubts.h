/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is to be said of figures that go by functions: that frames have no name, and that there were
 * few samples. Each is said once for a report.
 *
 * Samples are events of chance: how many meet something is off by the square root of that number
 * in one of three recordings. Of n samples in all that is 1/sqrt(n), 50 % of 4, which is what is
 * said. A function that k of them met is off by 1/sqrt(k), and so k stands in column SAMPLES.
 */
#ifndef REPORT_STACKS_DOUBTS_H
#define REPORT_STACKS_DOUBTS_H

#include "format/base/map.h"
#include "report/base/text.h"
#include "report/stacks/model_calltree.h"
#include "report/trace/trace.h"

/* "4 samples: ±50 %; -F 999 gives more"; nothing where there are enough, or none. */
struct ebt_error *few_samples_text(struct trace *trace, uint64_t n, struct text *text);
/* The same as a warning. */
struct ebt_error *warn_few_samples(struct trace *trace, uint64_t n);

/* Frames that are shown, with what they weigh. All zero: none. */
struct nameless {
	double all, without;
	struct nameless_file {
		const char *object;
		double weight;
	} * files;
	size_t n_files, capacity;
	struct ebt_map by_object;
};

/* The object must live as long. */
struct ebt_error *nameless_add(struct nameless *nameless, const char *object,
			       enum sym_reason reason, double weight);
/* A function of a tree; what is no code is not counted. */
struct ebt_error *nameless_add_func(struct nameless *nameless, const struct calltree_func *func,
				    double weight);
/* Frames of a stack. */
struct ebt_error *nameless_add_stack(struct nameless *nameless, const struct calltree *tree,
				     uint32_t node, double weight);
/* "40 % of frames have no name (cc1, ld): ebreport modules"; with --interval of all windows, once.
 */
struct ebt_error *nameless_warn(const struct nameless *nameless, struct trace *trace);
void nameless_deinit(struct nameless *nameless);
#define _cleanup_nameless_ __attribute__((cleanup(nameless_deinit)))

/* The same of a whole tree, by totals. */
struct ebt_error *warn_nameless(struct trace *trace, const struct calltree *tree);

#endif
