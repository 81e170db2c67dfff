/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines with a stack and one or two weights; see from_sql.h. Two kinds of lines:
 *
 *	outermost;…;innermost TAB weight [TAB weight]	a tab, \n or \\ in a name is escaped
 *	outermost;…;innermost SPACE weight [SPACE weight]
 *
 * The first line says which kind, and how many weights.
 */
#include "report/trees/from_sql.h"

#include <errno.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/limits.h"
#include "report/base/tsv.h"

#define MOST_SUM (UINT64_MAX / 2)

struct weighted {
	struct tsv tsv;
	char between; /* of the stack and weights; 0: no line was there yet */
	int weights;  /* in a line */
	uint64_t sums[2];
	uint64_t *before; /* by node: the first of two weights */
	size_t capacity;
	struct calltree *tree;
};

static void weighted_deinit(struct weighted *r)
{
	tsv_deinit(&r->tsv);
	free(r->before);
	calltree_destroy(r->tree);
}

/* --- a line --- */

static bool is_number(const char *s)
{
	return *s && s[strspn(s, "0123456789")] == '\0';
}

/* The weight behind the last separator, which is cut off; NULL: there is none. */
static char *cut_weight(char *line, char between)
{
	char *at = strrchr(line, between);

	if (!at || !is_number(at + 1))
		return NULL;
	*at = '\0';
	return at + 1;
}

static void find_kind(struct weighted *r)
{
	const char *last, *at = NULL;

	r->between = strchr(r->tsv.line, '\t') ? '\t' : ' ';
	r->weights = 1;
	/* Two numbers in the end are two weights. */
	last = strrchr(r->tsv.line, r->between);
	for (const char *c = r->tsv.line; last && c < last; c++)
		at = *c == r->between ? c : at;
	if (at && (size_t)(last - at - 1) == strspn(at + 1, "0123456789") && last > at + 1)
		r->weights = 2;
}

static struct ebt_error *add_sum(struct weighted *r, int which, const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (errno || *ret > MOST_SUM - r->sums[which])
		return tsv_wrong(&r->tsv, "the weights are more than 2^63");
	r->sums[which] += *ret;
	return NULL;
}

/* Cuts the weights off; the last one is the weight of the picture. */
static struct ebt_error *take_weights(struct weighted *r, uint64_t ret[2])
{
	struct ebt_error *err = NULL;

	for (int i = r->weights; !err && i-- > 0;) {
		const char *text = cut_weight(r->tsv.line, r->between);

		if (!text)
			return tsv_wrong(&r->tsv,
					 r->weights == 2
						 ? "no stack with two weights, whole numbers, "
						   "behind it, as the first line has"
						 : "no stack with a weight, a whole number, "
						   "behind it");
		err = add_sum(r, i, text, &ret[i]);
	}
	if (!err && r->between == '\t' && strchr(r->tsv.line, '\t'))
		err = tsv_wrong(&r->tsv, "more columns than the first line has");
	return err;
}

/* --- the tree --- */

static struct ebt_error *place(struct weighted *r, char *stack, uint32_t *node)
{
	struct ebt_error *err = NULL;
	unsigned int depth = 0;
	char *rest = stack;

	*node = 0;
	while (!err && rest) {
		const char *name = strsep(&rest, ";");

		if (!*name)
			continue;
		if (depth++ == EBT_MAX_FRAMES)
			return tsv_wrong(&r->tsv, "a stack has more than 1024 frames");
		err = calltree_named(r->tree, *node, name, CALLTREE_USER, node);
	}
	return err;
}

static struct ebt_error *take_line(struct weighted *r)
{
	uint64_t weights[2] = { 0 };
	struct ebt_error *err;
	uint32_t node;

	if (!r->between)
		find_kind(r);
	err = take_weights(r, weights);
	if (err)
		return err;
	if (r->between == '\t')
		tsv_unescape(r->tsv.line);
	err = place(r, r->tsv.line, &node);
	if (err)
		return err;
	calltree_add(r->tree, node, weights[r->weights - 1]);
	if (r->weights == 1)
		return NULL;
	err = ebt_array_reserve_zeroed(&r->before, node, &r->capacity);
	if (!err)
		r->before[node] += weights[0];
	return err;
}

static struct ebt_error *read_lines(struct weighted *r)
{
	bool there = true;
	struct ebt_error *err = NULL;

	while (!err && there) {
		err = tsv_next(&r->tsv, &there);
		if (!err && there)
			err = take_line(r);
	}
	if (!err && !r->between)
		err = ebt_error_create(EBT_ERR_CORRUPT, "%s: there is no line in it", r->tsv.path);
	return err;
}

/* Of each node with what is below it: children have higher numbers. */
static struct ebt_error *compare(struct weighted *r, struct from_sql *ret)
{
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(r->tree, &n);
	struct ebt_error *err = ebt_array_reserve_zeroed(&r->before, n, &r->capacity);

	if (err)
		return err;
	ret->changes = calloc(n, sizeof(*ret->changes));
	ret->errors = calloc(n, sizeof(*ret->errors));
	if (!ret->changes || !ret->errors)
		return &ebt_enomem;
	for (uint32_t i = n; i-- > 0;) {
		if (i)
			r->before[nodes[i].parent] += r->before[i];
		ret->changes[i] = (double)nodes[i].total - (double)r->before[i];
	}
	return NULL;
}

struct ebt_error *from_sql_read(const char *path, struct from_sql *ret)
{
	static const struct calltree_options options = { .roots = CALLTREE_NO_ROOTS };
	__attribute__((cleanup(weighted_deinit))) struct weighted r = { 0 };
	struct ebt_error *err = tsv_open(path, &r.tsv) ?:
				calltree_create(NULL, &options, &r.tree) ?:
				read_lines(&r) ?:
				calltree_finish(r.tree);

	if (!err && r.weights == 2)
		err = compare(&r, ret);
	if (err)
		return err;
	ret->lines = r.tsv.number;
	ret->tree = r.tree;
	r.tree = NULL;
	return NULL;
}
