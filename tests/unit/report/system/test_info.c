/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport info` and the warnings of all commands: sizes, losses, ends that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/tools/report_run.h"

static const struct ebt_task_id tasks[] = { { 10, 10, 100, "a" }, { 0, 0, 0, "" } };

static void add_loss(struct made_trace *t, uint16_t table, uint64_t time, uint64_t from,
		     uint64_t count)
{
	struct ebt_wire_lost *row = ebt_record_begin(&t->record, EBT_T_lost, time);

	row->from = from;
	row->count = count;
	row->table_id = table;
	row->reason = EBT_V_lost_reason_ring_buffer_full;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_lost, source), "syscalls");
	made_trace_add(t);
}

static void with_trace(struct made_trace *t)
{
	made_trace_begin(t, tasks);
	made_trace_meta(t, "host.machine", "x86_64");
	made_trace_meta(t, "host.release", "old");
	made_trace_meta(t, "host.release", "6.1.0-x"); /* the last one counts */
	for (unsigned int i = 0; i < 100; i++) {
		made_trace_syscall(t, 1000 + i * 10, 10, 0, i, 5, 0);
		if (i % 10 == 9)
			assert_null(ebt_stream_flush(t->stream, 0, true));
	}
	add_loss(t, EBT_T_syscall, 1500, 1400, 7);
	add_loss(t, EBT_T_syscall, 1800, 1700, 3);
	made_trace_finish(t);
}

static void expect_part(char *text, const char *part)
{
	if (!strstr(text, part)) {
		print_error("%s\n", text ? text : "");
		fail_msg("'%s' is not in the above", part);
	}
}

static void test_json(void **state)
{
	struct made_trace t;
	char size[64], *text;
	struct stat st;

	(void)state;
	with_trace(&t);
	assert_int_equal(stat(t.path, &st), 0);
	snprintf(size, sizeof(size), "\"size\":%lld,", (long long)st.st_size);
	text = REPORT_OK(t.path, "info", "--json");
	expect_part(text, size);
	expect_part(text, "\"start_ns\":\"1000\",\"duration_ns\":990");
	expect_part(text, "\"complete\":true");
	expect_part(text, "\"missing_chunks\":0");
	expect_part(text, "\"host\":{\"machine\":\"x86_64\",\"release\":\"6.1.0-x\"}");
	expect_part(text, "\"name\":\"syscall\",\"row_count\":100,");
	expect_part(text, "\"lost_rows\":10,\"chunks\":");
	expect_part(text, "{\"source\":\"syscalls\",\"table\":\"syscall\",\"reason\":\"ring buffer "
			  "full\",\"count\":10,\"from_ns\":400,\"to_ns\":800,");
	expect_part(text, "\"naming\":{\"counted\":true,");
	expect_part(text, "\"unwinding\":{\"stack_count\":");
	expect_part(text, "\"lost\":{\"syscall\":10}");
	free(text);
	made_trace_remove(&t);
}

/* All bytes of the file but the headers of file and footer belong to a table. */
static void test_sizes(void **state)
{
	unsigned long long sum = 0;
	struct made_trace t;
	struct stat st;
	char *text;

	(void)state;
	with_trace(&t);
	assert_int_equal(stat(t.path, &st), 0);
	text = REPORT_OK(t.path, "info", "--csv");
	for (char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
		unsigned long long rows, bytes;
		char name[32];

		assert_int_equal(sscanf(line, "\n%31[^,],%llu,%llu,", name, &rows, &bytes), 3);
		sum += bytes;
	}
	assert_int_equal(sum + 96 + 64, st.st_size);
	free(text);
	made_trace_remove(&t);
}

/* A loss is told by commands that read the table, and by no others. */
static void test_loss(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	with_trace(&t);
	text = REPORT_OK(t.path, "syscalls", "--json");
	expect_part(text, "\"lost\":{\"syscall\":10}");
	expect_part(text, "\"10 rows of syscall lost while recording (9.09 %)\"");
	free(text);
	text = REPORT_OK(t.path, "dump", "--table", "meta", "--json");
	expect_part(text, "\"lost\":{},\"warnings\":[]");
	free(text);
	/* --top ends before its rows: */
	text = REPORT_OK(t.path, "dump", "--table", "meta,syscall", "--top", "1", "--json");
	expect_part(text, "\"lost\":{\"syscall\":10}");
	free(text);
	made_trace_remove(&t);
}

/* Losses that nobody could count, one of them of a table that the file does not describe. */
static void test_uncounted(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_meta(&t, "host.machine", "x86_64");
	made_trace_syscall(&t, 1000, 10, 0, 0, 5, 0);
	add_loss(&t, EBT_T_syscall, 1500, 1400, 0);
	add_loss(&t, 60000, 1800, 1700, 0);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "syscalls", "--json");
	expect_part(text, "\"rows may be missing for 1 reason, how many is not known: ");
	free(text);
	text = REPORT_OK(t.path, "info", "--json");
	expect_part(text, "\"rows may be missing for 2 reasons, how many is not known: ");
	free(text);
	text = REPORT_OK(t.path, "dump", "--table", "meta", "--json");
	expect_part(text, "\"lost\":{},\"warnings\":[]");
	free(text);
	made_trace_remove(&t);
}

static void test_cut(void **state)
{
	struct made_trace t;
	struct stat st;
	char *text;

	(void)state;
	with_trace(&t);
	assert_int_equal(stat(t.path, &st), 0);
	assert_int_equal(truncate(t.path, st.st_size - 64 - 50), 0);
	text = REPORT_OK(t.path, "info", "--all");
	expect_part(text, "Complete    no: cut off, or its recorder was killed");
	free(text);
	text = REPORT_OK(t.path, "info");
	expect_part(text, "no end: cut off, or its recorder was killed");
	free(text);
	text = REPORT_OK(t.path, "syscalls", "--json");
	expect_part(text, "\"the file has no end: ");
	expect_part(text, "could not be read; the first is at offset ");
	free(text);
	made_trace_remove(&t);
}

static void test_not_a_trace(void **state)
{
	char *text;
	int status;

	(void)state;
	text = REPORT_FAILS("/dev/null", &status, "info");
	assert_int_equal(status, EBT_ERR_CORRUPT);
	free(text);
	text = REPORT_FAILS("/no/such/file", &status, "info");
	assert_int_equal(status, EBT_ERR_SYSTEM);
	expect_part(text, "No such file");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),	  cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_loss),	  cmocka_unit_test(test_cut),
		cmocka_unit_test(test_uncounted), cmocka_unit_test(test_not_a_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
