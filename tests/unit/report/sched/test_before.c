/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread did before a window, where lists of all threads took their time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tools/report_run.h"

#define S UINT64_C(1000000000)

/* Thread 10 runs while the second list is made, and is listed when it has run: the window has to
 * know when it stopped. */
static void check_long_list(uint64_t readings)
{
	static const struct ebt_task_id tasks[] = { { 10, 10, 100, "one" },
						    { 20, 20, 100, "two" },
						    { 0 } };
	struct made_trace t;
	char *text;

	made_trace_begin(&t, tasks);
	made_trace_thread(&t, 1 * S, 10, 7);
	made_trace_thread(&t, 1 * S, 20, 3);
	for (uint64_t i = 0; i < readings; i++)
		made_trace_clock(&t, 1 * S + S / 2 + i);
	made_trace_thread(&t, 20 * S, 10, 8);
	made_trace_thread(&t, 20 * S, 20, 3);
	made_trace_switch(&t, 24 * S, 0, 10, 1);
	made_trace_switch(&t, 25 * S, 10, 0, 1);
	made_trace_clock(&t, 26 * S);
	made_trace_thread(&t, 40 * S, 10, 8);
	made_trace_thread(&t, 40 * S, 20, 3);
	made_trace_clock(&t, 41 * S);
	made_trace_switch(&t, 60 * S, 0, 20, 1);
	made_trace_switch(&t, 61 * S, 20, 0, 1);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "offcpu", "--all", "--from", "49", "--csv");
	assert_non_null(strstr(text, "\n10,10,one,10500000000,1,36000000000,"));
	free(text);
	made_trace_remove(&t);
}

static void test_long_list(void **state)
{
	(void)state;
	check_long_list(1);
}

/* More readings of the clocks than are looked at: from there on a list may be of any later time. */
static void test_many_clocks(void **state)
{
	(void)state;
	check_long_list(100000);
}

/* Processes that came while others were read are listed when these have been, which may take longer
 * than snapshots are apart. */
static void test_late_threads(void **state)
{
	static const struct ebt_task_id tasks[] = {
		{ 10, 10, 100, "one" }, { 30, 30, 2 * S, "late" }, { 40, 40, 31 * S, "last" }, { 0 }
	};
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_thread(&t, 1 * S, 10, 7);
	made_trace_thread(&t, 13 * S, 30, 1);
	made_trace_clock(&t, 14 * S);
	made_trace_thread(&t, 30 * S, 10, 7);
	made_trace_thread(&t, 30 * S, 30, 1);
	made_trace_thread(&t, 42 * S, 40, 1);
	made_trace_clock(&t, 43 * S);
	made_trace_switch(&t, 60 * S, 0, 40, 1);
	made_trace_switch(&t, 61 * S, 40, 0, 1);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "offcpu", "--all", "--from", "36", "--csv");
	assert_non_null(strstr(text, "\n10,10,one,"));
	assert_non_null(strstr(text, "\n30,30,late,"));
	assert_non_null(strstr(text, "\n40,40,last,"));
	free(text);
	made_trace_remove(&t);
}

/* One recorder follows thread 10 and lists it again; thread 20 is in the list of the other one. */
static void test_merged(void **state)
{
	static const struct ebt_task_id tasks[] = { { 10, 10, 100, "one" },
						    { 20, 20, 100, "two" },
						    { 0 } };
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_meta(&t, "merge.inputs", "2");
	made_trace_thread(&t, 1 * S, 10, 7);
	made_trace_clock(&t, 1 * S + 1);
	made_trace_thread(&t, 6 * S, 10, 7);
	made_trace_thread(&t, 6 * S, 20, 3);
	made_trace_clock(&t, 6 * S + 1);
	made_trace_switch(&t, 7 * S, 0, 20, 1);
	made_trace_switch(&t, 8 * S, 20, 0, 1);
	made_trace_thread(&t, 12 * S, 10, 7);
	made_trace_clock(&t, 12 * S + 1);
	made_trace_switch(&t, 20 * S, 0, 10, 1);
	made_trace_switch(&t, 21 * S, 10, 0, 1);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "offcpu", "--all", "--from", "14", "--csv");
	assert_non_null(strstr(text, "\n10,10,one,"));
	assert_non_null(strstr(text, "\n20,20,two,"));
	free(text);
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_list),
		cmocka_unit_test(test_many_clocks),
		cmocka_unit_test(test_late_threads),
		cmocka_unit_test(test_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
