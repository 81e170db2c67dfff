/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records by key: what comes back, in which order, and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/export/spool.h"
#include "tests/tools/expect_error.h"
#include "tests/tools/next_random.h"

#define KEYS 300

struct record {
	uint32_t key;
	uint64_t number; /* of those with this key */
};

static struct ebt_error *take(void *arg, const void *record)
{
	const struct record *r = record;
	struct record *next = arg;

	assert_int_equal(r->key, next->key);
	assert_int_equal(r->number, next->number);
	next->number++;
	return NULL;
}

static void records(void **state)
{
	_cleanup_(spool_destroyp) struct spool *spool = NULL;
	uint64_t counts[KEYS] = { 0 };

	(void)state;
	assert_null(spool_create(sizeof(struct record), &spool));
	assert_int_equal(spool_n_keys(spool), 0);
	assert_int_equal(spool_count(spool, 7), 0);
	/* Some keys have a few, and some have thousands. */
	for (unsigned int i = 0; i < 50000; i++) {
		const uint32_t key = (uint32_t)next_random(KEYS) & ~(i % 3 ? 255u : 0);
		const struct record record = { key, counts[key]++ };

		assert_null(spool_add(spool, key, &record));
	}
	for (int again = 0; again < 2; again++) {
		for (uint32_t key = 0; key < KEYS; key++) {
			struct record next = { .key = key };

			assert_int_equal(spool_count(spool, key), counts[key]);
			assert_null(spool_each(spool, key, take, &next));
			assert_int_equal(next.number, counts[key]);
		}
	}
	assert_true(counts[0] > 10000 && spool_n_keys(spool) <= KEYS);
}

static struct ebt_error *stop(void *arg, const void *record)
{
	(void)record;
	return --*(int *)arg ? NULL : ebt_error_create(EBT_ERR_INVALID, "enough");
}

/* What take() returns ends it. */
static void ends(void **state)
{
	_cleanup_(spool_destroyp) struct spool *spool = NULL;
	const struct record record = { 0 };
	int left = 40;

	(void)state;
	assert_null(spool_create(sizeof(record), &spool));
	for (int i = 0; i < 100; i++)
		assert_null(spool_add(spool, 3, &record));
	expect_error(spool_each(spool, 3, stop, &left), "enough");
	assert_int_equal(left, 0);
}

/* A folder that is not there is named. */
static void no_folder(void **state)
{
	_cleanup_(spool_destroyp) struct spool *spool = NULL;
	const struct record record = { 0 };
	struct ebt_error *err = NULL;

	(void)state;
	setenv("TMPDIR", "/nonexistent/folder", 1);
	assert_null(spool_create(sizeof(record), &spool));
	for (int i = 0; !err && i < 100; i++)
		err = spool_add(spool, 0, &record);
	unsetenv("TMPDIR");
	assert_non_null(err);
	assert_non_null(strstr(err->message, "/nonexistent/folder: cannot make a temporary file"));
	ebt_error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records),
		cmocka_unit_test(ends),
		cmocka_unit_test(no_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
