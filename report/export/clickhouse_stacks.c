/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks and frames by hash; see clickhouse.h. A frame is a place in a file, by its build-id and
 * offset: machines with and without the file call it by the same hash, and which functions were
 * inlined there is in the row of the frame. Hashes are the same in every process and
 * on every machine: not those of map.h.
 */
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "report/base/text.h"
#include "report/export/clickhouse.h"

#define BLOCK_ROWS   65536
#define MOST_INLINED 256

struct clickhouse_stacks {
	FILE *frames, *stacks;
	struct native_block *frame, *stack;
	struct node {
		uint64_t hash;	/* of its stack; 0: not made yet */
		uint32_t outer; /* the node of the frame that called; 0: none */
		uint64_t place; /* hash of its frame */
		bool written;	/* the stack that ends here */
	} * nodes;		/* by node of the tree: those where a frame ends */
	size_t capacity;
	struct ebt_map known; /* frames that were written */
};

enum { FRAME, BUILD_ID, OBJECT, OFFSET, KIND, NAMED, FUNCTIONS, FILES, LINES };

struct ebt_error *clickhouse_stacks_create(FILE *frames, FILE *stacks,
					   struct clickhouse_stacks **ret)
{
	_cleanup_(clickhouse_stacks_destroyp) struct clickhouse_stacks *s = calloc(1, sizeof(*s));
	const struct clickhouse_made *frame = &clickhouse_made[MADE_FRAME];
	const struct clickhouse_made *stack = &clickhouse_made[MADE_STACK];
	struct ebt_error *err;

	if (!s)
		return &ebt_enomem;
	s->frames = frames;
	s->stacks = stacks;
	err = native_block_create(frame->columns, frame->n, &s->frame)
		      ?: native_block_create(stack->columns, stack->n, &s->stack);
	if (err)
		return err;
	*ret = s;
	s = NULL;
	return NULL;
}

void clickhouse_stacks_destroy(struct clickhouse_stacks *stacks)
{
	if (!stacks)
		return;
	native_block_destroy(stacks->frame);
	native_block_destroy(stacks->stack);
	ebt_map_deinit(&stacks->known);
	free(stacks->nodes);
	free(stacks);
}

/* --- frames --- */

static uint64_t add_text(uint64_t hash, const char *s)
{
	/* With its NUL, so that what follows is not taken for a part of it. */
	return ebt_hash_kept(hash, s ? s : "", s ? strlen(s) + 1 : 1);
}

static uint64_t add_number(uint64_t hash, uint64_t v)
{
	return ebt_hash_kept(hash, &v, sizeof(v));
}

/* What has no build-id, as the kernel, whose addresses differ from boot to boot, and functions of
 * interpreters, is known by its name. Of others the address is an offset
 * (calltree_options.deciding). */
static bool by_offset(const struct calltree_func *func)
{
	return func->sym && *func->sym->build_id && func->sym->kind == SYM_USER;
}

static uint64_t frame_hash(const struct calltree *tree, uint32_t node, uint32_t function)
{
	uint32_t n, at = node;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	const struct calltree_func *funcs = calltree_funcs(tree, &n);
	const struct calltree_func *func = &funcs[nodes[function].func];
	uint64_t hash = add_text(0, func->sym ? func->sym->build_id : "");

	if (by_offset(func))
		return add_number(hash, func->address);
	hash = add_text(hash, func->object);
	for (int left = MOST_INLINED;; at = nodes[at].parent) {
		func = &funcs[nodes[at].func];
		hash = add_text(add_text(hash, func->name), func->file);
		hash = add_number(hash, func->line);
		if (at == function || !left--)
			return hash;
	}
}

static void put_function(struct native_block *block, const struct calltree_func *func)
{
	native_cstr(block, FUNCTIONS, func->name);
	native_cstr(block, FILES, func->file);
	native_u64(block, LINES, func->line);
}

/* Innermost first: those inlined, then the function that they are in. */
static struct ebt_error *put_frame(struct clickhouse_stacks *s, const struct calltree *tree,
				   uint32_t node, uint32_t function, uint64_t hash)
{
	uint32_t n, at = node;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	const struct calltree_func *funcs = calltree_funcs(tree, &n);
	const struct calltree_func *func = &funcs[nodes[function].func];
	struct native_block *block = s->frame;
	int left = MOST_INLINED;

	native_u64(block, FRAME, hash);
	native_cstr(block, BUILD_ID, func->sym ? func->sym->build_id : "");
	native_cstr(block, OBJECT, func->object);
	native_u64(block, OFFSET, by_offset(func) ? func->address : 0);
	native_cstr(block, KIND, calltree_kind_name(func->kind));
	native_u64(block, NAMED, func->reason == SYM_OK);
	for (; at != function && left; at = nodes[at].parent, left--)
		put_function(block, &funcs[nodes[at].func]);
	put_function(block, func);
	native_array_end(block, FUNCTIONS);
	native_array_end(block, FILES);
	native_array_end(block, LINES);
	native_row_end(block);
	return native_block_rows(block) < BLOCK_ROWS ? NULL : native_block_write(block, s->frames);
}

/* --- stacks --- */

/* The node of the function that this one, or what it is inlined into, belongs to. */
static uint32_t function_of(const struct calltree_node *nodes, uint32_t node)
{
	while (nodes[node].inlined && nodes[node].parent)
		node = nodes[node].parent;
	return node;
}

struct ebt_error *clickhouse_frame(struct clickhouse_stacks *stacks, const struct calltree *tree,
				   uint32_t node)
{
	uint32_t n, known = 0;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	const struct calltree_func *funcs = calltree_funcs(tree, &n);
	const uint32_t function = function_of(nodes, node);
	const struct calltree_func *func = &funcs[nodes[function].func];
	uint64_t hash;

	if (!node || !by_offset(func) || func->reason != SYM_OK)
		return NULL;
	hash = frame_hash(tree, node, function);
	if (ebt_map_find(&stacks->known, hash, &known))
		return NULL;
	return ebt_map_add(&stacks->known, hash, 0, &known)
		       ?: put_frame(stacks, tree, node, function, hash);
}

/* Makes what is missing of the nodes up to the root: from there, so that each is made once. */
static struct ebt_error *make(struct clickhouse_stacks *s, const struct calltree *tree,
			      uint32_t node, size_t *length)
{
	_cleanup_free_ uint32_t *path = NULL;
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	size_t room = 0, len = 0;
	struct ebt_error *err = NULL;

	for (uint32_t at = node; !err && at; at = nodes[function_of(nodes, at)].parent) {
		err = ebt_array_reserve(&path, len, &room);
		if (!err)
			path[len++] = at;
	}
	*length = len;
	for (uint32_t outer = 0; !err && len--; outer = path[len]) {
		struct node *of = &s->nodes[path[len]];
		const uint32_t function = function_of(nodes, path[len]);
		uint32_t known = 0;

		if (of->hash)
			continue;
		of->place = frame_hash(tree, path[len], function);
		of->outer = outer;
		of->hash = add_number(outer ? s->nodes[outer].hash : 0, of->place);
		of->hash += !of->hash;
		if (ebt_map_find(&s->known, of->place, &known))
			continue;
		err = ebt_map_add(&s->known, of->place, 0, &known)
			      ?: put_frame(s, tree, path[len], function, of->place);
	}
	return err;
}

static struct ebt_error *put_stack(struct clickhouse_stacks *s, uint32_t node, size_t length)
{
	_cleanup_free_ uint64_t *places = calloc(length + 1, sizeof(*places));
	size_t n = 0;

	if (!places)
		return &ebt_enomem;
	for (uint32_t at = node; at && n < length; at = s->nodes[at].outer)
		places[n++] = s->nodes[at].place;
	native_u64(s->stack, 0, s->nodes[node].hash);
	while (n--)
		native_u64(s->stack, 1, places[n]);
	native_array_end(s->stack, 1);
	native_row_end(s->stack);
	return native_block_rows(s->stack) < BLOCK_ROWS ? NULL
							: native_block_write(s->stack, s->stacks);
}

struct ebt_error *clickhouse_stack(struct clickhouse_stacks *stacks, const struct calltree *tree,
				   uint32_t node, uint64_t *ret)
{
	struct ebt_error *err = NULL;
	size_t length = 0;

	*ret = 0;
	if (!node)
		return NULL;
	err = ebt_array_reserve_zeroed(&stacks->nodes, node, &stacks->capacity);
	if (!err && !stacks->nodes[node].written)
		err = make(stacks, tree, node, &length) ?: put_stack(stacks, node, length);
	if (err)
		return err;
	stacks->nodes[node].written = true;
	*ret = stacks->nodes[node].hash;
	return NULL;
}

void clickhouse_stacks_forget(struct clickhouse_stacks *stacks)
{
	free(stacks->nodes);
	stacks->nodes = NULL;
	stacks->capacity = 0;
}

struct ebt_error *clickhouse_stacks_finish(struct clickhouse_stacks *stacks)
{
	return native_block_write(stacks->frame, stacks->frames)
		       ?: native_block_write(stacks->stack, stacks->stacks);
}
