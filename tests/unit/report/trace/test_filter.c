/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --pid, --tid, --comm, --cpu, --from and --to against a count of the rows themselves. */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tools/report_run.h"

static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "main" },     { 11, 10, 110, "worker/0" },
	{ 12, 10, 120, "worker/1" }, { 20, 20, 200, "bash" },
	{ 30, 30, 300, "" },	     { 40, 0, 0, "lost" },
	{ 50, 50, 500, "with,x*" },  { 0, 0, 0, "" },
};
#define N_TASKS 7
#define N_ROWS	5000
#define START	UINT64_C(1000000000)
#define STEP	1000000 /* the whole is N_ROWS ms long */
#define N_CPUS	6

static struct made_trace made;

static unsigned int task_of(unsigned int i)
{
	return i * 2654435761u >> 16 & 0xffff;
}

static int setup(void **state)
{
	(void)state;
	made_trace_begin(&made, tasks);
	made_trace_meta(&made, "host.machine", "x86_64");
	for (unsigned int i = 0; i < N_ROWS; i++) {
		made_trace_syscall(&made, START + (uint64_t)i * STEP,
				   tasks[task_of(i) % N_TASKS].tid, i % N_CPUS, i % 300, 100, 0);
		/* several chunks, so that pushing filters down matters */
		if (i % 500 == 499)
			assert_null(ebt_stream_flush(made.stream, 0, true));
	}
	made_trace_finish(&made);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	made_trace_remove(&made);
	return 0;
}

static unsigned int count_lines(const char *text)
{
	unsigned int n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

typedef bool truth_fn(unsigned int row, const struct ebt_task_id *task);

/* The command's number of rows is that of a plain count. */
static void expect(truth_fn *truth, const char *option, const char *value)
{
	char *text = REPORT_OK(made.path, "dump", "--table", "syscall", option, value);
	unsigned int expected = 0;

	for (unsigned int i = 0; i < N_ROWS; i++)
		expected += truth(i, &tasks[task_of(i) % N_TASKS]);
	assert_true(expected > 0 && expected < N_ROWS);
	assert_int_equal(count_lines(text), expected);
	free(text);
}

static bool pid_10(unsigned int row, const struct ebt_task_id *task)
{
	(void)row;
	return task->pid == 10;
}

static bool pid_10_20(unsigned int row, const struct ebt_task_id *task)
{
	(void)row;
	return task->pid == 10 || task->pid == 20;
}

static bool tid_11(unsigned int row, const struct ebt_task_id *task)
{
	(void)row;
	return task->tid == 11;
}

static bool comm_worker(unsigned int row, const struct ebt_task_id *task)
{
	(void)row;
	return !fnmatch("work*", task->comm, 0);
}

static bool comm_empty_or_bash(unsigned int row, const struct ebt_task_id *task)
{
	(void)row;
	return !strcmp(task->comm, "bash") || !strcmp(task->comm, "lost");
}

static bool cpu_1_to_3_and_5(unsigned int row, const struct ebt_task_id *task)
{
	unsigned int cpu = row % N_CPUS;

	(void)task;
	return (cpu >= 1 && cpu <= 3) || cpu == 5;
}

static bool from_2s(unsigned int row, const struct ebt_task_id *task)
{
	(void)task;
	return (uint64_t)row * STEP >= 2000000000;
}

static bool to_700ms(unsigned int row, const struct ebt_task_id *task)
{
	(void)task;
	return (uint64_t)row * STEP < 700000000;
}

static bool from_50_percent(unsigned int row, const struct ebt_task_id *task)
{
	(void)task;
	/* of 4999 ms */
	return (uint64_t)row * STEP >= 2499500000;
}

static void test_each(void **state)
{
	(void)state;
	expect(pid_10, "--pid", "10");
	expect(pid_10_20, "--pid", "10,20");
	expect(tid_11, "--tid", "11");
	expect(comm_worker, "--comm", "work*");
	expect(comm_empty_or_bash, "--comm", "bash,los?");
	expect(cpu_1_to_3_and_5, "--cpu", "1-3,5");
	expect(from_2s, "--from", "2s");
	expect(to_700ms, "--to", "700ms");
	expect(from_50_percent, "--from", "50%");
}

static void test_together(void **state)
{
	unsigned int expected = 0;
	char *text;

	(void)state;
	for (unsigned int i = 0; i < N_ROWS; i++) {
		const struct ebt_task_id *task = &tasks[task_of(i) % N_TASKS];

		expected += task->pid == 10 && task->tid != 10 && i % N_CPUS == 2 && i >= 1000 &&
			    i < 3000;
	}
	text = REPORT_OK(made.path, "dump", "--table", "syscall", "--pid", "10", "--tid", "11,12",
			 "--cpu", "2", "--from", "1s", "--to", "3s");
	assert_true(expected > 20);
	assert_int_equal(count_lines(text), expected);
	free(text);
}

static void test_nothing_left(void **state)
{
	char *text;

	(void)state;
	text = REPORT_OK(made.path, "dump", "--pid", "4711");
	assert_string_equal(text, "");
	free(text);
	text = REPORT_OK(made.path, "dump", "--from", "1h");
	assert_string_equal(text, "");
	free(text);
	/* a process id that is not known is not 0 */
	text = REPORT_OK(made.path, "dump", "--table", "syscall", "--pid", "40");
	assert_string_equal(text, "");
	free(text);
}

/* What describes the file stays out of a filtered dump, unless it is asked for. */
static void test_meta(void **state)
{
	char *text;

	(void)state;
	text = REPORT_OK(made.path, "dump", "--table", "meta, syscall", "--pid", "20", "--from",
			 "1s");
	assert_non_null(strstr(text, "host.machine"));
	free(text);
	text = REPORT_OK(made.path, "dump", "--pid", "20");
	assert_null(strstr(text, "host.machine"));
	free(text);
}

static void test_wrong(void **state)
{
	char *text;
	int status;

	(void)state;
	text = REPORT_FAILS(made.path, &status, "dump", "--from", "3s", "--to", "2s");
	assert_int_equal(status, EBT_ERR_INVALID);
	free(text);
	text = REPORT_FAILS(made.path, &status, "dump", "--table", "sched_swich");
	assert_int_equal(status, EBT_ERR_INVALID);
	assert_non_null(strstr(text, "sched_swich"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),	     cmocka_unit_test(test_together),
		cmocka_unit_test(test_nothing_left), cmocka_unit_test(test_meta),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
