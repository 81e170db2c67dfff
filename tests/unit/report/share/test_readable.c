/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be read in a trace: each text once, and those of which there are too many each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/share/readable.h"
#include "tests/tools/make_trace.h"
#include "tests/tools/report_run.h"

static const struct ebt_task_id tasks[] = {
	{ .tid = 1, .pid = 1, .start_ns = 1, .comm = "one" },
	{ .tid = 2, .pid = 2, .start_ns = 2, .comm = "two" },
	{ .tid = 3, .pid = 3, .start_ns = 3, .comm = "three" },
	{ 0 },
};

static void many_texts(void **state)
{
	static const struct {
		size_t most;
		uint64_t readable;
	} cases[] = { { 100, 3 }, { 3, 3 }, { 2, 4 }, { 0, 6 } };
	struct made_trace t;

	(void)state;
	made_trace_begin(&t, tasks);
	for (uint32_t i = 0; i < 6; i++)
		made_trace_syscall(&t, 1000 + i, 1 + i % 3, 0, 0, 1, 0);
	made_trace_finish(&t);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct readable_leak leak = { .word = (char *)"hre" };
		struct readable words = { .words = &leak, .n_words = 1 };
		struct readable found = { .most_texts = cases[i].most };
		struct ebt_reader *reader = NULL;

		assert_no_error(ebt_reader_open(t.path, &reader));
		assert_no_error(readable_read(reader, &words, &found));
		assert_int_equal(found.counts[READABLE_PROGRAMS].readable, cases[i].readable);
		assert_int_equal(found.overflowed, cases[i].readable > 3);
		assert_true(leak.texts > 0);
		assert_string_equal(leak.text, "three");
		free(leak.text);
		readable_deinit(&found);
		ebt_reader_close(reader);
	}
	made_trace_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(many_texts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
