/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Side-band records of every kind, of every wrong length, and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <stdlib.h>

#include "record/sideband/parse.h"

#define BUILD_ID_MISC (1 << 14)
#define MUTATIONS     20000u

/* Records are put together as perf_event_open(2) describes them, not with the parser's structs. */
struct record {
	unsigned char bytes[512];
	size_t len;
};

static void put(struct record *r, const void *value, size_t len)
{
	memcpy(r->bytes + r->len, value, len);
	r->len += len;
}

static void put16(struct record *r, uint16_t v)
{
	put(r, &v, sizeof(v));
}

static void put32(struct record *r, uint32_t v)
{
	put(r, &v, sizeof(v));
}

static void put64(struct record *r, uint64_t v)
{
	put(r, &v, sizeof(v));
}

/* A string, NUL, and zeros up to a multiple of 8. */
static void put_name(struct record *r, const char *name)
{
	size_t padded = (strlen(name) + 8) & ~(size_t)7;

	memset(r->bytes + r->len, 0, padded);
	memcpy(r->bytes + r->len, name, strlen(name));
	r->len += padded;
}

static void begin(struct record *r, uint32_t type, uint16_t misc)
{
	r->len = 0;
	put32(r, type);
	put16(r, misc);
	put16(r, 0);
}

static void end(struct record *r, uint64_t time)
{
	uint16_t size;

	put64(r, time);
	size = (uint16_t)r->len;
	memcpy(r->bytes + 6, &size, sizeof(size));
}

static void mmap2(struct record *r, bool with_build_id, const char *name)
{
	begin(r, PERF_RECORD_MMAP2, with_build_id ? BUILD_ID_MISC : 0);
	put32(r, 11);
	put32(r, 12);
	put64(r, 0x7f0000001000);
	put64(r, 0x2000);
	put64(r, 0x3000);
	if (with_build_id) {
		const unsigned char id[24] = { 20, 0, 0, 0, 0xaa, [23] = 0xbb };

		put(r, id, sizeof(id));
	} else {
		put32(r, 8);
		put32(r, 1);
		put64(r, 4711);
		put64(r, 99);
	}
	put32(r, 5);
	put32(r, 2);
	put_name(r, name);
	end(r, 123456789);
}

static void test_mmap2(void **state)
{
	struct sideband_event e;
	struct record r;

	(void)state;
	mmap2(&r, false, "/usr/lib/libx.so");
	assert_int_equal(sideband_parse(r.bytes, r.len, &e), r.len);
	assert_int_equal(e.kind, SIDEBAND_MMAP);
	assert_int_equal(e.mapping.time, 123456789);
	assert_int_equal(e.mapping.pid, 11);
	assert_int_equal(e.mapping.tid, 12);
	assert_int_equal(e.mapping.start, 0x7f0000001000);
	assert_int_equal(e.mapping.length, 0x2000);
	assert_int_equal(e.mapping.pgoff, 0x3000);
	assert_int_equal(e.mapping.dev_major, 8);
	assert_int_equal(e.mapping.dev_minor, 1);
	assert_int_equal(e.mapping.inode, 4711);
	assert_int_equal(e.generation, 99);
	assert_int_equal(e.mapping.prot, 5);
	assert_int_equal(e.mapping.flags, 2);
	assert_int_equal(e.mapping.path_len, strlen("/usr/lib/libx.so"));
	assert_memory_equal(e.mapping.path, "/usr/lib/libx.so", e.mapping.path_len);
	assert_int_equal(e.mapping.build_id.len, 0);
}

static void test_mmap2_build_id(void **state)
{
	struct sideband_event e;
	struct record r;

	(void)state;
	mmap2(&r, true, "//anon");
	/* What follows is not looked at. */
	put64(&r, UINT64_MAX);
	assert_int_equal(sideband_parse(r.bytes, r.len, &e), r.len - 8);
	assert_int_equal(e.kind, SIDEBAND_MMAP);
	assert_int_equal(e.mapping.build_id.len, 20);
	assert_int_equal(e.mapping.build_id.bytes[0], 0xaa);
	assert_int_equal(e.mapping.build_id.bytes[19], 0xbb);
	assert_int_equal(e.mapping.inode, 0);
	assert_int_equal(e.mapping.dev_major, 0);
	assert_int_equal(e.mapping.path_len, 6);

	r.bytes[40] = 21; /* longer than its field */
	assert_int_equal(sideband_parse(r.bytes, r.len, &e), r.len - 8);
	assert_int_equal(e.kind, SIDEBAND_MALFORMED);
	assert_int_equal(e.mapping.time, 123456789);
}

static void test_ksymbol(void **state)
{
	struct sideband_event e;
	struct record r;

	(void)state;
	for (uint16_t flags = 0; flags < 2; flags++) {
		begin(&r, PERF_RECORD_KSYMBOL, 0);
		put64(&r, 0xffffffffc0001000);
		put32(&r, 77);
		put16(&r, 1);
		put16(&r, flags);
		put_name(&r, "bpf_prog_1234");
		end(&r, 5);
		assert_int_equal(sideband_parse(r.bytes, r.len, &e), r.len);
		assert_int_equal(e.kind, SIDEBAND_KSYMBOL);
		assert_int_equal(e.mapping.start, 0xffffffffc0001000);
		assert_int_equal(e.mapping.length, 77);
		assert_int_equal(e.type, 1);
		assert_int_equal(e.unregister, flags);
		assert_int_equal(e.mapping.path_len, strlen("bpf_prog_1234"));
		assert_int_equal(e.mapping.time, 5);
		/* What other listeners made it longer by holds what was in the buffer before. */
		r.len -= 8;
		put64(&r, 5);
		put64(&r, 0x6f5f7372656874);
		end(&r, 0);
		assert_int_equal(sideband_parse(r.bytes, r.len, &e), r.len);
		assert_int_equal(e.mapping.time, 5);
	}
}

static void test_lost_and_others(void **state)
{
	struct sideband_event e;
	struct record r;

	(void)state;
	begin(&r, PERF_RECORD_LOST, 0);
	put64(&r, 1);
	put64(&r, 42);
	end(&r, 6);
	assert_int_equal(sideband_parse(r.bytes, r.len, &e), r.len);
	assert_int_equal(e.kind, SIDEBAND_LOST);
	assert_int_equal(e.lost, 42);
	assert_int_equal(e.mapping.time, 6);

	begin(&r, 12345, 0);
	put64(&r, 1);
	end(&r, 7);
	assert_int_equal(sideband_parse(r.bytes, r.len, &e), r.len);
	assert_int_equal(e.kind, SIDEBAND_OTHER);
}

/* Each length that a record can claim, over as many bytes as it claims. */
static void test_lengths(void **state)
{
	static const uint32_t types[] = { PERF_RECORD_MMAP2, PERF_RECORD_KSYMBOL, PERF_RECORD_LOST,
					  1 };
	struct record r;

	(void)state;
	mmap2(&r, false, "/a/rather/long/path/that/is/not/terminated");
	memset(r.bytes + 72, 'x', r.len - 72);
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		for (uint16_t size = 0; size <= r.len; size++) {
			unsigned char *exact = malloc(size ? size : 1);
			struct sideband_event e;
			size_t n;

			assert_non_null(exact);
			memcpy(r.bytes, &types[t], 4);
			memcpy(r.bytes + 6, &size, 2);
			memcpy(exact, r.bytes, size);
			n = sideband_parse(exact, size, &e);
			assert_int_equal(n, size < 16 ? 0 : size);
			if (n && e.mapping.path_len)
				assert_true(e.mapping.path + e.mapping.path_len <=
					    (char *)exact + size - 8);
			/* It claims one byte more than there is. */
			if (size)
				assert_int_equal(sideband_parse(exact, size - 1u, &e), 0);
			free(exact);
		}
	}
}

static void test_mutated(void **state)
{
	unsigned int seed = 4711, taken = 0;
	struct record r;

	(void)state;
	for (unsigned int i = 0; i < MUTATIONS; i++) {
		unsigned char *exact;
		struct sideband_event e;
		size_t done = 0, n;

		mmap2(&r, i & 1, "/usr/bin/program");
		for (unsigned int changes = 1 + (unsigned int)rand_r(&seed) % 3; changes; changes--)
			r.bytes[(unsigned int)rand_r(&seed) % (i & 2 ? 8 : r.len)] =
				(unsigned char)rand_r(&seed);
		exact = malloc(r.len);
		assert_non_null(exact);
		memcpy(exact, r.bytes, r.len);
		while ((n = sideband_parse(exact + done, r.len - done, &e))) {
			assert_true(n <= r.len - done);
			assert_true(e.mapping.build_id.len <= 20);
			done += n;
			taken++;
		}
		free(exact);
	}
	assert_true(taken > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mmap2),	cmocka_unit_test(test_mmap2_build_id),
		cmocka_unit_test(test_ksymbol), cmocka_unit_test(test_lost_and_others),
		cmocka_unit_test(test_lengths), cmocka_unit_test(test_mutated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
