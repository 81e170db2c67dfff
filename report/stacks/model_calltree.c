/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks to a tree of calls; see model_calltree.h. */
#include "report/stacks/model_calltree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "report/base/text.h"
#include "report/stacks/calltree_private.h"
#include "report/stacks/recorder.h"

/* A tree beyond this is no picture of anything. 16 M nodes take 1 GiB. */
#define MAX_NODES (1u << 24)

/* Stacks that are remembered with their node. A stack falls out of it by another on its place. */
#define CACHE_SIZE (1u << 15)

const char *calltree_kind_name(enum calltree_kind kind)
{
	static const char *const names[CALLTREE_N_KINDS] = {
		[CALLTREE_ROOT] = "process",	[CALLTREE_USER] = "user",
		[CALLTREE_LIBRARY] = "library", [CALLTREE_KERNEL] = "kernel",
		[CALLTREE_INLINED] = "inlined", [CALLTREE_JIT] = "jit",
		[CALLTREE_PYTHON] = "python",	[CALLTREE_UNRESOLVED] = "unresolved",
		[CALLTREE_ON_CPU] = "on CPU",	[CALLTREE_QUEUED] = "run queue",
		[CALLTREE_OFF_CPU] = "off CPU",
	};

	return names[kind];
}

static uint64_t mix(uint64_t h)
{
	h ^= h >> 31;
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* --- functions --- */

static struct ebt_error *add_func(struct calltree *tree, const struct calltree_func *func,
				  uint32_t *ret)
{
	struct ebt_error *err;

	err = ebt_array_reserve(&tree->funcs, tree->n_funcs, &tree->funcs_capacity);
	if (err)
		return err;
	tree->funcs[tree->n_funcs] = *func;
	*ret = tree->n_funcs++;
	return NULL;
}

/* A func that is no function: found by its name, which is copied. */
static struct ebt_error *named_func(struct calltree *tree, const char *name,
				    enum calltree_kind kind, uint32_t *ret)
{
	const size_t len = strlen(name);
	const uint64_t hash = ebt_hash_bytes(0, name, len);
	struct calltree_func func = { .object = "", .kind = kind };
	struct ebt_error *err;
	size_t at = 0;

	while ((*ret = ebt_map_next(&tree->names, hash, &at)) != EBT_MAP_NONE) {
		if (strcmp(tree->funcs[*ret].name, name) == 0)
			return NULL;
	}
	err = ebt_arena_string(&tree->arena, name, len, &func.name) ?: add_func(tree, &func, ret);
	return err ? err : ebt_map_insert(&tree->names, hash, *ret);
}

static bool is_library(const char *object)
{
	const char *slash = strrchr(object, '/');
	const char *so = strstr(slash ? slash : object, ".so");

	return so && (so[3] == '\0' || so[3] == '.');
}

static enum calltree_kind kind_of(const struct sym_func *func)
{
	if (func->reason != SYM_OK && func->reason != SYM_DISABLED)
		return CALLTREE_UNRESOLVED;
	switch (func->kind) {
	case SYM_USER:
		return is_library(func->object) ? CALLTREE_LIBRARY : CALLTREE_USER;
	case SYM_KERNEL:
	case SYM_MODULE:
		return CALLTREE_KERNEL;
	case SYM_VDSO:
		return CALLTREE_LIBRARY;
	case SYM_JIT:
		return CALLTREE_JIT;
	case SYM_PYTHON:
		return CALLTREE_PYTHON;
	case SYM_UNKNOWN:
		break;
	}
	return CALLTREE_UNRESOLVED;
}

static struct calltree_func func_of(const struct sym_func *sym)
{
	return (struct calltree_func){
		.name = sym->name,
		.object = sym->object,
		.kind = kind_of(sym),
		.reason = sym->reason,
		.sym = sym,
	};
}

/* One for each place. */
static struct ebt_error *place_to_func(struct calltree *tree, const struct sym_frame *frame,
				       uint64_t address, uint32_t *ret)
{
	const uint64_t hash = ebt_hash_u64(ebt_hash_u64(0, address),
					   (uint64_t)frame->func->id << 32 | frame->line);
	struct calltree_func func = func_of(frame->func);
	struct ebt_error *err;

	*ret = ebt_map_search(&tree->places, hash, i,
			      tree->funcs[i].sym == frame->func &&
				      tree->funcs[i].address == address &&
				      tree->funcs[i].line == frame->line &&
				      tree->funcs[i].file == frame->file);
	if (*ret != EBT_MAP_NONE)
		return NULL;
	func.file = frame->file;
	func.line = frame->line;
	func.address = address;
	err = add_func(tree, &func, ret);
	return err ? err : ebt_map_insert(&tree->places, hash, *ret);
}

static struct ebt_error *sym_to_func(struct calltree *tree, const struct sym_func *sym,
				     uint32_t *ret)
{
	const struct calltree_func func = func_of(sym);
	struct ebt_error *err;

	err = ebt_array_reserve_zeroed(&tree->by_sym, sym->id, &tree->n_by_sym);
	if (!err && !tree->by_sym[sym->id])
		err = add_func(tree, &func, &tree->by_sym[sym->id]);
	if (!err)
		*ret = tree->by_sym[sym->id];
	return err;
}

/* --- nodes --- */

/* The stack that made a node has put the node's first child right behind it, if it went on. */
static bool is_behind(const struct calltree *tree, uint32_t parent, uint32_t func, bool inlined)
{
	const struct calltree_node *next = &tree->nodes[parent + 1];

	return parent + 1 < tree->n_nodes && next->parent == parent && next->func == func &&
	       next->inlined == inlined;
}

struct ebt_error *calltree_child(struct calltree *tree, uint32_t parent, uint32_t func,
				 bool inlined, uint32_t *ret)
{
	/* Parents have 24 bits. */
	const uint64_t key = (uint64_t)parent << 33 | (uint64_t)func << 1 | inlined;
	struct ebt_error *err;

	if (is_behind(tree, parent, func, inlined)) {
		*ret = parent + 1;
		return NULL;
	}
	err = ebt_array_reserve(&tree->nodes, tree->n_nodes, &tree->nodes_capacity)
		      ?: ebt_map_add(&tree->children, key, tree->n_nodes, ret);
	if (err || *ret < tree->n_nodes)
		return err;
	if (tree->n_nodes == MAX_NODES)
		return ebt_error_create(EBT_ERR_LIMIT,
					"the call tree has more than %u nodes: use a filter",
					MAX_NODES);
	tree->nodes[tree->n_nodes++] = (struct calltree_node){
		.parent = parent,
		.func = func,
		.inlined = inlined,
		.recorder = tree->nodes[parent].recorder,
	};
	return NULL;
}

struct ebt_error *calltree_named(struct calltree *tree, uint32_t parent, const char *name,
				 enum calltree_kind kind, uint32_t *ret)
{
	struct ebt_error *err;
	uint32_t func;

	err = named_func(tree, name, kind, &func);
	return err ? err : calltree_child(tree, parent, func, false, ret);
}

void calltree_add_line(struct calltree_node *node, const char *file, uint32_t first, uint32_t last)
{
	if (!file || !first || node->many_files)
		return;
	if (!node->file) {
		node->file = file;
		node->line_first = first;
		node->line_last = last;
	} else if (node->file != file && strcmp(node->file, file) != 0) {
		node->file = NULL;
		node->many_files = true;
	} else {
		if (first < node->line_first)
			node->line_first = first;
		if (last > node->line_last)
			node->line_last = last;
	}
}

/* --- stacks --- */

/* A frame that is no code; what stands behind a NUL would be lost, and no name has one. */
static struct ebt_error *place_name(struct calltree *tree, struct ebt_str name, const char *numbers,
				    uint32_t *node)
{
	char text[300];

	name = text_comm((struct ebt_str){ name.data, strnlen(name.data, name.len) });
	if (name.len > 255)
		name.len = 255;
	snprintf(text, sizeof(text), "%.*s%s", (int)name.len, name.data, numbers);
	return calltree_named(tree, *node, text, CALLTREE_ROOT, node);
}

static struct ebt_error *place_thread(struct calltree *tree, const struct ebt_task *task,
				      uint32_t *node)
{
	const struct calltree_options *options = &tree->options;
	char number[16] = "";

	if (!options->threads || !task || options->roots == CALLTREE_BY_THREAD)
		return NULL;
	if (options->roots == CALLTREE_BY_PROCESS)
		snprintf(number, sizeof(number), " (%" PRIu32 ")", task->tid);
	return place_name(tree,
			  options->thread_name ? options->thread_name(options->thread_arg, task)
					       : task->comm,
			  number, node);
}

static struct ebt_error *place_root(struct calltree *tree, const struct ebt_task *task,
				    uint32_t *node)
{
	const struct calltree_options *options = &tree->options;
	struct ebt_str comm = { "idle", 4 };
	char numbers[32] = "";
	struct ebt_error *err = NULL;

	if (task)
		comm = task->comm;
	if (task && options->name)
		comm = options->name(options->arg, task);
	if (options->roots == CALLTREE_BY_PROCESS && task)
		snprintf(numbers, sizeof(numbers), " (%" PRIu32 ")", task->pid);
	else if (options->roots == CALLTREE_BY_THREAD && task)
		snprintf(numbers, sizeof(numbers), " (%" PRIu32 "/%" PRIu32 ")", task->pid,
			 task->tid);
	if (options->roots != CALLTREE_NO_ROOTS)
		err = place_name(tree, comm, numbers, node);
	return err ? err : place_thread(tree, task, node);
}

/* With `python3 -X perf` generated code calls the interpreter's loop for each function, and has its
 * name: the loop is shown as that already. */
static bool is_trampoline(const struct ebt_stack *addresses, uint32_t i,
			  const struct sym_frames *frames)
{
	const struct sym_func *func = frames->frames[0].func;

	return func->kind == SYM_JIT && func->reason == SYM_OK && i > 0 &&
	       addresses->attrs & EBT_STACK_USER && addresses->addresses[i - 1] & EBT_ENTRY_INTERP;
}

static struct ebt_error *place_address(struct calltree *tree, const struct calltree_stack *stack,
				       const struct ebt_stack *addresses, uint32_t i, bool caller,
				       uint32_t *node, struct sym_validity *valid)
{
	struct sym_frames frames;
	struct ebt_error *err;

	err = sym_resolve_valid(tree->sym, stack->task, stack->time, addresses->attrs,
				addresses->addresses[i], caller, &frames, valid);
	if (err || is_trampoline(addresses, i, &frames))
		return err;
	if (tree->options.deciding && frames.offset)
		frames.address = frames.offset - caller;
	for (size_t k = frames.n; k-- > 0;) {
		const struct sym_frame *frame = &frames.frames[k];
		uint32_t func;

		err = (tree->options.places ? place_to_func(tree, frame, frames.address, &func)
					    : sym_to_func(tree, frame->func, &func))
			      ?: calltree_child(tree, *node, func, frame->inlined, node);
		if (err)
			return err;
		calltree_add_line(&tree->nodes[*node], frame->file, frame->line, frame->line);
	}
	return NULL;
}

/* Through what a tracepoint calls a BPF program. */
static bool is_tracing(const char *name)
{
	static const char *const starts[] = { "bpf_trace_run", "__bpf_trace_", "__traceiter_" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return false;
}

#define TRACING_FRAMES 4

/*
 * A stack that was taken at a tracepoint begins with the recorder's program and what called it:
 * *ret is how many such frames there are. In a sample, they are what the CPU was doing.
 */
static struct ebt_error *find_tracing(struct calltree *tree, const struct calltree_stack *stack,
				      const struct ebt_stack *addresses, uint32_t *ret)
{
	struct sym_frames frames;
	struct ebt_error *err;

	*ret = 0;
	if (stack->batch->table->id == EBT_T_sample || addresses->attrs & EBT_STACK_USER)
		return NULL;
	for (uint32_t i = 0; i < TRACING_FRAMES && i < addresses->n; i++) {
		err = sym_resolve(tree->sym, stack->task, stack->time, addresses->attrs,
				  addresses->addresses[i], i > 0, &frames);
		if (err)
			return err;
		if (frames.n && is_tracing(frames.frames[0].func->name))
			*ret = i + 1;
	}
	return NULL;
}

/* Only a sample shows what the recorder does; other stacks of the kernel were taken by it. */
static struct ebt_error *find_recorder(struct calltree *tree, const struct calltree_stack *stack,
				       const struct ebt_stack *addresses, uint32_t *ret)
{
	*ret = addresses->n;
	if (stack->batch->table->id != EBT_T_sample)
		return NULL;
	return recorder_find(tree->sym, stack->task, stack->time, addresses, ret);
}

static struct ebt_error *place_recorder(struct calltree *tree, uint32_t *node)
{
	struct ebt_error *err = calltree_named(tree, *node, RECORDER_FRAME, CALLTREE_KERNEL, node);

	if (!err)
		tree->nodes[*node].recorder = true;
	return err;
}

static struct ebt_error *place_kernel(struct calltree *tree, const struct calltree_stack *stack,
				      const struct ebt_stack *addresses, uint32_t *node)
{
	struct sym_validity valid;
	struct ebt_error *err;
	uint32_t tracing, recorder;

	err = find_tracing(tree, stack, addresses, &tracing)
		      ?: find_recorder(tree, stack, addresses, &recorder);
	for (uint32_t i = addresses->n; !err && i-- > tracing;) {
		if (sym_is_shown_by_next(addresses, i))
			continue;
		if (i == recorder)
			err = place_recorder(tree, node);
		if (!err)
			err = place_address(tree, stack, addresses, i, i > 0, node, &valid);
	}
	return err;
}

/* How many steps of the path the stack has, too; the last one that they share is not among them, as
 * the address that follows may decide on how it is shown. */
static struct ebt_error *find_shared(struct calltree *tree, const struct calltree_stack *stack,
				     const struct ebt_stack *addresses, uint32_t *ret)
{
	const struct path *path = &tree->path;
	const uint32_t n = path->n < addresses->n ? path->n : addresses->n;
	struct sym_validity valid;
	struct sym_frames frames;
	struct ebt_error *err;
	uint32_t shared = 0;

	*ret = 0;
	/* An interpreter's function does not tell whose stack it is. */
	if (n < 2 || addresses->addresses[addresses->n - 1] & EBT_ENTRY_INTERP)
		return NULL;
	err = sym_resolve_valid(tree->sym, stack->task, stack->time, addresses->attrs,
				addresses->addresses[addresses->n - 1], true, &frames, &valid);
	if (err || valid.process != path->steps[0].valid.process)
		return err;
	while (shared < n) {
		const struct path_step *step = &path->steps[shared];
		const uint32_t i = addresses->n - 1 - shared;

		if (step->address != addresses->addresses[i] ||
		    step->caller != (i > 0 || stack->kernel) || stack->time < step->valid.from ||
		    stack->time >= step->valid.to)
			break;
		shared++;
	}
	*ret = shared ? shared - 1 : 0;
	return NULL;
}

static struct ebt_error *place_user(struct calltree *tree, const struct calltree_stack *stack,
				    const struct ebt_stack *addresses, uint32_t *node)
{
	struct path *path = &tree->path;
	struct sym_validity valid = { 0 };
	uint32_t shared = 0;
	struct ebt_error *err = NULL;

	if (path->start == *node)
		err = find_shared(tree, stack, addresses, &shared);
	path->start = *node;
	path->n = shared;
	if (shared)
		*node = path->steps[shared - 1].node;
	for (uint32_t i = addresses->n - shared; !err && i-- > 0;) {
		const bool caller = i > 0 || stack->kernel;

		if (!sym_is_shown_by_next(addresses, i))
			err = place_address(tree, stack, addresses, i, caller, node, &valid);
		path->steps[path->n++] = (struct path_step){
			.address = addresses->addresses[i],
			.valid = valid,
			.node = *node,
			.caller = caller,
		};
	}
	return err;
}

static struct ebt_error *place(struct calltree *tree, const struct calltree_stack *stack,
			       uint32_t *ret)
{
	struct ebt_error *err = place_root(tree, stack->task, ret);

	for (int kernel = 0; !err && kernel < 2; kernel++) {
		const size_t number = kernel ? stack->kernel : stack->user;
		const struct ebt_stack *addresses;

		if (!number)
			continue;
		addresses = &stack->batch->stacks[number - 1];
		if (addresses->attrs & EBT_STACK_TRUNCATED)
			err = calltree_named(tree, *ret, "[truncated]", CALLTREE_UNRESOLVED, ret);
		if (!err)
			err = (kernel ? place_kernel : place_user)(tree, stack, addresses, ret);
	}
	return err;
}

struct ebt_error *calltree_place(struct calltree *tree, const struct calltree_stack *stack,
				 uint32_t *ret)
{
	const struct cached key = {
		.batch = stack->batch->id,
		.task = stack->task,
		.kernel = (uint32_t)stack->kernel,
		.user = (uint32_t)stack->user,
	};
	uint64_t hash = mix(mix((uint64_t)key.kernel << 32 | key.user) ^ (uintptr_t)key.task);
	struct cached *cached = &tree->cache[mix(hash + key.batch) & (CACHE_SIZE - 1)];
	uint32_t node = 0;
	struct ebt_error *err;

	if (cached->node && cached->batch == key.batch && cached->task == key.task &&
	    cached->kernel == key.kernel && cached->user == key.user) {
		*ret = cached->node;
		return NULL;
	}
	err = place(tree, stack, &node);
	if (err)
		return err;
	*cached = key;
	cached->node = node;
	*ret = node;
	return NULL;
}

void calltree_add(struct calltree *tree, uint32_t node, uint64_t weight)
{
	tree->nodes[node].self += weight;
	tree->nodes[node].count++;
}

struct ebt_error *calltree_add_leaf(struct calltree *tree, uint32_t node, const char *name,
				    enum calltree_kind kind, uint64_t weight)
{
	struct ebt_error *err;
	uint32_t leaf;

	err = calltree_named(tree, node, name, kind, &leaf);
	if (!err)
		calltree_add(tree, leaf, weight);
	return err;
}

/* --- trees --- */

struct ebt_error *calltree_create(struct sym *sym, const struct calltree_options *options,
				  struct calltree **ret)
{
	_cleanup_(calltree_destroyp) struct calltree *tree = calloc(1, sizeof(*tree));
	/* Func 0 is the tree's own, so that 0 can mean none elsewhere. */
	const struct calltree_func all = { .name = "all", .object = "", .kind = CALLTREE_ROOT };
	struct ebt_error *err;
	uint32_t func;

	if (!tree)
		return &ebt_enomem;
	tree->sym = sym;
	ebt_arena_init(&tree->arena, SIZE_MAX);
	if (options)
		tree->options = *options;
	tree->cache = calloc(CACHE_SIZE, sizeof(*tree->cache));
	tree->path.steps = calloc(EBT_MAX_FRAMES, sizeof(*tree->path.steps));
	if (!tree->cache || !tree->path.steps)
		return &ebt_enomem;
	err = add_func(tree, &all, &func)
		      ?: ebt_array_reserve_zeroed(&tree->nodes, 0, &tree->nodes_capacity);
	if (err)
		return err;
	tree->n_nodes = 1;
	*ret = take_ptr(tree);
	return NULL;
}

void calltree_destroy(struct calltree *tree)
{
	if (!tree)
		return;
	if (!tree->borrowed_funcs)
		free(tree->funcs);
	ebt_arena_deinit(&tree->arena);
	ebt_map_deinit(&tree->names);
	ebt_map_deinit(&tree->places);
	free(tree->by_sym);
	free(tree->nodes);
	ebt_map_deinit(&tree->children);
	free(tree->cache);
	free(tree->path.steps);
	free(tree);
}

const struct calltree_node *calltree_nodes(const struct calltree *tree, uint32_t *ret_n)
{
	*ret_n = tree->n_nodes;
	return tree->nodes;
}

uint64_t calltree_total(const struct calltree *tree)
{
	return tree->nodes[0].total;
}

const struct calltree_func *calltree_funcs(const struct calltree *tree, uint32_t *ret_n)
{
	*ret_n = tree->n_funcs;
	return tree->funcs;
}

uint32_t calltree_caller_node(const struct calltree *tree, uint32_t node)
{
	const struct calltree_node *nodes = tree->nodes;
	const uint32_t first = node;

	while (node && tree->funcs[nodes[node].func].kind == CALLTREE_KERNEL)
		node = nodes[node].parent;
	if (node && tree->funcs[nodes[node].func].kind != CALLTREE_ROOT)
		return node;
	return tree->funcs[nodes[first].func].kind != CALLTREE_ROOT ? first : 0;
}

uint32_t calltree_caller(const struct calltree *tree, uint32_t node)
{
	const uint32_t caller = calltree_caller_node(tree, node);

	return caller ? tree->nodes[caller].func : UINT32_MAX;
}

enum calltree_kind calltree_node_kind(const struct calltree *tree, uint32_t node)
{
	const struct calltree_node *n = &tree->nodes[node];
	enum calltree_kind kind = tree->funcs[n->func].kind;

	return n->inlined && kind != CALLTREE_UNRESOLVED ? CALLTREE_INLINED : kind;
}
