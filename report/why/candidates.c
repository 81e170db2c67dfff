/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What could be made faster; see candidates.h. */
#include "report/why/candidates.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "report/why/objects.h"

#define MOST_PROCESSES 4
#define MOST_FUNCTIONS 8
#define MOST_WAITS     4
#define MOST_OBJECTS   4
/* Of the path: less is not worth a row. */
#define LEAST_SHARE 200
/* Of its threads' time: a function that has more is the program. */
#define WHOLE_PERCENT 80

static_assert(MOST_PROCESSES + MOST_FUNCTIONS + MOST_WAITS + MOST_OBJECTS <= WHY_MAX_CANDIDATES,
	      "each has its place");

/* Something by its number, and how much of the path it is. */
struct path_share {
	uint32_t id;
	uint64_t ns;
	uint64_t of_ns; /* of functions: all time of the threads that were in it */
};

/* By number. */
struct path_shares {
	struct path_share *list;
	size_t n, capacity;
	struct ebt_map by_id;
};

struct candidate_search {
	const struct why *why;
	const struct names *names;
	struct why_candidate *ret;
	size_t n;
};

static void shares_deinit(struct path_shares *shares)
{
	free(shares->list);
	ebt_map_deinit(&shares->by_id);
}

static struct ebt_error *add_share(struct path_shares *shares, uint32_t id, uint64_t ns,
				   uint64_t of_ns)
{
	uint32_t i;
	struct ebt_error *err = ebt_map_element(&shares->by_id, id, &shares->list, &shares->n,
						&shares->capacity, &i);

	if (err)
		return err;
	shares->list[i].id = id;
	shares->list[i].ns += ns;
	shares->list[i].of_ns += of_ns;
	return NULL;
}

static int compare_shares(const void *a, const void *b)
{
	const struct path_share *x = a, *y = b;

	return ebt_compare(y->ns, x->ns) ?: ebt_compare(x->id, y->id);
}

static void sort_shares(struct path_shares *shares)
{
	if (shares->n)
		qsort(shares->list, shares->n, sizeof(*shares->list), compare_shares);
}

static bool is_worth(const struct candidate_search *c, uint64_t ns)
{
	return ns > (c->why->path.to - c->why->path.from) / LEAST_SHARE;
}

/* One of that name is there once. *ret: it is new. */
static struct ebt_error *add_candidate(struct candidate_search *c, enum why_change_of of,
				       struct ebt_str name, uint64_t ns, bool *ret)
{
	char *copy;

	*ret = false;
	for (size_t i = 0; i < c->n; i++) {
		if (c->ret[i].of == of && ebt_str_equal(ebt_str_of(c->ret[i].name), name))
			return NULL;
	}
	copy = strndup(name.data, name.len);
	if (!copy)
		return &ebt_enomem;
	c->ret[c->n++] = (struct why_candidate){ of, copy, ns };
	*ret = true;
	return NULL;
}

/* --- programs --- */

static struct ebt_str program_of(const struct candidate_search *c, uint32_t task)
{
	const struct ebt_task *of = why_task(c->why, task);

	return of ? names_process(c->names, of) : ebt_str_of("");
}

/* Threads of one program have one share, by the first of them. */
static struct ebt_error *sum_programs(struct candidate_search *c, struct path_shares *shares)
{
	_cleanup_(ebt_map_deinit) struct ebt_map by_name = { 0 };
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < c->why->n_causes; i++) {
		const struct why_cause *cause = &c->why->causes[i];
		const struct ebt_str name = program_of(c, cause->task);
		const uint64_t key = ebt_hash_bytes(0, name.data, name.len);
		uint32_t first;

		if (cause->kind != WHY_CPU || !name.len)
			continue;
		first = ebt_map_search(&by_name, key, k, ebt_str_equal(program_of(c, k), name));
		if (first == EBT_MAP_NONE) {
			first = cause->task;
			err = ebt_map_insert(&by_name, key, first);
		}
		if (!err)
			err = add_share(shares, first, cause->ns, 0);
	}
	sort_shares(shares);
	return err;
}

static struct ebt_error *add_programs(struct candidate_search *c)
{
	__attribute__((cleanup(shares_deinit))) struct path_shares shares = { 0 };
	struct ebt_error *err = sum_programs(c, &shares);
	bool added;

	for (size_t i = 0; !err && i < shares.n && i < MOST_PROCESSES; i++) {
		if (is_worth(c, shares.list[i].ns))
			err = add_candidate(c, WHY_OF_PROCESS, program_of(c, shares.list[i].id),
					    shares.list[i].ns, &added);
	}
	return err;
}

/* --- functions --- */

struct path_functions {
	const struct calltree_node *nodes;
	const struct calltree_func *funcs;
	struct path_shares shares;
	struct ebt_map met; /* functions with the thread that they were met in */
	uint64_t *thread_ns;
};

static bool is_recursion(const struct path_functions *f, uint32_t from, uint32_t node)
{
	for (; from != node; from = f->nodes[from].parent) {
		if (f->nodes[from].func == f->nodes[node].func)
			return true;
	}
	return false;
}

/* Of the program, and not where all of it began. */
static bool is_choice(const struct path_functions *f, uint32_t node)
{
	const struct calltree_func *func = &f->funcs[f->nodes[node].func];
	const struct calltree_func *caller = &f->funcs[f->nodes[f->nodes[node].parent].func];

	return func->kind != CALLTREE_KERNEL && func->kind != CALLTREE_ROOT &&
	       caller->kind != CALLTREE_ROOT;
}

/* All functions that were called then, each once. */
static struct ebt_error *add_place(struct path_functions *f, const struct why_place *place)
{
	struct ebt_error *err = NULL;
	uint32_t known;

	for (uint32_t node = place->node; !err && node; node = f->nodes[node].parent) {
		const uint32_t func = f->nodes[node].func;
		const uint64_t key = (uint64_t)func << 32 | place->task;
		bool first;

		if (!is_choice(f, node) || is_recursion(f, place->node, node))
			continue;
		first = !ebt_map_find(&f->met, key, &known);
		if (first)
			err = ebt_map_insert(&f->met, key, 1);
		if (!err)
			err = add_share(&f->shares, func, place->ns,
					first ? f->thread_ns[place->task] : 0);
	}
	return err;
}

static struct ebt_error *sum_functions(const struct candidate_search *c, struct path_functions *f)
{
	const struct calltree *tree = why_graph_tree(c->why->graph);
	struct ebt_error *err = NULL;
	uint32_t n;

	f->nodes = calltree_nodes(tree, &n);
	f->funcs = calltree_funcs(tree, &n);
	why_graph_threads(c->why->graph, &n);
	f->thread_ns = calloc(n + 1, sizeof(*f->thread_ns));
	if (!f->thread_ns)
		return &ebt_enomem;
	for (size_t i = 0; i < c->why->n_places; i++)
		f->thread_ns[c->why->places[i].task] += c->why->places[i].ns;
	for (size_t i = 0; !err && i < c->why->n_places; i++)
		err = add_place(f, &c->why->places[i]);
	sort_shares(&f->shares);
	return err;
}

/* Who hardly does more than to call another one is that one. */
static struct ebt_error *choose_functions(struct candidate_search *c,
					  const struct path_functions *f)
{
	struct ebt_error *err = NULL;
	uint64_t last = UINT64_MAX;
	size_t n = 0;
	bool added;

	for (size_t i = 0; !err && i < f->shares.n && n < MOST_FUNCTIONS; i++) {
		const struct path_share *share = &f->shares.list[i];

		if (!is_worth(c, share->ns) || share->ns / WHOLE_PERCENT >= share->of_ns / 100 ||
		    share->ns > last - last / 200)
			continue;
		last = share->ns;
		err = add_candidate(c, WHY_OF_FUNCTION, ebt_str_of(f->funcs[share->id].name),
				    share->ns, &added);
		n += added;
	}
	return err;
}

static struct ebt_error *add_functions(struct candidate_search *c)
{
	struct path_functions f = { 0 };
	struct ebt_error *err = sum_functions(c, &f) ?: choose_functions(c, &f);

	shares_deinit(&f.shares);
	ebt_map_deinit(&f.met);
	free(f.thread_ns);
	return err;
}

/* --- waits --- */

static struct ebt_error *sum_waits(const struct candidate_search *c, struct path_shares *kinds,
				   struct path_shares *objects)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < c->why->n_causes; i++) {
		const struct why_cause *cause = &c->why->causes[i];

		if (cause->kind != WHY_WAIT)
			continue;
		err = add_share(kinds, cause->what, cause->ns, 0);
		if (!err && cause->object)
			err = add_share(objects, cause->object, cause->ns, 0);
	}
	sort_shares(kinds);
	sort_shares(objects);
	return err;
}

static struct ebt_error *add_kinds(struct candidate_search *c, const struct path_shares *kinds)
{
	struct ebt_error *err = NULL;
	bool added;

	for (size_t i = 0; !err && i < kinds->n && i < MOST_WAITS; i++) {
		const struct path_share *share = &kinds->list[i];

		if (is_worth(c, share->ns))
			err = add_candidate(c, WHY_OF_WAIT,
					    ebt_str_of(
						    wait_reason_name((enum wait_reason)share->id)),
					    share->ns, &added);
	}
	return err;
}

/* Files by the device that they are on, where that is known. */
static struct ebt_error *add_objects(struct candidate_search *c, const struct path_shares *shares)
{
	const struct why_objects *objects = why_graph_objects(c->why->graph);
	struct ebt_error *err = NULL;
	size_t n = 0;
	bool added;

	for (size_t i = 0; !err && i < shares->n && n < MOST_OBJECTS; i++) {
		const struct path_share *share = &shares->list[i];
		const struct ebt_str device = why_object_device(objects, share->id);

		if (!is_worth(c, share->ns))
			continue;
		err = add_candidate(c, WHY_OF_OBJECT,
				    device.len ? device : why_object_name(objects, share->id),
				    share->ns, &added);
		n += added;
	}
	return err;
}

static struct ebt_error *add_waits(struct candidate_search *c)
{
	__attribute__((cleanup(shares_deinit))) struct path_shares kinds = { 0 };
	__attribute__((cleanup(shares_deinit))) struct path_shares objects = { 0 };

	return sum_waits(c, &kinds, &objects) ?: add_kinds(c, &kinds) ?: add_objects(c, &objects);
}

struct ebt_error *why_candidates_find(const struct why *why, const struct names *names,
				      struct why_candidate ret[WHY_MAX_CANDIDATES], size_t *n)
{
	struct candidate_search c = { why, names, .ret = ret };
	struct ebt_error *err = add_programs(&c) ?: add_functions(&c) ?: add_waits(&c);

	*n = c.n;
	return err;
}

void why_candidates_deinit(struct why_candidate *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i].name);
}
