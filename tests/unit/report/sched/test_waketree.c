/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains of wake-ups on traces of a few rows, where the tree is known beforehand. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/cleanup.h"
#include "report/sched/model_waketree.h"
#include "tests/tools/make_trace.h"
#include "tests/tools/small_trace.h"

static struct ebt_error *on_run(void *arg, const struct sched_run *run)
{
	(void)arg;
	(void)run;
	return NULL;
}

static struct ebt_error *on_off(void *arg, const struct sched_off *off)
{
	return waketree_off(arg, off, true);
}

/* A line a node: depth as blanks, tid, wake-ups, total latency. */
static char *print_tree(const struct waketree *tree)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; i < waketree_n(tree); i++) {
		const struct waketree_node *node = waketree_node(tree, i);

		fprintf(f, "%*s%u%s %" PRIu64 " %" PRIu64 "\n", (int)node->depth - 1, "",
			node->task ? node->task->tid : 0, node->again ? " again" : "", node->count,
			node->latency_ns);
	}
	fclose(f);
	return text;
}

/* Reads the trace, and frees it. */
static char *make_tree(struct small_trace *t, uint64_t to, uint32_t *ret_deepest)
{
	struct ebt_want wants[SCHED_MODEL_MAX_WANTS];
	const struct ebt_query query = { .wants = wants,
					 .n_wants = sched_model_wants(false, wants) };
	const struct sched_handler handler = { .run = on_run, .off = on_off };
	_cleanup_(waketree_destroyp) struct waketree *tree = NULL;
	struct sched_options options = {
		.from_ns = SMALL_START,
		.to_ns = SMALL_START + to,
		.handler = &handler,
	};
	struct ebt_reader *reader = small_open(t);
	struct sched_model *model;
	char *text;

	assert_no_error(waketree_create(&tree));
	options.arg = tree;
	assert_no_error(sched_model_create(reader, &options, &model));
	{
		_cleanup_cursor_ struct ebt_cursor *cursor = NULL;
		struct ebt_row row;

		assert_no_error(ebt_cursor_create(reader, &query, &cursor));
		for (;;) {
			assert_no_error(ebt_cursor_next(cursor, &row));
			if (!row.batch)
				break;
			if (row.batch->table->id == EBT_T_sched_waking)
				assert_no_error(waketree_waking(tree, &row));
			assert_no_error(sched_model_row(model, &row));
		}
	}
	assert_no_error(sched_model_finish(model));
	assert_no_error(waketree_finish(tree));
	assert_int_equal(waketree_left_out(tree), 0);
	*ret_deepest = 0;
	for (size_t i = 0; i < waketree_n(tree); i++) {
		if (waketree_node(tree, i)->depth > *ret_deepest)
			*ret_deepest = waketree_node(tree, i)->depth;
	}
	text = print_tree(tree);
	sched_model_destroy(model);
	ebt_reader_close(reader);
	small_end(t);
	return text;
}

/* `from` runs on the CPU, wakes `to` and sleeps; `to` runs after so many ns. */
static void hand_over(struct small_trace *t, uint64_t time, uint32_t from, uint32_t to,
		      uint64_t latency)
{
	small_waking(t, time, from, to);
	small_switch(t, time + latency, 0, from, to, 1, 0);
}

static void test_ring(void **state)
{
	struct small_trace t = { 0 };
	uint64_t time = 100;
	uint32_t deepest;
	char *text;

	(void)state;
	small_begin(&t);
	/* An interrupt sets the first one going; each has slept before. */
	for (uint32_t tid = 10; tid < 40; tid += 10)
		small_thread(&t, 0, tid, 1, 0, 0);
	small_waking(&t, 50, 0, 10);
	small_switch(&t, 53, 0, 0, 10, 0, 0);
	for (int round = 0; round < 5; round++) {
		hand_over(&t, time, 10, 20, 5);
		/* By another name, it is the same thread. */
		t.comms[10] = "other";
		hand_over(&t, time + 10, 20, 30, 7);
		hand_over(&t, time + 20, 30, 10, 2);
		time += 100;
	}
	text = make_tree(&t, time, &deepest);
	assert_string_equal(text, "0 0 0\n"
				  " 10 1 3\n"
				  "  20 5 25\n"
				  "   30 5 35\n"
				  "    10 again 5 10\n");
	free(text);
}

/* Those that do nothing else are below what woke them; the one with more wake-ups comes first. */
static void test_fan(void **state)
{
	struct small_trace t = { 0 };
	uint32_t deepest;
	char *text;

	(void)state;
	small_begin(&t);
	for (uint32_t tid = 10; tid < 40; tid += 10)
		small_thread(&t, 0, tid, tid == 10 ? 0 : 1, 0, tid == 10);
	hand_over(&t, 100, 10, 20, 1);
	small_switch(&t, 110, 0, 20, 10, 1, 0);
	for (uint64_t i = 0; i < 3; i++) {
		hand_over(&t, 200 + 100 * i, 10, 30, 2);
		small_switch(&t, 210 + 100 * i, 0, 30, 10, 1, 0);
	}
	/* A wait that nobody ended by waking is no wake-up. */
	small_switch(&t, 600, 0, 10, 0, 0, 1);
	small_switch(&t, 620, 0, 0, 10, 0, 0);
	text = make_tree(&t, 700, &deepest);
	assert_string_equal(text, "10 0 0\n"
				  " 30 3 6\n"
				  " 20 1 1\n");
	free(text);
}

/* A chain of more hops than a tree is deep goes on as a new one: nothing is lost. */
static void test_long_chain(void **state)
{
	const uint32_t n = 90;
	struct small_trace t = { 0 };
	uint32_t deepest, wakings = 0;
	char *text, *line, *rest;

	(void)state;
	small_begin(&t);
	for (uint32_t tid = 1; tid <= n; tid++)
		small_thread(&t, 0, tid, tid == 1 ? 0 : 1, 0, tid == 1);
	for (uint32_t tid = 1; tid < n; tid++)
		hand_over(&t, 100 * tid, tid, tid + 1, 3);
	text = make_tree(&t, 100 * n, &deepest);
	assert_int_equal(deepest, WAKETREE_DEPTH);
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		unsigned int tid, count;

		if (sscanf(line, " %u %u", &tid, &count) == 2)
			wakings += count;
	}
	assert_int_equal(wakings, n - 1);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_fan),
		cmocka_unit_test(test_long_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
