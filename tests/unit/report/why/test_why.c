/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The critical path of small traces whose rows say it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tools/report_run.h"

#define DEAD 0x80

static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "one" },	 { 20, 20, 100, "two" },     { 30, 10, 100, "three" },
	{ 40, 40, 100, "four" }, { 50, 50, 100, "kworker" }, { 0 },
};

static void add_process(struct made_trace *t, uint32_t tid, uint32_t ppid, bool kernel)
{
	struct ebt_wire_process *row = ebt_record_begin(&t->record, EBT_T_process, 1000);

	row->task = tid;
	row->ppid = ppid;
	row->kernel = kernel;
	made_trace_add(t);
}

/* target: of the recording, which of a command follows what that starts. */
static void begin(struct made_trace *t, const char *target)
{
	made_trace_begin(t, tasks);
	made_trace_meta(t, "target.kind", target);
	made_trace_meta(t, "recorder.pid", "7");
	add_process(t, 10, 7, false);
	add_process(t, 20, 1, false);
}

static void add_waking(struct made_trace *t, uint64_t time, uint32_t waker, uint32_t wakee,
		       uint32_t kind)
{
	struct ebt_wire_sched_waking *row = ebt_record_begin(&t->record, EBT_T_sched_waking, time);

	row->waker = waker;
	row->wakee = wakee;
	row->kind = kind;
	made_trace_add(t);
}

static void add_fork(struct made_trace *t, uint64_t time, uint32_t parent, uint32_t child)
{
	struct ebt_wire_task_fork *row = ebt_record_begin(&t->record, EBT_T_task_fork, time);

	row->parent = parent;
	row->child = child;
	row->child_pid = child;
	made_trace_add(t);
}

/* CSV has lines that end with CRLF. */
static void check_lines(char *text, const char *expected)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from != '\r')
			*to++ = *from;
	}
	*to = '\0';
	assert_string_equal(text, expected);
	free(text);
}

static void check_path(struct made_trace *t, const char *expected)
{
	made_trace_finish(t);
	check_lines(REPORT_OK(t->path, "why", "--path", "--csv", "--pid", "10", "--columns",
			      "time_ns,duration_ns,kind,tid,by"),
		    expected);
	made_trace_remove(t);
}

#define HEAD "time_ns,duration_ns,kind,tid,by\n"

/* Who was waited for; and what no thread ended. */
static void test_wakers(void **state)
{
	struct made_trace t;

	(void)state;
	begin(&t, "all");
	made_trace_switch(&t, 1000, 0, 10, 1);
	add_waking(&t, 1500, 10, 20, EBT_V_sched_waking_kind_waking);
	made_trace_switch(&t, 2000, 10, 20, 1);
	add_waking(&t, 5000, 20, 10, EBT_V_sched_waking_kind_waking);
	made_trace_switch(&t, 5500, 20, 10, 0);
	made_trace_switch(&t, 7000, 10, 0, 1);
	add_waking(&t, 8000, 20, 10, EBT_V_sched_waking_kind_by_interrupt);
	made_trace_switch(&t, 8100, 0, 10, 1);
	made_trace_switch(&t, 8300, 10, 0, 1);
	add_waking(&t, 8700, 20, 10, EBT_V_sched_waking_kind_in_soft_interrupt);
	made_trace_switch(&t, 8800, 0, 10, 1);
	made_trace_switch(&t, 9000, 10, 0, DEAD);
	check_path(&t, HEAD "1000,500,cpu,10,\n"
			    "1500,500,runqueue,20,\n"
			    "2000,3000,cpu,20,\n"
			    "5000,500,runqueue,10,\n"
			    "5500,1500,cpu,10,\n"
			    "7000,1000,wait,10,(interrupt)\n"
			    "8000,100,runqueue,10,\n"
			    "8100,200,cpu,10,\n"
			    "8300,400,wait,10,(soft interrupt)\n"
			    "8700,100,runqueue,10,\n"
			    "8800,200,cpu,10,\n");
}

/* A child that is waited for, from its birth on; and before that, who made it. */
static void test_child(void **state)
{
	struct made_trace t;

	(void)state;
	begin(&t, "command");
	made_trace_switch(&t, 1000, 0, 10, 1);
	add_fork(&t, 1500, 10, 40);
	add_waking(&t, 1600, 10, 40, EBT_V_sched_waking_kind_new);
	made_trace_switch(&t, 3000, 10, 40, 1);
	add_waking(&t, 6000, 40, 10, EBT_V_sched_waking_kind_waking);
	made_trace_switch(&t, 6200, 40, 10, DEAD);
	made_trace_switch(&t, 7000, 10, 0, DEAD);
	check_path(&t, HEAD "1000,600,cpu,10,\n"
			    "1600,1400,runqueue,40,\n"
			    "3000,3000,cpu,40,\n"
			    "6000,200,runqueue,10,\n"
			    "6200,800,cpu,10,\n");
}

/* A thread of the kernel works for who waits, and what it did before that is not on the path. */
static void test_kernel(void **state)
{
	struct made_trace t;

	(void)state;
	begin(&t, "all");
	add_process(&t, 50, 2, true);
	made_trace_switch(&t, 1000, 0, 50, 1);
	made_trace_switch(&t, 1400, 50, 10, 1);
	made_trace_switch(&t, 2000, 10, 0, 2);
	add_waking(&t, 5000, 0, 50, EBT_V_sched_waking_kind_by_interrupt);
	made_trace_switch(&t, 5100, 0, 50, 1);
	add_waking(&t, 5300, 50, 10, EBT_V_sched_waking_kind_waking);
	made_trace_switch(&t, 5400, 50, 10, 1);
	made_trace_switch(&t, 6000, 10, 0, DEAD);
	check_path(&t, HEAD "1000,400,unknown,10,(no row tells who woke it)\n"
			    "1400,600,cpu,10,\n"
			    "2000,3000,disk,10,kworker (50)\n"
			    "5000,100,runqueue,50,\n"
			    "5100,200,cpu,50,\n"
			    "5300,100,runqueue,10,\n"
			    "5400,600,cpu,10,\n");
}

/* No row says who ended the wait; and threads that wake each other lead nowhere. */
static void test_unknown(void **state)
{
	struct made_trace t;

	(void)state;
	begin(&t, "all");
	made_trace_switch(&t, 1000, 0, 10, 1);
	made_trace_switch(&t, 2000, 10, 0, 1);
	made_trace_switch(&t, 3000, 0, 10, 1);
	made_trace_switch(&t, 4000, 10, 20, 1);
	add_waking(&t, 4900, 30, 10, EBT_V_sched_waking_kind_waking);
	made_trace_switch(&t, 5000, 20, 10, 1);
	made_trace_switch(&t, 6000, 10, 0, 1);
	made_trace_switch(&t, 9000, 0, 20, 1);
	check_path(&t, HEAD "1000,1000,cpu,10,\n"
			    "2000,1000,unknown,10,(no row tells who woke it)\n"
			    "3000,1000,cpu,10,\n"
			    "4000,900,wait,10,three (30)\n"
			    "4900,100,runqueue,10,\n"
			    "5000,1000,cpu,10,\n"
			    "6000,3000,wait,10,(nobody yet)\n");
}

/* Who had the CPU; and the shares of a thread's time, which add up. */
static void test_causes(void **state)
{
	struct made_trace t;

	(void)state;
	begin(&t, "all");
	made_trace_switch(&t, 1000, 0, 10, 1);
	made_trace_switch(&t, 2000, 10, 20, 0);
	made_trace_switch(&t, 2700, 20, 0, 1);
	made_trace_switch(&t, 2800, 0, 10, 1);
	made_trace_switch(&t, 4000, 10, 0, DEAD);
	made_trace_finish(&t);
	check_lines(REPORT_OK(t.path, "why", "--csv", "--columns", "kind,duration_ns,count,tid,by",
			      "--tid", "10"),
		    "kind,duration_ns,count,tid,by\n"
		    "cpu,2200,0,10,\n"
		    "runqueue,700,1,10,two (20)\n"
		    "runqueue,100,1,10,\n");
	check_lines(REPORT_OK(t.path, "why", "--csv", "--columns", "kind,duration_ns,tid", "--tid",
			      "20"),
		    "kind,duration_ns,tid\n"
		    "wait,1300,20\n"
		    "unknown,1000,20\n"
		    "cpu,700,20\n");
	made_trace_remove(&t);
}

static void check_what_if(const struct made_trace *t, const char *change, const char *expected)
{
	check_lines(REPORT_OK(t->path, "why", "--csv", "--pid", "10", "--what-if", change,
			      "--columns", "wall_ns,replayed_ns,predicted_ns"),
		    expected);
}

#define WHAT_IF_HEAD "wall_ns,replayed_ns,predicted_ns\n"

static void refuses(const struct made_trace *t, const char *change)
{
	int status;

	free(REPORT_FAILS(t->path, &status, "why", "--what-if", change));
	assert_int_equal(status, EBT_ERR_INVALID);
}

/* A child that is faster; and a disk. */
static void test_what_if(void **state)
{
	struct made_trace t;

	(void)state;
	begin(&t, "command");
	made_trace_switch(&t, 1000, 0, 10, 1);
	add_fork(&t, 1500, 10, 40);
	add_waking(&t, 1600, 10, 40, EBT_V_sched_waking_kind_new);
	made_trace_switch(&t, 3000, 10, 40, 1);
	add_waking(&t, 6000, 40, 10, EBT_V_sched_waking_kind_waking);
	made_trace_switch(&t, 6200, 40, 10, DEAD);
	made_trace_switch(&t, 7000, 10, 0, 2);
	add_waking(&t, 9000, 0, 10, EBT_V_sched_waking_kind_by_interrupt);
	made_trace_switch(&t, 9000, 0, 10, 1);
	made_trace_switch(&t, 9500, 10, 0, DEAD);
	made_trace_finish(&t);
	check_what_if(&t, "four=1", WHAT_IF_HEAD "8500,8500,8500\n");
	check_what_if(&t, "process:four=0.5", WHAT_IF_HEAD "8500,8500,7000\n");
	check_what_if(&t, "disk=0.5", WHAT_IF_HEAD "8500,8500,7500\n");
	check_what_if(&t, "wait:disk=0,four=0.5,cpus=1", WHAT_IF_HEAD "8500,8500,5000\n");
	/* The child need not wait until its parent sleeps. */
	check_what_if(&t, "cpus=2", WHAT_IF_HEAD "8500,8500,8500\n");
	refuses(&t, "nobody=1");
	refuses(&t, "four");
	refuses(&t, "four=-1");
	refuses(&t, "cpus=0");
	refuses(&t, "=1");
	made_trace_remove(&t);
}

static void add_mark(struct made_trace *t, uint64_t time, uint32_t tid, uint32_t kind,
		     uint64_t duration)
{
	struct ebt_wire_mark *row = ebt_record_begin(&t->record, EBT_T_mark, time);

	row->task = tid;
	row->kind = kind;
	row->duration = duration;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_mark, group), "g");
	ebt_record_str(&t->record, offsetof(struct ebt_wire_mark, name), "m");
	made_trace_add(t);
}

/* Of a thread whose switches are there, of one that no switch tells of, and of one that never ends.
 */
static void test_requests(void **state)
{
	struct made_trace t;
	char *json;

	(void)state;
	begin(&t, "command");
	made_trace_switch(&t, 1000, 0, 10, 1);
	made_trace_switch(&t, 2000, 10, 0, 1);
	add_waking(&t, 2900, 0, 10, EBT_V_sched_waking_kind_by_interrupt);
	made_trace_switch(&t, 3000, 0, 10, 1);
	add_mark(&t, 4000, 10, EBT_V_mark_kind_span, 2500);
	add_mark(&t, 4500, 50, EBT_V_mark_kind_span, 500);
	add_mark(&t, 4600, 10, EBT_V_mark_kind_begin, 0);
	made_trace_switch(&t, 5000, 10, 0, DEAD);
	made_trace_finish(&t);
	check_lines(REPORT_OK(t.path, "why", "--request", "m", "--csv", "--columns",
			      "kind,slow_ns,fast_ns,comm"),
		    "kind,slow_ns,fast_ns,comm\n"
		    "cpu,1500,0,one\n"
		    "wait,900,0,one\n"
		    "runqueue,100,0,one\n"
		    "unknown,0,500,kworker\n");
	json = REPORT_OK(t.path, "why", "--request", "g/m", "--json");
	assert_non_null(strstr(json, "\"count\":2,\"open_count\":1,"));
	assert_non_null(strstr(json, "1 span of these marks has no begin or no end"));
	free(json);
	made_trace_remove(&t);
}

/* On another CPU. */
static void begins_elsewhere(struct made_trace *t, uint64_t time, uint32_t task)
{
	struct ebt_wire_sched_switch *row = ebt_record_begin(&t->record, EBT_T_sched_switch, time);

	row->cpu = 1;
	row->next = task;
	made_trace_add(t);
}

/* Who is woken as it stops has not waited. */
static void test_at_once(void **state)
{
	struct made_trace t;

	(void)state;
	begin(&t, "command");
	made_trace_switch(&t, 1000, 0, 10, 1);
	begins_elsewhere(&t, 1000, 30);
	made_trace_switch(&t, 2000, 10, 0, 1);
	add_waking(&t, 2000, 30, 10, EBT_V_sched_waking_kind_waking);
	made_trace_switch(&t, 2500, 0, 10, 1);
	made_trace_switch(&t, 4000, 10, 0, DEAD);
	check_path(&t, HEAD "1000,1000,cpu,10,\n"
			    "2000,500,runqueue,10,\n"
			    "2500,1500,cpu,10,\n");
}

/* A child whose first waking no row tells is there from its fork on, whenever that is. */
static void test_forked(void **state)
{
	struct made_trace t;

	(void)state;
	begin(&t, "command");
	made_trace_switch(&t, 1000, 0, 10, 1);
	add_fork(&t, 1500, 10, 40);
	made_trace_switch(&t, 3000, 10, 40, 1);
	add_waking(&t, 6000, 40, 10, EBT_V_sched_waking_kind_waking);
	made_trace_switch(&t, 6200, 40, 10, DEAD);
	made_trace_switch(&t, 7000, 10, 0, DEAD);
	made_trace_finish(&t);
	check_what_if(&t, "process:one=0", WHAT_IF_HEAD "6000,6000,3200\n");
	made_trace_remove(&t);
}

/* Two that shared a CPU, and would not have to. */
static void test_cpus(void **state)
{
	struct made_trace t;

	(void)state;
	begin(&t, "all");
	made_trace_switch(&t, 1000, 0, 10, 1);
	made_trace_switch(&t, 2000, 10, 20, 0);
	made_trace_switch(&t, 2700, 20, 10, 1);
	made_trace_switch(&t, 4000, 10, 0, DEAD);
	made_trace_finish(&t);
	check_what_if(&t, "cpus=2", WHAT_IF_HEAD "3000,3000,2300\n");
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wakers),	 cmocka_unit_test(test_child),
		cmocka_unit_test(test_kernel),	 cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_causes),	 cmocka_unit_test(test_what_if),
		cmocka_unit_test(test_cpus),	 cmocka_unit_test(test_forked),
		cmocka_unit_test(test_requests), cmocka_unit_test(test_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
