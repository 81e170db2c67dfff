/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport oom` on traces whose rows are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tools/report_run.h"

static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "hungry" },
	{ 20, 20, 200, "large" },
	{ 0, 0, 0, "" },
};

#define COLUMNS                                                                                 \
	"time_ns,pid,comm,resident_bytes,swap_bytes,total_bytes,points_percent,score_adj,"      \
	"constraint,limit,by_pid,by_comm,order,tid,uid,by_tid,by_score_adj,cpu,anon_bytes,"     \
	"file_bytes,shmem_bytes,page_table_bytes,total_vm_bytes,points_bytes,gfp,whole_cgroup," \
	"cgroup,"                                                                               \
	"limit_cgroup,message\r\n"

static void add_text(struct made_trace *t, size_t field, const char *text)
{
	ebt_record_bytes(&t->record, ebt_table_by_id(EBT_T_oom_kill)->fields[field].wire_offset,
			 text, strlen(text));
}

/* By the limit of a cgroup; all is known. */
static void add_known(struct made_trace *t)
{
	struct ebt_wire_oom_kill *row = ebt_record_begin(&t->record, EBT_T_oom_kill, 1000);

	row->cpu = 3;
	row->task = 10;
	row->task_pid = 10;
	row->task_score_adj = -5;
	row->victim = 20;
	row->victim_pid = 20;
	row->uid = 1000;
	row->score_adj = 100;
	row->constraint = EBT_V_oom_kill_constraint_cgroup;
	row->order = 2;
	row->gfp = 0xcc0;
	row->total_vm = 9000;
	row->anon = 4000;
	row->file = 300;
	row->shmem = 20;
	row->swap = 70;
	row->page_tables = 10;
	row->total = 10000;
	row->points = 5400;
	row->limit_cgroup = 77;
	add_text(t, EBT_F_oom_kill_task_comm, "hungry");
	add_text(t, EBT_F_oom_kill_comm, "large");
	add_text(t, EBT_F_oom_kill_message, "Memory cgroup out of memory");
	add_text(t, EBT_F_oom_kill_limit, "/pod");
	add_text(t, EBT_F_oom_kill_cgroup, "/pod/c");
	made_trace_add(t);
}

/* Killed with its group, and the kernel said nothing; who wanted memory is not followed. */
static void add_unknown(struct made_trace *t)
{
	struct ebt_wire_oom_kill *row = ebt_record_begin(&t->record, EBT_T_oom_kill, 2000);

	row->task = 30;
	row->task_pid = 31;
	row->victim = 10;
	row->victim_pid = 10;
	row->constraint = EBT_V_oom_kill_constraint_not_known;
	row->group = 1;
	row->total = 100; /* of who was killed first */
	row->points = 50;
	row->anon = UINT64_MAX;
	row->file = 1;
	add_text(t, EBT_F_oom_kill_task_comm, "stranger");
	add_text(t, EBT_F_oom_kill_comm, "hungry");
	made_trace_add(t);
}

#define KNOWN                                                                              \
	"1000,20,large,4320,70,10000,54,100,cgroup,/pod,10,hungry,2,20,1000,10,-5,3,4000," \
	"300,20,10,9000,5400,0xcc0,0,/pod/c,77,Memory cgroup out of memory\r\n"
#define UNKNOWN                                                                             \
	"2000,10,hungry,18446744073709551615,0,100,,0,not known,,31,stranger,,10,0,30,0,0," \
	"18446744073709551615,1,0,0,0,,,1,,,\r\n"

static void make(struct made_trace *t)
{
	made_trace_begin(t, tasks);
	add_known(t);
	add_unknown(t);
	made_trace_finish(t);
}

static void assert_says(const struct made_trace *t, const char *const *args, const char *expected)
{
	char *text = report_ok(t->path, args);

	assert_string_equal(text, expected);
	free(text);
}

#define ASSERT_SAYS(t, expected, ...) \
	assert_says(t, (const char *const[]){ __VA_ARGS__, NULL }, expected)

static void each_kill_has_a_row(void **state)
{
	struct made_trace t;

	(void)state;
	make(&t);
	ASSERT_SAYS(&t, COLUMNS KNOWN UNKNOWN, "oom", "--csv");
	ASSERT_SAYS(&t, COLUMNS UNKNOWN KNOWN, "oom", "--csv", "--sort", "resident_bytes");
	made_trace_remove(&t);
}

/* Who wanted memory passes a filter too. */
static void filters_are_of_both(void **state)
{
	struct made_trace t;

	(void)state;
	make(&t);
	ASSERT_SAYS(&t, COLUMNS KNOWN UNKNOWN, "oom", "--csv", "--pid", "10");
	ASSERT_SAYS(&t, COLUMNS KNOWN, "oom", "--csv", "--pid", "20");
	ASSERT_SAYS(&t, COLUMNS UNKNOWN, "oom", "--csv", "--cpu", "0");
	made_trace_remove(&t);
}

static void add_source(struct made_trace *t, uint32_t status)
{
	struct ebt_wire_source *row = ebt_record_begin(&t->record, EBT_T_source, 500);
	size_t name = ebt_table_by_id(EBT_T_source)->fields[EBT_F_source_name].wire_offset;

	row->status = status;
	ebt_record_bytes(&t->record, name, "oom", 3);
	made_trace_add(t);
}

static void assert_warns(uint32_t status, bool expected)
{
	struct made_trace t;
	char *text;

	made_trace_begin(&t, tasks);
	add_source(&t, status);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "oom", "--json");
	assert_int_equal(!!strstr(text, "ebrec records that with -e oom"), expected);
	free(text);
	made_trace_remove(&t);
}

static void nobody_killed_is_no_warning(void **state)
{
	(void)state;
	assert_warns(EBT_V_source_status_on, false);
	assert_warns(EBT_V_source_status_partial, false);
	assert_warns(EBT_V_source_status_off, true);
	assert_warns(EBT_V_source_status_unavailable, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kill_has_a_row),
		cmocka_unit_test(filters_are_of_both),
		cmocka_unit_test(nobody_killed_is_no_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
