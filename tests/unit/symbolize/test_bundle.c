/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that a trace carries, and rows of them that make no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "symbolize/bundle.h"
#include "tests/tools/raw_trace.h"

struct names {
	struct trace trace;
	struct ebt_record rec;
	struct ebt_reader *reader;
	struct funcs funcs;
	struct bundle *bundle;
};

static void begin(struct names *n)
{
	*n = (struct names){ .rec = EBT_RECORD_INIT };
	trace_begin(&n->trace, (struct ebt_writer_options){ 0 });
}

static void add_object(struct names *n, uint64_t id, const char *path, const char *build_id)
{
	struct ebt_wire_name_object *row = ebt_record_begin(&n->rec, EBT_T_name_object, 1);

	row->object_id = id;
	ebt_record_str(&n->rec, offsetof(struct ebt_wire_name_object, path), path);
	ebt_record_str(&n->rec, offsetof(struct ebt_wire_name_object, build_id), build_id);
	ok(ebt_record_add(&n->rec, n->trace.stream));
}

static void add_frame(struct names *n, uint64_t id, uint64_t offset, uint32_t depth,
		      const char *name, uint32_t line)
{
	struct ebt_wire_name_frame *row = ebt_record_begin(&n->rec, EBT_T_name_frame, 1);

	row->object_id = id;
	row->offset = offset;
	row->depth = depth;
	row->line = line;
	row->address = 0x1234;
	ebt_record_str(&n->rec, offsetof(struct ebt_wire_name_frame, name), name);
	ebt_record_str(&n->rec, offsetof(struct ebt_wire_name_frame, file), line ? "a.c" : "");
	ok(ebt_record_add(&n->rec, n->trace.stream));
}

static void finish(struct names *n)
{
	char path[64];

	trace_finish(&n->trace);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", n->trace.fd);
	ok(ebt_reader_open(path, &n->reader));
	funcs_init(&n->funcs);
	ok(bundle_create(n->reader, &n->funcs, &n->bundle));
}

static void end(struct names *n)
{
	bundle_destroy(n->bundle);
	funcs_deinit(&n->funcs);
	ebt_reader_close(n->reader);
	ebt_record_deinit(&n->rec);
	trace_end(&n->trace);
}

static struct bundle_hit find(const struct names *n, const char *path, const char *build_id,
			      uint64_t offset, bool caller)
{
	struct addrspace_object object = { .path = (char *)path };

	object.id.len = (uint8_t)strlen(build_id);
	memcpy(object.id.bytes, build_id, object.id.len);
	return bundle_find(n->bundle, &object, offset, caller);
}

static void names_by_identity(void **state)
{
	struct names n;
	struct bundle_hit hit;

	(void)state;
	begin(&n);
	add_object(&n, 7, "/bin/a", "AAAA");
	add_object(&n, 8, "/bin/plain", "");
	add_frame(&n, 7, 0x10, 0, "inner", 5);
	add_frame(&n, 7, 0x10, 1, "outer", 0);
	add_frame(&n, 7, 0x20, 0, "", 0);
	add_frame(&n, 8, 0x10, 0, "other", 0);
	finish(&n);

	/* By build-id, wherever the file was. */
	hit = find(&n, "/elsewhere", "AAAA", 0x10, false);
	assert_true(hit.there);
	assert_int_equal(hit.n, 2);
	assert_string_equal(hit.frames[0].name, "inner");
	assert_string_equal(hit.frames[0].file, "a.c");
	assert_int_equal(hit.frames[0].line, 5);
	assert_string_equal(hit.frames[1].name, "outer");
	assert_null(hit.frames[1].file);
	/* Known to have no name. */
	hit = find(&n, "/bin/a", "AAAA", 0x20, false);
	assert_true(hit.there);
	assert_int_equal(hit.n, 0);
	assert_int_equal(hit.address, 0x1234);
	/* Another build, another kind of address, another place, a path where there is a build-id.
	 */
	assert_false(find(&n, "/bin/a", "BBBB", 0x10, false).there);
	assert_false(find(&n, "/bin/a", "AAAA", 0x10, true).there);
	assert_false(find(&n, "/bin/a", "AAAA", 0x11, false).there);
	assert_false(find(&n, "/bin/a", "", 0x10, false).there);
	assert_true(find(&n, "/bin/plain", "", 0x10, false).there);
	assert_false(find(&n, "/bin/plain", "AAAA", 0x20 + 1, false).there);
	end(&n);
}

static void later_rows_count(void **state)
{
	struct names n;
	struct bundle_hit hit;

	(void)state;
	begin(&n);
	add_object(&n, 1, "/bin/a", "AAAA");
	add_object(&n, 2, "/moved/a", "AAAA");
	add_frame(&n, 1, 0x10, 0, "", 0);
	add_frame(&n, 2, 0x10, 0, "found", 0);
	finish(&n);
	hit = find(&n, "/bin/a", "AAAA", 0x10, false);
	assert_int_equal(hit.n, 1);
	assert_string_equal(hit.frames[0].name, "found");
	end(&n);
}

static void nonsense_is_passed_over(void **state)
{
	struct names n;
	char long_id[65] = { 0 };

	(void)state;
	memset(long_id, 'x', 64);
	begin(&n);
	add_object(&n, 1, "/bin/a", "AAAA");
	add_object(&n, 1, "/bin/b", "BBBB"); /* a number is of one object */
	add_object(&n, 2, "/bin/c", long_id);
	add_frame(&n, 9, 0x10, 0, "of no object", 0);
	add_frame(&n, 2, 0x10, 0, "of no build", 0);
	add_frame(&n, 1, 0x20, 1, "without an inner one", 0);
	add_frame(&n, 1, 0x30, 0, "kept", 0);
	add_frame(&n, 1, 0x31, 1, "of another place", 0);
	add_frame(&n, 1, 0x40, 0, "one", 0);
	add_frame(&n, 1, 0x40, 2, "not the next", 0);
	for (uint32_t i = 0; i < 1000; i++)
		add_frame(&n, 1, 0x50, i, "deep", 0);
	finish(&n);
	assert_false(find(&n, "/bin/b", "BBBB", 0x30, false).there);
	assert_false(find(&n, "/bin/a", "AAAA", 0x10, false).there);
	assert_false(find(&n, "/bin/a", "AAAA", 0x20, false).there);
	assert_int_equal(find(&n, "/bin/a", "AAAA", 0x30, false).n, 1);
	assert_false(find(&n, "/bin/a", "AAAA", 0x31, false).there);
	assert_int_equal(find(&n, "/bin/a", "AAAA", 0x40, false).n, 1);
	assert_in_range(find(&n, "/bin/a", "AAAA", 0x50, false).n, 1, 128);
	end(&n);
}

static void without_names(void **state)
{
	struct names n;

	(void)state;
	begin(&n);
	add_syscall(n.trace.stream, 1, 7, 0);
	finish(&n);
	assert_null(n.bundle);
	assert_false(find(&n, "/bin/a", "AAAA", 0x10, false).there);
	end(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_by_identity),
		cmocka_unit_test(later_rows_count),
		cmocka_unit_test(nonsense_is_passed_over),
		cmocka_unit_test(without_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
