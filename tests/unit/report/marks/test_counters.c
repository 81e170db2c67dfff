/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport counters` on traces whose figures are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/schema/wire.h"
#include "tests/tools/report_run.h"

enum { GAUGE = EBT_V_counter_def_kind_gauge, CUMULATIVE = EBT_V_counter_def_kind_cumulative };
enum { TICKS = 1, MEMORY, LATE, RESET, OWNED };

#define S UINT64_C(1000000000)

static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "app" },
	{ 20, 20, 100, "other" },
	{ 0, 0, 0, "" },
};

static void text(struct made_trace *t, size_t field, const char *s)
{
	ebt_record_str(&t->record, field, s);
}

static void define(struct made_trace *t, uint64_t time, uint32_t counter, uint32_t kind,
		   uint32_t divisor, const char *category, const char *instance, const char *name,
		   const char *unit)
{
	struct ebt_wire_counter_def *row = ebt_record_begin(&t->record, EBT_T_counter_def, time);

	row->counter = counter;
	row->kind = kind;
	row->divisor = divisor;
	if (counter == OWNED) {
		row->owner = 10;
		row->type = EBT_V_counter_def_type_double;
	}
	text(t, offsetof(struct ebt_wire_counter_def, category), category);
	text(t, offsetof(struct ebt_wire_counter_def, instance), instance);
	text(t, offsetof(struct ebt_wire_counter_def, name), name);
	text(t, offsetof(struct ebt_wire_counter_def, unit), unit);
	made_trace_add(t);
}

static void put(struct made_trace *t, uint64_t time, uint32_t counter, uint64_t value)
{
	struct ebt_wire_counter *row = ebt_record_begin(&t->record, EBT_T_counter, time);

	row->counter = counter;
	row->value = value;
	made_trace_add(t);
}

static void put_double(struct made_trace *t, uint64_t time, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put(t, time, OWNED, bits);
}

static void define_all(struct made_trace *t, uint64_t time)
{
	define(t, time, TICKS, CUMULATIVE, 100, "cpu", "all", "user", "s");
	define(t, time, MEMORY, GAUGE, 1, "memory", "", "free", "bytes");
	define(t, time, RESET, CUMULATIVE, 1, "net", "eth0", "rx_bytes", "bytes");
	define(t, time, OWNED, GAUGE, 0, "app", "", "load", "%");
}

/*
 * Read at 1, 2, 3, 4 and 5 s. Rows are there for what has changed: the CPU's time did not at 3 and
 * 4 s. A counter comes at 3 s, one begins anew at 4 s. With epochs, one begins behind each second.
 */
static void with_trace(struct made_trace *t, bool epochs)
{
	static const uint64_t ticks[] = { 100, 150, 150, 150, 250 };
	static const uint64_t memory[] = { 10, 20, 30, 20, 20 };
	static const uint64_t reset[] = { 1000, 1500, 1500, 7, 7 };
	static const double owned[] = { 1, 1, 0.5, 0.5, 0.25 };

	made_trace_begin(t, tasks);
	define_all(t, 1 * S);
	for (int i = 0; i < 5; i++) {
		uint64_t time = (uint64_t)(i + 1) * S;

		for (int again = 0; again <= epochs; again++) {
			if (again) {
				assert_null(ebt_writer_next_epoch(t->writer));
				define_all(t, time);
			}
			if (again || !i || ticks[i] != ticks[i - 1])
				put(t, time, TICKS, ticks[i]);
			if (again || !i || memory[i] != memory[i - 1])
				put(t, time, MEMORY, memory[i]);
			if (i == 2 && !again) {
				define(t, time, LATE, CUMULATIVE, 1, "disk", "sdb", "write_ios",
				       "");
				put(t, time, LATE, 0);
			}
			if (i >= 2 && (again || i == 2 || i == 4))
				put(t, time, LATE, i < 4 ? 6 : 8);
			if (again || !i || reset[i] != reset[i - 1])
				put(t, time, RESET, reset[i]);
			if (again || !i || owned[i] != owned[i - 1])
				put_double(t, time + 100, owned[i]);
			assert_null(ebt_stream_flush(t->stream, time + 200, epochs));
		}
	}
	made_trace_finish(t);
}

#define HEADER "name,category,instance,unit,kind,pid,comm,min,mean,max,last,delta\r\n"

static void test_whole(void **state)
{
	struct made_trace t;
	char *csv;

	for (int epochs = 0; epochs < 2; epochs++) {
		with_trace(&t, epochs);
		csv = REPORT_OK(t.path, "counters", "--csv");
		assert_string_equal(
			csv, HEADER
			"cpu.all.user,cpu,all,s,cumulative,,,0,0.375,1,2.5,1.5\r\n"
			"memory.free,memory,,bytes,gauge,,,10,20,30,20,\r\n"
			"net.eth0.rx_bytes,net,eth0,bytes,cumulative,,,0,126.75,500,7,507\r\n"
			"app.load,app,,%,gauge,10,app,0.25,0.75,1,0.25,\r\n"
			"disk.sdb.write_ios,disk,sdb,,cumulative,,,0,2.66666666666667,6,8,8\r\n");
		free(csv);
		made_trace_remove(&t);
	}
	(void)state;
}

/* The parts make up the whole, and each knows what came before it. */
static void test_intervals(void **state)
{
	struct made_trace t;
	char *csv;

	for (int epochs = 0; epochs < 2; epochs++) {
		with_trace(&t, epochs);
		csv = REPORT_OK(t.path, "counters", "--csv", "--interval", "2s", "--name",
				"[cm]*.*");
		assert_string_equal(
			csv,
			"from_ns,to_ns," HEADER
			"1000000000,3000000000,cpu.all.user,cpu,all,s,cumulative,,,0.5,0.5,0.5,"
			"1.5,0.5\r\n"
			"1000000000,3000000000,memory.free,memory,,bytes,gauge,,,10,10,20,20,\r\n"
			"3000000000,5000000000,cpu.all.user,cpu,all,s,cumulative,,,0,0,0,1.5,0\r\n"
			"3000000000,5000000000,memory.free,memory,,bytes,gauge,,,20,25,30,20,\r\n"
			"5000000000,5000000100,cpu.all.user,cpu,all,s,cumulative,,,1,1,1,2.5,1\r\n"
			"5000000000,5000000100,memory.free,memory,,bytes,gauge,,,20,20,20,20,\r\n");
		free(csv);
		made_trace_remove(&t);
	}
	(void)state;
}

static void expect_part(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

static void test_series(void **state)
{
	struct made_trace t;
	char *json;

	with_trace(&t, false);
	json = REPORT_OK(t.path, "counters", "--json", "--name", "cpu*");
	expect_part(json, "\"name\":\"cpu.all.user\"");
	expect_part(json, "\"unit\":\"s\"");
	/* Where a row is missing, the value is known all the same. */
	expect_part(json, "\"series\":[[0,1],[1000000000,1.5],[3000000000,1.5],"
			  "[4000000000,2.5]]}");
	free(json);
	json = REPORT_OK(t.path, "counters", "--json", "--pid", "10");
	expect_part(json, "\"series\":[[100,1],[2000000100,0.5],[4000000100,0.25]]}");
	assert_null(strstr(json, "cpu"));
	free(json);
	made_trace_remove(&t);
	(void)state;
}

static void test_text(void **state)
{
	struct made_trace t;
	char *out;
	int status;

	with_trace(&t, false);
	out = REPORT_OK(t.path, "counters");
	expect_part(out, "NAME                UNIT     MIN      AVG      MAX     LAST    DELTA\n"
			 "cpu.all.user        s       0.0%    37.5%   100.0%  2.500 s  1.500 s\n"
			 "memory.free         bytes   10 B     20 B     30 B     20 B         \n");
	free(out);
	setenv("LC_ALL", "C", 1);
	out = REPORT_OK(t.path, "counters", "--plot", "--name", "cpu*");
	expect_part(out, "cpu.all.user                                 @@@@@@@@@@  100.0%\n");
	expect_part(out, "              @@@@@@@@@@*...................@@@@@@@@@@@  0.0%\n");
	expect_part(out, "              0.000 s                           4.000 s\n");
	free(out);
	setenv("LC_ALL", "C.UTF-8", 1);
	out = REPORT_OK(t.path, "counters", "--plot");
	expect_part(out, "disk.sdb.write_ios          █████████▄▁▁▁▁▁▁▁▁▂▃▃▃▃▃▃▃▃  0/s to 6/s\n");
	free(out);
	unsetenv("LC_ALL");
	free(REPORT_FAILS(t.path, &status, "counters", "--plot", "--json"));
	assert_int_not_equal(status, 0);
	made_trace_remove(&t);
	(void)state;
}

static void put_user(struct made_trace *t, uint64_t time, uint32_t tid, uint64_t late,
		     uint64_t value, bool is_double, const char *name)
{
	struct ebt_wire_mark_counter *row = ebt_record_begin(&t->record, EBT_T_mark_counter, time);

	row->task = tid;
	row->late = late;
	row->value = value;
	row->type = is_double ? EBT_V_mark_counter_type_double : EBT_V_mark_counter_type_integer;
	text(t, offsetof(struct ebt_wire_mark_counter, group), "queue");
	text(t, offsetof(struct ebt_wire_mark_counter, name), name);
	made_trace_add(t);
}

/* Of two processes with the same names; one is told late, and belongs to where it was. */
static void test_users(void **state)
{
	struct made_trace t;
	char *csv;

	made_trace_begin(&t, tasks);
	put_user(&t, 1 * S, 10, 0, 4, false, "length");
	put_user(&t, 2 * S, 20, 0, (uint64_t)-3, false, "length");
	put_user(&t, 4 * S, 10, 1 * S, 8, false, "length");
	put_user(&t, 5 * S, 10, 0, 0x3fe0000000000000, true, "load"); /* 0.5 */
	made_trace_finish(&t);
	csv = REPORT_OK(t.path, "counters", "--csv");
	assert_string_equal(csv, HEADER
			    "queue.app-10.length,queue,app-10,,gauge,10,app,4,6,8,8,\r\n"
			    "queue.other-20.length,queue,other-20,,gauge,20,other,-3,-3,-3,-3,\r\n"
			    "queue.app-10.load,queue,app-10,,gauge,10,app,0.5,0.5,0.5,0.5,\r\n");
	free(csv);
	csv = REPORT_OK(t.path, "counters", "--csv", "--interval", "2s", "--pid", "10", "--name",
			"*.length");
	assert_string_equal(
		csv, "from_ns,to_ns," HEADER
		     "1000000000,3000000000,queue.app-10.length,queue,app-10,,gauge,10,app,4,4,4,4,"
		     "\r\n"
		     "3000000000,5000000000,queue.app-10.length,queue,app-10,,gauge,10,app,8,8,8,8,"
		     "\r\n");
	free(csv);
	/* The row of 4 s says what it was at 3 s. */
	csv = REPORT_OK(t.path, "counters", "--csv", "--from", "1s", "--to", "3s", "--name",
			"*.app-10.length");
	assert_string_equal(csv, HEADER "queue.app-10.length,queue,app-10,,gauge,10,app,4,6,8,8,"
					"\r\n");
	free(csv);
	csv = REPORT_OK(t.path, "counters", "--csv", "--from", "2500ms", "--name",
			"*.app-10.length");
	assert_string_equal(csv,
			    HEADER "queue.app-10.length,queue,app-10,,gauge,10,app,8,8,8,8,\r\n");
	free(csv);
	csv = REPORT_OK(t.path, "counters", "--json", "--name", "*.app-10.length");
	expect_part(csv, "\"series\":[[0,4],[2000000000,8]]}");
	free(csv);
	free(REPORT_OK(t.path, "counters", "--plot"));
	made_trace_remove(&t);
	(void)state;
}

/* Rows without a definition, definitions without rows, times and values at their limits. */
static void test_hostile(void **state)
{
	struct made_trace t;

	made_trace_begin(&t, tasks);
	define(&t, 1, 77, 9, 0, "", "", "\x1b[31m", "\xff");
	define(&t, 2, TICKS, CUMULATIVE, UINT32_MAX, "cpu", "", "user", "s");
	put(&t, 3, TICKS, UINT64_MAX);
	put(&t, 4, TICKS, 0);
	put(&t, 4, 4242, 1);
	put(&t, UINT64_MAX, TICKS, UINT64_MAX);
	define(&t, 5, OWNED, CUMULATIVE, 0, "a", "", "b", "");
	put(&t, 6, OWNED, UINT64_MAX); /* not a number */
	put(&t, 7, OWNED, 0x7ff0000000000000);
	put(&t, 8, OWNED, 0xfff0000000000000);
	put_user(&t, 9, 10, UINT64_MAX, 0x7ff8000000000000, true, "\xff");
	put_user(&t, 10, 10, 0, UINT64_MAX, false, "\xff");
	made_trace_finish(&t);
	free(REPORT_OK(t.path, "counters", "--all-counters"));
	free(REPORT_OK(t.path, "counters", "--json"));
	free(REPORT_OK(t.path, "counters", "--plot", "--all-counters"));
	free(REPORT_OK(t.path, "counters", "--plot", "--to", "10ns", "--all-counters"));
	made_trace_remove(&t);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),  cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_series), cmocka_unit_test(test_text),
		cmocka_unit_test(test_users),  cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
