/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which name a table of figures shows for a task, and for its process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/base/names.h"
#include "tests/tools/report_run.h"

/* Names as they were when the rows were made; pid 30 is used twice. */
static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "sh" },	   { 11, 10, 110, "thread" },  { 20, 20, 200, "plain" },
	{ 30, 30, 300, "first" },  { 31, 30, 350, "old" },     { 40, 0, 0, "who" },
	{ 51, 50, 510, "orphan" }, { 52, 50, 520, "orphan2" }, { 0, 0, 0, "" },
};

static void add_exec(struct made_trace *t, uint64_t time, uint32_t tid, const char *comm)
{
	struct ebt_wire_task_exec *row = ebt_record_begin(&t->record, EBT_T_task_exec, time);

	row->task = tid;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_task_exec, comm), comm);
	made_trace_add(t);
}

static void add_rename(struct made_trace *t, uint64_t time, uint32_t tid, const char *comm)
{
	struct ebt_wire_task_rename *row = ebt_record_begin(&t->record, EBT_T_task_rename, time);

	row->task = tid;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_task_rename, comm), comm);
	made_trace_add(t);
}

static void add_thread(struct made_trace *t, uint64_t time, uint32_t tid)
{
	struct ebt_wire_thread *row = ebt_record_begin(&t->record, EBT_T_thread, time);

	row->task = tid;
	made_trace_add(t);
}

static struct made_trace made;
static struct ebt_reader *reader;
static struct names *names;

static int setup(void **state)
{
	(void)state;
	made_trace_begin(&made, tasks);
	for (const struct ebt_task_id *task = tasks; task->tid; task++) {
		if (task->tid != 51 && task->tid != 52)
			add_thread(&made, 1000, task->tid);
	}
	add_exec(&made, 2000, 10, "server");
	add_rename(&made, 3000, 10, "server: busy");
	add_rename(&made, 2500, 11, "worker");
	made_trace_finish(&made);
	assert_null(ebt_reader_open(made.path, &reader));
	assert_null(names_create(reader, &names));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	names_destroy(names);
	ebt_reader_close(reader);
	made_trace_remove(&made);
	return 0;
}

/* Not in the file's dictionaries: id is one that the names do not know. */
static struct ebt_task task(uint32_t tid, uint32_t pid, uint64_t start, const char *comm)
{
	return (struct ebt_task){ .tid = tid,
				  .pid = pid,
				  .start_ns = start,
				  .comm = { comm, strlen(comm) },
				  .id = 1000000 + tid };
}

static void expect(struct ebt_str got, const char *name)
{
	assert_int_equal(got.len, strlen(name));
	assert_memory_equal(got.data, name, got.len);
}

static void test_process(void **state)
{
	struct ebt_task thread = task(12, 10, 120, "new"), late = task(12, 10, 0, "new");
	struct ebt_task stranger = task(61, 60, 610, "stranger"), unknown = task(70, 0, 0, "x");

	(void)state;
	expect(names_process(names, &thread), "server: busy");
	expect(names_process(names, &late), "server: busy");
	expect(names_process(names, &stranger), "stranger");
	expect(names_process(names, &unknown), "x");
	/* started before the only leader of this pid that is known: another process */
	thread.start_ns = 50;
	expect(names_process(names, &thread), "new");
}

/* Tasks as a cursor gives them. */
static void test_task(void **state)
{
	const struct ebt_want want = EBT_WANT(thread, task);
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };
	struct ebt_cursor *cursor;
	unsigned int rows = 0;
	struct ebt_row row;

	(void)state;
	assert_null(ebt_cursor_create(reader, &query, &cursor));
	for (;; rows++) {
		const struct ebt_task *t;

		assert_null(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			break;
		t = ebt_thread_task(&row);
		expect(names_task(names, t), t->tid == 10   ? "server: busy"
					     : t->tid == 11 ? "worker"
					     : t->tid == 20 ? "plain"
					     : t->tid == 30 ? "first"
					     : t->tid == 31 ? "old"
							    : "who");
	}
	assert_int_equal(rows, 6);
	ebt_cursor_destroy(cursor);
}

static void test_key(void **state)
{
	struct ebt_task a = task(12, 10, 120, ""), b = task(13, 10, 130, ""),
			c = task(21, 20, 210, "");
	struct ebt_task d = task(51, 50, 510, ""), e = task(52, 50, 520, "");
	struct ebt_task f = task(70, 0, 0, ""), g = task(71, 0, 0, "");

	(void)state;
	assert_int_equal(names_process_key(names, &a), names_process_key(names, &b));
	assert_int_not_equal(names_process_key(names, &a), names_process_key(names, &c));
	/* the first thread is nowhere: still one process */
	assert_int_equal(names_process_key(names, &d), names_process_key(names, &e));
	/* nothing is known of their processes: each for itself */
	assert_int_not_equal(names_process_key(names, &f), names_process_key(names, &g));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_task),
		cmocka_unit_test(test_key),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
