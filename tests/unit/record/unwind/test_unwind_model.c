/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces of a moment ago: what is told late, and in any order, happens at its time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/unwind/model.h"

static void add(struct unwind_model *h, uint64_t time, enum op_kind kind, uint32_t pid,
		uint32_t child)
{
	const struct unwind_op op = { .time = time, .kind = kind, .pid = pid, .child = child };

	assert_null(unwind_model_add(h, &op));
}

static void map(struct unwind_model *h, uint64_t time, uint32_t pid, uint64_t start, uint64_t end,
		uint32_t table)
{
	const struct unwind_op op = {
		.time = time,
		.kind = OP_MAP,
		.pid = pid,
		.mapping = { .start = start, .end = end, .table = table },
	};

	assert_null(unwind_model_add(h, &op));
}

/* The table at an address; -1: nothing is mapped. */
static int64_t table(const struct unwind_model *h, uint32_t pid, uint64_t address)
{
	const struct ebrec_unwind_mapping *m = unwind_model_find(h, pid, address);

	return m ? (int64_t)m->table : -1;
}

static void test_time(void **state)
{
	struct unwind_model h = { 0 };

	(void)state;
	map(&h, 20, 1, 0x1000, 0x2000, 8);
	map(&h, 10, 1, 0x1000, 0x2000, 7);
	unwind_model_advance(&h, 9);
	assert_int_equal(table(&h, 1, 0x1000), -1);
	unwind_model_advance(&h, 10);
	assert_int_equal(table(&h, 1, 0x1000), 7);
	assert_int_equal(table(&h, 1, 0x1fff), 7);
	assert_int_equal(table(&h, 1, 0x2000), -1);
	assert_int_equal(table(&h, 2, 0x1000), -1);
	unwind_model_advance(&h, UINT64_MAX);
	assert_int_equal(table(&h, 1, 0x1000), 8);
	unwind_model_deinit(&h);
}

static void test_overlap(void **state)
{
	struct unwind_model h = { 0 };

	(void)state;
	map(&h, 1, 1, 0x1000, 0x5000, 1);
	map(&h, 2, 1, 0x2000, 0x3000, 2);
	map(&h, 3, 1, 0x4000, 0x6000, 3);
	map(&h, 4, 1, 0x6000, 0x6000, 4); /* empty: never there */
	unwind_model_advance(&h, 4);
	assert_int_equal(table(&h, 1, 0x1fff), 1);
	assert_int_equal(table(&h, 1, 0x2000), 2);
	assert_int_equal(table(&h, 1, 0x3000), 1);
	assert_int_equal(table(&h, 1, 0x4000), 3);
	assert_int_equal(table(&h, 1, 0x5fff), 3);
	assert_int_equal(table(&h, 1, 0x6000), -1);
	unwind_model_deinit(&h);
}

/* A child has what its parent had, and what one of them changes is not the other's. */
static void test_fork(void **state)
{
	struct unwind_model h = { 0 };

	(void)state;
	map(&h, 1, 1, 0x1000, 0x2000, 1);
	add(&h, 2, OP_FORK, 1, 2);
	map(&h, 3, 2, 0x3000, 0x4000, 2);
	map(&h, 4, 1, 0x1000, 0x2000, 3);
	add(&h, 5, OP_EXIT, 1, 0);
	unwind_model_advance(&h, 4);
	assert_int_equal(table(&h, 1, 0x3000), -1);
	assert_int_equal(table(&h, 1, 0x1000), 3);
	assert_int_equal(table(&h, 2, 0x1000), 1);
	assert_int_equal(table(&h, 2, 0x3000), 2);
	unwind_model_advance(&h, 5);
	assert_int_equal(table(&h, 1, 0x1000), -1);
	assert_int_equal(table(&h, 2, 0x1000), 1);
	unwind_model_deinit(&h);
}

/* The kernel renames, maps, and reports the exec last. */
static void test_exec(void **state)
{
	struct unwind_model h = { 0 };

	(void)state;
	map(&h, 1, 1, 0x1000, 0x2000, 1);
	add(&h, 1, OP_FORK, 1, 2);
	map(&h, 11, 2, 0x5000, 0x6000, 2);
	add(&h, 12, OP_EXEC, 2, 0);
	add(&h, 10, OP_RENAME, 2, 0);
	unwind_model_advance(&h, 11);
	assert_int_equal(table(&h, 2, 0x5000), 2);
	unwind_model_advance(&h, 12);
	assert_int_equal(table(&h, 2, 0x1000), -1);
	assert_int_equal(table(&h, 2, 0x5000), 2);
	assert_int_equal(table(&h, 1, 0x1000), 1);
	unwind_model_deinit(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
