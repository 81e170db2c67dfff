/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What makes a file the recorded one: content, or size and time, where it has no build-id; and what
 * the trace says about segments where only a file of debug information is here. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "symbolize/files/finder.h"
#include "tests/tools/make_trace.h"
#include "tests/tools/symtools.h"
#include "tests/tools/symtrace.h"

#define MTIME_NS INT64_C(1600000000123456789)

struct fixture {
	struct symtrace *trace;
	struct finder finder;
	struct found found;
};

static void find(struct fixture *f, const struct symtrace_object *objects, size_t n,
		 const struct sym_build_id *id, const char *debug_dir)
{
	const char *dirs[] = { debug_dir, NULL };
	const struct sym_options options = { .debug_dirs = dirs };

	*f = (struct fixture){ .trace = symtrace_create() };
	for (size_t i = 0; i < n; i++)
		symtrace_object(f->trace, &objects[i]);
	assert_no_error(finder_init(&f->finder, symtrace_read(f->trace), &options));
	assert_no_error(finder_find(&f->finder, objects[0].path, id, &f->found));
}

static void end(struct fixture *f)
{
	found_deinit(&f->found);
	finder_deinit(&f->finder);
	symtrace_destroy(f->trace);
}

static void set_time(const char *path, int64_t ns)
{
	const struct timespec times[2] = { { 0, UTIME_OMIT },
					   { ns / 1000000000, ns % 1000000000 } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* The hash as the xxhsum command prints it: another program than ours. */
static void hash_of(const char *name, uint8_t ret[16])
{
	char *text = symtools_output("xxhsum -H128 %s 2>/dev/null", name);

	for (int i = 0; i < 16; i++) {
		char digits[3] = { text[2 * i], text[2 * i + 1] };

		ret[i] = strtoul(digits, NULL, 16);
	}
	free(text);
}

static const char *make_program(const char *options)
{
	symtools_run("gcc -g -O1 %s -o prog $SRC/symbols.c", options);
	set_time(symtools_path("prog"), MTIME_NS);
	return symtools_path("prog");
}

static const struct sym_build_id none;

static void test_size_and_time(void **state)
{
	const char *path = make_program("-Wl,--build-id=none");
	struct symtrace_object object = {
		.path = path,
		.size = size_of(path),
		.mtime_ns = MTIME_NS,
	};
	struct sym_tally tally;
	struct fixture f;

	(void)state;
	find(&f, &object, 1, &none, NULL);
	assert_int_equal(f.found.reason, SYM_OK);
	assert_non_null(f.found.main);
	assert_int_equal(f.found.match, MATCH_SIZE_TIME);
	finder_tally(&f.finder, &tally);
	assert_int_equal(tally.by_time, 1);
	end(&f);

	set_time(path, MTIME_NS + 1);
	find(&f, &object, 1, &none, NULL);
	assert_int_equal(f.found.reason, SYM_CONTENT_DIFFERS);
	assert_null(f.found.main);
	assert_string_equal(f.found.refused, path);
	finder_tally(&f.finder, &tally);
	assert_int_equal(tally.by_time, 0);
	end(&f);

	object.size++;
	set_time(path, MTIME_NS);
	find(&f, &object, 1, &none, NULL);
	assert_int_equal(f.found.reason, SYM_CONTENT_DIFFERS);
	end(&f);

	/* A time that is not known is no time. */
	object = (struct symtrace_object){ .path = path, .size = size_of(path) };
	set_time(path, 0);
	find(&f, &object, 1, &none, NULL);
	assert_int_equal(f.found.reason, SYM_CONTENT_DIFFERS);
	end(&f);
}

static void test_hash(void **state)
{
	const char *path = make_program("-Wl,--build-id=none");
	uint8_t hash[16];
	struct symtrace_object objects[2] = { {
		.path = path,
		.size = size_of(path),
		.mtime_ns = MTIME_NS,
		.hash = hash,
	} };
	struct fixture f;

	(void)state;
	hash_of("prog", hash);
	set_time(path, MTIME_NS + 5);
	find(&f, objects, 1, &none, NULL);
	assert_int_equal(f.found.reason, SYM_OK);
	assert_int_equal(f.found.match, MATCH_HASH);
	end(&f);

	/* Size and time do not help where the content is another. */
	symtools_run("printf X | dd of=prog bs=1 seek=100 conv=notrunc 2>/dev/null");
	set_time(path, MTIME_NS);
	find(&f, objects, 1, &none, NULL);
	assert_int_equal(f.found.reason, SYM_CONTENT_DIFFERS);
	end(&f);

	/* Two files were at this path: nobody knows which is meant. */
	make_program("-Wl,--build-id=none");
	objects[1] = objects[0];
	objects[1].size++;
	find(&f, objects, 2, &none, NULL);
	assert_int_equal(f.found.reason, SYM_NO_BUILD_ID);
	assert_null(f.found.main);
	end(&f);
}

/* The mapping had none, but whoever looked at the file later found one. */
static void test_id_of_object(void **state)
{
	const char *path = make_program("-Wl,--build-id=sha1");
	struct symtrace_object object = { .path = path };
	struct fixture f;

	(void)state;
	object.id.len = symtools_build_id("prog", object.id.bytes);
	find(&f, &object, 1, &none, NULL);
	assert_int_equal(f.found.reason, SYM_OK);
	assert_int_equal(f.found.match, MATCH_BUILD_ID);
	end(&f);
	object.id.bytes[3] ^= 1;
	find(&f, &object, 1, &none, NULL);
	assert_int_equal(f.found.reason, SYM_BUILD_ID_DIFFERS);
	end(&f);
}

static void put_u64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = v >> 8 * i;
}

/* Several executable segments: only what was recorded says which offset is whose. */
static void test_segments(void **state)
{
	static const uint64_t segments[][5] = {
		{ 0x0, 0x400000, 0x500, 0x500, 4 },
		{ 0x1000, 0x401000, 0x2000, 0x2000, 5 },
		{ 0x9000, 0x501000, 0x1000, 0x1000, 5 },
	};
	const char *path = make_program("-Wl,--build-id=sha1");
	uint8_t bytes[sizeof(segments)];
	struct symtrace_object object = { .path = path, .segments = bytes };
	struct sym_build_id id = { 0 };
	struct fixture f;
	uint64_t address;

	(void)state;
	for (size_t i = 0; i < sizeof(segments) / 8; i++)
		put_u64(bytes + 8 * i, (&segments[0][0])[i]);
	id.len = symtools_build_id("prog", id.bytes);
	object.id = id;
	object.segments_len = sizeof(bytes);
	symtools_run(
		"mkdir -p debug && objcopy --only-keep-debug prog debug/prog.debug && rm prog");
	find(&f, &object, 1, &id, symtools_path("debug"));
	assert_null(f.found.main);
	assert_non_null(f.found.debug);
	assert_true(elf_file_address(f.found.debug, 0x9010, &address));
	assert_int_equal(address, 0x501010);
	assert_true(elf_file_address(f.found.debug, 0x1010, &address));
	assert_int_equal(address, 0x401010);
	end(&f);
	/* Cut, or too large to be summed up: not believed. */
	object.segments_len--;
	find(&f, &object, 1, &id, symtools_path("debug"));
	assert_non_null(f.found.debug);
	assert_false(elf_file_address(f.found.debug, 0x9010, &address));
	end(&f);
	memset(bytes, 0xff, sizeof(bytes));
	object.segments_len = sizeof(bytes);
	find(&f, &object, 1, &id, symtools_path("debug"));
	assert_non_null(f.found.debug);
	assert_false(elf_file_address(f.found.debug, 0x9010, &address));
	end(&f);
}

static int clean(void **state)
{
	(void)state;
	symtools_clean();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_size_and_time, clean),
		cmocka_unit_test_teardown(test_hash, clean),
		cmocka_unit_test_teardown(test_id_of_object, clean),
		cmocka_unit_test_teardown(test_segments, clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
