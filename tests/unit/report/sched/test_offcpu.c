/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `ebreport offcpu --stacks` says above a stack, of a wait that is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
