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
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/limits.h"
#include "report/base/text.h"

#define MOST_LINE (1u << 20)
#define MOST_SUM  (UINT64_MAX / 2)

struct weighted {
	const char *path;
	FILE *f;
	char *line;
	size_t room;
	uint64_t number; /* of the line, from 1 */
	char between;	 /* of the stack and weights; 0: no line was there yet */
	int weights;	 /* in a line */
	uint64_t sums[2];
	uint64_t *before; /* by node: the first of two weights */
	size_t capacity;
	struct calltree *tree;
};

static void weighted_deinit(struct weighted *r)
{
	if (r->f && r->f != stdin)
		fclose(r->f);
	free(r->line);
	free(r->before);
	calltree_destroy(r->tree);
}

static struct ebt_error *wrong(const struct weighted *r, const char *what)
{
	return ebt_error_create(EBT_ERR_CORRUPT, "%s, line %" PRIu64 ": %s", r->path, r->number,
				what);
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

	r->between = strchr(r->line, '\t') ? '\t' : ' ';
	r->weights = 1;
	/* Two numbers in the end are two weights. */
	last = strrchr(r->line, r->between);
	for (const char *c = r->line; last && c < last; c++)
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
		return wrong(r, "the weights are more than 2^63");
	r->sums[which] += *ret;
	return NULL;
}

/* Cuts the weights off; the last one is the weight of the picture. */
static struct ebt_error *take_weights(struct weighted *r, uint64_t ret[2])
{
	struct ebt_error *err = NULL;

	for (int i = r->weights; !err && i-- > 0;) {
		const char *text = cut_weight(r->line, r->between);

		if (!text)
			return wrong(r, r->weights == 2
						? "no stack with two weights, whole numbers, "
						  "behind it, as the first line has"
						: "no stack with a weight, a whole number, "
						  "behind it");
		err = add_sum(r, i, text, &ret[i]);
	}
	if (!err && r->between == '\t' && strchr(r->line, '\t'))
		err = wrong(r, "more columns than the first line has");
	return err;
}

/* As ClickHouse and others write tabs, newlines and backslashes in names. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '\\' && s[1]) {
			s++;
			*to++ = *s == 't' ? '\t' : *s == 'n' ? '\n' : *s == 'r' ? '\r' : *s;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
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
			return wrong(r, "a stack has more than 1024 frames");
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
		unescape(r->line);
	err = place(r, r->line, &node);
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
	struct ebt_error *err = NULL;
	ssize_t len;

	while (!err && (len = getline(&r->line, &r->room, r->f)) >= 0) {
		r->number++;
		if (len > MOST_LINE)
			return wrong(r, "the line is longer than 1 MiB");
		if (memchr(r->line, '\0', (size_t)len))
			return wrong(r, "a NUL byte is no text");
		while (len && (r->line[len - 1] == '\n' || r->line[len - 1] == '\r'))
			r->line[--len] = '\0';
		err = len ? take_line(r) : NULL;
	}
	if (!err && ferror(r->f))
		err = ebt_error_errno(errno, "cannot read '%s'", r->path);
	if (!err && !r->between)
		err = ebt_error_create(EBT_ERR_CORRUPT, "%s: there is no line in it", r->path);
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
	__attribute__((cleanup(weighted_deinit))) struct weighted r = { .path = path };
	struct ebt_error *err;

	r.f = strcmp(path, "-") != 0 ? fopen(path, "re") : stdin;
	if (!r.f)
		return ebt_error_errno(errno, "cannot open '%s'", path);
	err = calltree_create(NULL, &options, &r.tree) ?: read_lines(&r) ?: calltree_finish(r.tree);
	if (!err && r.weights == 2)
		err = compare(&r, ret);
	if (err)
		return err;
	ret->lines = r.number;
	ret->tree = r.tree;
	r.tree = NULL;
	return NULL;
}
