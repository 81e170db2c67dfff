/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `ebreport overview` finds in switches that are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tools/report_run.h"

static const struct ebt_task_id tasks[] = { { 10, 10, 100, "build" },
					    { 20, 20, 100, "other" },
					    { 0, 0, 0, "" } };

static void add_switch(struct made_trace *t, uint64_t time, uint32_t prev, uint32_t next)
{
	struct ebt_wire_sched_switch *row = ebt_record_begin(&t->record, EBT_T_sched_switch, time);

	row->prev = prev;
	row->next = next;
	row->preempt = prev == 10;
	made_trace_add(t);
}

/* "build" runs for 1 ms and could go on, 9 ms long; `next` has the CPU then. */
static char *overview_of(uint32_t next)
{
	struct ebt_wire_process *process;
	struct made_trace t;
	char *text;

	made_trace_begin(&t, tasks);
	made_trace_meta(&t, "target.kind", "pids");
	made_trace_meta(&t, "host.cpus_online", "2");
	process = ebt_record_begin(&t.record, EBT_T_process, 500);
	process->task = 10;
	made_trace_add(&t);
	for (uint64_t i = 1; i <= 20; i++) {
		add_switch(&t, i * 10000000, next, 10);
		add_switch(&t, i * 10000000 + 1000000, 10, next);
	}
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "overview");
	made_trace_remove(&t);
	return text;
}

#define QUOTA	 "a CPU quota (cgroup cpu.max) stopped threads: 19 times, at least 171.0 ms  sched"
#define CROWDING "threads wait for CPUs that others have"

static void idle_cpus_are_a_quota(void **state)
{
	char *text = overview_of(0);

	(void)state;
	assert_non_null(strstr(text, QUOTA));
	assert_null(strstr(text, CROWDING));
	free(text);
	text = overview_of(20);
	assert_null(strstr(text, "quota"));
	assert_non_null(strstr(text, CROWDING));
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_cpus_are_a_quota),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
