/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport offcpu` of waits that are known. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/sched/wait_files.h"
#include "tests/tools/report_run.h"

/* A short wait for a disk, a long one for a CPU, and a thread that is stopped for another. */
static void queues_are_told_apart(void **state)
{
	static const struct ebt_task_id tasks[] = { { 10, 10, 100, "reader" },
						    { 20, 20, 100, "other" },
						    { 0, 0, 0, "" } };
	struct ebt_wire_sched_waking *waking;
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_switch(&t, 1000, 0, 10, 0);
	made_trace_switch(&t, 2000, 10, 20, 2);
	waking = ebt_record_begin(&t.record, EBT_T_sched_waking, 2200);
	waking->waker = 20;
	waking->wakee = 10;
	made_trace_add(&t);
	made_trace_switch(&t, 5000, 20, 10, 0);
	made_trace_switch(&t, 6000, 10, 20, 0);
	made_trace_switch(&t, 6500, 20, 10, 0);
	made_trace_switch(&t, 7000, 10, 0, 1);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "offcpu", "--stacks", "--tid", "10");
	assert_non_null(strstr(text, "1 time, longest 3.000 us, disk 200 ns, on run queue 2.800 us,"
				     " woken by other/20\n"));
	assert_non_null(strstr(text, "1 time, longest 500 ns, runnable, on run queue 500 ns\n"));
	free(text);
	made_trace_remove(&t);
}

/* Of a thread that makes no calls: all are there, and those that there was no room for are said. */
static void too_many_waits_are_said(void **state)
{
	static const struct ebt_task_id tasks[] = { { 10, 10, 100, "busy" }, { 0, 0, 0, "" } };
	const uint64_t n = WAIT_FILES_KEPT + 10;
	char expected[64];
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_switch(&t, 1000, 0, 10, 0);
	for (uint64_t i = 1; i <= n; i++) {
		made_trace_switch(&t, i * 4000, 10, 0, 1);
		made_trace_switch(&t, i * 4000 + 1000, 0, 10, 0);
	}
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "offcpu", "--by", "file", "--json");
	snprintf(expected, sizeof(expected), "\"total_ns\":%" PRIu64 ",\"count\":%" PRIu64 ",",
		 n * 1000, n);
	assert_non_null(strstr(text, expected));
	assert_non_null(strstr(text, "what 1048577 waits were for is not known"));
	free(text);
	made_trace_remove(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_are_told_apart),
		cmocka_unit_test(too_many_waits_are_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
