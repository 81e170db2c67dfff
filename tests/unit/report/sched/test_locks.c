/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport locks` on traces whose figures are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tools/report_run.h"

static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "one" },	    { 11, 10, 110, "two" }, { 12, 10, 120, "three" },
	{ 20, 20, 200, "another" }, { 0, 0, 0, "" },
};

enum { BY_TASK = EBT_V_futex_wait_woken_task, BY_INTERRUPT = EBT_V_futex_wait_woken_interrupt };
enum {
	OWNER_IN_FUTEX = EBT_V_futex_wait_owner_by_futex,
	OWNER_GUESSED = EBT_V_futex_wait_owner_by_guess,
};

struct futex {
	uint64_t time;
	uint32_t task;
	uint64_t address, duration;
	uint32_t slept, woken, waker, owner, owner_by;
	int32_t ret;
	uint64_t inode, offset;
};

static void add_futex(struct made_trace *t, const struct futex *f)
{
	struct ebt_wire_futex_wait *row = ebt_record_begin(&t->record, EBT_T_futex_wait, f->time);

	row->task = f->task;
	row->address = f->address;
	row->duration = f->duration;
	row->slept = f->slept;
	row->woken = f->woken;
	row->waker = f->waker;
	row->owner = f->owner;
	row->owner_by = f->owner_by;
	row->ret = f->ret;
	row->inode = f->inode;
	row->offset = f->offset;
	made_trace_add(t);
}

static void add_kernel(struct made_trace *t, uint64_t time, uint32_t task, uint64_t duration,
		       uint32_t flags, bool interrupt)
{
	struct ebt_wire_lock_wait *row = ebt_record_begin(&t->record, EBT_T_lock_wait, time);

	row->task = task;
	row->duration = duration;
	row->flags = flags;
	row->interrupt = interrupt;
	made_trace_add(t);
}

static char *report(const struct futex *waits, size_t n, const char *option)
{
	struct made_trace t;
	char *text;

	made_trace_begin(&t, tasks);
	for (size_t i = 0; i < n; i++)
		add_futex(&t, &waits[i]);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "locks", "--json", "--no-symbols", option);
	made_trace_remove(&t);
	return text;
}
#define REPORT(waits, option) report(waits, sizeof(waits) / sizeof((waits)[0]), option)

static void expect_part(const char *text, const char *part)
{
	if (!strstr(text, part)) {
		print_error("%s\n", text);
		fail_msg("'%s' is not in the above", part);
	}
}

static void expect_count(const char *text, const char *part, int want)
{
	int n = 0;

	for (const char *at = text; (at = strstr(at, part)); at++)
		n++;
	if (n != want)
		print_error("%s\n", text);
	assert_int_equal(n, want);
}

/* One address of two processes is two locks. */
static void test_processes(void **state)
{
	static const struct futex waits[] = {
		{ 2000, 10, 0x1000, 500, 1, BY_TASK, 11, 0, 0, 0, 0, 0 },
		{ 3000, 20, 0x1000, 700, 1, BY_INTERRUPT, 0, 0, 0, -110, 0, 0 },
		{ 4000, 12, 0x1000, 100, 1, BY_TASK, 11, 0, 0, 0, 0, 0 },
	};
	char *text = REPORT(waits, "--user");

	(void)state;
	expect_part(text, "\"kind\":\"futex\",\"kernel\":false,\"pid\":10,\"comm\":\"one\","
			  "\"address\":\"0x1000\",\"count\":2,\"wait_ns\":600,");
	expect_part(text, "\"waiters\":2,\"holder\":\"two/11\",\"holder_tid\":11,\"holder_ns\":600,"
			  "\"owned\":0,\"woke\":2,");
	expect_part(text, "\"pid\":20,\"comm\":\"another\",\"address\":\"0x1000\",\"count\":1,"
			  "\"wait_ns\":700,");
	expect_part(text, "\"timeouts\":1");
	expect_count(text, "\"holder\"", 1);
	free(text);
}

/* Who had it counts more than who woke; a guess is believed of the process's own threads only. */
static void test_owners(void **state)
{
	static const struct futex waits[] = {
		{ 2000, 10, 0x1000, 500, 1, BY_TASK, 11, 12, OWNER_GUESSED, 0, 0, 0 },
		{ 3000, 10, 0x2000, 500, 1, BY_TASK, 11, 20, OWNER_GUESSED, 0, 0, 0 },
		{ 4000, 10, 0x3000, 500, 1, BY_INTERRUPT, 0, 20, OWNER_IN_FUTEX, 0, 0, 0 },
	};
	char *text = REPORT(waits, "--threads");

	(void)state;
	expect_part(text, "\"kind\":\"mutex\",\"kernel\":false,\"pid\":10,\"comm\":\"one\","
			  "\"address\":\"0x1000\"");
	expect_part(text, "\"holder\":\"three/12\"");
	expect_part(text, "\"kind\":\"futex\",\"kernel\":false,\"pid\":10,\"comm\":\"one\","
			  "\"address\":\"0x2000\"");
	expect_part(text, "\"kind\":\"pi mutex\",\"kernel\":false,\"pid\":10,\"comm\":\"one\","
			  "\"address\":\"0x3000\"");
	expect_part(text, "\"holder\":\"another/20\"");
	expect_count(text, "\"role\":\"waiter\"", 3);
	expect_count(text, "\"role\":\"holder\"", 4);
	free(text);
}

/* The file says which it is, not the address; who did not sleep did not wait. */
static void test_shared(void **state)
{
	static const struct futex waits[] = {
		{ 2000, 10, 0x1000, 500, 1, BY_TASK, 20, 20, OWNER_GUESSED, 0, 7, 64 },
		{ 3000, 20, 0x9000, 700, 1, BY_TASK, 10, 0, 0, 0, 7, 64 },
		{ 4000, 20, 0x9000, 9000, 0, 0, 0, 0, 0, -11, 7, 64 },
		{ 5000, 20, 0x9000, 1, 1, BY_TASK, 10, 0, 0, 0, 7, 65 },
	};
	char *text = REPORT(waits, "--user");

	(void)state;
	expect_part(text, "\"lock\":\"inode 7 (0:0)+0x40\",\"kind\":\"mutex\"");
	expect_part(text, "\"count\":2,\"wait_ns\":1200,");
	expect_part(text, "\"max_ns\":700,\"max_at_ns\":1000,\"waiters\":2,");
	expect_part(text, "\"at_once\":1,");
	expect_part(text, "\"lock\":\"inode 7 (0:0)+0x41\"");
	free(text);
}

static void test_kernel(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	add_kernel(&t, 2000, 10, 500, 1, false);
	add_kernel(&t, 2100, 10, 300, 1, true);
	add_kernel(&t, 2200, 20, 9, 4, false);
	add_kernel(&t, 2300, 20, 8, 33, false);
	add_kernel(&t, 2400, 20, 7, 18, false);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "locks", "--json", "--no-symbols", "--threads");
	expect_part(text, "\"lock\":\"[not known]\",\"kind\":\"spinlock\",\"kernel\":true,"
			  "\"count\":2,\"wait_ns\":800,");
	/* The interrupted task did not wait. */
	expect_part(text, "{\"role\":\"waiter\",\"count\":1,\"wait_ns\":300,");
	expect_part(text, "\"kind\":\"rwsem write\"");
	expect_part(text, "\"kind\":\"kernel mutex\"");
	expect_part(text, "\"kind\":\"percpu rwsem read\"");
	free(text);
	text = REPORT_OK(t.path, "locks", "--json", "--no-symbols", "--pid", "20");
	expect_count(text, "\"kind\"", 3);
	free(text);
	made_trace_remove(&t);
}

static void test_options(void **state)
{
	struct made_trace t;
	char *text;
	int status;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_finish(&t);
	text = REPORT_FAILS(t.path, &status, "locks", "--user", "--kernel");
	assert_int_equal(status, EBT_ERR_INVALID);
	free(text);
	text = REPORT_FAILS(t.path, &status, "locks", "--by", "process", "--threads");
	assert_int_equal(status, EBT_ERR_INVALID);
	expect_part(text, "--by needs lock");
	free(text);
	text = REPORT_FAILS(t.path, &status, "locks", "--stacks", "--threads");
	assert_int_equal(status, EBT_ERR_INVALID);
	free(text);
	text = REPORT_OK(t.path, "locks", "--json", "--stacks");
	expect_part(text, "\"rows\":[]");
	expect_part(text, "\"stacks\":[]");
	free(text);
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes), cmocka_unit_test(test_owners),
		cmocka_unit_test(test_shared),	  cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
