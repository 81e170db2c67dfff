/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes on traces of a few rows: what a trace of this machine does not have, or should not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/cleanup.h"
#include "report/trace/proc_texts.h"
#include "tests/tools/report_run.h"

#define DEEP 200u

static struct made_trace made;

static void add_fork(uint64_t time, uint32_t parent, uint32_t child, bool thread)
{
	struct ebt_wire_task_fork *row = ebt_record_begin(&made.record, EBT_T_task_fork, time);

	row->parent = parent;
	row->child = child;
	row->thread = thread;
	made_trace_add(&made);
}

static void add_exec(uint64_t time, uint32_t tid, uint32_t old_tid, const char *cmdline, size_t len)
{
	struct ebt_wire_task_exec *row = ebt_record_begin(&made.record, EBT_T_task_exec, time);

	row->task = tid;
	row->old_tid = old_tid;
	ebt_record_bytes(&made.record, offsetof(struct ebt_wire_task_exec, cmdline), cmdline, len);
	made_trace_add(&made);
}

static void add_exit(uint64_t time, uint32_t tid, uint64_t run, int status)
{
	struct ebt_wire_task_exit *row = ebt_record_begin(&made.record, EBT_T_task_exit, time);

	row->task = tid;
	row->run_time = run;
	row->nvcsw = run / 10;
	row->prio = 120;
	row->group_dead = status >= 0;
	row->status = row->group_dead ? (uint32_t)status : 0;
	made_trace_add(&made);
}

static void add_process(uint64_t time, uint32_t tid, uint32_t ppid)
{
	struct ebt_wire_process *row = ebt_record_begin(&made.record, EBT_T_process, time);

	row->task = tid;
	row->ppid = ppid;
	made_trace_add(&made);
}

/* The row of a table in CSV that has this value in that column; fields hold no commas here. */
static char *field_of(const char *csv, const char *key, const char *value, const char *wanted)
{
	_cleanup_free_ char *copy = strdup(csv);
	char *rest = copy, *header = strsep(&rest, "\n"), *line;

	while ((line = strsep(&rest, "\n"))) {
		char *names = header, *found = NULL;
		bool is_it = false;

		for (char *name = names, *cell = line; name && cell;) {
			size_t n = strcspn(name, ","), m = strcspn(cell, ",");

			if (n == strlen(key) && !strncmp(name, key, n))
				is_it = m == strlen(value) && !strncmp(cell, value, m);
			if (n == strlen(wanted) && !strncmp(name, wanted, n)) {
				free(found);
				found = strndup(cell, m);
			}
			name = name[n] ? name + n + 1 : NULL;
			cell = cell[m] ? cell + m + 1 : NULL;
		}
		if (is_it)
			return found;
		free(found);
	}
	fail_msg("no %s %s in\n%s", key, value, csv);
	return NULL;
}

/* list: names of columns of a process, each with its value; ends with NULL. */
static void expect_fields(const char *pid, const char *const *list)
{
	_cleanup_free_ char *csv = REPORT_OK(made.path, "procs", "--csv");

	for (; *list; list += 2) {
		_cleanup_free_ char *found = field_of(csv, "pid", pid, list[0]);

		assert_string_equal(found, list[1]);
	}
}
#define EXPECT_FIELDS(pid, ...) expect_fields(pid, (const char *const[]){ __VA_ARGS__, NULL })

/* A second thread runs another program: it goes on as the first one, whose end has been told. */
static void test_exec_by_thread(void **state)
{
	static const struct ebt_task_id tasks[] = { { 10, 10, 100, "first" },
						    { 11, 10, 200, "second" },
						    { 0, 0, 0, "" } };
	char *csv, *end;

	(void)state;
	made_trace_begin(&made, tasks);
	add_fork(1000, 1, 10, false);
	add_fork(1100, 10, 11, true);
	add_exit(1200, 10, 100, -1);
	add_exec(1300, 10, 11, "new\0program\0", 12);
	add_exit(1400, 10, 500, 0x200);
	made_trace_finish(&made);
	EXPECT_FIELDS("10", "run_ns", "600", "exit_code", "2", "thread_count", "2", "args",
		      "new program");
	csv = REPORT_OK(made.path, "procs", "--csv", "--threads", "--tid", "11");
	end = field_of(csv, "pid", "10", "end_ns");
	assert_string_equal(end, "1300");
	free(end);
	free(csv);
	made_trace_remove(&made);
}

/* Threads that end at the same time: each sees that none lives on. */
static void test_two_last(void **state)
{
	static const struct ebt_task_id tasks[] = { { 10, 10, 100, "first" },
						    { 11, 10, 200, "second" },
						    { 12, 10, 200, "third" },
						    { 0, 0, 0, "" } };

	(void)state;
	made_trace_begin(&made, tasks);
	add_fork(1000, 1, 10, false);
	add_fork(1100, 10, 11, true);
	add_fork(1100, 10, 12, true);
	add_exit(1200, 11, 100, -1);
	add_exit(1300, 12, 200, 0);
	add_exit(1400, 10, 300, 0x300);
	made_trace_finish(&made);
	EXPECT_FIELDS("10", "run_ns", "600", "exit_code", "3", "end_ns", "1400", "thread_count",
		      "3");
	made_trace_remove(&made);
}

/* The kernel's sum of threads that have ended has those whose end was seen, too. */
static void test_ended_threads(void **state)
{
	static const struct ebt_task_id tasks[] = { { 10, 10, 100, "first" },
						    { 11, 10, 200, "second" },
						    { 0, 0, 0, "" } };
	struct ebt_wire_ended_threads *ended;
	char *csv;

	(void)state;
	made_trace_begin(&made, tasks);
	add_exit(1200, 11, 100, -1);
	ended = ebt_record_begin(&made.record, EBT_T_ended_threads, 1300);
	ended->task = 10;
	ended->run_time = 1000;
	ended->read_bytes = UINT64_MAX;
	made_trace_add(&made);
	add_exit(1400, 10, 50, 0x8b);
	made_trace_finish(&made);
	EXPECT_FIELDS("10", "run_ns", "1050", "exit_code", "139", "signal", "11");
	csv = REPORT_OK(made.path, "procs");
	assert_non_null(strstr(csv, "SIGSEGV (core)"));
	free(csv);
	made_trace_remove(&made);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
		n++;
	return n;
}

/* Each is said to be the child of the other. */
static void test_circle(void **state)
{
	static const struct ebt_task_id tasks[] = { { 50, 50, 100, "hen" },
						    { 60, 60, 100, "egg" },
						    { 70, 70, 90, "self" },
						    { 0, 0, 0, "" } };
	char *text;

	(void)state;
	made_trace_begin(&made, tasks);
	add_process(1000, 50, 60);
	add_process(1000, 60, 50);
	add_process(1000, 70, 70);
	add_fork(1001, 50, 60, false);
	add_fork(1002, 60, 50, false);
	add_fork(1003, 70, 70, false);
	made_trace_finish(&made);
	text = REPORT_OK(made.path, "procs", "--tree", "--json");
	assert_int_equal(count(text, "\"hen\""), 1);
	assert_int_equal(count(text, "\"egg\""), 1);
	assert_int_equal(count(text, "\"self\""), 1);
	free(text);
	text = REPORT_OK(made.path, "procs", "--pid", "50");
	free(text);
	text = REPORT_OK(made.path, "procs", "--timeline", "--tree");
	free(text);
	made_trace_remove(&made);
}

/* More generations than a tree is indented, and than are searched for mappings. */
static void test_deep(void **state)
{
	static struct ebt_task_id tasks[DEEP + 1];
	char *text;

	(void)state;
	for (uint32_t i = 0; i < DEEP; i++)
		tasks[i] = (struct ebt_task_id){ 1000 + i, 1000 + i, 100 + i, "generation" };
	made_trace_begin(&made, tasks);
	for (uint32_t i = 1; i < DEEP; i++)
		add_fork(1000 + i, 1000 + i - 1, 1000 + i, false);
	made_trace_finish(&made);
	text = REPORT_OK(made.path, "procs", "--tree", "--json");
	/* The first one was only seen as a parent. */
	assert_int_equal(count(text, "\"generation\""), DEEP - 1);
	free(text);
	text = REPORT_OK(made.path, "procs", "--pid", "1150");
	free(text);
	made_trace_remove(&made);
}

#define N_TEXTS	  20000u
#define LONGEST	  4096u
#define ALL_BYTES (256u << 20)

/* Text i: i in front, as long as there is room for it, and some more. */
static struct ebt_str text_of(char *room, uint32_t i)
{
	size_t len;

	memset(room, 0, 16);
	len = (size_t)snprintf(room, 16, "%u:", i) + i % 7 * (i % 29) * 3;
	return (struct ebt_str){ room, len };
}

static void test_texts(void **state)
{
	__attribute__((cleanup(proc_texts_deinit))) struct proc_texts texts = { 0 };
	_cleanup_free_ uint32_t *numbers = calloc(N_TEXTS, sizeof(*numbers));
	_cleanup_free_ char *room = calloc(1, LONGEST + 16);
	struct ebt_str text;
	uint32_t number;

	(void)state;
	assert_true(numbers && room);
	assert_null(proc_texts_add(&texts, (struct ebt_str){ room, 0 }, &number));
	assert_int_equal(number, 0);
	assert_int_equal(proc_texts_get(&texts, 0).len, 0);
	for (uint32_t i = 0; i < N_TEXTS; i++) {
		assert_null(proc_texts_add(&texts, text_of(room, i), &numbers[i]));
		assert_true(numbers[i] > (i ? numbers[i - 1] : 0));
	}
	for (uint32_t i = 0; i < N_TEXTS; i++) {
		text = text_of(room, i);
		assert_null(proc_texts_add(&texts, text, &number));
		assert_int_equal(number, numbers[i]);
		assert_int_equal(proc_texts_get(&texts, number).len, text.len);
		assert_memory_equal(proc_texts_get(&texts, number).data, text.data, text.len);
	}
}

/* Those that are there are found when there is no room for more. */
static void test_texts_full(void **state)
{
	__attribute__((cleanup(proc_texts_deinit))) struct proc_texts texts = { 0 };
	_cleanup_free_ char *room = calloc(1, LONGEST + 16);
	uint32_t number = 0, first = 0;

	(void)state;
	assert_non_null(room);
	for (uint32_t i = 0; i <= ALL_BYTES / LONGEST; i++) {
		memcpy(room, &i, sizeof(i));
		assert_null(
			proc_texts_add(&texts, (struct ebt_str){ room, LONGEST + 16 }, &number));
		assert_int_equal(texts.left_out, i == ALL_BYTES / LONGEST);
		first = i ? first : number;
	}
	assert_int_equal(number, 0);
	memset(room, 0, sizeof(number));
	assert_null(proc_texts_add(&texts, (struct ebt_str){ room, LONGEST }, &number));
	assert_int_equal(number, first);
	assert_int_equal(proc_texts_get(&texts, number).len, LONGEST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),	       cmocka_unit_test(test_texts_full),
		cmocka_unit_test(test_exec_by_thread), cmocka_unit_test(test_ended_threads),
		cmocka_unit_test(test_two_last),       cmocka_unit_test(test_circle),
		cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
