/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of generated code: perf maps, jitdump files, and whose they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolize/runtimes/jit_files.h"
#include "symbolize/symbolize.h"
#include "tests/tools/jit_data.h"
#include "tests/tools/make_trace.h"
#include "tests/tools/next_random.h"
#include "tests/tools/symtrace.h"

#define LATER (UINT64_C(1) << 60)

/* --- perf maps --- */

static struct jit_map *map_of(const char *text, size_t len)
{
	struct jit_map *map;
	char *copy = malloc(len + 1);

	memcpy(copy, text, len);
	assert_no_error(jit_map_create(copy, len, &map));
	return map;
}

/* name NULL: nothing is there. */
static void assert_map(const struct jit_map *map, uint64_t address, const char *name)
{
	struct jit_hit hit = jit_map_find(map, address);

	assert_int_equal(!hit.name, !name);
	if (name) {
		assert_int_equal(hit.name_len, strlen(name));
		assert_memory_equal(hit.name, name, strlen(name));
	}
}

static void test_map(void **state)
{
	static const char text[] = "1000 100 first\n"
				   "0x2000 0x10 with spaces (and more)\n"
				   "3000 20 \xff\xfe\n"
				   "4000 20 dos\r\n"
				   "ABCDEF 1 upper\n"
				   "ffffffffffffff00 ff top";
	struct jit_map *map;

	(void)state;
	map = map_of(text, strlen(text));
	assert_map(map, 0xfff, NULL);
	assert_map(map, 0x1000, "first");
	assert_map(map, 0x10ff, "first");
	assert_map(map, 0x1100, NULL);
	assert_map(map, 0x200f, "with spaces (and more)");
	assert_map(map, 0x3000, "\xff\xfe");
	assert_map(map, 0x4000, "dos");
	assert_map(map, 0xabcdef, "upper");
	/* No newline: it was cut. */
	assert_map(map, UINT64_C(0xffffffffffffff00), NULL);
	jit_map_destroy(map);
}

static void test_map_overlap(void **state)
{
	static const char text[] = "1000 100 a\n1040 20 b\n1050 100 c\n1000 10 d\n1200 0 none\n";
	struct jit_map *map = map_of(text, strlen(text));

	(void)state;
	assert_map(map, 0x1000, "d");
	assert_map(map, 0x100f, "d");
	assert_map(map, 0x1010, "a");
	assert_map(map, 0x103f, "a");
	assert_map(map, 0x1040, "b");
	assert_map(map, 0x104f, "b");
	assert_map(map, 0x1050, "c");
	assert_map(map, 0x114f, "c");
	assert_map(map, 0x1150, NULL);
	assert_map(map, 0x1200, NULL);
	jit_map_destroy(map);
}

static void test_map_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"\n\n",
		"zz 10 name\n",
		"10\n",
		"10 \n",
		"10 20\n",
		"10 20 \n",
		"0x 20 name\n",
		"10 0x name\n",
		"10000000000000001 10 long\n",
		"10 10000000000000000 long\n",
		"10 0 empty\n",
		"ffffffffffffffff 2 wraps\n",
		"-10 20 negative\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct jit_map *map = map_of(lines[i], strlen(lines[i]));

		assert_map(map, 0x10, NULL);
		assert_map(map, 0, NULL);
		assert_map(map, UINT64_MAX, NULL);
		jit_map_destroy(map);
	}
}

/* Against an array with one name for each address. */
static void test_map_random(void **state)
{
	enum { SPACE = 256 };

	(void)state;
	for (int round = 0; round < 500; round++) {
		char text[8192], names[SPACE] = "";
		unsigned int entries = 1 + next_random(60);
		struct jit_map *map;
		size_t len = 0;

		for (unsigned int e = 0; e < entries; e++) {
			unsigned int start = next_random(SPACE), size = 1 + next_random(40);
			char name = 'A' + e;

			size = start + size > SPACE ? SPACE - start : size;
			len += snprintf(text + len, sizeof(text) - len, "%x %x %c\n", start, size,
					name);
			memset(names + start, name, size);
		}
		map = map_of(text, len);
		for (unsigned int i = 0; i < SPACE; i++) {
			struct jit_hit hit = jit_map_find(map, i);

			assert_int_equal(hit.name ? hit.name[0] : 0, names[i]);
		}
		jit_map_destroy(map);
	}
}

/* As many as there may be, each over the one before: no blow-up of time or memory. */
static void test_map_large(void **state)
{
	const size_t n = JIT_MAP_MAX_ENTRIES + 1000, room = 32;
	char *text = malloc(n * room);
	struct jit_map *map;
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < n; i++)
		len += snprintf(text + len, room, "%zx %zx %zu\n", 0x1000 + i, 2 * n - i, i);
	assert_no_error(jit_map_create(text, len, &map));
	assert_map(map, 0x1000, "0");
	assert_map(map, 0x1000 + 77, "77");
	assert_map(map, 0x1000 + n - 1, "2097151"); /* what came later was not taken */
	assert_true(jit_map_size(map) < 256u << 20);
	jit_map_destroy(map);
}

/* --- jitdump --- */

static struct jit_dump *dump_of(struct jit_data *d)
{
	struct jit_dump *dump;

	assert_no_error(jit_dump_create((char *)d->data, d->len, LATER, &dump));
	return dump;
}

static struct jit_hit find(struct jit_dump *dump, uint64_t address, uint64_t time)
{
	struct jit_hit hit;

	assert_no_error(jit_dump_find(dump, address, time, &hit));
	assert_true(hit.from <= time && time < hit.to);
	return hit;
}

static void assert_dump(struct jit_dump *dump, uint64_t address, uint64_t time, const char *name)
{
	struct jit_hit hit = find(dump, address, time);

	assert_int_equal(!hit.name, !name);
	if (name)
		assert_string_equal(hit.name, name);
}

static void test_dump_times(void **state)
{
	struct jit_data d;
	struct jit_dump *dump;

	(void)state;
	jit_data_init(&d, 50, 0);
	jit_data_load(&d, 100, 1, 0x1000, 0x40, "one");
	/* Out of order, as threads write. */
	jit_data_load(&d, 300, 3, 0x1020, 0x40, "three");
	jit_data_load(&d, 200, 2, 0x1000, 0x40, "two");
	jit_data_move(&d, 400, 1, 0x1000, 0x5000, 0x40);
	jit_data_move(&d, 500, 99, 0x5000, 0x6000, 0x40); /* of what nobody knows */
	jit_data_record(&d, 77, 600, "unknown", 8);
	jit_data_load(&d, 700, 4, 0x7000, 0x10, "four");
	jit_data_record(&d, 3, 800, "", 0);
	jit_data_load(&d, 900, 5, 0x8000, 0x10, "behind the end");
	dump = dump_of(&d);
	assert_dump(dump, 0x1000, 99, NULL);
	assert_dump(dump, 0x1000, 100, "one");
	assert_dump(dump, 0x103f, 199, "one");
	assert_dump(dump, 0x1000, 200, "two");
	assert_dump(dump, 0x1020, 299, "two");
	assert_dump(dump, 0x1020, 300, "three");
	assert_dump(dump, 0x101f, 300, "two");
	assert_dump(dump, 0x105f, 300, "three");
	assert_dump(dump, 0x1000, 400, NULL);
	assert_dump(dump, 0x5010, 399, NULL);
	assert_dump(dump, 0x5010, 550, "one");
	assert_dump(dump, 0x6000, 550, NULL);
	assert_dump(dump, 0x7000, 700, "four");
	assert_dump(dump, 0x8000, 1000, NULL);
	jit_dump_destroy(dump);
}

static void test_dump_lines(void **state)
{
	static const struct jit_line lines[] = {
		{ 0x1000, 10, "/a.c" },
		{ 0x1010, 12, NULL },
		{ 0x1008, 20, "/b.h" },
	};
	struct jit_data d;
	struct jit_dump *dump;

	(void)state;
	jit_data_init(&d, 50, 0);
	jit_data_lines(&d, 0x1000, lines, 3);
	jit_data_load(&d, 100, 1, 0x1000, 0x40, "described");
	jit_data_load(&d, 100, 2, 0x2000, 0x40, "plain");
	jit_data_move(&d, 200, 1, 0x1000, 0x9000, 0x40);
	dump = dump_of(&d);
	assert_int_equal(find(dump, 0x1000, 100).line, 10);
	assert_string_equal(find(dump, 0x1000, 100).file, "/a.c");
	assert_int_equal(find(dump, 0x100f, 100).line, 20);
	assert_string_equal(find(dump, 0x100f, 100).file, "/b.h");
	assert_int_equal(find(dump, 0x1030, 100).line, 12);
	assert_string_equal(find(dump, 0x1030, 100).file, "/a.c");
	assert_int_equal(find(dump, 0x9030, 200).line, 12);
	assert_null(find(dump, 0x2000, 100).file);
	jit_dump_destroy(dump);
}

/* Times of a counter of the CPU, or of another clock, mean nothing here. */
static void test_dump_other_clock(void **state)
{
	(void)state;
	for (int flag = 0; flag < 2; flag++) {
		struct jit_data d;
		struct jit_dump *dump;

		jit_data_init(&d, flag ? 1 : 2 * LATER, flag);
		jit_data_load(&d, 3 * LATER, 1, 0x1000, 0x40, "old");
		jit_data_load(&d, 4 * LATER, 1, 0x1000, 0x40, "new");
		dump = dump_of(&d);
		assert_dump(dump, 0x1000, 5, "new");
		jit_dump_destroy(dump);
	}
}

static void test_dump_refused(void **state)
{
	(void)state;
	for (int kind = 0; kind < 6; kind++) {
		unsigned char body[48] = { 0 };
		struct jit_data d;
		struct jit_dump *dump;
		uint32_t value;

		jit_data_init(&d, 1, 0);
		if (kind == 0)
			d.data[0] = 'X';
		else if (kind == 1)
			memset(d.data + 8, 0xff, 4); /* length of the header */
		else if (kind == 2)
			d.len = 39;
		else if (kind == 3)
			jit_data_record(&d, 0, 5, body, 40); /* without a name */
		else if (kind == 4)
			jit_data_record(&d, 0, 5, memset(body, 'x', 48), 48); /* no end of it */
		if (kind < 5 && kind != 2)
			jit_data_load(&d, 5, 1, 0x1000, 0x40, "good");
		if (kind == 5) {
			value = 8; /* shorter than its own head */
			jit_data_record(&d, 5, 5, "", 0);
			memcpy(d.data + d.len - 12, &value, 4);
			jit_data_load(&d, 5, 1, 0x1000, 0x40, "behind a bad one");
		}
		dump = dump_of(&d);
		assert_dump(dump, 0x1000, 10, kind == 3 || kind == 4 ? "good" : NULL);
		jit_dump_destroy(dump);
	}
}

/* --- whose they are --- */

#define PID 10

struct fixture {
	struct symtrace *trace;
	struct sym *sym;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->trace = symtrace_create();
	symtrace_task(f->trace, PID, PID, 5);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	sym_destroy(f->sym);
	symtrace_destroy(f->trace);
	free(f);
	return 0;
}

static void map_code(struct fixture *f, uint64_t time, uint32_t pid, const char *path)
{
	symtrace_mmap(f->trace, time, pid,
		      &(struct symtrace_mapping){
			      .start = 0x1000, .length = 0x1000, .path = path });
}

static void give_map(struct fixture *f, uint64_t time, uint32_t pid, const char *text)
{
	symtrace_file_of(f->trace, time, pid, "perf_map", text, strlen(text));
}

static struct sym_frame frame_at(struct fixture *f, uint32_t pid, uint64_t start, uint64_t time,
				 uint64_t address)
{
	const struct ebt_task task = { .tid = pid, .pid = pid, .start_ns = start };
	static const struct sym_options options;
	struct sym_frames frames;

	if (!f->sym)
		assert_no_error(sym_create(symtrace_read(f->trace), &options, &f->sym));
	assert_no_error(sym_resolve(f->sym, &task, time, EBT_STACK_USER, address, false, &frames));
	assert_int_equal(frames.n, 1);
	return frames.frames[0];
}

/* NULL: without a name, as anonymous memory. */
static void assert_name(struct fixture *f, uint32_t pid, uint64_t start, uint64_t time,
			const char *name)
{
	const struct sym_func *func = frame_at(f, pid, start, time, 0x1008).func;

	assert_int_equal(func->kind, SYM_JIT);
	assert_int_equal(func->reason, name ? SYM_OK : SYM_ANONYMOUS);
	assert_string_equal(func->name, name ? name : "0x1008");
}

static void test_memory(void **state)
{
	static const char *const paths[] = {
		"//anon", "/memfd:jit (deleted)",   "/dev/zero (deleted)", "[anon:v8]",
		"[heap]", "/SYSV00000000 (deleted)"
	};
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 6; i++) {
		symtrace_task(f->trace, 20 + i, 20 + i, 6);
		map_code(f, 100, 20 + i, paths[i]);
		give_map(f, 900, 20 + i, "1000 10 generated\n");
	}
	map_code(f, 100, PID, "//anon");
	for (uint32_t i = 0; i < 6; i++)
		assert_name(f, 20 + i, 6, 200, "generated");
	/* Not everybody's. */
	assert_name(f, PID, 5, 200, NULL);
	assert_string_equal(frame_at(f, 20, 6, 200, 0x1008).func->object, "[jit]");
	assert_int_equal(frame_at(f, 20, 6, 200, 0x1010).func->reason, SYM_ANONYMOUS);
}

/* Two maps of one process, and a pid that is used again. */
static void test_versions(void **state)
{
	struct fixture *f = *state;

	map_code(f, 100, PID, "//anon");
	give_map(f, 300, PID, "1000 10 early\n1100 10 gone later\n");
	give_map(f, 600, PID, "1000 10 late\n1200 10 new\n");
	symtrace_exit(f->trace, 600, PID);
	symtrace_task(f->trace, PID, PID, 700);
	symtrace_fork(f->trace, 700, 1, PID, false);
	map_code(f, 710, PID, "//anon");
	give_map(f, 900, PID, "1000 10 another\n");
	assert_name(f, PID, 5, 200, "early");
	assert_name(f, PID, 5, 300, "early");
	assert_name(f, PID, 5, 301, "late");
	assert_name(f, PID, 5, 599, "late");
	assert_name(f, PID, 5, 200, "early");
	assert_string_equal(frame_at(f, PID, 5, 400, 0x1108).func->name, "gone later");
	assert_string_equal(frame_at(f, PID, 5, 200, 0x1208).func->name, "new");
	assert_name(f, PID, 700, 800, "another");
	assert_int_equal(frame_at(f, PID, 700, 800, 0x1108).func->reason, SYM_ANONYMOUS);
}

static void test_exec(void **state)
{
	struct fixture *f = *state;

	map_code(f, 100, PID, "//anon");
	give_map(f, 499, PID, "1000 10 before\n");
	symtrace_exec(f->trace, 500, PID, "/bin/other");
	map_code(f, 600, PID, "//anon");
	give_map(f, 900, PID, "1000 10 after\n");
	assert_name(f, PID, 5, 499, "before");
	assert_name(f, PID, 5, 700, "after");
	assert_int_equal(frame_at(f, PID, 5, 550, 0x1108).func->reason, SYM_NO_MAPPING);
}

/* A child has its parent's code, until it runs another program. */
static void test_fork(void **state)
{
	struct fixture *f = *state;

	symtrace_task(f->trace, 20, 20, 200);
	symtrace_task(f->trace, 30, 30, 300);
	map_code(f, 100, PID, "//anon");
	give_map(f, 900, PID, "1000 10 parent's\n1800 10 both\n");
	symtrace_fork(f->trace, 200, PID, 20, false);
	symtrace_fork(f->trace, 300, 20, 30, false);
	map_code(f, 350, 30, "//anon");
	give_map(f, 800, 30, "1800 10 grandchild's\n");
	symtrace_exec(f->trace, 400, 20, "/bin/other");
	map_code(f, 450, 20, "//anon");
	assert_name(f, 20, 200, 250, "parent's");
	assert_name(f, 30, 300, 380, "parent's");
	assert_string_equal(frame_at(f, 30, 300, 380, 0x1808).func->name, "grandchild's");
	assert_string_equal(frame_at(f, 20, 200, 380, 0x1808).func->name, "both");
	assert_name(f, 20, 200, 500, NULL);
}

static void test_dump_first(void **state)
{
	struct fixture *f = *state;
	struct jit_data d;

	map_code(f, 100, PID, "//anon");
	give_map(f, 900, PID, "1000 10 map\n");
	jit_data_init(&d, 50, 0);
	jit_data_load(&d, 200, 1, 0x1000, 0x10, "dump");
	jit_data_load(&d, 400, 2, 0x1000, 0x10, "_ZN2ns4calcEi");
	symtrace_file_of(f->trace, 900, PID, "jitdump", d.data, d.len);
	jit_data_deinit(&d);
	assert_name(f, PID, 5, 150, "map");
	assert_name(f, PID, 5, 200, "dump");
	assert_name(f, PID, 5, 399, "dump");
	assert_name(f, PID, 5, 400, "ns::calc(int)");
	assert_name(f, PID, 5, 150, "map");
}

/* Files that are none, and one that is of no process. */
static void test_useless(void **state)
{
	struct fixture *f = *state;

	map_code(f, 100, PID, "//anon");
	give_map(f, 900, PID, "no map at all");
	give_map(f, 900, 99, "1000 10 of nobody\n");
	give_map(f, 900, 0, "1000 10 of no process\n");
	symtrace_file_of(f->trace, 900, PID, "jitdump", "", 0);
	symtrace_file_of(f->trace, 900, PID, "jitdump", "DTiJ", 4);
	assert_name(f, PID, 5, 200, NULL);
}

static void test_names(void **state)
{
	static const struct {
		const char *line, *name, *object, *file;
		uint32_t number;
	} cases[] = {
		{ "py::Class.method:/lib/mod.py", "Class.method (mod.py)", "/lib/mod.py",
		  "/lib/mod.py", 0 },
		{ "py::<module>:<frozen importlib>", "<module> (<frozen importlib>)",
		  "<frozen importlib>", "<frozen importlib>", 0 },
		{ "py::f:C:/x.py", "f (x.py)", "C:/x.py", "C:/x.py", 0 },
		{ "py::", "py::", "[jit]", NULL, 0 },
		{ "py::f", "py::f", "[jit]", NULL, 0 },
		{ "py::f:", "py::f:", "[jit]", NULL, 0 },
		{ "JS:*fib /app/x.js:12:34", "JS:*fib /app/x.js:12:34", "[jit]", "/app/x.js", 12 },
		{ "LazyCompile:~ file:///a b/y.mjs:3:1", "LazyCompile:~ file:///a b/y.mjs:3:1",
		  "[jit]", "/a b/y.mjs", 3 },
		{ "JS:^next node:internal/timers:5:6", "JS:^next node:internal/timers:5:6", "[jit]",
		  "node:internal/timers", 5 },
		{ "Builtin:ArrayMap", "Builtin:ArrayMap", "[jit]", NULL, 0 },
		{ "RegExp:a b:1:", "RegExp:a b:1:", "[jit]", NULL, 0 },
		{ "x :1:2", "x :1:2", "[jit]", NULL, 0 },
		{ "x f:99999999999:2", "x f:99999999999:2", "[jit]", NULL, 0 },
		{ "_ZN3foo3barEv", "foo::bar()", "[jit]", NULL, 0 },
	};
	const size_t n = sizeof(cases) / sizeof(*cases);
	struct fixture *f = *state;
	char text[8192];
	size_t len = 0;

	map_code(f, 100, PID, "//anon");
	for (size_t i = 0; i < n; i++)
		len += snprintf(text + len, sizeof(text) - len, "%zx 10 %s\n", 0x1000 + 16 * i,
				cases[i].line);
	len += snprintf(text + len, sizeof(text) - len, "1f00 10 %02000d\n", 0);
	give_map(f, 900, PID, text);
	for (size_t i = 0; i < n; i++) {
		struct sym_frame frame = frame_at(f, PID, 5, 200, 0x1000 + 16 * i);

		assert_string_equal(frame.func->name, cases[i].name);
		assert_string_equal(frame.func->object, cases[i].object);
		assert_int_equal(!frame.file, !cases[i].file);
		if (cases[i].file)
			assert_string_equal(frame.file, cases[i].file);
		assert_int_equal(frame.line, cases[i].number);
	}
	assert_int_equal(strlen(frame_at(f, PID, 5, 200, 0x1f00).func->name), 512);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_overlap),
		cmocka_unit_test(test_map_refused),
		cmocka_unit_test(test_map_random),
		cmocka_unit_test(test_map_large),
		cmocka_unit_test(test_dump_times),
		cmocka_unit_test(test_dump_lines),
		cmocka_unit_test(test_dump_other_clock),
		cmocka_unit_test(test_dump_refused),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_versions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dump_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_useless, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
