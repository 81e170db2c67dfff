/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The histogram against the sorted values themselves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/base/histogram.h"

static const double percents[] = { 0, 0.1, 1, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100 };
#define N_PERCENTS (sizeof(percents) / sizeof(percents[0]))

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Nearest rank, by its definition. */
static uint64_t truth(const uint64_t *sorted, size_t n, double percent)
{
	size_t rank = (size_t)ceil(percent / 100 * (double)n - 1e-6);

	return sorted[rank ? rank - 1 : 0];
}

static void check(const struct histogram *h, uint64_t *values, size_t n)
{
	uint64_t sum = 0, log2[65], expected[65] = { 0 };

	qsort(values, n, sizeof(values[0]), compare);
	for (size_t i = 0; i < n; i++) {
		unsigned int bits = 0;

		while (bits < 64 && values[i] >> bits)
			bits++;
		expected[bits]++;
		sum += values[i];
	}
	assert_int_equal(h->count, n);
	assert_int_equal(h->sum, sum);
	assert_int_equal(h->min, values[0]);
	assert_int_equal(h->max, values[n - 1]);
	for (size_t i = 0; i < N_PERCENTS; i++) {
		double t = (double)truth(values, n, percents[i]);
		double got = (double)histogram_percentile(h, percents[i]);

		assert_true(fabs(got - t) <= t * 0.008);
	}
	assert_int_equal(histogram_percentile(h, 100), values[n - 1]);
	histogram_log2(h, log2);
	assert_memory_equal(log2, expected, sizeof(log2));
}

static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void test_random(void **state)
{
	static uint64_t values[20000];
	uint64_t seed = 88172645463325252;

	(void)state;
	/* few values, the border between few and many, many; narrow and wide */
	for (size_t n = 1; n <= 20000; n = n < 20 ? n + 1 : n * 3) {
		for (unsigned int width = 0; width < 64; width += 7) {
			struct histogram h = { 0 };

			for (size_t i = 0; i < n; i++) {
				values[i] = next(&seed) >> (width + next(&seed) % (64 - width));
				assert_null(histogram_add(&h, values[i]));
			}
			check(&h, values, n);
			histogram_deinit(&h);
		}
	}
}

static void test_merge(void **state)
{
	static uint64_t values[3000];
	uint64_t seed = 12345;

	(void)state;
	for (size_t n = 0; n < 300; n += 7) {
		struct histogram a = { 0 }, b = { 0 };
		size_t m = next(&seed) % 2000;

		for (size_t i = 0; i < n + m; i++) {
			values[i] = next(&seed) >> (20 + next(&seed) % 40);
			assert_null(histogram_add(i < n ? &a : &b, values[i]));
		}
		assert_null(histogram_merge(&a, &b));
		if (n + m)
			check(&a, values, n + m);
		histogram_deinit(&a);
		histogram_deinit(&b);
	}
}

static void test_extremes(void **state)
{
	struct histogram h = { 0 };

	(void)state;
	assert_int_equal(histogram_percentile(&h, 50), 0);
	assert_int_equal(histogram_avg(&h), 0);
	for (int i = 0; i < 20; i++)
		assert_null(histogram_add(&h, i < 10 ? 0 : UINT64_MAX));
	assert_int_equal(histogram_percentile(&h, 50), 0);
	assert_int_equal(h.min, 0);
	assert_int_equal(h.max, UINT64_MAX);
	assert_int_equal(histogram_percentile(&h, 100), UINT64_MAX);
	histogram_deinit(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
