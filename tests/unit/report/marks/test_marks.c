/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport marks` on begins, ends and hits of probes that are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/schema/wire.h"
#include "report/base/figures.h"
#include "tests/tools/report_run.h"

enum {
	INSTANT = EBT_V_mark_kind_instant,
	SPAN = EBT_V_mark_kind_span,
	BEGIN = EBT_V_mark_kind_begin,
	END = EBT_V_mark_kind_end,
};

/* Thread 12 begins at 1200, behind the recording's beginning. */
static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "app" },	  { 11, 10, 110, "work" }, { 12, 10, 1200, "late" },
	{ 20, 20, 100, "other" }, { 0, 0, 0, "" },
};

struct row {
	uint64_t time;
	uint32_t tid, kind;
	uint64_t duration, late, key;
	const char *group, *name, *message;
};

static void add(struct made_trace *t, const struct row *r)
{
	struct ebt_wire_mark *row = ebt_record_begin(&t->record, EBT_T_mark, r->time);

	row->task = r->tid;
	row->cpu = r->tid;
	row->kind = r->kind;
	row->duration = r->duration;
	row->late = r->late;
	row->key = r->key;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_mark, group), r->group);
	ebt_record_str(&t->record, offsetof(struct ebt_wire_mark, name), r->name);
	if (r->message)
		ebt_record_str(&t->record, offsetof(struct ebt_wire_mark, message), r->message);
	made_trace_add(t);
}

static void add_exit(struct made_trace *t, uint64_t time, uint32_t tid, bool last)
{
	struct ebt_wire_task_exit *row = ebt_record_begin(&t->record, EBT_T_task_exit, time);

	row->task = tid;
	row->group_dead = last;
	made_trace_add(t);
}

static void make(struct made_trace *t, const struct row *rows, size_t n)
{
	made_trace_begin(t, tasks);
	for (size_t i = 0; i < n; i++)
		add(t, &rows[i]);
	made_trace_finish(t);
}
#define MAKE(t, rows) make(t, rows, sizeof(rows) / sizeof((rows)[0]))

static void expect(char *text, const char *expected)
{
	assert_string_equal(text, expected);
	free(text);
}

#define HEADER "time_ns,duration_ns,cpu,pid,tid,group,name,message,incomplete,comm,origin,kind\r\n"

/* --- pairs --- */

/* Spans nest, are told whole, late, or as an instant; rows are in order of when they were heard. */
static void test_nested(void **state)
{
	static const struct row rows[] = {
		{ 1000, 10, BEGIN, 0, 0, 0, "g", "outer", "a" },
		{ 1100, 10, BEGIN, 0, 0, 0, "g", "inner", NULL },
		{ 1150, 11, BEGIN, 0, 0, 0, "g", "inner", NULL },
		{ 1200, 10, BEGIN, 0, 0, 0, "g", "inner", NULL },
		{ 1300, 10, END, 0, 0, 0, "g", "inner", "b" },
		{ 1350, 10, END, 0, 0, 0, "g", "inner", NULL },
		{ 1400, 10, END, 0, 0, 0, "g", "outer", "c" },
		{ 1500, 11, END, 0, 0, 0, "g", "inner", NULL },
		{ 1600, 20, SPAN, 300, 200, 0, "h", "whole", NULL },
		{ 1700, 20, INSTANT, 7, 600, 0, "h", "then", NULL },
	};
	struct made_trace t;

	(void)state;
	MAKE(&t, rows);
	expect(REPORT_OK(t.path, "marks", "--csv"),
	       HEADER "1000,400,10,10,10,g,outer,a,,app,ebmark,span\r\n"
		      "1100,300,20,20,20,h,whole,,,other,ebmark,span\r\n"
		      "1100,250,10,10,10,g,inner,,,app,ebmark,span\r\n"
		      "1100,0,20,20,20,h,then,,,other,ebmark,instant\r\n"
		      "1150,350,11,10,11,g,inner,,,work,ebmark,span\r\n"
		      "1200,100,10,10,10,g,inner,b,,app,ebmark,span\r\n");
	made_trace_remove(&t);
}

/* Sysprof's files may not say which CPU it was. */
static void test_no_cpu(void **state)
{
	struct ebt_wire_mark *row;
	struct made_trace t;

	(void)state;
	made_trace_begin(&t, tasks);
	row = ebt_record_begin(&t.record, EBT_T_mark, 1000);
	row->task = 10;
	row->cpu = UINT32_MAX;
	row->kind = SPAN;
	row->duration = 300;
	ebt_record_str(&t.record, offsetof(struct ebt_wire_mark, group), "g");
	ebt_record_str(&t.record, offsetof(struct ebt_wire_mark, name), "whole");
	made_trace_add(&t);
	made_trace_finish(&t);
	expect(REPORT_OK(t.path, "marks", "--csv"),
	       HEADER "700,300,,10,10,g,whole,,,app,ebmark,span\r\n");
	made_trace_remove(&t);
}

/* What began inside and was left ends with what is around it, and is marked. */
static void test_left(void **state)
{
	static const struct row rows[] = {
		{ 1000, 10, BEGIN, 0, 0, 0, "g", "outer", NULL },
		{ 1100, 10, BEGIN, 0, 0, 0, "g", "thrown", NULL },
		{ 1200, 10, BEGIN, 0, 0, 0, "h", "thrown", NULL },
		{ 1300, 10, END, 0, 0, 0, "g", "outer", NULL },
		{ 1400, 10, END, 0, 0, 0, "g", "thrown", NULL }, /* its begin has ended */
		{ 1500, 12, END, 0, 0, 0, "g", "outer", NULL },	 /* of another thread */
		{ 1600, 11, BEGIN, 0, 0, 0, "g", "open", NULL },
		{ 1700, 20, BEGIN, 0, 0, 0, "g", "open", NULL },
		{ 1900, 10, INSTANT, 0, 0, 0, "g", "last", NULL },
	};
	struct made_trace t;

	(void)state;
	made_trace_begin(&t, tasks);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		add(&t, &rows[i]);
	add_exit(&t, 1800, 11, false);
	made_trace_finish(&t);
	expect(REPORT_OK(t.path, "marks", "--csv"),
	       HEADER "1000,400,10,10,10,g,thrown,,no begin,app,ebmark,span\r\n"
		      "1000,300,10,10,10,g,outer,,,app,ebmark,span\r\n"
		      "1100,200,10,10,10,g,thrown,,cut,app,ebmark,span\r\n"
		      "1200,300,12,10,12,g,outer,,no begin,late,ebmark,span\r\n"
		      "1200,100,10,10,10,h,thrown,,cut,app,ebmark,span\r\n"
		      "1600,200,11,10,11,g,open,,no end,work,ebmark,span\r\n"
		      "1700,200,20,20,20,g,open,,no end,other,ebmark,span\r\n"
		      "1900,0,10,10,10,g,last,,,app,ebmark,instant\r\n");
	/* They count, and are in no figure. */
	expect(REPORT_OK(t.path, "marks", "--summary", "--csv", "--name", "thrown"),
	       "group,name,count,sum_ns,min_ns,mean_ns,median_ns,p90_ns,p99_ns,max_ns,open_"
	       "count\r\n"
	       "g,thrown,2,0,,,,,,,2\r\n"
	       "h,thrown,1,0,,,,,,,1\r\n");
	made_trace_remove(&t);
}

/* A key is the process's, whichever thread ends it, and does not nest with anything else. */
static void test_keys(void **state)
{
	static const struct row rows[] = {
		{ 1000, 10, BEGIN, 0, 0, 1, "g", "job", NULL },
		{ 1010, 10, BEGIN, 0, 0, 2, "g", "job", NULL },
		{ 1020, 20, BEGIN, 0, 0, 1, "g", "job", NULL },
		{ 1030, 10, BEGIN, 0, 0, 1, "g", "task", NULL },
		{ 1040, 10, BEGIN, 0, 0, 0, "g", "job", NULL },
		{ 1050, 10, BEGIN, 0, 0, 3, "g", "job", NULL },
		{ 1100, 11, END, 0, 0, 1, "g", "job", NULL },
		{ 1200, 10, END, 0, 0, 2, "g", "job", NULL },
		{ 1300, 11, END, 0, 0, 1, "g", "task", NULL },
		{ 1400, 20, END, 0, 0, 1, "g", "job", NULL },
		{ 1500, 10, END, 0, 0, 0, "g", "job", NULL },
		{ 1900, 20, INSTANT, 0, 0, 0, "g", "last", NULL },
	};
	struct made_trace t;

	(void)state;
	made_trace_begin(&t, tasks);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		add(&t, &rows[i]);
	add_exit(&t, 1600, 10, false);
	add_exit(&t, 1700, 11, true);
	made_trace_finish(&t);
	expect(REPORT_OK(t.path, "marks", "--csv"),
	       HEADER "1000,100,10,10,10,g,job,,,app,ebmark,span\r\n"
		      "1010,190,10,10,10,g,job,,,app,ebmark,span\r\n"
		      "1020,380,20,20,20,g,job,,,other,ebmark,span\r\n"
		      "1030,270,10,10,10,g,task,,,app,ebmark,span\r\n"
		      "1040,460,10,10,10,g,job,,,app,ebmark,span\r\n"
		      "1050,650,10,10,10,g,job,,no end,app,ebmark,span\r\n"
		      "1900,0,20,20,20,g,last,,,other,ebmark,instant\r\n");
	made_trace_remove(&t);
}

/* Thousands at once, in several orders: each end finds its begin. */
static void test_many(void **state)
{
	enum { N = 5000 };
	struct row row = { .group = "g", .name = "job" };
	struct made_trace t;
	char *csv;

	(void)state;
	made_trace_begin(&t, tasks);
	for (uint64_t i = 0; i < N; i++) {
		row.time = 1000 + i;
		row.tid = 10;
		row.kind = BEGIN;
		row.key = i + 1;
		add(&t, &row);
	}
	for (uint64_t i = 0; i < N; i++) {
		row.key = i * 7 % N + 1;
		row.time = 20000 + i;
		row.tid = 11;
		row.kind = END;
		add(&t, &row);
	}
	for (uint64_t i = 0; i < 1000; i++) {
		row = (struct row){ 40000 + i, 20, BEGIN, 0, 0, 0, "g", "deep", NULL };
		add(&t, &row);
	}
	for (uint64_t i = 0; i < 1000; i++) {
		row = (struct row){ 50000 + i, 20, END, 0, 0, 0, "g", "deep", NULL };
		add(&t, &row);
	}
	made_trace_finish(&t);
	/* Sums: of all ends less all begins. */
	csv = REPORT_OK(t.path, "marks", "--summary", "--csv");
	assert_non_null(strstr(csv, "g,job,5000,95000000,"));
	assert_non_null(strstr(csv, "g,deep,1000,10000000,9001,10000,10000,10799,10979,10999,0"));
	free(csv);
	made_trace_remove(&t);
}

/* --- windows and filters --- */

static const struct row spans[] = {
	{ 1000, 10, INSTANT, 0, 0, 0, "g", "first", NULL },
	{ 2000, 10, SPAN, 900, 0, 0, "g", "a", NULL },	   /* 1100 to 2000 */
	{ 3000, 10, SPAN, 500, 0, 0, "g", "b", NULL },	   /* 2500 to 3000 */
	{ 4000, 11, SPAN, 10, 100, 0, "h", "b", NULL },	   /* 3890 to 3900 */
	{ 5000, 20, SPAN, 3500, 0, 0, "h", "c", NULL },	   /* 1500 to 5000 */
	{ 5000, 20, INSTANT, 0, 4000, 0, "h", "d", NULL }, /* 1000 */
};

/* By what overlaps, whenever its row is. */
static void test_windows(void **state)
{
	struct made_trace t;

	(void)state;
	MAKE(&t, spans);
	expect(REPORT_OK(t.path, "marks", "--csv", "--from", "1us", "--to", "1500ns"),
	       HEADER "1500,3500,20,20,20,h,c,,,other,ebmark,span\r\n");
	expect(REPORT_OK(t.path, "marks", "--csv", "--from", "0", "--to", "101ns"),
	       HEADER "1000,0,10,10,10,g,first,,,app,ebmark,instant\r\n"
		      "1000,0,20,20,20,h,d,,,other,ebmark,instant\r\n"
		      "1100,900,10,10,10,g,a,,,app,ebmark,span\r\n");
	expect(REPORT_OK(t.path, "marks", "--csv", "--pid", "10", "--min-duration", "500ns"),
	       HEADER "1100,900,10,10,10,g,a,,,app,ebmark,span\r\n"
		      "2500,500,10,10,10,g,b,,,app,ebmark,span\r\n");
	expect(REPORT_OK(t.path, "marks", "--csv", "--tid", "11"),
	       HEADER "3890,10,11,10,11,h,b,,,work,ebmark,span\r\n");
	expect(REPORT_OK(t.path, "marks", "--csv", "--cpu", "11"),
	       HEADER "3890,10,11,10,11,h,b,,,work,ebmark,span\r\n");
	expect(REPORT_OK(t.path, "marks", "--csv", "--name", "[gh]/b", "--top", "1"),
	       HEADER "2500,500,10,10,10,g,b,,,app,ebmark,span\r\n");
	expect(REPORT_OK(t.path, "marks", "--csv", "--group", "h", "--sort", "duration", "--top",
			 "2"),
	       HEADER "1500,3500,20,20,20,h,c,,,other,ebmark,span\r\n"
		      "3890,10,11,10,11,h,b,,,work,ebmark,span\r\n");
	expect(REPORT_OK(t.path, "marks", "--csv", "--group", "h", "--sort", "-duration", "--top",
			 "1"),
	       HEADER "1000,0,20,20,20,h,d,,,other,ebmark,instant\r\n");
	expect(REPORT_OK(t.path, "marks", "--csv", "--sort", "start", "--top", "1"),
	       HEADER "3890,10,11,10,11,h,b,,,work,ebmark,span\r\n");
	made_trace_remove(&t);
}

/* Each part has what overlaps it: 1000 to 3000, and the rest. */
static void test_intervals(void **state)
{
	struct made_trace t;
	char *json, *second;

	(void)state;
	MAKE(&t, spans);
	json = REPORT_OK(t.path, "marks", "--json", "--summary", "--interval", "2us", "--name",
			 "[bc]");
	assert_non_null(
		strstr(json, "{\"group\":\"h\",\"name\":\"c\",\"count\":1,\"sum_ns\":3500,"));
	assert_non_null(
		strstr(json, "{\"group\":\"g\",\"name\":\"b\",\"count\":1,\"sum_ns\":500,"));
	second = strstr(json, "\"from_ns\":2000");
	assert_non_null(second);
	assert_non_null(
		strstr(second, "{\"group\":\"h\",\"name\":\"c\",\"count\":1,\"sum_ns\":3500,"));
	assert_non_null(
		strstr(second, "{\"group\":\"h\",\"name\":\"b\",\"count\":1,\"sum_ns\":10,"));
	assert_null(strstr(second, "{\"group\":\"g\",\"name\":\"b\""));
	free(json);
	made_trace_remove(&t);
}

/* --- probes --- */

static void add_probe(struct made_trace *t, uint64_t time, uint32_t probe, uint32_t kind,
		      const char *group, const char *name)
{
	struct ebt_wire_probe *row = ebt_record_begin(&t->record, EBT_T_probe, time);

	row->probe = probe;
	row->kind = kind;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_probe, group), group);
	ebt_record_str(&t->record, offsetof(struct ebt_wire_probe, name), name);
	made_trace_add(t);
}

struct arg {
	uint32_t kind, size, elements, position;
	const char *name;
};

static void add_arg(struct made_trace *t, uint64_t time, uint32_t index, const struct arg *arg)
{
	struct ebt_wire_probe_arg *row = ebt_record_begin(&t->record, EBT_T_probe_arg, time);

	row->probe = 1;
	row->index = index;
	row->kind = arg->kind;
	row->size = arg->size;
	row->elements = arg->elements;
	row->position = arg->position;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_probe_arg, name), arg->name);
	made_trace_add(t);
}

static void add_hit(struct made_trace *t, uint64_t time, uint32_t probe, uint32_t kind,
		    uint64_t result, const char *args, size_t len)
{
	struct ebt_wire_probe_hit *row = ebt_record_begin(&t->record, EBT_T_probe_hit, time);

	row->task = 10;
	row->probe = probe;
	row->kind = kind;
	row->duration = kind == EBT_V_probe_hit_kind_instant ? 0 : 50;
	row->result = result;
	ebt_record_bytes(&t->record, offsetof(struct ebt_wire_probe_hit, args), args, len);
	made_trace_add(t);
}
#define ADD_HIT(t, time, probe, kind, result, args) \
	add_hit(t, time, probe, kind, result, args, sizeof(args) - 1)

/* One of each kind, in their order; the second epoch tells them again. */
static void add_args(struct made_trace *t)
{
	static const struct arg args[] = {
		{ EBT_V_probe_arg_kind_unsigned, 1, 0, 0, "u8" },
		{ EBT_V_probe_arg_kind_signed, 2, 0, 0, "s16" },
		{ EBT_V_probe_arg_kind_hex, 4, 0, 0, "x32" },
		{ EBT_V_probe_arg_kind_string, 1, 0, 2, "" },
		{ EBT_V_probe_arg_kind_bytes, 1, 0, 0, "bytes" },
		{ EBT_V_probe_arg_kind_bool, 1, 0, 0, "b" },
		{ EBT_V_probe_arg_kind_register, 8, 0, 0, "r" },
		{ EBT_V_probe_arg_kind_signed, 2, 3, 0, "array" },
		{ EBT_V_probe_arg_kind_unsigned, 8, 0, 0, "last" },
	};

	for (uint64_t time = 1000; time <= 1001; time++) {
		add_probe(t, time, 1, EBT_V_probe_kind_uprobe, "libx.so", "f");
		for (uint32_t i = 0; i < sizeof(args) / sizeof(args[0]); i++)
			add_arg(t, time, i, &args[i]);
	}
}

#define NUMBERS                            \
	"\xff\xff\xff\xff\xff\xff\xff\xff" \
	"\xfe\xff\0\0\0\0\0\0"             \
	"\1\0\0\x80\1\0\0\0"

static void test_probes(void **state)
{
	struct made_trace t;

	(void)state;
	made_trace_begin(&t, tasks);
	add_args(&t);
	add_probe(&t, 1000, 2, EBT_V_probe_kind_usdt, "prov", "p");
	add_probe(&t, 1000, 3, EBT_V_probe_kind_tp, "sched", "sched_switch");
	ADD_HIT(&t, 1100, 1, EBT_V_probe_hit_kind_span, (uint64_t)-2,
		NUMBERS "\2\0hi"
			"\3\0\0\xab\7"
			"\0\1\0\0\0\0\0\0"
			"\0\0\0\x80\0\0\0\0"
			"\7\0\1\0\xff\xff\3\0\4"
			"\7\0\0\0\0\0\0\0"
			"too much");
	/* Not readable, then too short; a length that lies; nothing. */
	ADD_HIT(&t, 1200, 1, EBT_V_probe_hit_kind_span, 0x80000000,
		NUMBERS "\xff\xff"
			"\xff\xff"
			"\1\0\0");
	ADD_HIT(&t, 1300, 1, EBT_V_probe_hit_kind_instant, 0,
		NUMBERS "\xf0\xff"
			"hi");
	ADD_HIT(&t, 1400, 2, EBT_V_probe_hit_kind_instant, 0, "\1\2\3");
	ADD_HIT(&t, 1500, 3, EBT_V_probe_hit_kind_entered, 0, "");
	ADD_HIT(&t, 1600, 9, 9, 0, "\1");
	made_trace_finish(&t);
	expect(REPORT_OK(t.path, "marks", "--csv"),
	       HEADER "1050,50,0,10,10,libx.so,f,\"u8=255 s16=-2 x32=0x80000001 arg2=\"\"hi\"\" "
		      "bytes=00ab07 b=false r=0x80000000 array={1,-1,3} last=7 -> -2\",,app,"
		      "uprobe,span\r\n"
		      "1150,50,0,10,10,libx.so,f,u8=255 s16=-2 x32=0x80000001 arg2=? bytes=? b=? "
		      "r=? array=? last=? -> 0x80000000,,app,uprobe,span\r\n"
		      "1300,0,0,10,10,libx.so,f,u8=255 s16=-2 x32=0x80000001 arg2=? bytes=? b=? "
		      "r=? array=? last=?,,app,uprobe,instant\r\n"
		      "1400,0,0,10,10,prov,p,,,app,usdt,instant\r\n"
		      "1450,50,0,10,10,sched,sched_switch,,cut,app,tp,span\r\n"
		      "1600,0,0,10,10,probe,9,,,app,other,instant\r\n");
	expect(REPORT_OK(t.path, "marks", "--csv", "--origin", "usdt"),
	       HEADER "1400,0,0,10,10,prov,p,,,app,usdt,instant\r\n");
	made_trace_remove(&t);
}

/* One long text of a file may be of any number of names: what is kept of each is cut, and once. */
static void test_long_names(void **state)
{
	enum { LONG = 100000, KEPT = 4096 };
	char *text = malloc(LONG + 1), *csv, *at;
	struct made_trace t;

	(void)state;
	memset(text, 'x', LONG);
	text[LONG] = '\0';
	made_trace_begin(&t, tasks);
	add(&t, &(struct row){ 1000, 10, INSTANT, 0, 0, 0, text, "a", NULL });
	add_probe(&t, 1000, 1, EBT_V_probe_kind_uprobe, "g", text);
	ADD_HIT(&t, 1100, 1, EBT_V_probe_hit_kind_instant, 0, "");
	made_trace_finish(&t);
	csv = REPORT_OK(t.path, "marks", "--csv");
	at = csv + strlen(HEADER);
	for (int i = 0; i < 2; i++) {
		at = strchr(at, 'x');
		assert_non_null(at);
		assert_int_equal(strspn(at, "x"), KEPT);
		at += KEPT;
	}
	free(csv);
	free(text);
	made_trace_remove(&t);
}

/* Times that cannot be, rows of nobody, arguments of no probe. */
static void test_hostile(void **state)
{
	static const struct row rows[] = {
		{ 1, 0, BEGIN, 0, 0, 0, "", "", NULL },
		{ 2, 0, SPAN, UINT64_MAX, UINT64_MAX, 0, "\x1b[2J", "\xff", "\x1b[2J" },
		{ 3, 0, END, UINT64_MAX, UINT64_MAX, 0, "", "", "\xff" },
		{ 4, 10, END, 0, UINT64_MAX, UINT64_MAX, "", "", NULL },
		{ 5, 10, BEGIN, 0, UINT64_MAX, UINT64_MAX, "", "", NULL },
		{ 6, 10, 77, UINT64_MAX, 0, UINT64_MAX, "", "", NULL },
		{ UINT64_MAX, 10, BEGIN, 0, 0, 0, "a", "b", NULL },
	};
	static const char *const views[][4] = {
		{ "--sort", "duration" },
		{ "--sort", "message" },
		{ "--summary" },
		{ "--summary", "--by", "process", "--json" },
		{ "--series", "*", "--expect", "1ns" },
		{ "--json", "--interval", "1000000000s" },
	};
	const struct arg arg = { 77, 77, UINT32_MAX, UINT32_MAX, "" };
	struct made_trace t;

	(void)state;
	made_trace_begin(&t, tasks);
	add_arg(&t, 1, 0, &arg);
	add_probe(&t, 1, 1, 77, "", "");
	add_arg(&t, 2, UINT32_MAX, &arg);
	add_arg(&t, 2, 0, &arg);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		add(&t, &rows[i]);
	ADD_HIT(&t, 9, 1, EBT_V_probe_hit_kind_span, UINT64_MAX, "\7\0abcdefg");
	ADD_HIT(&t, 9, 1, EBT_V_probe_hit_kind_entered, UINT64_MAX, "\xfe\xff");
	made_trace_finish(&t);
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		const char *const *v = views[i];

		free(REPORT_OK(t.path, "marks", v[0], v[1], v[2], v[3]));
	}
	made_trace_remove(&t);
}

static void test_none(void **state)
{
	struct made_trace t;
	char *json;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_syscall(&t, 1000, 10, 0, 1, 10, 0);
	made_trace_finish(&t);
	json = REPORT_OK(t.path, "marks", "--json");
	assert_non_null(strstr(json, "the trace has no marks: programs with ebmark.h"));
	free(json);
	json = REPORT_OK(t.path, "marks", "--waterfall");
	assert_null(strstr(json, "18446")); /* the end of time */
	assert_non_null(strstr(json, "|0 ns"));
	free(json);
	json = REPORT_OK(t.path, "syscalls", "--json");
	assert_null(strstr(json, "no system calls"));
	free(json);
	made_trace_remove(&t);
}

/* What is not there is no zero: the report says how to record it. */
static void test_nothing(void **state)
{
	static const char *const hints[][2] = {
		{ "syscalls", "no system calls in this trace: ebrec records them with" },
		{ "summary", "no system calls in this trace: ebrec records them with" },
		{ "counters", "the trace has no counters: the system has some" },
	};
	struct made_trace t;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_finish(&t);
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		char *json = REPORT_OK(t.path, hints[i][0], "--json");

		assert_non_null(strstr(json, hints[i][1]));
		free(json);
	}
	made_trace_remove(&t);
}

/* --- figures --- */

/* Python: statistics.median(), and sorted(list)[ceil(p * n / 100) - 1]. */
static void test_figures(void **state)
{
	uint64_t one[] = { 7 }, four[] = { 9, 2, 4, 7 }, ten[10], most[] = { UINT64_MAX, 1 };
	uint64_t thousand[1000];
	struct figures f;

	(void)state;
	f = figures_of(NULL, 0);
	assert_int_equal(f.n, 0);
	f = figures_of(one, 1);
	assert_int_equal(f.median, 7);
	assert_int_equal(f.p99, 7);
	f = figures_of(four, 4);
	assert_int_equal(f.median, 5); /* 5.5 */
	assert_int_equal(f.mean, 5);
	assert_int_equal(f.sum, 22);
	assert_int_equal(f.p90, 9);
	for (uint64_t i = 0; i < 10; i++)
		ten[i] = 100 - i * 10;
	f = figures_of(ten, 10);
	assert_int_equal(f.p90, 90);
	assert_int_equal(f.p99, 100);
	assert_int_equal(f.median, 55);
	assert_int_equal(f.min, 10);
	f = figures_of(most, 2);
	assert_true(f.sum == UINT64_MAX);
	assert_true(f.median == UINT64_C(1) << 63);
	for (uint64_t i = 0; i < 1000; i++)
		thousand[i] = i * 7919 % 1009 * i;
	f = figures_of(thousand, 1000);
	assert_int_equal(f.sum, 252096850);
	assert_int_equal(f.median, 186802);
	assert_int_equal(f.p90, 589780);
	assert_int_equal(f.p99, 860544);
	assert_int_equal(f.max, 976080);
}

static void test_by_process(void **state)
{
	static const struct row rows[] = {
		{ 1100, 10, SPAN, 10, 0, 0, "g", "a", NULL },
		{ 1200, 11, SPAN, 20, 0, 0, "g", "a", NULL },
		{ 1300, 20, SPAN, 5, 0, 0, "g", "a", NULL },
		{ 1400, 20, INSTANT, 0, 0, 0, "g", "a", NULL },
	};
	struct made_trace t;

	(void)state;
	MAKE(&t, rows);
	expect(REPORT_OK(t.path, "marks", "--summary", "--by", "process", "--csv"),
	       "group,name,count,sum_ns,min_ns,mean_ns,median_ns,p90_ns,p99_ns,max_ns,open_count,"
	       "pid,"
	       "comm\r\n"
	       "g,a,2,30,10,15,15,20,20,20,0,10,app\r\n"
	       "g,a,2,5,5,5,5,5,5,5,0,20,other\r\n");
	expect(REPORT_OK(t.path, "marks", "--summary", "--csv"),
	       "group,name,count,sum_ns,min_ns,mean_ns,median_ns,p90_ns,p99_ns,max_ns,open_"
	       "count\r\n"
	       "g,a,4,35,5,11,10,20,20,20,0\r\n");
	made_trace_remove(&t);
}

/* Every 100 ns; one comes 20 late, one is left out, another process has the same name. */
static void test_series(void **state)
{
	static const struct row rows[] = {
		{ 1000010, 10, SPAN, 10, 0, 0, "g", "tick", NULL },
		{ 2000020, 10, SPAN, 20, 0, 0, "g", "tick", NULL },
		{ 2500000, 20, SPAN, 90, 0, 0, "g", "tick", NULL },
		{ 3020010, 10, SPAN, 10, 0, 0, "g", "tick", NULL },
		{ 5000010, 11, SPAN, 10, 0, 0, "g", "tick", NULL },
		{ 5000020, 11, INSTANT, 0, 0, 0, "g", "tock", NULL },
	};
	struct made_trace t;
	char *json;
	int status;

	(void)state;
	MAKE(&t, rows);
	json = REPORT_OK(t.path, "marks", "--series", "g/tick", "--expect", "1ms", "--json");
	assert_non_null(strstr(json, "{\"time_ns\":-10,\"duration_ns\":10,\"pid\":10"));
	assert_non_null(strstr(json, "\"time_ns\":999990,\"duration_ns\":20,\"gap_ns\":1000000,"
				     "\"late_ns\":0,"));
	assert_non_null(strstr(json, "{\"time_ns\":1499900,\"duration_ns\":90,\"pid\":20"));
	assert_non_null(strstr(json, "\"gap_ns\":1020000,\"late_ns\":20000,"));
	assert_non_null(strstr(json, "\"gap_ns\":1980000,\"late_ns\":980000,"));
	assert_non_null(strstr(json, "{\"what\":\"gap\",\"count\":3,\"min_ns\":1000000,"
				     "\"mean_ns\":1333333,\"median_ns\":1020000,"));
	assert_non_null(strstr(json, "{\"over_ns\":10000,\"count\":2,\"percent\":66."));
	assert_non_null(strstr(json, "{\"over_ns\":100000,\"count\":1,\"percent\":33."));
	assert_non_null(strstr(json, "{\"over_ns\":1000000,\"count\":0,\"percent\":0"));
	assert_non_null(strstr(json, "\"expect_ns\":1000000,\"missed\":1"));
	assert_null(strstr(json, "tock"));
	free(json);
	json = REPORT_OK(t.path, "marks", "--series", "tick", "--expect", "1ms");
	assert_non_null(strstr(json, "1 more would have fitted between them."));
	free(json);
	free(REPORT_FAILS(t.path, &status, "marks", "--series", "tick", "--summary"));
	assert_int_equal(status, EBT_ERR_INVALID);
	free(REPORT_FAILS(t.path, &status, "marks", "--expect", "1ms"));
	assert_int_equal(status, EBT_ERR_INVALID);
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),	   cmocka_unit_test(test_no_cpu),
		cmocka_unit_test(test_left),	   cmocka_unit_test(test_keys),
		cmocka_unit_test(test_many),	   cmocka_unit_test(test_windows),
		cmocka_unit_test(test_intervals),  cmocka_unit_test(test_figures),
		cmocka_unit_test(test_by_process), cmocka_unit_test(test_series),
		cmocka_unit_test(test_probes),	   cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_hostile),	   cmocka_unit_test(test_none),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
