/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --interval: which rows go into which part of a trace, and how each format shows the parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tools/report_run.h"

enum { READ = 0, WRITE = 1 };

static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "one" },
	{ 20, 20, 200, "two" },
	{ 0, 0, 0, "" },
};

/* From 1000 to 4000: a row at the bound of two parts, a part without rows, one at the very end. */
static void with_trace(struct made_trace *t)
{
	made_trace_begin(t, tasks);
	made_trace_meta(t, "host.machine", "x86_64");
	made_trace_syscall(t, 1000, 10, 0, READ, 5, 0);
	made_trace_syscall(t, 1999, 20, 0, READ, 6, 0);
	made_trace_syscall(t, 2000, 10, 0, READ, 7, 0);
	made_trace_syscall(t, 2001, 10, 0, WRITE, 100, -11);
	made_trace_syscall(t, 4000, 10, 0, READ, 8, 0);
	made_trace_finish(t);
}

static void expect(char *text, const char *expected)
{
	assert_string_equal(text, expected);
	free(text);
}

static void test_csv(void **state)
{
	struct made_trace t;

	(void)state;
	with_trace(&t);
	expect(REPORT_OK(t.path, "syscalls", "--csv", "--interval", "1us"),
	       "from_ns,to_ns,name,abi,category,count,errors,total_ns,percent,avg_ns,"
	       "p50_ns,"
	       "p99_ns,max_ns,max_at_ns,min_ns\r\n"
	       "1000,2000,read,native,file_io,2,0,11,100,5,5,6,6,1999,5\r\n"
	       "2000,3000,write,native,file_io,1,1,100,93.4579,100,100,100,100,2001,100\r\n"
	       "2000,3000,read,native,file_io,1,0,7,6.54206,7,7,7,7,2000,7\r\n"
	       "3000,4000,read,native,file_io,1,0,8,100,8,8,8,8,4000,8\r\n");
	/* From elsewhere than the start; the last part is shorter than the others. */
	expect(REPORT_OK(t.path, "syscalls", "--csv", "--interval", "2us", "--from", "999ns",
			 "--comm", "one"),
	       "from_ns,to_ns,name,abi,category,count,errors,total_ns,percent,avg_ns,"
	       "p50_ns,"
	       "p99_ns,max_ns,max_at_ns,min_ns\r\n"
	       "1999,3999,write,native,file_io,1,1,100,93.4579,100,100,100,100,2001,100\r\n"
	       "1999,3999,read,native,file_io,1,0,7,6.54206,7,7,7,7,2000,7\r\n"
	       "3999,4000,read,native,file_io,1,0,8,100,8,8,8,8,4000,8\r\n");
	/* --to ends the last one. */
	expect(REPORT_OK(t.path, "syscalls", "--csv", "--interval", "1us", "--to", "1001ns",
			 "--sort", "count", "--top", "1"),
	       "from_ns,to_ns,name,abi,category,count,errors,total_ns,percent,avg_ns,"
	       "p50_ns,"
	       "p99_ns,max_ns,max_at_ns,min_ns\r\n"
	       "1000,2000,read,native,file_io,2,0,11,100,5,5,6,6,1999,5\r\n"
	       "2000,2001,read,native,file_io,1,0,7,100,7,7,7,7,2000,7\r\n");
	made_trace_remove(&t);
}

static void expect_part(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

static void test_json(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	with_trace(&t);
	text = REPORT_OK(t.path, "syscalls", "--json", "--interval", "1500ns");
	expect_part(text, "\"interval_ns\":1500,\n\"intervals\":[\n"
			  "{\"from_ns\":0,\"to_ns\":1500,\n\"rows\":[\n{\"name\":\"write\"");
	expect_part(text, "}]},\n{\"from_ns\":1500,\"to_ns\":3000,\n\"rows\":[\n{\"name\":\"read\","
			  "\"abi\":\"native\",\"category\":\"file_io\",\"count\":1,");
	expect_part(text, "}]}],\n\"lost\":{},\"warnings\":[]}");
	free(text);
	/* The trace has nothing there. */
	text = REPORT_OK(t.path, "syscalls", "--json", "--interval", "1us", "--from", "1s");
	expect_part(text, "\"intervals\":[],\n\"lost\":{},\"warnings\":[\"the trace ends before");
	free(text);
	made_trace_remove(&t);
}

static void test_text(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	with_trace(&t);
	text = REPORT_OK(t.path, "syscalls", "--interval", "2us");
	expect_part(text, "0.000000 s to 0.000002 s:\nCALL ");
	expect_part(text, "\n\n0.000002 s to 0.000003 s:\nCALL ");
	free(text);
	made_trace_remove(&t);
}

/* What holds for a few parts is said once, and so is what holds for all. */
static void test_warnings(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_syscall(&t, 1000, 10, 0, READ, 5, 0);
	made_trace_syscall(&t, 4000, 10, 0, READ, 8, 0);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "syscalls", "--json", "--interval", "1us");
	expect_part(text, "\"warnings\":[\"the trace does not say which machine it is of: numbers "
			  "of system calls stand for names\"]");
	free(text);
	made_trace_remove(&t);
}

static void test_refused(void **state)
{
	struct made_trace t;
	int status;
	char *text;

	(void)state;
	with_trace(&t);
	text = REPORT_FAILS(t.path, &status, "syscalls", "--interval", "0");
	assert_int_equal(status, EBT_ERR_INVALID);
	expect_part(text, "'0' is not above 0");
	free(text);
	/* 3001 parts of 1 ns are not too many, those of a longer trace are. */
	text = REPORT_OK(t.path, "syscalls", "--csv", "--interval", "1ns");
	expect_part(text, "\r\n1999,2000,read,native,file_io,1,");
	free(text);
	text = REPORT_FAILS(t.path, &status, "syscalls", "--trace", "--interval", "1s");
	assert_int_equal(status, EBT_ERR_INVALID);
	free(text);
	for (size_t i = 0; i < 4; i++) {
		static const char *const names[] = { "info", "dump", "folded", "files" };

		text = REPORT_FAILS(t.path, &status, names[i], "--interval", "1s");
		assert_int_equal(status, EBT_ERR_INVALID);
		expect_part(text, "--interval does not apply");
		free(text);
	}
	made_trace_remove(&t);
}

static void test_too_many(void **state)
{
	struct made_trace t;
	int status;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_syscall(&t, 1000, 10, 0, READ, 5, 0);
	made_trace_syscall(&t, UINT64_MAX - 1, 10, 0, READ, 8, 0);
	made_trace_finish(&t);
	text = REPORT_FAILS(t.path, &status, "syscalls", "--interval", "1ns");
	assert_int_equal(status, EBT_ERR_INVALID);
	expect_part(text, "are too many, 10000 is the most");
	free(text);
	made_trace_remove(&t);
}

#define WALL_COLUMNS                                                                       \
	"tid,pid,comm,on_cpu_ns,runqueue_ns,off_cpu_ns,sleep_ns,lock_ns,disk_ns,other_ns," \
	"preempted_ns,lifetime_ns,coverage_percent,samples,open_count,idle\r\n"

/* When thread 10 stopped is not told: in the part between, nothing is known but that it lives. */
static void test_life(void **state)
{
	struct made_trace t;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_switch(&t, 1000, 0, 10, 1);
	made_trace_switch(&t, 1200, 10, 0, 1);
	made_trace_switch(&t, 1300, 0, 10, 1);
	made_trace_switch(&t, 1500, 20, 0, 1);
	made_trace_switch(&t, 3500, 0, 10, 1);
	made_trace_switch(&t, 4000, 10, 0, 1);
	made_trace_finish(&t);
	expect(REPORT_OK(t.path, "wall", "--csv", "--tid", "10"),
	       WALL_COLUMNS "10,10,one,700,0,100,100,0,0,0,0,3000,26.6667,0,0,0\r\n");
	expect(REPORT_OK(t.path, "wall", "--csv", "--tid", "10", "--interval", "1us"),
	       "from_ns,to_ns," WALL_COLUMNS
	       "1000,2000,10,10,one,200,0,100,100,0,0,0,0,1000,30,0,0,0\r\n"
	       "2000,3000,10,10,one,0,0,0,0,0,0,0,0,1000,0,0,0,0\r\n"
	       "3000,4000,10,10,one,500,0,0,0,0,0,0,0,1000,50,0,0,0\r\n");
	made_trace_remove(&t);
}

static void add_thread(struct made_trace *t, uint64_t time, uint32_t task, uint64_t cpu,
		       bool on_cpu)
{
	struct ebt_wire_thread *row = ebt_record_begin(&t->record, EBT_T_thread, time);

	row->task = task;
	row->cpu = (uint32_t)cpu;
	row->on_cpu = on_cpu;
	row->state = on_cpu ? 0 : 1;
	made_trace_add(t);
}

/* What goes on since before the first row: a wait belongs to the part in which it ends, with all of
 * its length, and what is charged for a run to the parts in which it ran. */
static void test_since_the_start(void **state)
{
	struct ebt_wire_sched_waking *waking;
	struct ebt_wire_sched_switch *row;
	struct made_trace t;

	(void)state;
	made_trace_begin(&t, tasks);
	add_thread(&t, 1000, 10, 1, false);
	add_thread(&t, 1000, 20, 0, true);
	made_trace_syscall(&t, 1000, 20, 0, READ, 0, 0);
	waking = ebt_record_begin(&t.record, EBT_T_sched_waking, 1900);
	waking->waker = 20;
	waking->wakee = 10;
	made_trace_add(&t);
	row = ebt_record_begin(&t.record, EBT_T_sched_switch, 2500);
	row->prev = 20;
	row->next = 10;
	row->prev_state = 1;
	row->prev_run = 1500;
	made_trace_add(&t);
	made_trace_switch(&t, 3000, 10, 0, 1);
	made_trace_finish(&t);
	expect(REPORT_OK(t.path, "sched", "--csv", "--columns", "tid,run_ns,latency_max_ns"),
	       "tid,run_ns,latency_max_ns\r\n"
	       "20,1500,\r\n"
	       "10,500,600\r\n");
	expect(REPORT_OK(t.path, "sched", "--csv", "--columns", "tid,run_ns,latency_max_ns",
			 "--interval", "1us"),
	       "from_ns,to_ns,tid,run_ns,latency_max_ns\r\n"
	       "1000,2000,20,1000,\r\n"
	       "1000,2000,10,0,\r\n"
	       "2000,3000,10,500,600\r\n"
	       "2000,3000,20,500,\r\n");
	made_trace_remove(&t);
}

#define S UINT64_C(1000000000)

/* Snapshots say that thread 10 sleeps since 2 s, and that thread 20 has gone by 20 s. So what a
 * row of 15 s tells of thread 10 is not true, and nobody has to read it. */
static void test_snapshots(void **state)
{
	struct made_trace t;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_thread(&t, 1 * S, 10, 3);
	made_trace_thread(&t, 1 * S, 20, 1);
	made_trace_syscall(&t, 1 * S, 10, 0, READ, 0, 0);
	made_trace_clock(&t, 1 * S + 1);
	made_trace_switch(&t, 2 * S - 100, 0, 10, 1);
	made_trace_switch(&t, 2 * S, 10, 0, 1);
	made_trace_thread(&t, 11 * S, 10, 4);
	made_trace_thread(&t, 11 * S, 20, 1);
	made_trace_clock(&t, 11 * S + 1);
	made_trace_switch(&t, 15 * S, 0, 10, 1);
	made_trace_switch(&t, 15 * S + 100, 10, 0, 1);
	made_trace_thread(&t, 21 * S, 10, 4);
	made_trace_clock(&t, 21 * S + 1);
	made_trace_thread(&t, 31 * S, 10, 4);
	made_trace_clock(&t, 31 * S + 1);
	made_trace_switch(&t, 34 * S, 0, 10, 1);
	made_trace_switch(&t, 36 * S, 10, 0, 1);
	made_trace_finish(&t);
	expect(REPORT_OK(t.path, "offcpu", "--all", "--csv", "--columns", "tid,total_ns,max_ns",
			 "--from", "32s", "--to", "34s"),
	       "tid,total_ns,max_ns\r\n"
	       "10,1000000000,32000000000\r\n");
	expect(REPORT_OK(t.path, "wall", "--csv", "--columns", "tid,on_cpu_ns,sleep_ns,lifetime_ns",
			 "--from", "32s", "--to", "34s"),
	       "tid,on_cpu_ns,sleep_ns,lifetime_ns\r\n"
	       "10,1000000000,1000000000,2000000000\r\n");
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv),	  cmocka_unit_test(test_json),
		cmocka_unit_test(test_text),	  cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_refused),	  cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_life),	  cmocka_unit_test(test_since_the_start),
		cmocka_unit_test(test_snapshots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
