/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Damaged unwind information and ELF headers, made from good ones by seeded changes: every input
 * ends as rows or as an error, soon, at the latest under the sanitizers. What is tried is
 * fuzz/fuzz_cfi.c. The seed is fixed; EBT_MUTATE_SEED gives another.
 */
#include <elf.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "format/base/cleanup.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tools/cfi_asm.h"
#include "tests/tools/next_random.h"
#include "unwind/image.h"

#define ROUNDS 100000

/* The larger part of a mutation's time is reading the whole; the beginning is as good. */
#define MAX_PART 3000

struct seed {
	uint8_t *data; /* as fuzz_cfi() takes it */
	size_t len;
};

static struct seed seeds[16];
static size_t n_seeds;
static void add_seed(uint8_t kind, const void *data, size_t len)
{
	struct seed seed = { malloc(len + 1), len + 1 };

	assert_true(n_seeds < sizeof(seeds) / sizeof(*seeds));
	seed.data[0] = kind;
	memcpy(seed.data + 1, data, len);
	/* What is not damaged is good. */
	assert_true(fuzz_cfi(seed.data, seed.len));
	seeds[n_seeds++] = seed;
}

static void *load(const char *path, size_t *ret_len)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	void *data = malloc(1 << 20);

	if (!f)
		fail_msg("%s is missing", path);
	*ret_len = fread(data, 1, 1 << 20, f);
	return data;
}

static const char *path_in(const char *variable, const char *otherwise, const char *name)
{
	static char path[4096];
	const char *dir = getenv(variable);

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : otherwise, name);
	return path;
}

/* --- good ones --- */

static void add_arm64(void)
{
	size_t len;
	_cleanup_free_ char *data =
		load(path_in("EBT_FIXTURES", "tests/fixtures", "arm64-ld.eh_frame"), &len);

	add_seed(FUZZ_CFI_EH_FRAME | FUZZ_CFI_ARM64, data, MAX_PART);
	add_seed(FUZZ_CFI_UNTIL_ZERO | FUZZ_CFI_ARM64, data, MAX_PART);
}

/* A whole file, and its .eh_frame alone. */
static void add_elf(const char *name)
{
	struct unwind_image image;
	size_t len;
	_cleanup_free_ char *data = load(path_in("EBT_PROGRAMS", "tests/programs", name), &len);

	add_seed(FUZZ_CFI_ELF, data, len);
	assert_null(unwind_image_read_memory(data, len, &image));
	assert_true(image.n_sections && !image.sections[0].debug_frame);
	len = image.sections[0].len;
	add_seed(FUZZ_CFI_EH_FRAME, image.sections[0].data, len < MAX_PART ? len : MAX_PART);
	unwind_image_deinit(&image);
}

/* Every instruction and every form of a pointer. */
static void add_by_hand(bool debug_frame, bool wide)
{
	static const struct cfi_asm_cie cies[] = {
		{ 0 },
		{ .version = 4, .encoding = 0x0c },
		{ .version = 3, .augmentation = "zRS", .encoding = 0x01 },
		{ .augmentation = "eh", .no_encoding = true },
	};
	struct cfi_asm a = { .debug_frame = debug_frame, .wide = wide };

	for (unsigned int i = 0; i < 12; i++) {
		const struct cfi_asm_cie *cie = &cies[debug_frame ? 0 : i % 4];
		size_t at = cfi_asm_cie(&a, cie, X86_INITIAL);

		cfi_asm_fde(&a, at, cie, 0x1000 * (i + 1), 0x800,
			    PROGRAM(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x02, 0x20, 0x0c,
				    7, 8, 0xc6, 0x41, 0x0b, 0x03, 0x40, 0, 0x0f, 3, 0x76, 0x78, 6,
				    0x04, 4, 0, 0, 0, 0x10, 6, 2, 0x76, 0, 0x41, 0x2e, 8, 0x0f, 11,
				    0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));
		cfi_asm_fde(&a, at, cie, 0x1000 * (i + 1) + 0x800, 0x800,
			    PROGRAM(0x41, 0x05, 6, 3, 0x41, 0x06, 6, 0x41, 0x07, 16, 0x41, 0x08, 16,
				    0x41, 0x09, 16, 5, 0x41, 0x11, 6, 0x7d, 0x41, 0x12, 7, 0x7d,
				    0x13, 0x7c, 0x41, 0x14, 3, 2, 0x15, 3, 2, 0x16, 6, 2, 0x76, 0,
				    0x41, 0x2f, 6, 3, 0x1d, 4, 0, 0, 0, 0, 0, 0, 0, 0x0e, 24));
	}
	add_seed(debug_frame ? FUZZ_CFI_DEBUG_FRAME : FUZZ_CFI_EH_FRAME, a.data, a.len);
}

static int set_up(void **state)
{
	(void)state;
	add_arm64();
	add_elf("stepped");
	add_elf("plugin_one.so");
	for (unsigned int i = 0; i < 4; i++)
		add_by_hand(i & 1, i & 2);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	while (n_seeds)
		free(seeds[--n_seeds].data);
	return 0;
}

/* --- bad ones --- */

/* Of a file, mostly headers: those of segments are at its beginning, of sections at its end. */
static size_t place(const struct seed *seed)
{
	size_t headers = 40 * sizeof(Elf64_Shdr);

	if (seed->data[0] != FUZZ_CFI_ELF || !next_random(4))
		return next_random(seed->len);
	if (next_random(2) && seed->len > headers)
		return seed->len - 1 - next_random(headers);
	return next_random(sizeof(Elf64_Ehdr) + 14 * sizeof(Elf64_Phdr));
}

static size_t change(uint8_t *data, size_t len, size_t at)
{
	static const uint64_t numbers[] = {
		0,	    1,
		7,	    0x7f,
		0x80,	    0xff,
		0xffff,	    0x7fffffff,
		0x80000000, 0xfffffff0,
		0xffffffff, 0x7fffffffffffffff,
		UINT64_MAX, UINT64_MAX - 7,
	};
	uint64_t number = numbers[next_random(sizeof(numbers) / sizeof(*numbers))];
	size_t n = (size_t)1 << next_random(4), from;

	switch (next_random(8)) {
	case 0 ... 1:
		data[at] ^= (uint8_t)(1 << next_random(8));
		break;
	case 2:
		data[at] = (uint8_t)next_random(256);
		break;
	case 3 ... 4:
		memcpy(data + at, &number, n < len - at ? n : len - at);
		break;
	case 5:
		data[at] = (uint8_t)(data[at] + next_random(9) - 4);
		break;
	case 6:
		n = 1 + next_random(64);
		from = next_random(len);
		n = n < len - at ? n : len - at;
		memmove(data + at, data + from, n < len - from ? n : len - from);
		break;
	default:
		return next_random(4) ? len : at + 1;
	}
	return len;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Returns whether it was good nevertheless. */
static bool try_one(const struct seed *seed)
{
	_cleanup_free_ uint8_t *data = malloc(seed->len);
	struct seed damaged = { data, seed->len };

	memcpy(data, seed->data, seed->len);
	for (uint64_t n = 1 + next_random(6); n && damaged.len > 1; n--) {
		size_t at = place(&damaged);

		if (at && at < damaged.len)
			damaged.len = change(data, damaged.len, at);
	}
	/* A copy of its own size, so that the sanitizer sees who reads behind it. */
	if (damaged.len < seed->len)
		data = realloc(data, damaged.len);
	return fuzz_cfi(data, damaged.len);
}

static void test_mutations(void **state)
{
	const char *seed = getenv("EBT_MUTATE_SEED");
	uint64_t good = 0, slowest = 0, begin = now();

	(void)state;
	if (seed)
		random_state = strtoull(seed, NULL, 0) | 1;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t start = now(), time;

		good += try_one(&seeds[next_random(n_seeds)]);
		time = now() - start;
		slowest = time > slowest ? time : slowest;
	}
	print_message("%u inputs in %" PRIu64 " ms, the slowest in %" PRIu64 " us; %" PRIu64
		      " were not refused\n",
		      ROUNDS, (now() - begin) / 1000000, slowest / 1000, good);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_mutations) };

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
