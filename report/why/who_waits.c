/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who waited for whom; see who_waits.h. */
#include "report/why/who_waits.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "report/base/text.h"
#include "report/out/out.h"

#define MAX_DEPTH 80 /* more than waiters of path.h */

/* Threads of one name, below those that waited for them in one way. */
struct wait_node {
	uint32_t parent;
	uint32_t task; /* one of them */
	uint8_t how; /* the parent waited: enum wait_reason; WAIT_N_REASONS: it did not, by then */
	uint64_t ns[WHY_UNKNOWN + 1]; /* its own, by kind */
	uint64_t all_ns;
	uint64_t threads;
};

struct wait_tree {
	const struct why *why;
	const struct names *names;
	struct wait_node *nodes; /* parents first; the first is whose path it is */
	size_t n, capacity;
	struct ebt_map by_place, by_thread;
	uint32_t *of_waiter; /* by waiter of the path */
	uint32_t *order;     /* of nodes: children of one parent together, the longest first */
	uint32_t *begin;     /* by node: where its children begin in `order` */
};

static void tree_deinit(struct wait_tree *tree)
{
	free(tree->nodes);
	free(tree->of_waiter);
	free(tree->order);
	free(tree->begin);
	ebt_map_deinit(&tree->by_place);
	ebt_map_deinit(&tree->by_thread);
}

static struct ebt_str comm_of(const struct wait_tree *tree, uint32_t task)
{
	return why_thread_name(tree->why->graph, tree->names, task);
}

/* --- building --- */

static bool is_place(const struct wait_tree *tree, const struct wait_node *node, uint32_t parent,
		     struct ebt_str comm, uint8_t how)
{
	return node->parent == parent && node->how == how &&
	       ebt_str_equal(comm_of(tree, node->task), comm);
}

static struct ebt_error *add_node(struct wait_tree *tree, uint32_t parent, uint32_t task,
				  uint8_t how)
{
	struct ebt_error *err = ebt_array_reserve(&tree->nodes, tree->n, &tree->capacity);

	if (!err)
		tree->nodes[tree->n++] =
			(struct wait_node){ .parent = parent, .task = task, .how = how };
	return err;
}

static struct ebt_error *find_child(struct wait_tree *tree, uint32_t parent, uint32_t task,
				    uint8_t how, uint32_t *ret)
{
	const struct ebt_str comm = comm_of(tree, task);
	const uint64_t key = ebt_hash_bytes(ebt_hash_u64(how, parent), comm.data, comm.len);
	struct ebt_error *err;

	*ret = ebt_map_search(&tree->by_place, key, i,
			      i && is_place(tree, &tree->nodes[i], parent, comm, how));
	if (*ret != EBT_MAP_NONE)
		return NULL;
	*ret = (uint32_t)tree->n;
	err = add_node(tree, parent, task, how);
	return err ? err : ebt_map_insert(&tree->by_place, key, *ret);
}

static struct ebt_error *find_thread(struct wait_tree *tree, uint32_t waiter, uint32_t task,
				     uint32_t *ret)
{
	*ret = 0;
	if (!waiter && task == tree->why->task)
		return NULL;
	return find_child(tree, tree->of_waiter[waiter], task,
			  waiter ? tree->why->path.waiters[waiter].reason : WAIT_N_REASONS, ret);
}

/* Parents of waiters stand before them. */
static struct ebt_error *place_waiters(struct wait_tree *tree)
{
	const struct why_path *path = &tree->why->path;
	struct ebt_error *err = NULL;

	tree->of_waiter = calloc(path->n_waiters + 1, sizeof(*tree->of_waiter));
	if (!tree->of_waiter)
		return &ebt_enomem;
	for (size_t i = 1; !err && i < path->n_waiters; i++)
		err = find_thread(tree, path->waiters[i].parent, path->waiters[i].task,
				  &tree->of_waiter[i]);
	return err;
}

static struct ebt_error *add_segment(struct wait_tree *tree, const struct why_segment *segment)
{
	uint32_t node, known;
	struct ebt_error *err = find_thread(tree, segment->waiter, segment->task, &node);
	const uint64_t key = (uint64_t)node << 32 | segment->task;

	if (err)
		return err;
	tree->nodes[node].ns[segment->kind] += why_segment_ns(segment);
	if (ebt_map_find(&tree->by_thread, key, &known))
		return NULL;
	tree->nodes[node].threads++;
	return ebt_map_insert(&tree->by_thread, key, 1);
}

static void sum_up(struct wait_tree *tree)
{
	for (size_t i = tree->n; i--;) {
		struct wait_node *node = &tree->nodes[i];

		for (int k = 0; k <= WHY_UNKNOWN; k++)
			node->all_ns += node->ns[k];
		if (i)
			tree->nodes[node->parent].all_ns += node->all_ns;
	}
}

static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct wait_tree *tree = arg;
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct wait_node *x = &tree->nodes[i], *y = &tree->nodes[k];

	return ebt_compare(x->parent, y->parent) ?: ebt_compare(y->all_ns, x->all_ns) ?:
	       ebt_compare(i, k);
}

/* The first node is nobody's child. */
static struct ebt_error *arrange(struct wait_tree *tree)
{
	const size_t n = tree->n;

	tree->order = calloc(n + 1, sizeof(*tree->order));
	tree->begin = calloc(n + 1, sizeof(*tree->begin));
	if (!tree->order || !tree->begin)
		return &ebt_enomem;
	for (uint32_t i = 1; i < n; i++)
		tree->order[i - 1] = i;
	qsort_r(tree->order, n - 1, sizeof(*tree->order), compare_nodes, tree);
	for (size_t i = n - 1; i--;)
		tree->begin[tree->nodes[tree->order[i]].parent] = (uint32_t)i;
	return NULL;
}

static struct ebt_error *tree_init(struct wait_tree *tree)
{
	const struct why_path *path = &tree->why->path;
	struct ebt_error *err =
		add_node(tree, 0, tree->why->task, WAIT_N_REASONS) ?: place_waiters(tree);

	for (size_t i = 0; !err && i < path->n; i++)
		err = add_segment(tree, &path->segments[i]);
	if (err)
		return err;
	sum_up(tree);
	return arrange(tree);
}

/* --- rows --- */

#define NODES(X)                                                                               \
	X("thread", "THREAD", OUT_STRING, out_str(text_str(&label)),                           \
	  OUT_TEXT_ONLY | OUT_INDENT | OUT_FLEX)                                               \
	X("comm", NULL, OUT_STRING, task ? out_str(name) : out_null(), OUT_DETAIL)             \
	X("thread_count", NULL, OUT_U64, out_u64(node->threads), OUT_DETAIL)                   \
	X("tid", NULL, OUT_U64, node->threads == 1 ? out_tid(task) : out_null(), OUT_DETAIL)   \
	X("waited", "WAITED", OUT_STRING, out_cstr_if(how))                                    \
	X("duration_ns", "DURATION", OUT_DURATION, out_u64(node->all_ns))                      \
	X("percent", "%", OUT_PERCENT,                                                         \
	  out_f64(all_ns ? 100.0 * (double)node->all_ns / (double)all_ns : 0))                 \
	X("cpu_ns", "CPU", OUT_DURATION, out_u64_if(node->ns[WHY_CPU], node->ns[WHY_CPU]))     \
	X("runqueue_ns", "RUNQUEUE", OUT_DURATION,                                             \
	  out_u64_if(node->ns[WHY_RUNQUEUE], node->ns[WHY_RUNQUEUE]), 0, 110)                  \
	X("wait_ns", "WAIT", OUT_DURATION, out_u64_if(node->ns[WHY_WAIT], node->ns[WHY_WAIT])) \
	X("unknown_ns", "UNKNOWN", OUT_DURATION,                                               \
	  out_u64_if(node->ns[WHY_UNKNOWN], node->ns[WHY_UNKNOWN]), 0, 120)

static struct ebt_error *put_node(struct report *report, const struct wait_tree *tree, uint32_t i,
				  unsigned int depth)
{
	const struct wait_node *node = &tree->nodes[i];
	const uint64_t all_ns = tree->nodes[0].all_ns;
	const struct ebt_task *task = why_task(tree->why, node->task);
	const struct ebt_str name = comm_of(tree, node->task);
	const char *how =
		node->how < WAIT_N_REASONS ? wait_reason_name((enum wait_reason)node->how) : NULL;
	_cleanup_text_ struct text label = TEXT_INIT;

	if (node->threads > 1) {
		text_add(&label, name.data, name.len);
		text_printf(&label, " (%" PRIu64 " threads)", node->threads);
	} else if (task) {
		text_task(&label, name, task->tid);
	}
	if (text_error(&label))
		return text_error(&label);
	return out_row(report->out, depth, OUT_VALUES(NODES));
}

/* Each with what is below it. */
static struct ebt_error *put_nodes(struct report *report, const struct wait_tree *tree)
{
	const struct out_table table =
		OUT_TABLE_OF("rows", NODES, .flags = OUT_KEEP_ORDER | OUT_TREE);
	struct {
		uint32_t parent, next;
	} open[MAX_DEPTH];
	unsigned int depth = 0;
	struct ebt_error *err = out_begin(report->out, &table);

	if (err || !tree->n)
		return err ? err : out_end(report->out);
	err = put_node(report, tree, 0, 0);
	open[0].parent = 0;
	open[0].next = tree->begin[0];
	while (!err) {
		const uint32_t at = open[depth].next++;
		const uint32_t i = at + 1 < tree->n ? tree->order[at] : 0;

		if (!i || tree->nodes[i].parent != open[depth].parent) {
			if (!depth--)
				break;
			continue;
		}
		err = put_node(report, tree, i, depth + 1);
		if (depth + 1 < MAX_DEPTH) {
			depth++;
			open[depth].parent = i;
			open[depth].next = tree->begin[i];
		}
	}
	return err ? err : out_end(report->out);
}

struct ebt_error *why_put_tree(struct report *report, const struct why *why,
			       const struct names *names)
{
	struct wait_tree tree = { .why = why, .names = names };
	struct ebt_error *err = why->path.n ? tree_init(&tree) : NULL;

	if (!err)
		err = put_nodes(report, &tree);

	tree_deinit(&tree);
	return err;
}
