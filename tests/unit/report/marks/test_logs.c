/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport logs` of lines that were read later than they were written. */
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

static void add_line(struct made_trace *t, uint64_t time, uint64_t late, const char *message)
{
	struct ebt_wire_log *row = ebt_record_begin(&t->record, EBT_T_log, time);

	row->task = 10;
	row->late = late;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_log, message), message);
	made_trace_add(t);
}

static void expect(char *text, const char *expected)
{
	assert_string_equal(text, expected);
	free(text);
}

#define HEADER "time_ns,pid,tid,comm,severity,origin,domain,message,cut\r\n"
#define FIRST  "1000,10,10,one,emergency,ebmark,,first,\r\n"
#define EARLY  "1200,10,10,one,emergency,ebmark,,early,\r\n"
#define LAST   "1900,10,10,one,emergency,ebmark,,last,\r\n"

/* --from and --to choose by the times that are shown. */
static void test_windows(void **state)
{
	static const struct ebt_task_id tasks[] = { { 10, 10, 100, "one" }, { 0 } };
	struct made_trace t;

	(void)state;
	made_trace_begin(&t, tasks);
	add_line(&t, 1000, 0, "first");
	add_line(&t, 1800, 600, "early");
	add_line(&t, 1900, 0, "last");
	made_trace_finish(&t);
	expect(REPORT_OK(t.path, "logs", "--csv"), HEADER FIRST EARLY LAST);
	expect(REPORT_OK(t.path, "logs", "--csv", "--to", "300ns"), HEADER FIRST EARLY);
	expect(REPORT_OK(t.path, "logs", "--csv", "--to", "200ns"), HEADER FIRST);
	expect(REPORT_OK(t.path, "logs", "--csv", "--from", "200ns"), HEADER EARLY LAST);
	expect(REPORT_OK(t.path, "logs", "--csv", "--from", "201ns"), HEADER LAST);
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
