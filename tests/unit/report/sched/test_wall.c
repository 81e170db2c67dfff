/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of `ebreport wall --per-thread`, of threads whose names and numbers are in the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/tools/report_run.h"

/* The file's name has to be in the list, and is removed. */
static void take_file(const char *list, const char *folder, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s\n", folder, name);
	if (!strstr(list, path))
		fail_msg("%s is not in\n%s", name, list);
	path[strlen(path) - 1] = '\0';
	assert_int_equal(unlink(path), 0);
}

/* Number 10 is given again, to a thread that is called alike in a file's name. */
static void test_names(void **state)
{
	struct ebt_task_id tasks[] = { { 10, 10, 100, "../one" }, { 0 } };
	char folder[] = "/tmp/ebt-test-XXXXXX";
	struct made_trace t;
	char *list;

	(void)state;
	assert_non_null(mkdtemp(folder));
	made_trace_begin(&t, tasks);
	made_trace_switch(&t, 1000, 0, 10, 1);
	made_trace_switch(&t, 1200, 10, 0, 1);
	assert_null(ebt_stream_flush(t.stream, 0, true));
	tasks[0] = (struct ebt_task_id){ 10, 10, 2000, "..;one" };
	made_trace_switch(&t, 3000, 0, 10, 1);
	made_trace_switch(&t, 3500, 10, 0, 1);
	made_trace_finish(&t);
	list = REPORT_OK(t.path, "wall", "--per-thread", folder);
	take_file(list, folder, "thread_10_.._one.svg");
	take_file(list, folder, "thread_10_.._one.folded");
	take_file(list, folder, "thread_10_.._one_analysis.txt");
	take_file(list, folder, "thread_10.2_.._one.svg");
	take_file(list, folder, "thread_10.2_.._one.folded");
	take_file(list, folder, "thread_10.2_.._one_analysis.txt");
	take_file(list, folder, "summary.txt");
	free(list);
	assert_int_equal(rmdir(folder), 0);
	made_trace_remove(&t);
}

/* What has no stack is in folded stacks, too, where no first frame stands for it. */
static void test_no_frames(void **state)
{
	static const struct ebt_task_id tasks[] = { { 10, 10, 100, "one" }, { 0 } };
	char folder[] = "/tmp/ebt-test-XXXXXX", path[128], line[128] = "";
	struct made_trace t;
	char *text;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(folder));
	made_trace_begin(&t, tasks);
	made_trace_switch(&t, 1000, 0, 10, 1);
	made_trace_switch(&t, 1200, 10, 0, 1);
	made_trace_switch(&t, 1700, 0, 10, 1);
	made_trace_switch(&t, 1800, 10, 0, 1);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "folded", "--event", "offcpu", "--by", "none");
	assert_string_equal(text, "[no frames] 500\n");
	free(text);
	text = REPORT_OK(t.path, "folded", "--event", "offcpu");
	assert_string_equal(text, "one 500\n");
	free(text);
	text = REPORT_OK(t.path, "wall", "--folded");
	assert_string_equal(text, "one_[c] 300\none_[o] 500\n");
	free(text);
	text = REPORT_OK(t.path, "wall", "--per-thread", folder);
	snprintf(path, sizeof(path), "%s/thread_10_one.folded", folder);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, "[no frames]_[c] 300\n");
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, "[no frames]_[o] 500\n");
	assert_null(fgets(line, sizeof(line), f));
	fclose(f);
	take_file(text, folder, "thread_10_one.svg");
	take_file(text, folder, "thread_10_one.folded");
	take_file(text, folder, "thread_10_one_analysis.txt");
	take_file(text, folder, "summary.txt");
	free(text);
	assert_int_equal(rmdir(folder), 0);
	made_trace_remove(&t);
}

static void add_kernel_stack(struct made_trace *t, size_t place, uint64_t address)
{
	ebt_record_stack(&t->record, place, 0, &address, 1);
	made_trace_add(t);
}

/* Each table is read by itself: the first stack of the samples is not that of the switches. */
static void test_two_tables(void **state)
{
	static const struct ebt_task_id tasks[] = { { 10, 10, 100, "one" }, { 0 } };
	struct ebt_wire_sched_switch *off;
	struct ebt_wire_sample *sample;
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_switch(&t, 1000, 0, 10, 1);
	sample = ebt_record_begin(&t.record, EBT_T_sample, 1100);
	sample->task = 10;
	add_kernel_stack(&t, offsetof(struct ebt_wire_sample, kstack), 0xffffffff80002000);
	off = ebt_record_begin(&t.record, EBT_T_sched_switch, 1200);
	off->prev = 10;
	off->prev_state = 1;
	add_kernel_stack(&t, offsetof(struct ebt_wire_sched_switch, kstack), 0xffffffff80001000);
	made_trace_switch(&t, 1700, 0, 10, 1);
	made_trace_switch(&t, 1800, 10, 0, 1);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "wall", "--folded", "--no-symbols");
	assert_string_equal(text, "one;0xffffffff80001000_[o] 500\n"
				  "one;0xffffffff80002000_[c] 300\n");
	free(text);
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_no_frames),
		cmocka_unit_test(test_two_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
