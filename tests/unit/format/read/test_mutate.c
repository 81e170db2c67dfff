/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Damaged inputs, made from good ones by seeded changes: bits, bytes, numbers, swapped and copied
 * ranges, lengths that lie, ends cut off. The only outcomes are success and struct ebt_error;
 * everything else ends the process, at the latest under the sanitizers. The targets are those of
 * tests/fuzz. The seed is fixed; EBT_MUTATE_SEED gives another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/bytes.h"
#include "format/base/cleanup.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seeds.h"
#include "tests/tools/make_trace.h"

#define MAX_SEEDS 4096

struct seed {
	unsigned char *data;
	size_t len;
};

/* The good inputs of one target. */
struct inputs {
	const char *target;
	bool (*run)(const uint8_t *data, size_t len);
	unsigned int rounds;
	struct seed seed[MAX_SEEDS];
	size_t n;
};

static struct inputs all_inputs[] = {
	{ .target = "reader", .run = fuzz_reader, .rounds = 20000 },
	{ .target = "chunk", .run = fuzz_chunk, .rounds = 40000 },
	{ .target = "column", .run = fuzz_column, .rounds = 20000 },
	{ .target = "schema", .run = fuzz_schema, .rounds = 4000 },
};
#define N_TARGETS (sizeof(all_inputs) / sizeof(all_inputs[0]))

static void mutate(const struct inputs *inputs, uint64_t *random)
{
	const struct seed *seed = &inputs->seed[mutate_random(random) % inputs->n];
	_cleanup_free_ unsigned char *data = malloc(seed->len);
	unsigned int changes = 1 + (unsigned int)(mutate_random(random) % 6);
	size_t len = seed->len;

	assert_non_null(data);
	memcpy(data, seed->data, len);
	for (unsigned int i = 0; i < changes && len > 1; i++)
		len = mutate_bytes(data, len, random);
	/* fuzz_reader makes checksums right again where this bit is not set. */
	if (inputs->run == fuzz_reader && len > EBT_FH_RESERVED)
		data[EBT_FH_RESERVED] = (unsigned char)(mutate_random(random) & 1);
	inputs->run(data, len);
}

static void keep_seed(void *arg, const char *target, const void *data, size_t len)
{
	(void)arg;
	for (size_t i = 0; i < N_TARGETS; i++) {
		struct inputs *inputs = &all_inputs[i];
		struct seed seed = { malloc(len + 1), len };

		if (strcmp(inputs->target, target) || inputs->n == MAX_SEEDS || len < 2) {
			free(seed.data);
			continue;
		}
		assert_non_null(seed.data);
		memcpy(seed.data, data, len);
		inputs->seed[inputs->n++] = seed;
	}
}

/* A trace of several machines is made by `ebreport merge` only. */
static bool add_machines(void)
{
	const char *dir = getenv("EBT_FIXTURES");
	char path[4096];

	snprintf(path, sizeof(path), "%s/v1.0-machines.ebt", dir ? dir : "tests/fixtures");
	return each_seed(path, keep_seed, NULL);
}

static int set_up(void **state)
{
	_cleanup_path_ char *path = make_temporary_path("t.ebt");
	struct make_trace options = { .path = path,
				      .streams = 2,
				      .steps = 60,
				      .flush_every = 20,
				      .epoch_every = 40,
				      .file_size = 2500 };

	(void)state;
	for (int part = 0; part < 2; part++) {
		options.part = part;
		make_trace(&options, NULL);
		if (!each_seed(path, keep_seed, NULL))
			return -1;
	}
	return add_machines() ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_TARGETS; i++) {
		for (size_t k = 0; k < all_inputs[i].n; k++)
			free(all_inputs[i].seed[k].data);
	}
	return 0;
}

/* First the seeds themselves: a target that refuses them all tests nothing. */
static void run_target(const struct inputs *inputs)
{
	const char *seed = getenv("EBT_MUTATE_SEED");
	uint64_t random = seed ? strtoull(seed, NULL, 0) | 1 : 88172645463325252;

	assert_true(inputs->n > 0);
	for (size_t i = 0; i < inputs->n; i++)
		assert_true(inputs->run(inputs->seed[i].data, inputs->seed[i].len));
	for (unsigned int i = 0; i < inputs->rounds; i++)
		mutate(inputs, &random);
}

static void test_reader(void **state)
{
	(void)state;
	run_target(&all_inputs[0]);
}

static void test_chunk(void **state)
{
	(void)state;
	run_target(&all_inputs[1]);
}

static void test_column(void **state)
{
	(void)state;
	run_target(&all_inputs[2]);
}

static void test_schema(void **state)
{
	(void)state;
	run_target(&all_inputs[3]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader),
		cmocka_unit_test(test_chunk),
		cmocka_unit_test(test_column),
		cmocka_unit_test(test_schema),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
