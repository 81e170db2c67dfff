/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport marks --around` where each nanosecond of each thread is known. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/schema/wire.h"
#include "tests/tools/report_run.h"

enum { INSTANT = EBT_V_mark_kind_instant, SPAN = EBT_V_mark_kind_span };

#define GETPID	  39
#define NANOSLEEP 35

static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "app" },
	{ 11, 10, 110, "work" },
	{ 20, 20, 100, "other" },
	{ 0, 0, 0, "" },
};

static void add_switch(struct made_trace *t, uint64_t time, uint32_t cpu, uint32_t prev,
		       uint32_t next, uint32_t state, uint32_t preempt)
{
	struct ebt_wire_sched_switch *row = ebt_record_begin(&t->record, EBT_T_sched_switch, time);

	row->cpu = cpu;
	row->prev = prev;
	row->next = next;
	row->prev_state = state;
	row->preempt = preempt;
	made_trace_add(t);
}

static void add_mark(struct made_trace *t, uint32_t tid, uint64_t start, uint64_t end,
		     const char *name)
{
	struct ebt_wire_mark *row = ebt_record_begin(&t->record, EBT_T_mark, end);

	row->task = tid;
	row->kind = start < end ? SPAN : INSTANT;
	row->duration = end - start;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_mark, group), "g");
	ebt_record_str(&t->record, offsetof(struct ebt_wire_mark, name), name);
	made_trace_add(t);
}

static void add_fault(struct made_trace *t, uint64_t time, uint32_t tid, uint64_t duration)
{
	struct ebt_wire_fault *row = ebt_record_begin(&t->record, EBT_T_fault, time);

	row->task = tid;
	row->duration = duration;
	made_trace_add(t);
}

/*
 * Thread 10 runs 1000-1500, sleeps until it is woken at 1700, runs 1750-2000, is preempted until
 * 2100, and runs until 3000. Thread 11 runs 1000-2500 and then waits for a disk.
 */
static void make(struct made_trace *t)
{
	struct ebt_wire_sched_waking *waking;

	made_trace_begin(t, tasks);
	made_trace_meta(t, "host.machine", "x86_64");
	add_switch(t, 1000, 0, 0, 10, 0, 0);
	add_switch(t, 1000, 1, 0, 11, 0, 0);
	add_switch(t, 1500, 0, 10, 0, 1, 0);
	waking = ebt_record_begin(&t->record, EBT_T_sched_waking, 1700);
	waking->wakee = 10;
	made_trace_add(t);
	add_switch(t, 1750, 0, 0, 10, 0, 0);
	add_switch(t, 2000, 0, 10, 20, 0, 1);
	add_switch(t, 2100, 0, 20, 10, 1, 0);
	add_switch(t, 2500, 1, 11, 0, 2, 0);
	add_switch(t, 3000, 0, 10, 0, 1, 0);
	add_mark(t, 10, 1400, 1900, "job"); /* in the next one */
	add_mark(t, 10, 1200, 2600, "job");
	add_mark(t, 11, 2400, 2800, "job");
	add_mark(t, 10, 2000, 2000, "job");
	add_mark(t, 10, 2650, 2700, "else");
	made_trace_syscall(t, 1199, 10, 0, GETPID, 10, 10);  /* before */
	made_trace_syscall(t, 1250, 10, 0, GETPID, 100, 10); /* half of it */
	made_trace_syscall(t, 1300, 10, 0, GETPID, 50, 10);
	made_trace_syscall(t, 1750, 10, 0, NANOSLEEP, 250, 0); /* in both */
	made_trace_syscall(t, 2500, 20, 0, GETPID, 10, 20);
	add_fault(t, 1450, 10, 20);
	add_fault(t, 2700, 10, 20);
	made_trace_finish(t);
}

static void expect_in(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no %s in\n%s", what, text);
}

#define EXPECT_IN(text, ...)                                                  \
	do {                                                                  \
		static const char *const whats[] = { __VA_ARGS__ };           \
		for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) \
			expect_in(text, whats[i]);                            \
		free(text);                                                   \
	} while (0)

/* Of the thread of each mark; the inner one is not counted twice. */
static void test_thread(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	make(&t);
	text = REPORT_OK(t.path, "marks", "--around", "job", "--json");
	EXPECT_IN(text,
		  "\"scope\":\"thread\",\"count\":3,\"sum_ns\":2300,\"mean_ns\":766,"
		  "\"max_ns\":1400,\"covered_ns\":1800,\"instants\":1,\"unowned\":0,"
		  "\"thread_count\":2,\"threads_ns\":1800,\"samples\":0",
		  "{\"state\":\"cpu\",\"total_ns\":1150,",
		  "{\"state\":\"runqueue\",\"total_ns\":50,",
		  "{\"state\":\"preempted\",\"total_ns\":100,",
		  "{\"state\":\"sleep\",\"total_ns\":200,", "{\"state\":\"lock\",\"total_ns\":0,",
		  "{\"state\":\"disk\",\"total_ns\":300,", "{\"state\":\"other\",\"total_ns\":0,",
		  "{\"state\":\"unknown\",\"total_ns\":0,",
		  "{\"call\":\"getpid\",\"count\":2,\"errors\":0,\"total_ns\":100,",
		  "{\"call\":\"nanosleep\",\"count\":1,\"errors\":0,\"total_ns\":250,",
		  "{\"event\":\"minor fault\",\"count\":1,\"total_ns\":20}");
	text = REPORT_OK(t.path, "marks", "--around", "g/job", "--folded");
	assert_string_equal(text, "app_[c] 1050\napp_[o] 350\nwork_[c] 100\nwork_[o] 300\n");
	free(text);
	made_trace_remove(&t);
}

/* Both threads of the process while either is in one: 1200-2800, of each. */
static void test_process(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	make(&t);
	text = REPORT_OK(t.path, "marks", "--around", "job", "--around-scope", "process", "--json");
	EXPECT_IN(text, "\"covered_ns\":1600,", "\"thread_count\":2,\"threads_ns\":3200,",
		  "{\"state\":\"cpu\",\"total_ns\":2550,", "{\"state\":\"disk\",\"total_ns\":300,",
		  "{\"state\":\"sleep\",\"total_ns\":200,");
	text = REPORT_OK(t.path, "marks", "--around", "job", "--around-scope", "system", "--json");
	EXPECT_IN(text, "\"covered_ns\":1600,", "\"thread_count\":3,",
		  "{\"call\":\"getpid\",\"count\":3,");
	made_trace_remove(&t);
}

/* Sysprof's protocol does not say which thread it was. */
static void test_sysprof(void **state)
{
	struct ebt_wire_mark *row;
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	add_switch(&t, 1000, 0, 0, 11, 0, 0);
	row = ebt_record_begin(&t.record, EBT_T_mark, 1500);
	row->task = 10;
	row->kind = SPAN;
	row->origin = EBT_V_mark_origin_sysprof;
	row->duration = 400;
	made_trace_add(&t);
	add_switch(&t, 2000, 0, 11, 0, 1, 0);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "marks", "--around", "*", "--json");
	EXPECT_IN(text, "\"scope\":\"process\",", "{\"state\":\"cpu\",\"total_ns\":400,");
	text = REPORT_OK(t.path, "marks", "--around", "*", "--around-scope", "thread", "--json");
	EXPECT_IN(text, "\"scope\":\"thread\",", "{\"state\":\"unknown\",\"total_ns\":400,");
	made_trace_remove(&t);
}

/* Cut at both ends of the window. */
static void test_window(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	make(&t);
	text = REPORT_OK(t.path, "marks", "--around", "job", "--from", "500ns", "--to", "1us",
			 "--json");
	EXPECT_IN(text, "\"covered_ns\":500,", "{\"state\":\"cpu\",\"total_ns\":250,",
		  "{\"state\":\"sleep\",\"total_ns\":200,",
		  "{\"state\":\"runqueue\",\"total_ns\":50,",
		  "{\"state\":\"unknown\",\"total_ns\":0,");
	made_trace_remove(&t);
}

/* Why each took so long. */
static void test_slowest(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	make(&t);
	text = REPORT_OK(t.path, "marks", "--around", "job", "--slowest", "9", "--json");
	EXPECT_IN(text,
		  "{\"time_ns\":200,\"duration_ns\":1400,\"pid\":10,\"tid\":10,\"comm\":\"app\","
		  "\"group\":\"g\",\"name\":\"job\",\"on_cpu_ns\":1050,\"runqueue_ns\":150,"
		  "\"off_cpu_ns\":200,\"sleep_ns\":200,",
		  "{\"time_ns\":400,\"duration_ns\":500,\"pid\":10,\"tid\":10,\"comm\":\"app\","
		  "\"group\":\"g\",\"name\":\"job\",\"on_cpu_ns\":250,\"runqueue_ns\":50,"
		  "\"off_cpu_ns\":200,\"sleep_ns\":200,",
		  "\"tid\":11,\"comm\":\"work\",\"group\":\"g\",\"name\":\"job\","
		  "\"on_cpu_ns\":100,\"runqueue_ns\":0,\"off_cpu_ns\":300,\"sleep_ns\":0,"
		  "\"lock_ns\":0,\"disk_ns\":300,",
		  "\"syscall_count\":3,\"syscalls_ns\":350,\"syscall\":\"nanosleep\","
		  "\"syscall_ns\":250",
		  "\"syscall_count\":1,\"syscalls_ns\":250,\"syscall\":\"nanosleep\"");
	text = REPORT_OK(t.path, "marks", "--around", "job", "--slowest", "1", "--csv");
	assert_null(strstr(text, "work"));
	free(text);
	made_trace_remove(&t);
}

/* The same marks over time: which are in which. */
static void test_waterfall(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	make(&t);
	text = REPORT_OK(t.path, "marks", "--waterfall", "--csv");
	EXPECT_IN(text, "\n1200,1400,0,", "\n1400,500,1,", "\n2000,,1,", "\n2400,400,0,",
		  "\n2650,50,0,");
	text = REPORT_OK(t.path, "marks", "--waterfall", "--name", "job", "--top", "2");
	EXPECT_IN(text, "app (10)  g/job ", "app (10)    g/job ", "The 2 longest of 4");
	made_trace_remove(&t);
}

static void test_wrong(void **state)
{
	struct made_trace t;
	int status;

	(void)state;
	make(&t);
#define WRONG(what, ...)                                                          \
	do {                                                                      \
		char *text = REPORT_FAILS(t.path, &status, "marks", __VA_ARGS__); \
		assert_int_not_equal(status, 0);                                  \
		EXPECT_IN(text, what);                                            \
	} while (0)
	WRONG("exclude each other", "--waterfall", "--chart");
	WRONG("exclude each other", "--waterfall", "--summary");
	WRONG("--around NAME", "--slowest", "3");
	WRONG("one at a time", "--around", "x", "--flame", "--folded");
	WRONG("leave out --name", "--around", "x", "--name", "y");
	WRONG("without --json", "--chart", "--json");
	WRONG("--interval", "--waterfall", "--interval", "1us");
	free(REPORT_OK(t.path, "marks", "--around", "nothing"));
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread),	cmocka_unit_test(test_process),
		cmocka_unit_test(test_sysprof), cmocka_unit_test(test_window),
		cmocka_unit_test(test_slowest), cmocka_unit_test(test_waterfall),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
