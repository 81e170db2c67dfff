/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call trees, and time off CPU by stack, with a symbolizer that knows one name per address. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/sched/model_offcpu.h"
#include "report/stacks/calltree_shape.h"
#include "report/stacks/model_calltree.h"
#include "tests/tools/make_trace.h"
#include "tests/tools/small_trace.h"

/* Address N00 to N99 is function N of this table; 500 has an inlined function on top. */
static const struct sym_func functions[] = {
	{ .id = 0, .name = "start", .object = "/lib/libc.so.6", .kind = SYM_USER },
	{ .id = 1, .name = "main", .object = "/bin/a", .kind = SYM_USER },
	{ .id = 2, .name = "work", .object = "/bin/a", .kind = SYM_USER },
	{ .id = 3, .name = "recurse", .object = "/bin/a", .kind = SYM_USER },
	{ .id = 4, .name = "sys_read", .object = "[kernel]", .kind = SYM_KERNEL },
	{ .id = 5, .name = "caller", .object = "/bin/a", .kind = SYM_USER },
	{ .id = 6, .name = "0x600", .object = "", .kind = SYM_UNKNOWN, .reason = SYM_NO_MAPPING },
	{ .id = 7, .name = "tiny", .object = "/bin/a", .kind = SYM_USER },
	{ .id = 8, .name = "bpf_trace_run5", .object = "[kernel]", .kind = SYM_KERNEL },
	{ .id = 9, .name = "bpf_prog_1_x", .object = "bpf", .kind = SYM_KERNEL },
};

static bool is_kernel(uint64_t address)
{
	return functions[address / 100].kind == SYM_KERNEL;
}

static unsigned int resolved;
/* From this time on, and in process 20, what is mapped below 200 is function 2. */
static uint64_t remapped = UINT64_MAX;

struct ebt_error *sym_resolve_valid(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
				    uint32_t attrs, uint64_t address, bool caller,
				    struct sym_frames *ret, struct sym_validity *ret_valid)
{
	static struct sym_frame frames[2];
	const bool late = time_ns >= remapped;

	(void)sym;
	*ret_valid = (struct sym_validity){
		.process = task->pid,
		.from = late ? remapped : 0,
		.to = late ? UINT64_MAX : remapped,
	};
	/* Kernel functions are those of kernel stacks, and return addresses end in 1. */
	assert_int_equal(attrs & EBT_STACK_USER, is_kernel(address) ? 0 : EBT_STACK_USER);
	assert_int_equal(caller, address % 10 == 1);
	resolved++;
	frames[0] = (struct sym_frame){ .func = &functions[address / 100] };
	ret->frames = frames;
	ret->n = 1;
	ret->address = address;
	if (address / 100 == 5) {
		frames[1] = (struct sym_frame){ &functions[5], "a.c", (uint32_t)address, false };
		frames[0] = (struct sym_frame){ &functions[7], "a.h", 7, true };
		ret->n = 2;
	}
	if (remapped != UINT64_MAX && address < 200 && (late || task->pid == 20))
		frames[0].func = &functions[2];
	return NULL;
}

struct ebt_error *sym_resolve(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
			      uint32_t attrs, uint64_t address, bool caller, struct sym_frames *ret)
{
	struct sym_validity valid;

	return sym_resolve_valid(sym, task, time_ns, attrs, address, caller, ret, &valid);
}

/* "name;name self total\n" for each node, depth first; inlined ones have a star. */
static char *print_tree(const struct calltree *tree)
{
	uint32_t n, at;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	const struct calltree_func *funcs = calltree_funcs(tree, &n);
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (at = 0;;) {
		int depth = 0;

		for (uint32_t i = at; i; i = nodes[i].parent)
			depth++;
		fprintf(f, "%*s%s%s %" PRIu64 " %" PRIu64 "\n", depth, "",
			funcs[nodes[at].func].name, nodes[at].inlined ? "*" : "", nodes[at].self,
			nodes[at].total);
		if (nodes[at].child) {
			at = nodes[at].child;
			continue;
		}
		while (at && !nodes[at].sibling)
			at = nodes[at].parent;
		if (!at)
			break;
		at = nodes[at].sibling;
	}
	fclose(f);
	return text;
}

static void expect_tree(const struct calltree *tree, const char *wanted)
{
	char *text = print_tree(tree);

	assert_string_equal(text, wanted);
	free(text);
}

static uint32_t func_named(const struct calltree *tree, const char *name)
{
	uint32_t n;
	const struct calltree_func *funcs = calltree_funcs(tree, &n);

	for (uint32_t i = 0; i < n; i++) {
		if (!strcmp(funcs[i].name, name))
			return i;
	}
	fail_msg("no function %s", name);
	return 0;
}

static struct calltree *read_samples_with(struct ebt_reader *reader,
					  const struct calltree_options *options)
{
	const struct ebt_want want = { EBT_T_sample, ~UINT64_C(0) };
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	struct calltree *tree;
	struct ebt_row row;
	uint32_t node;

	assert_no_error(ebt_cursor_create(reader, &query, &cursor));
	assert_no_error(calltree_create(NULL, options, &tree));
	for (;;) {
		struct calltree_stack stack;

		assert_no_error(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			break;
		stack = (struct calltree_stack){
			.batch = row.batch,
			.task = ebt_sample_task(&row),
			.time = row.time,
			.kernel = ebt_sample_kstack_id(&row),
			.user = ebt_sample_ustack_id(&row),
		};
		assert_no_error(calltree_place(tree, &stack, &node));
		calltree_add(tree, node, ebt_sample_period(&row));
	}
	assert_no_error(calltree_finish(tree));
	return tree;
}

static struct calltree *read_samples(struct ebt_reader *reader, enum calltree_roots roots)
{
	return read_samples_with(reader, &(struct calltree_options){ .roots = roots });
}

static const struct small_stack none = { .n = 0 };
static const struct small_stack in_work = { { 200, 101, 1 }, 3 };
static const struct small_stack in_main = { { 100, 1 }, 2 };
static const struct small_stack in_recursion = { { 300, 301, 301, 101, 1 }, 5 };
static const struct small_stack in_read = { { 400 }, 1 };
static const struct small_stack read_traced = { { 900, 801, 401 }, 3 };
static const struct small_stack read_called = { { 201, 101, 1 }, 3 };
static const struct small_stack in_tiny = { { 500, 101, 1 }, 3 };
static const struct small_stack nowhere = { { 600 }, 1 };

static void make_samples(struct small_trace *t)
{
	small_begin(t);
	t->comms[10] = "a";
	t->comms[12] = "thread";
	t->comms[20] = "a";
	small_sample(t, 1, 10, 100, none, in_work);
	small_sample(t, 2, 10, 10, none, in_main);
	small_sample(t, 3, 12, 7, none, in_recursion);
	small_sample(t, 4, 20, 1000, in_read, read_called);
	small_sample(t, 5, 20, 1, none, none);
	/* Another chunk has other numbers for the same stacks. */
	small_flush(t);
	small_sample(t, 6, 20, 2000, none, in_tiny);
	small_sample(t, 7, 20, 20, none, nowhere);
	small_sample(t, 8, 10, 100, none, in_work);
	for (unsigned int i = 0; i < 1000; i++)
		small_sample(t, 10 + i, 10, 1, none, in_work);
}

static void test_tree(void **state)
{
	struct small_trace t = { 0 };
	struct ebt_reader *reader;
	struct calltree *tree;

	(void)state;
	make_samples(&t);
	reader = small_open(&t);
	resolved = 0;
	tree = read_samples(reader, CALLTREE_BY_COMM);
	/* The children of a node stand in order of their names. */
	expect_tree(tree, "all 0 4238\n"
			  " a 1 4231\n"
			  "  0x600 20 20\n"
			  "  start 0 4210\n"
			  "   main 10 4210\n"
			  "    caller 0 2000\n"
			  "     tiny* 2000 2000\n"
			  "    work 1200 2200\n"
			  "     sys_read 1000 1000\n"
			  " thread 0 7\n"
			  "  start 0 7\n"
			  "   main 0 7\n"
			  "    recurse 0 7\n"
			  "     recurse 0 7\n"
			  "      recurse 7 7\n");
	/* A thousand rows of one stack were looked up once. */
	assert_true(resolved < 40);
	calltree_destroy(tree);
	ebt_reader_close(reader);
	small_end(&t);
}

/* A stack begins as the one before, but not with the same names: it is later, or of another
 * process. */
static void test_shared(void **state)
{
	struct small_trace t = { 0 };
	struct ebt_reader *reader;
	struct calltree *tree;

	(void)state;
	small_begin(&t);
	t.comms[10] = t.comms[20] = "a";
	small_sample(&t, 1, 10, 1, none, in_work);
	small_sample(&t, 2, 20, 8, none, in_recursion);
	small_sample(&t, 3, 10, 2, none, in_recursion);
	small_sample(&t, 4, 10, 16, none, in_work);
	small_sample(&t, 5, 10, 4, in_read, read_called);
	small_sample(&t, 6, 10, 32, none, in_tiny);
	reader = small_open(&t);
	remapped = SMALL_START + 6;
	tree = read_samples(reader, CALLTREE_BY_COMM);
	remapped = UINT64_MAX;
	expect_tree(tree, "all 0 63\n"
			  " a 0 63\n"
			  "  start 0 23\n"
			  "   main 0 23\n"
			  "    recurse 0 2\n"
			  "     recurse 0 2\n"
			  "      recurse 2 2\n"
			  "    work 17 21\n"
			  "     sys_read 4 4\n"
			  "  work 0 40\n"
			  "   work 0 40\n"
			  "    caller 0 32\n"
			  "     tiny* 32 32\n"
			  "    recurse 0 8\n"
			  "     recurse 0 8\n"
			  "      recurse 8 8\n");
	calltree_destroy(tree);
	ebt_reader_close(reader);
	small_end(&t);
}

static void test_roots(void **state)
{
	struct small_trace t = { 0 };
	struct ebt_reader *reader;
	struct calltree *tree;

	(void)state;
	small_begin(&t);
	t.comms[10] = t.comms[20] = "a";
	small_sample(&t, 1, 10, 1, none, none);
	small_sample(&t, 2, 12, 2, none, none);
	small_sample(&t, 3, 20, 4, none, nowhere);
	reader = small_open(&t);
	tree = read_samples(reader, CALLTREE_BY_PROCESS);
	expect_tree(tree, "all 0 7\n a (10) 1 1\n a (20) 0 4\n  0x600 4 4\n t12 (10) 2 2\n");
	calltree_destroy(tree);
	tree = read_samples(reader, CALLTREE_BY_THREAD);
	expect_tree(tree, "all 0 7\n a (10/10) 1 1\n a (20/20) 0 4\n  0x600 4 4\n"
			  " t12 (10/12) 2 2\n");
	calltree_destroy(tree);
	tree = read_samples(reader, CALLTREE_NO_ROOTS);
	expect_tree(tree, "all 3 7\n 0x600 4 4\n");
	calltree_destroy(tree);
	ebt_reader_close(reader);
	small_end(&t);
}

static void test_flat(void **state)
{
	struct small_trace t = { 0 };
	struct ebt_reader *reader;
	struct calltree *tree;
	struct calltree_flat *flat;
	uint32_t n_funcs;
	size_t n;

	(void)state;
	make_samples(&t);
	reader = small_open(&t);
	tree = read_samples(reader, CALLTREE_BY_COMM);
	assert_no_error(calltree_flat(tree, &flat, &n));
	assert_int_equal(n, 8);
	for (size_t i = 0; i < n; i++) {
		const struct calltree_func *func = &calltree_funcs(tree, &n_funcs)[flat[i].func];

		if (i)
			assert_true(flat[i].total <= flat[i - 1].total);
		if (!strcmp(func->name, "recurse")) {
			assert_int_equal(flat[i].self, 7);
			assert_int_equal(flat[i].total, 7); /* once a stack */
			assert_int_equal(flat[i].count, 1);
		} else if (!strcmp(func->name, "main")) {
			assert_int_equal(flat[i].self, 10);
			assert_int_equal(flat[i].total, 4217);
			assert_false(flat[i].inlined);
		} else if (!strcmp(func->name, "tiny")) {
			assert_int_equal(flat[i].self, 2000);
			assert_true(flat[i].inlined);
			assert_string_equal(flat[i].file, "a.h");
			assert_int_equal(flat[i].line_first, 7);
		} else if (!strcmp(func->name, "start")) {
			assert_int_equal(func->kind, CALLTREE_LIBRARY);
		} else if (!strcmp(func->name, "0x600")) {
			assert_int_equal(func->kind, CALLTREE_UNRESOLVED);
			assert_int_equal(func->reason, SYM_NO_MAPPING);
		}
	}
	free(flat);
	calltree_destroy(tree);
	ebt_reader_close(reader);
	small_end(&t);
}

/* Of the places of a function that weigh the same, the earliest gives its lines, whatever its
 * callers, in whose order the tree stands, are called. */
static void test_lines_of_equals(void **state)
{
	static const uint64_t below[2][2] = { { 510, 590 }, { 590, 510 } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct small_stack in_a = { { below[i][0], 101, 1 }, 3 };
		const struct small_stack in_b = { { below[i][1], 201, 1 }, 3 };
		struct small_trace t = { 0 };
		struct calltree_flat *flat;
		struct ebt_reader *reader;
		struct calltree *tree;
		uint32_t n_funcs;
		size_t n;

		small_begin(&t);
		small_sample(&t, 1, 10, 100, none, in_a);
		small_sample(&t, 2, 10, 100, none, in_b);
		reader = small_open(&t);
		tree = read_samples(reader, CALLTREE_BY_COMM);
		assert_no_error(calltree_flat(tree, &flat, &n));
		for (size_t at = 0; at < n; at++) {
			if (!strcmp(calltree_funcs(tree, &n_funcs)[flat[at].func].name, "caller"))
				assert_int_equal(flat[at].line_first, 510);
		}
		free(flat);
		calltree_destroy(tree);
		ebt_reader_close(reader);
		small_end(&t);
	}
}

static void test_focus(void **state)
{
	struct small_trace t = { 0 };
	struct ebt_reader *reader;
	struct calltree *tree, *view;

	(void)state;
	make_samples(&t);
	reader = small_open(&t);
	tree = read_samples(reader, CALLTREE_BY_COMM);

	assert_no_error(calltree_focus(tree, func_named(tree, "main"), CALLTREE_CALLERS, &view));
	expect_tree(view, "main 0 4217\n start 0 4217\n  a 4210 4210\n  thread 7 7\n");
	calltree_destroy(view);

	assert_no_error(calltree_focus(tree, func_named(tree, "main"), CALLTREE_CALLEES, &view));
	expect_tree(view, "main 10 4217\n caller 0 2000\n  tiny* 2000 2000\n recurse 0 7\n"
			  "  recurse 0 7\n   recurse 7 7\n work 1200 2200\n"
			  "  sys_read 1000 1000\n");
	calltree_destroy(view);

	assert_no_error(calltree_focus(tree, func_named(tree, "recurse"), CALLTREE_CALLERS, &view));
	expect_tree(view, "recurse 0 7\n main 0 7\n  start 0 7\n   thread 7 7\n");
	calltree_destroy(view);

	assert_no_error(calltree_focus(tree, func_named(tree, "tiny"), CALLTREE_CALLEES, &view));
	expect_tree(view, "tiny 2000 2000\n");
	calltree_destroy(view);

	calltree_destroy(tree);
	ebt_reader_close(reader);
	small_end(&t);
}

static void expect_shaped(const struct calltree *tree, struct calltree_shape shape,
			  const char *wanted)
{
	struct calltree *shaped;

	assert_true(calltree_is_shaped(&shape));
	assert_no_error(calltree_reshape(tree, &shape, &shaped));
	expect_tree(shaped, wanted);
	calltree_destroy(shaped);
}

static void test_shapes(void **state)
{
	struct small_trace t = { 0 };
	struct ebt_reader *reader;
	struct calltree *tree, *none_there;
	struct ebt_error *err;

	(void)state;
	make_samples(&t);
	reader = small_open(&t);
	tree = read_samples(reader, CALLTREE_BY_COMM);
	expect_shaped(tree, (struct calltree_shape){ .focus = "^sys_" },
		      "all 0 1000\n a 0 1000\n  start 0 1000\n   main 0 1000\n    work 0 1000\n"
		      "     sys_read 1000 1000\n");
	/* The name of a process is no function. */
	expect_shaped(tree, (struct calltree_shape){ .ignore = "work|tiny|recurse|thread" },
		      "all 0 31\n a 1 31\n  0x600 20 20\n  start 0 10\n   main 10 10\n");
	/* start() is of libc. */
	expect_shaped(tree, (struct calltree_shape){ .no_libraries = true, .focus = "work" },
		      "all 0 2200\n a 0 2200\n  main 0 2200\n   work 2200 2200\n");
	expect_shaped(tree, (struct calltree_shape){ .bottom_up = true, .ignore = "work|recurse" },
		      "all 0 2031\n a 1 2031\n  0x600 20 20\n  main 0 10\n   start 10 10\n"
		      "  tiny 0 2000\n   caller 0 2000\n    main 0 2000\n     start 2000 2000\n");
	expect_shaped(tree, (struct calltree_shape){ .by_weight = true, .ignore = "recurse" },
		      "all 0 4231\n a 1 4231\n  start 0 4210\n   main 10 4210\n    work 1200 2200\n"
		      "     sys_read 1000 1000\n    caller 0 2000\n     tiny* 2000 2000\n  0x600 "
		      "20 20\n");
	err = calltree_reshape(tree, &(struct calltree_shape){ .focus = "(" }, &none_there);
	assert_int_equal(err->code, EBT_ERR_INVALID);
	ebt_error_destroy(err);
	calltree_destroy(tree);
	ebt_reader_close(reader);
	small_end(&t);
}

/* --- time off CPU --- */

/* Intervals of one thread, or of one stack in one state. */
struct off_sum {
	uint32_t tid, node;
	enum sched_why why;
	struct offcpu_sum sum;
};

struct off_run {
	struct off_sum threads[8], stacks[8];
	size_t n_threads, n_stacks;
	struct offcpu_wakers wakers;
	struct offcpu *offcpu;
	struct calltree *tree;
	struct ebt_reader *reader;
};

static struct ebt_error *on_run(void *arg, const struct sched_run *run)
{
	return offcpu_run(((struct off_run *)arg)->offcpu, run);
}

static struct ebt_error *on_off(void *arg, const struct sched_off *off)
{
	return offcpu_off(((struct off_run *)arg)->offcpu, off);
}

static struct off_sum *add_sum(struct off_sum *sums, size_t *n, uint32_t tid, uint32_t node,
			       enum sched_why why)
{
	size_t i = 0;

	while (i < *n && (sums[i].tid != tid || sums[i].node != node || sums[i].why != why))
		i++;
	assert_true(i < 8);
	if (i == *n)
		sums[(*n)++] = (struct off_sum){ .tid = tid, .node = node, .why = why };
	return &sums[i];
}

static struct ebt_error *take_off(void *arg, const struct sched_off *off, uint32_t node)
{
	struct off_run *r = arg;
	struct off_sum *thread = add_sum(r->threads, &r->n_threads, off->task->tid, 0, 0);
	struct off_sum *stack = add_sum(r->stacks, &r->n_stacks, 0, node, off->why);

	offcpu_sum_add(&thread->sum, off);
	offcpu_sum_add(&stack->sum, off);
	calltree_add(r->tree, node, off->end - off->start);
	return offcpu_wakers_add(&r->wakers, off->task->tid, off, &thread->sum);
}

static void read_offcpu(struct small_trace *t, uint64_t to, uint64_t min, struct off_run *r)
{
	struct ebt_want wants[SCHED_MODEL_MAX_WANTS + 1];
	size_t n_wants = sched_model_wants(true, wants);
	const struct ebt_query query = { .wants = wants, .n_wants = n_wants + 1 };
	const struct sched_handler handler = { on_run, on_off };
	const struct sched_options options = {
		.from_ns = SMALL_START, .to_ns = SMALL_START + to, .handler = &handler, .arg = r
	};
	struct offcpu_options off_options = { .min_ns = min, .take = take_off, .arg = r };
	_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
	struct sched_model *model;

	*r = (struct off_run){ .reader = small_open(t) };
	wants[n_wants] = (struct ebt_want){ EBT_T_offcpu_stack, ~UINT64_C(0) };
	assert_no_error(calltree_create(NULL, NULL, &r->tree));
	off_options.tree = r->tree;
	assert_no_error(offcpu_create(r->reader, &off_options, &r->offcpu));
	assert_no_error(sched_model_create(r->reader, &options, &model));
	assert_no_error(ebt_cursor_create(r->reader, &query, &cursor));
	for (;;) {
		struct ebt_row row;

		assert_no_error(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			break;
		if (row.batch->table->id == EBT_T_offcpu_stack)
			assert_no_error(offcpu_stack_row(r->offcpu, &row));
		assert_no_error(sched_model_row(model, &row));
	}
	assert_no_error(sched_model_finish(model));
	assert_no_error(offcpu_finish(r->offcpu));
	assert_no_error(calltree_finish(r->tree));
	sched_model_destroy(model);
}

static void end_offcpu(struct small_trace *t, struct off_run *r)
{
	offcpu_destroy(r->offcpu);
	offcpu_wakers_deinit(&r->wakers);
	calltree_destroy(r->tree);
	ebt_reader_close(r->reader);
	small_end(t);
}

static const struct offcpu_sum *sum_of(const struct off_run *r, uint32_t tid)
{
	for (size_t i = 0; i < r->n_threads; i++) {
		if (r->threads[i].tid == tid)
			return &r->threads[i].sum;
	}
	fail_msg("no thread %u", tid);
	return NULL;
}

/* Of a stack, the waits in one state. */
static const struct offcpu_sum *sum_of_stack(const struct off_run *r, enum sched_why why,
					     uint64_t total_ns)
{
	for (size_t i = 0; i < r->n_stacks; i++) {
		if (r->stacks[i].why == why && r->stacks[i].sum.total_ns == total_ns)
			return &r->stacks[i].sum;
	}
	fail_msg("no stack has %" PRIu64 " ns in state %s", total_ns, sched_why_name(why));
	return NULL;
}

static void test_offcpu(void **state)
{
	struct small_trace t = { 0 };
	struct off_run r;
	const struct offcpu_sum *sum;

	(void)state;
	small_begin(&t);
	small_switch(&t, 0, 0, 0, 10, 0, 0);
	small_switch_at(&t, 100, 10, 20, 1, in_read, read_called);
	small_waking(&t, 150, 20, 10);
	small_switch_at(&t, 160, 20, 10, 0, none, in_main);
	small_switch_at(&t, 200, 10, 20, 2, in_read, read_called);
	small_waking(&t, 1200, 0, 10);
	small_switch_at(&t, 1210, 20, 10, 1, none, in_work);
	small_switch_at(&t, 1300, 10, 0, 1, in_read, read_called);
	read_offcpu(&t, 1400, 0, &r);

	sum = sum_of(&r, 10);
	assert_int_equal(sum->total_ns, 60 + 1010 + 100);
	assert_int_equal(sum->wait_ns, 10 + 10);
	assert_int_equal(sum->count, 3);
	assert_int_equal(sum->max_ns, 1010);
	assert_int_equal(sum->max_at, SMALL_START + 1210);
	assert_int_equal(sum->why_ns[SCHED_SLEEP], 60 + 100);
	assert_int_equal(sum->why_ns[SCHED_DISK], 1010);
	assert_int_equal(sum->open, 1);
	/* The interrupt ended 1010 ns, thread 20 only 60. */
	assert_true(sum->woken);
	assert_null(sum->waker);
	assert_int_equal(sum->waker_ns, 1010);
	assert_int_equal(sum->waker_count, 1);

	/* In one place, and yet not one wait: by state. */
	assert_int_equal(sum_of_stack(&r, SCHED_SLEEP, 60 + 100)->count, 2);
	assert_int_equal(sum_of_stack(&r, SCHED_DISK, 1010)->count, 1);

	sum = sum_of(&r, 20);
	assert_int_equal(sum->total_ns, 100 + 40 + 190);
	assert_int_equal(sum->why_ns[SCHED_RUNNABLE], 40);
	assert_int_equal(sum->why_ns[SCHED_UNKNOWN], 100);
	assert_int_equal(sum->open, 2);

	expect_tree(r.tree, "all 0 1500\n"
			    " t10 0 1170\n"
			    "  start 0 1170\n"
			    "   main 0 1170\n"
			    "    work 0 1170\n"
			    "     sys_read 1170 1170\n"
			    " t20 100 330\n"
			    "  start 0 230\n"
			    "   main 40 230\n"
			    "    work 190 190\n");
	end_offcpu(&t, &r);
}

/* The recorder's own program is no part of what it saw; a BPF program elsewhere is. */
static void test_tracing(void **state)
{
	static const struct small_stack in_program = { { 400, 901 }, 2 };
	struct small_trace t = { 0 };
	struct off_run r;

	(void)state;
	small_begin(&t);
	small_switch(&t, 0, 0, 0, 10, 0, 0);
	small_switch_at(&t, 100, 10, 0, 1, read_traced, none);
	small_switch_at(&t, 200, 0, 10, 0, none, none);
	small_switch_at(&t, 300, 10, 0, 1, in_program, none);
	small_switch_at(&t, 500, 0, 10, 0, none, none);
	read_offcpu(&t, 500, 0, &r);
	expect_tree(r.tree, "all 0 300\n"
			    " t10 0 300\n"
			    "  bpf_prog_1_x 0 200\n"
			    "   sys_read 200 200\n"
			    "  sys_read 100 100\n");
	end_offcpu(&t, &r);
}

static void test_offcpu_min(void **state)
{
	struct small_trace t = { 0 };
	struct off_run r;

	(void)state;
	small_begin(&t);
	small_switch(&t, 0, 0, 0, 10, 0, 0);
	small_switch_at(&t, 100, 10, 0, 1, in_read, read_called);
	small_switch_at(&t, 199, 0, 10, 0, none, none);
	small_switch_at(&t, 300, 10, 0, 1, in_read, read_called);
	small_switch_at(&t, 400, 0, 10, 0, none, none);
	read_offcpu(&t, 410, 100, &r);
	assert_int_equal(sum_of(&r, 10)->count, 1);
	assert_int_equal(sum_of(&r, 10)->total_ns, 100);
	end_offcpu(&t, &r);
}

/* A function that was at two places is two: each has its line and address. */
static void test_places(void **state)
{
	static const struct small_stack called = { { 200, 501, 1 }, 3 };
	const struct calltree_options options = { .roots = CALLTREE_NO_ROOTS, .places = true };
	struct small_trace t = { 0 };
	struct ebt_reader *reader;
	struct calltree *tree;
	const struct calltree_func *funcs;
	uint64_t addresses = 0, lines = 0;
	uint32_t n;

	(void)state;
	small_begin(&t);
	t.comms[10] = "a";
	small_sample(&t, 1, 10, 1, none, in_tiny);
	small_sample(&t, 2, 10, 10, none, called);
	small_sample(&t, 3, 10, 100, none, called);
	reader = small_open(&t);
	tree = read_samples_with(reader, &options);
	expect_tree(tree, "all 0 111\n"
			  " start 0 111\n"
			  "  caller 0 110\n"
			  "   tiny* 0 110\n"
			  "    work 110 110\n"
			  "  main 0 1\n"
			  "   caller 0 1\n"
			  "    tiny* 1 1\n");
	funcs = calltree_funcs(tree, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (strcmp(funcs[i].name, "caller") != 0)
			continue;
		assert_ptr_equal(funcs[i].sym, &functions[5]);
		assert_string_equal(funcs[i].file, "a.c");
		addresses += funcs[i].address;
		lines += funcs[i].line;
	}
	assert_int_equal(addresses, 500 + 501);
	assert_int_equal(lines, 500 + 501);
	calltree_destroy(tree);
	ebt_reader_close(reader);
	small_end(&t);
}

/* ebrec --min-block: the stack comes behind the switch that ends the interval. */
static void test_late_stacks(void **state)
{
	struct small_trace t = { 0 };
	struct off_run r;

	(void)state;
	small_begin(&t);
	small_switch(&t, 0, 0, 0, 10, 0, 0);
	small_switch(&t, 100, 0, 10, 0, 1, 0);
	small_switch(&t, 900, 0, 0, 10, 0, 0);
	small_offcpu_stack(&t, 900, 10, 800, in_read);
	small_switch(&t, 1000, 0, 10, 0, 1, 0);
	small_switch(&t, 1010, 0, 0, 10, 0, 0);
	small_switch(&t, 1100, 0, 10, 0, 1, 0);
	read_offcpu(&t, 1200, 0, &r);
	assert_int_equal(sum_of(&r, 10)->count, 3);
	/* Too short for a stack, and still asleep: the process as such. */
	expect_tree(r.tree, "all 0 910\n t10 110 910\n  sys_read 800 800\n");
	end_offcpu(&t, &r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),	   cmocka_unit_test(test_roots),
		cmocka_unit_test(test_flat),	   cmocka_unit_test(test_lines_of_equals),
		cmocka_unit_test(test_focus),	   cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_offcpu),	   cmocka_unit_test(test_tracing),
		cmocka_unit_test(test_offcpu_min), cmocka_unit_test(test_late_stacks),
		cmocka_unit_test(test_shared),	   cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
