/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damaged perf maps and jitdump files: whatever the bytes, they end as names or as none. The seed
 * is fixed; EBT_MUTATE_SEED gives another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fuzz/fuzz.h"
#include "tests/tools/jit_data.h"
#include "tests/tools/next_random.h"

#define ROUNDS 20000

static size_t change(unsigned char *data, size_t len)
{
	static const uint64_t extremes[] = {
		0, 1, 15, 16, 0xff, INT32_MAX, UINT32_MAX, UINT64_MAX
	};
	size_t at = 1 + next_random(len - 1), width = (size_t)1 << next_random(4);

	switch (next_random(4)) {
	case 0:
		data[at] = next_random(256);
		return len;
	case 1:
		if (len - at >= width)
			memcpy(data + at, &extremes[next_random(8)], width);
		return len;
	case 2:
		data[at] = "0 \n\r\0x:"[next_random(7)];
		return len;
	default:
		return next_random(8) ? len : at + 1;
	}
}

static void try_all(const unsigned char *seed, size_t len)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned char *data = malloc(len);
		size_t n = len;

		memcpy(data, seed, len);
		for (uint64_t changes = 1 + next_random(8); changes && n > 1; changes--)
			n = change(data, n);
		/* Of its own size, so that the sanitizer sees who reads behind it. */
		data = realloc(data, n);
		fuzz_jit(data, n);
		free(data);
	}
}

static void test_maps(void **state)
{
	static const char text[] = "\1"
				   "7f0000001000 100 JS:*f /f.js:1:2\n"
				   "7f0000001080 20 py::g:/g.py\n"
				   "0x7f0000002000 0x40 h\n"
				   "7f0000001000 40 again\n"
				   "7f0000003000 1000 last\n";

	(void)state;
	try_all((const unsigned char *)text, sizeof(text) - 1);
}

static void test_dumps(void **state)
{
	static const struct jit_line lines[] = { { 0x1000, 10, "/a.c" },
						 { 0x1010, 12, NULL },
						 { 0x1020, 20, "/b.h" } };
	struct jit_data d, seed = { 0 };

	(void)state;
	jit_data_init(&d, 50, 0);
	for (unsigned int i = 0; i < 8; i++) {
		jit_data_lines(&d, 0x1000, lines, 3);
		jit_data_load(&d, 100 + i, i, 0x1000 + (i & 3) * 32, 0x40, "name");
		jit_data_move(&d, 200 + i, i / 2, 0x1000 + (i & 3) * 32, 0x5000, 0x40);
	}
	seed.len = d.len + 1;
	seed.data = malloc(seed.len);
	seed.data[0] = FUZZ_JIT_DUMP;
	memcpy(seed.data + 1, d.data, d.len);
	try_all(seed.data, seed.len);
	jit_data_deinit(&d);
	jit_data_deinit(&seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_maps),
					    cmocka_unit_test(test_dumps) };
	const char *seed = getenv("EBT_MUTATE_SEED");

	if (seed)
		random_state = strtoull(seed, NULL, 0) | 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
