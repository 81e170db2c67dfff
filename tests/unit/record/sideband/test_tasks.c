/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histories of thread ids: fork, exec, exit, reuse and renames, in order and out of order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/schema/wire.h"
#include "record/sideband/tasks.h"

struct fork_record {
	struct ebt_wire_task_fork row;
	char comm[16];
};

static void expect(struct ebt_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

static void see_fork(struct tasks *tasks, uint64_t time, uint32_t tid, uint32_t pid, uint64_t start,
		     const char *comm)
{
	struct fork_record r = { .row = {
					 .head = { .time = time,
						   .len = sizeof(r),
						   .table = EBT_T_task_fork },
					 .parent = 1,
					 .child = tid,
					 .child_pid = pid,
					 .child_start = start,
					 .thread = tid != pid,
				 } };

	r.row.comm = (struct ebt_ref){ sizeof(r.row), (__u32)strlen(comm) };
	memcpy(r.comm, comm, strlen(comm));
	expect(tasks_observe(tasks, &r, sizeof(r)));
}

static void see_exec(struct tasks *tasks, uint64_t time, uint32_t tid, uint32_t old_tid,
		     uint64_t start, const char *comm)
{
	struct {
		struct ebt_wire_task_exec row;
		char comm[16];
	} r = { .row = {
			.head = { .time = time, .len = sizeof(r), .table = EBT_T_task_exec },
			.task = tid,
			.pid = tid,
			.old_tid = old_tid,
			.start = start,
		} };

	r.row.comm = (struct ebt_ref){ sizeof(r.row), (__u32)strlen(comm) };
	memcpy(r.comm, comm, strlen(comm));
	expect(tasks_observe(tasks, &r, sizeof(r)));
}

static void see_exit_of(struct tasks *tasks, uint64_t time, uint32_t tid, bool group_dead)
{
	struct ebt_wire_task_exit row = {
		.head = { .time = time, .len = sizeof(row), .table = EBT_T_task_exit },
		.task = tid,
		.group_dead = group_dead,
	};

	expect(tasks_observe(tasks, &row, sizeof(row)));
}

/* The last thread of its process. */
static void see_exit(struct tasks *tasks, uint64_t time, uint32_t tid)
{
	see_exit_of(tasks, time, tid, true);
}

static void see_rename(struct tasks *tasks, uint64_t time, uint32_t tid, const char *comm)
{
	struct {
		struct ebt_wire_task_rename row;
		char comm[16];
	} r = { .row = {
			.head = { .time = time, .len = sizeof(r), .table = EBT_T_task_rename },
			.task = tid,
		} };

	r.row.comm = (struct ebt_ref){ sizeof(r.row), (__u32)strlen(comm) };
	memcpy(r.comm, comm, strlen(comm));
	expect(tasks_observe(tasks, &r, sizeof(r)));
}

static void is(struct tasks *tasks, uint32_t tid, uint64_t time, uint32_t pid, uint64_t start,
	       const char *comm)
{
	struct ebt_task_id id;

	memset(&id, 0xff, sizeof(id));
	tasks_resolve(tasks, tid, time, &id);
	assert_int_equal(id.tid, tid);
	assert_int_equal(id.pid, pid);
	assert_int_equal(id.start_ns, start);
	assert_string_equal(id.comm, comm);
}

static int setup(void **state)
{
	struct tasks *tasks;

	expect(tasks_create(&tasks));
	*state = tasks;
	return 0;
}

static int teardown(void **state)
{
	tasks_destroy(*state);
	return 0;
}

static void test_unknown(void **state)
{
	is(*state, 7, 100, 0, 0, "");
	assert_false(tasks_know_pid(*state, 7));
}

static void test_fork_exec_exit(void **state)
{
	struct tasks *tasks = *state;

	see_fork(tasks, 102, 7, 7, 100, "sh");
	see_rename(tasks, 108, 7, "cat");
	see_exec(tasks, 110, 7, 7, 100, "cat");
	see_exit(tasks, 200, 7);
	is(tasks, 7, 99, 0, 0, "");
	is(tasks, 7, 100, 7, 100, "sh");
	is(tasks, 7, 107, 7, 100, "sh");
	is(tasks, 7, 108, 7, 100, "cat");
	is(tasks, 7, 150, 7, 100, "cat");
	/* Its last switch comes after the exit. */
	is(tasks, 7, 205, 7, 100, "cat");
	assert_true(tasks_know_pid(tasks, 7));
	assert_int_equal(tasks_count(tasks), 1);
}

static void test_tid_reuse(void **state)
{
	struct tasks *tasks = *state;

	see_fork(tasks, 102, 7, 7, 100, "first");
	see_exit(tasks, 200, 7);
	see_fork(tasks, 302, 7, 6, 300, "second");
	is(tasks, 7, 150, 7, 100, "first");
	is(tasks, 7, 299, 7, 100, "first");
	is(tasks, 7, 300, 6, 300, "second");
	is(tasks, 7, 900, 6, 300, "second");
	assert_int_equal(tasks_count(tasks), 2);
}

/* The rings of two CPUs are read one after the other. */
static void test_any_order(void **state)
{
	struct tasks *tasks = *state;

	see_exit(tasks, 200, 7);
	see_rename(tasks, 150, 7, "later");
	see_fork(tasks, 102, 7, 5, 100, "first");
	is(tasks, 7, 120, 5, 100, "first");
	is(tasks, 7, 150, 5, 100, "later");
	assert_int_equal(tasks_count(tasks), 1);

	see_fork(tasks, 302, 7, 7, 300, "second");
	see_exec(tasks, 310, 7, 7, 300, "program");
	is(tasks, 7, 305, 7, 300, "second");
	is(tasks, 7, 310, 7, 300, "program");
	is(tasks, 7, 160, 5, 100, "later");

	see_exec(tasks, 510, 9, 9, 500, "program");
	see_fork(tasks, 502, 9, 9, 500, "shell");
	is(tasks, 9, 505, 9, 500, "shell");
	is(tasks, 9, 510, 9, 500, "program");
	assert_int_equal(tasks_count(tasks), 3);
}

/* An exit that belongs to a life of which nothing else is known yet. */
static void test_exit_of_next_life(void **state)
{
	struct tasks *tasks = *state;

	see_fork(tasks, 102, 7, 7, 100, "first");
	see_exit(tasks, 200, 7);
	see_exit(tasks, 400, 7);
	see_fork(tasks, 302, 7, 7, 300, "second");
	is(tasks, 7, 350, 7, 300, "second");
	tasks_forget_before(tasks, 300);
	is(tasks, 7, 350, 7, 300, "second");
	tasks_forget_before(tasks, 500);
	assert_int_equal(tasks_count(tasks), 0);
}

/* Thread 8 of process 7 calls exec: the kernel ends thread 7, and 8 takes its id and start. */
static void test_exec_by_thread(void **state)
{
	struct tasks *tasks = *state;

	for (int reversed = 0; reversed < 2; reversed++) {
		const uint64_t t = (uint64_t)reversed * 1000;

		see_fork(tasks, t + 102, 7, 7, t + 100, "server");
		see_fork(tasks, t + 112, 8, 7, t + 110, "worker");
		if (!reversed)
			see_exit_of(tasks, t + 150, 7, false);
		/* By the thread that is called 7 now. */
		see_rename(tasks, t + 155, 7, "new");
		expect(tasks_hint(tasks, 7, 7, t + 156));
		see_exec(tasks, t + 160, 7, 8, t + 100, "new");
		if (reversed)
			see_exit_of(tasks, t + 150, 7, false);
		is(tasks, 7, t + 120, 7, t + 100, "server");
		is(tasks, 8, t + 120, 7, t + 110, "worker");
		is(tasks, 7, t + 170, 7, t + 100, "new");
		/* 7 lives on, 8 has ended. */
		tasks_forget_before(tasks, t + 500);
		is(tasks, 7, t + 600, 7, t + 100, "new");
		is(tasks, 8, t + 600, 0, 0, "");
		see_exit(tasks, t + 700, 7);
		tasks_forget_before(tasks, t + 800);
		assert_int_equal(tasks_count(tasks), 0);
	}
}

/* The first thread ends before the others, as with pthread_exit() in main(). */
static void test_first_ends_first(void **state)
{
	struct tasks *tasks = *state;

	see_fork(tasks, 102, 7, 7, 100, "server");
	see_fork(tasks, 112, 8, 7, 110, "worker");
	see_exit_of(tasks, 150, 7, false);
	tasks_forget_before(tasks, 300);
	is(tasks, 7, 310, 7, 100, "server");
	see_exit(tasks, 400, 8);
	tasks_forget_before(tasks, 400);
	assert_int_equal(tasks_count(tasks), 2);
	tasks_forget_before(tasks, 401);
	assert_int_equal(tasks_count(tasks), 0);
}

/* Two threads end at the same time, and each finds itself to be the last one. */
static void test_both_end_last(void **state)
{
	struct tasks *tasks = *state;

	for (int reversed = 0; reversed < 2; reversed++) {
		const uint64_t t = (uint64_t)reversed * 1000;

		see_fork(tasks, t + 102, 7, 7, t + 100, "server");
		see_fork(tasks, t + 112, 8, 7, t + 110, "worker");
		if (reversed)
			see_exit(tasks, t + 210, 7);
		see_exit(tasks, t + 200, 8);
		is(tasks, 7, t + 205, 7, t + 100, "server");
		if (!reversed)
			see_exit(tasks, t + 210, 7);
		/* The last switch. */
		is(tasks, 7, t + 220, 7, t + 100, "server");
		tasks_forget_before(tasks, t + 210);
		assert_int_equal(tasks_count(tasks), 1);
		tasks_forget_before(tasks, t + 211);
		assert_int_equal(tasks_count(tasks), 0);
	}
}

/* The other thread's end, which was later, is heard of earlier. */
static void test_first_ends_first_but_is_heard_of_last(void **state)
{
	struct tasks *tasks = *state;

	see_fork(tasks, 102, 7, 7, 100, "server");
	see_fork(tasks, 112, 8, 7, 110, "worker");
	see_exit(tasks, 400, 8);
	see_exit_of(tasks, 150, 7, false);
	is(tasks, 7, 310, 7, 100, "server");
	tasks_forget_before(tasks, 400);
	assert_int_equal(tasks_count(tasks), 2);
	tasks_forget_before(tasks, 401);
	assert_int_equal(tasks_count(tasks), 0);
}

/* Nothing but a mapping is known of 9 first. */
static void test_hint(void **state)
{
	struct tasks *tasks = *state;

	expect(tasks_hint(tasks, 9, 8, 200));
	is(tasks, 9, 250, 8, 0, "");
	see_fork(tasks, 102, 9, 8, 100, "worker");
	expect(tasks_hint(tasks, 9, 8, 300));
	is(tasks, 9, 250, 8, 100, "worker");
	assert_int_equal(tasks_count(tasks), 1);
	assert_false(tasks_know_pid(tasks, 8));
}

static void test_added(void **state)
{
	struct tasks *tasks = *state;
	struct ebt_task_id id = { .tid = 7, .pid = 5, .start_ns = 100, .comm = "old" };

	/* A rename that was seen before the list was read. */
	see_rename(tasks, 400, 7, "newest");
	expect(tasks_add(tasks, &id, 300));
	is(tasks, 7, 50, 0, 0, "");
	is(tasks, 7, 200, 5, 100, "old");
	is(tasks, 7, 399, 5, 100, "old");
	is(tasks, 7, 400, 5, 100, "newest");
	assert_int_equal(tasks_count(tasks), 1);

	assert_false(tasks_know_pid(tasks, 5));
	assert_false(tasks_know_pid(tasks, 7));
	id.tid = 5;
	expect(tasks_add(tasks, &id, 300));
	tasks_follow(tasks, 5);
	assert_true(tasks_know_pid(tasks, 5));
	assert_false(tasks_know_pid(tasks, 7));
}

static void test_many_names(void **state)
{
	struct tasks *tasks = *state;
	char name[16];

	see_fork(tasks, 100, 7, 7, 100, "first");
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		see_rename(tasks, 1000 + i, 7, name);
	}
	is(tasks, 7, 5000, 7, 100, "n999");
	is(tasks, 7, 1990, 7, 100, "n990");
	tasks_forget_before(tasks, 1995);
	is(tasks, 7, 1995, 7, 100, "n995");
	is(tasks, 7, 1999, 7, 100, "n999");
	tasks_forget_before(tasks, 9000);
	is(tasks, 7, 9000, 7, 100, "n999");
}

static void test_forgetting_bounds_memory(void **state)
{
	struct tasks *tasks = *state;

	for (uint32_t i = 1; i <= 200000; i++) {
		see_fork(tasks, i * 10u, i, i, i * 10u, "x");
		see_exit(tasks, i * 10u + 5, i);
		if (i % 1000 == 0) {
			tasks_forget_before(tasks, i * 10u - 5000);
			assert_true(tasks_count(tasks) <= 1500);
		}
	}
	is(tasks, 200000, 2000001, 200000, 2000000, "x");
	is(tasks, 1000, 2000001, 0, 0, "");
}

static void test_hundred_thousand(void **state)
{
	struct tasks *tasks = *state;

	for (uint32_t i = 1; i <= 100000; i++) {
		struct ebt_task_id id = { .tid = i, .pid = i & ~7u, .start_ns = i };

		snprintf(id.comm, sizeof(id.comm), "t%u", i);
		expect(tasks_add(tasks, &id, 1000000));
	}
	assert_int_equal(tasks_count(tasks), 100000);
	is(tasks, 54321, 2000000, 54320, 54321, "t54321");
}

/* Records come from BPF, but a wrong one must not be believed. */
static void test_bad_records(void **state)
{
	struct tasks *tasks = *state;
	struct fork_record r = { .row = { .head = { .table = EBT_T_task_fork },
					  .child = 7,
					  .child_pid = 7,
					  .child_start = 100 } };

	expect(tasks_observe(tasks, &r, 3));
	expect(tasks_observe(tasks, &r, sizeof(r.row) - 1));
	assert_int_equal(tasks_count(tasks), 0);
	r.row.comm = (struct ebt_ref){ sizeof(r.row), 0xffffffff };
	expect(tasks_observe(tasks, &r, sizeof(r)));
	r.row.comm = (struct ebt_ref){ 0xfffffff0, 8 };
	expect(tasks_observe(tasks, &r, sizeof(r)));
	is(tasks, 7, 200, 7, 100, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork_exec_exit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tid_reuse, setup, teardown),
		cmocka_unit_test_setup_teardown(test_any_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exit_of_next_life, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec_by_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_first_ends_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_both_end_last, setup, teardown),
		cmocka_unit_test_setup_teardown(test_first_ends_first_but_is_heard_of_last, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_hint, setup, teardown),
		cmocka_unit_test_setup_teardown(test_added, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forgetting_bounds_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hundred_thousand, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_records, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
