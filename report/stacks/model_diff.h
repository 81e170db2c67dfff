/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two call trees compared: the functions of both, matched by name and by the last part of the
 * object's path, so that another build in another folder is the same function.
 *
 * A difference is within sampling error where it is less than DIFF_ERRORS times its standard
 * error, samples being counted as events of chance are (Poisson). With n samples of weight w
 * before, m of weight v after, and `before` multiplied by s:
 *
 *	error² = s² w² (n + 1) + v² (m + 1)
 *
 * Of 100 functions that did not change, one differs by more.
 */
#ifndef REPORT_STACKS_MODEL_DIFF_H
#define REPORT_STACKS_MODEL_DIFF_H

#include "report/stacks/model_calltree.h"

#define DIFF_ERRORS 2.576

/* One side. */
struct diff_side {
	const struct calltree *tree;
	double scale;  /* what its weights are multiplied by */
	double sample; /* weight of one sample, before that; 0: nothing was sampled, all is exact */
};

struct diff_func {
	const char *name, *object; /* of the side that has it; object is the whole path */
	double before, after;	   /* scaled */
	double error;		   /* standard error of the difference; 0: exact */
};

struct diff;

/* by_total: functions with what they call, else themselves. Trees must live longer. */
struct ebt_error *diff_create(const struct diff_side *before, const struct diff_side *after,
			      bool by_total, struct diff **ret);
/* Accepts NULL. */
void diff_destroy(struct diff *diff);
DEFINE_CLEANUP(struct diff *, diff_destroy);

/* The largest difference first. */
const struct diff_func *diff_funcs(const struct diff *diff, size_t *ret_n);

bool diff_within_error(double difference, double error);

/*
 * For each node of the picture's tree, by how much it is more (or less) than in the other one,
 * scaled; *ret_errors: the standard errors. Free both with free().
 */
struct ebt_error *diff_nodes(const struct diff *diff, bool picture_is_after, double **ret_changes,
			     double **ret_errors);

#endif
