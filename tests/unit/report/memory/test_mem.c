/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport mem` on traces whose figures are known, and the set of live blocks below it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/schema/wire.h"
#include "report/base/live_set.h"
#include "tests/tools/report_run.h"

#define T0 UINT64_C(1000000000)

static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "maker" },
	{ 11, 10, 110, "thread" },
	{ 20, 20, 200, "kworker" },
	{ 0, 0, 0, "" },
};

struct object {
	uint64_t time, address, requested, bytes, rate;
	uint32_t task, interrupt;
	const char *cache;
};

static void add_object(struct made_trace *t, struct object o)
{
	struct ebt_wire_kmem_alloc *row =
		ebt_record_begin(&t->record, EBT_T_kmem_alloc, T0 + o.time);

	row->task = o.task;
	row->address = o.address;
	row->requested = o.requested;
	row->bytes = o.bytes;
	row->rate = o.rate;
	row->interrupt = o.interrupt;
	ebt_record_str(&t->record, offsetof(struct ebt_wire_kmem_alloc, cache), o.cache);
	made_trace_add(t);
}

static void free_object(struct made_trace *t, uint64_t time, uint32_t task, uint64_t address)
{
	struct ebt_wire_kmem_free *row = ebt_record_begin(&t->record, EBT_T_kmem_free, T0 + time);

	row->task = task;
	row->address = address;
	made_trace_add(t);
}

static void add_pages(struct made_trace *t, uint64_t time, uint64_t page, uint32_t order)
{
	struct ebt_wire_page_alloc *row = ebt_record_begin(&t->record, EBT_T_page_alloc, T0 + time);

	row->task = 10;
	row->page = page;
	row->order = order;
	made_trace_add(t);
}

static void free_pages(struct made_trace *t, uint64_t time, uint64_t page, uint32_t order)
{
	struct ebt_wire_page_free *row = ebt_record_begin(&t->record, EBT_T_page_free, T0 + time);

	row->task = 20;
	row->page = page;
	row->order = order;
	made_trace_add(t);
}

static void add_rss(struct made_trace *t, uint64_t time, uint32_t kind, uint64_t bytes)
{
	struct ebt_wire_rss_stat *row = ebt_record_begin(&t->record, EBT_T_rss_stat, T0 + time);

	row->task = 10;
	row->kind = kind;
	row->bytes = bytes;
	row->vm_size = 1 << 20;
	made_trace_add(t);
}

static void expect_part(char *text, const char *part)
{
	if (!strstr(text, part)) {
		print_error("%s\n", text ? text : "");
		fail_msg("'%s' is not in the above", part);
	}
}

/* One is freed by another process, one was there before, one free is not seen. */
static void with_objects(struct made_trace *t)
{
	made_trace_begin(t, tasks);
	add_object(t, (struct object){ 1000, 0x1000, 100, 128, 0, 10, 0, "" });
	add_object(t, (struct object){ 2000, 0x2000, 200, 200, 0, 11, 0, "filp" });
	add_object(t, (struct object){ 3000, 0x3000, 10, 16, 0, 20, 1, "" });
	free_object(t, 4000, 20, 0x1000);
	free_object(t, 5000, 20, 0x9000);
	add_object(t, (struct object){ 6000, 0x2000, 190, 200, 0, 10, 0, "filp" });
	add_rss(t, 7000, EBT_V_rss_stat_kind_file, 4096);
	add_rss(t, 7001, EBT_V_rss_stat_kind_anon, 8192);
	add_rss(t, 7002, EBT_V_rss_stat_kind_swap, 100);
	add_rss(t, 7003, EBT_V_rss_stat_kind_anon, 4096);
	made_trace_finish(t);
}

static void test_processes(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	with_objects(&t);
	text = REPORT_OK(t.path, "mem", "--json");
	expect_part(text, "{\"pid\":10,\"comm\":\"maker\",\"live_bytes\":200,\"live_count\":1,"
			  "\"allocated_bytes\":528,\"allocated_count\":3,\"freed_bytes\":328,"
			  "\"freed_count\":2,");
	expect_part(text, "\"waste_bytes\":38,\"live_waste_bytes\":10,");
	expect_part(text, "\"unknown_frees\":0,\"live_error_bytes\":0,\"rate_bytes\":0,"
			  "\"rss_bytes\":8192,\"rss_peak_bytes\":12288,\"vm_bytes\":1048576,"
			  "\"swap_bytes\":100}");
	/* An interrupt is no doing of the task that it interrupts. */
	expect_part(text, "{\"comm\":\"(interrupts)\",\"live_bytes\":16,\"live_count\":1,");
	expect_part(text, "{\"pid\":20,\"comm\":\"kworker\",\"live_bytes\":0,\"live_count\":0,"
			  "\"allocated_bytes\":0,");
	expect_part(text, "\"unknown_frees\":1,");
	free(text);
	text = REPORT_OK(t.path, "mem");
	expect_part(text, "1 free is known only by what was allocated there next");
	free(text);
	text = REPORT_OK(t.path, "mem", "--by", "cache", "--csv");
	expect_part(text, "\nfilp,200,1,400,2,200,1,10,10,");
	expect_part(text, "\nkmalloc-128,0,0,128,1,128,1,28,0,");
	expect_part(text, "\nkmalloc-16,16,1,16,1,0,0,6,6,");
	free(text);
	made_trace_remove(&t);
}

/* What is live was allocated at any time, what is counted happened in the window. */
static void test_window(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	with_objects(&t);
	text = REPORT_OK(t.path, "mem", "--csv", "--from", "1us", "--to", "4us");
	expect_part(text, "\n10,maker,200,1,200,1,128,1,");
	free(text);
	text = REPORT_OK(t.path, "mem", "--csv", "--pid", "10");
	expect_part(text, "\n10,maker,200,1,528,3,328,2,");
	assert_null(strstr(text, "interrupts"));
	free(text);
	text = REPORT_OK(t.path, "mem", "--stacks", "--csv", "--min-age", "3us");
	expect_part(text, "\nidle,16,1,4004,4004,1000003000\r\n");
	assert_null(strstr(text, ",200,1,"));
	free(text);
	made_trace_remove(&t);
}

/* Each of 32 bytes stands for four. */
static void test_sampled(void **state)
{
	struct made_trace t;
	char *text;

	(void)state;
	made_trace_begin(&t, tasks);
	add_object(&t, (struct object){ 1000, 0x1000, 24, 32, 128, 10, 0, "" });
	add_object(&t, (struct object){ 2000, 0x2000, 24, 32, 128, 10, 0, "" });
	add_object(&t, (struct object){ 3000, 0x3000, 4096, 4096, 128, 10, 0, "" });
	free_object(&t, 4000, 20, 0x2000);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "mem", "--by", "cache", "--csv");
	/* p is 1/4: a variance of 4 * 3 * 32^2. */
	expect_part(text, "\nkmalloc-32,128,4,256,8,128,4,64,32,111,128");
	expect_part(text, "\nkmalloc-4096,4096,1,4096,1,0,0,0,0,0,128");
	free(text);
	text = REPORT_OK(t.path, "mem");
	expect_part(text, "Figures are estimates: one allocation in 128 B was recorded.");
	free(text);
	made_trace_remove(&t);
}

static void expect_pages(struct made_trace *t, const char *live)
{
	char *text, part[64];

	made_trace_finish(t);
	text = REPORT_OK(t->path, "mem", "--json");
	snprintf(part, sizeof(part), "\"page_live_bytes\":%s,", live);
	expect_part(text, part);
	free(text);
	made_trace_remove(t);
}

static void test_pages(void **state)
{
	struct made_trace t;

	(void)state;
	/* A block of 8 goes in pieces: from its middle, its end, its beginning. */
	made_trace_begin(&t, tasks);
	add_pages(&t, 1000, 4096, 3);
	free_pages(&t, 2000, 4096 + 3, 0);
	free_pages(&t, 3000, 4096 + 6, 1);
	free_pages(&t, 4000, 4096, 1);
	free_pages(&t, 5000, 4096 + 3, 0); /* again: not known */
	expect_pages(&t, "12288");
	/* Four blocks go as one, and one beside stays. */
	made_trace_begin(&t, tasks);
	for (uint64_t i = 0; i < 5; i++)
		add_pages(&t, 1000 + i, 64 + i, 0);
	free_pages(&t, 2000, 64, 2);
	expect_pages(&t, "4096");
	/* What is allocated in the middle of a block shows that this was free. */
	made_trace_begin(&t, tasks);
	add_pages(&t, 1000, 64, 1);
	add_pages(&t, 2000, 65, 0);
	expect_pages(&t, "8192");
	/* Nonsense of a broken file. */
	made_trace_begin(&t, tasks);
	add_pages(&t, 1000, UINT64_MAX, UINT32_MAX);
	add_pages(&t, 2000, UINT64_MAX - 1, 20);
	free_pages(&t, 3000, UINT64_MAX, UINT32_MAX);
	free_pages(&t, 4000, 1, 19);
	made_trace_finish(&t);
	free(REPORT_OK(t.path, "mem", "--stacks", "--pages"));
	made_trace_remove(&t);
}

static void test_nothing(void **state)
{
	struct made_trace t;
	char *text;
	int status;

	(void)state;
	made_trace_begin(&t, tasks);
	made_trace_syscall(&t, T0, 10, 0, 1, 1, 1);
	made_trace_finish(&t);
	text = REPORT_OK(t.path, "mem");
	expect_part(text, "COMM");
	free(text);
	text = REPORT_FAILS(t.path, &status, "mem", "--stacks", "--by", "cache");
	assert_int_not_equal(status, 0);
	free(text);
	text = REPORT_FAILS(t.path, &status, "mem", "--caches");
	expect_part(text, "--by cache");
	free(text);
	made_trace_remove(&t);
}

/* Blocks come and go in an order of chance; the set has those that a plain table has. */
static void test_live_set(void **state)
{
	enum { KEYS = 3000, ROUNDS = 200000 };
	static uint64_t there[KEYS];
	struct live_set set = { 0 };
	uint64_t random = 42;
	size_t n = 0;

	(void)state;
	memset(there, 0, sizeof(there));
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		struct live_block *found, block = { .time = i };
		size_t key;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		key = (random >> 33) % KEYS;
		block.key = key * 64;
		found = live_set_find(&set, block.key);
		assert_int_equal(found ? found->time : 0, there[key]);
		if (found) {
			live_set_remove(&set, found);
			there[key] = 0;
			n--;
		} else {
			assert_null(live_set_add(&set, &block));
			there[key] = i;
			n++;
		}
		assert_int_equal(set.n, n);
	}
	for (size_t key = 0; key < KEYS; key++)
		assert_int_equal(!!live_set_find(&set, key * 64), !!there[key]);
	live_set_deinit(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes), cmocka_unit_test(test_window),
		cmocka_unit_test(test_sampled),	  cmocka_unit_test(test_pages),
		cmocka_unit_test(test_nothing),	  cmocka_unit_test(test_live_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
