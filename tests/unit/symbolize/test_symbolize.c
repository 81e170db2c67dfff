/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names from whole traces: processes, files by build-id, the kernel, and reasons for no name. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <cmocka.h>

#include "symbolize/symbolize.h"
#include "tests/tools/make_trace.h"
#include "tests/tools/symtools.h"
#include "tests/tools/symtrace.h"

#define BASE UINT64_C(0x550000000000)
#define PAGE UINT64_C(4096)
#define PID  10

struct fixture {
	struct symtrace *trace;
	struct sym *sym;
};

static const struct ebt_task task = { .tid = PID, .pid = PID, .start_ns = 5 };

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
	symtools_clean();
	return 0;
}

static struct sym_build_id id_of(const char *name)
{
	struct sym_build_id id = { 0 };

	id.len = symtools_build_id(name, id.bytes);
	return id;
}

/* Maps the executable segments of a file as a loader would, and says that its path is `path`. */
static void map_as(struct fixture *f, uint64_t time, uint64_t base, const char *name,
		   const char *path, struct sym_build_id id)
{
	struct symtools_segment segments[8];
	size_t n = symtools_segments(name, segments, 8);

	assert_true(n > 0);
	for (size_t i = 0; i < n; i++) {
		uint64_t start = segments[i].vaddr & -PAGE;
		uint64_t end = (segments[i].vaddr + segments[i].filesz + PAGE - 1) & -PAGE;

		symtrace_mmap(f->trace, time, PID,
			      &(struct symtrace_mapping){ .start = base + start,
							  .length = end - start,
							  .pgoff = segments[i].offset & -PAGE,
							  .path = path,
							  .id = id });
	}
}

static void map_file(struct fixture *f, uint64_t time, uint64_t base, const char *name)
{
	map_as(f, time, base, name, symtools_path(name), id_of(name));
}

static void open_sym(struct fixture *f, const struct sym_options *options)
{
	static const struct sym_options defaults;

	assert_no_error(
		sym_create(symtrace_read(f->trace), options ? options : &defaults, &f->sym));
}

static struct sym_frames resolve(struct fixture *f, uint64_t time, uint64_t address, bool caller)
{
	struct sym_frames frames, again;

	assert_no_error(sym_resolve(f->sym, &task, time, EBT_STACK_USER, address, caller, &frames));
	assert_true(frames.n > 0);
	/* From the cache. */
	assert_no_error(sym_resolve(f->sym, &task, time, EBT_STACK_USER, address, caller, &again));
	assert_ptr_equal(again.frames, frames.frames);
	for (size_t i = 0; i < frames.n; i++)
		assert_int_equal(frames.frames[i].inlined, i + 1 < frames.n);
	return frames;
}

static const struct sym_func *func_at(struct fixture *f, uint64_t time, uint64_t address)
{
	struct sym_frames frames = resolve(f, time, address, false);

	return frames.frames[frames.n - 1].func;
}

static uint64_t address_of(const char *name, const char *function, uint64_t *ret_size)
{
	struct symtools_symbol *symbols;
	size_t n = symtools_nm(name, "--defined-only", &symbols);
	uint64_t address = 0, size = 0;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(symbols[i].name, function))
			continue;
		address = symbols[i].start;
		size = symbols[i].size;
	}
	symtools_free_symbols(symbols, n);
	assert_int_not_equal(address, 0);
	if (ret_size)
		*ret_size = size;
	return address;
}

static void assert_unnamed(const struct sym_func *func, enum sym_reason reason, const char *name)
{
	if (func->reason != reason)
		fail_msg("%s: %s instead of %s", func->name, sym_reason_name(func->reason),
			 sym_reason_name(reason));
	assert_string_equal(func->name, name);
}

/* Looks for what was inlined into a function of `prog`. */
static void expect_inlined(struct fixture *f)
{
	struct sym_frames frames;
	uint64_t start, size;
	bool inlined = false;

	map_file(f, 100, BASE, "prog");
	open_sym(f, NULL);
	start = address_of("prog", "outer", &size);
	for (uint64_t at = 0; at < size; at++) {
		frames = resolve(f, 200, BASE + start + at, false);
		assert_string_equal(frames.frames[frames.n - 1].func->name, "outer");
		assert_string_equal(frames.frames[0].func->object, symtools_path("prog"));
		assert_int_equal(frames.frames[0].func->kind, SYM_USER);
		assert_int_equal(frames.frames[0].func->reason, SYM_OK);
		assert_int_equal(strlen(frames.frames[0].func->build_id), 40);
		if (frames.n < 3)
			continue;
		inlined = true;
		assert_string_equal(frames.frames[0].func->name, "leaf");
		assert_string_equal(frames.frames[1].func->name, "middle");
		assert_non_null(strstr(frames.frames[1].file, "symbols.c"));
		assert_int_not_equal(frames.frames[1].line, 0);
	}
	assert_true(inlined);
}

static void test_inlined(void **state)
{
	symtools_run("gcc -g -O2 -o prog $SRC/symbols.c");
	expect_inlined(*state);
}

/* What two programs share is in a third file, as Fedora has it. */
static void test_dwz(void **state)
{
	if (!symtools_try("command -v dwz"))
		skip();
	symtools_run("gcc -g -O2 -o prog $SRC/symbols.c && gcc -g -O2 -o second $SRC/symbols.c "
		     "-DSECOND && dwz -m common.debug prog second && "
		     "readelf -SW prog | grep -q gnu_debugaltlink");
	expect_inlined(*state);
}

/* Programs that have little in common share strings alone. */
static void test_dwz_strings(void **state)
{
	if (!symtools_try("command -v dwz"))
		skip();
	symtools_run("echo 'int main(void) { return 0; }' >second.c && "
		     "gcc -gdwarf-4 -O2 -o prog $SRC/symbols.c && "
		     "gcc -gdwarf-4 -O2 -o second second.c && dwz -m common.debug prog second && "
		     "readelf -SW prog | grep -q gnu_debugaltlink && "
		     "readelf -SW common.debug | grep -q debug_str && "
		     "! readelf -SW common.debug | grep -q debug_info");
	expect_inlined(*state);
}

static void test_rust(void **state)
{
	static const char old_name[] =
		"_ZN50_$LT$demo..Seq$u20$as$u20$core..iter..Iterator$GT$4next17h0123456789abcdefE";
	static const char new_name[] = "_RNvNtCs1234_4demo6module3run";
	struct fixture *f = *state;

	symtools_run("gcc -g -O2 -o prog $SRC/symbols.c");
	map_file(f, 100, BASE, "prog");
	open_sym(f, NULL);
	assert_string_equal(func_at(f, 200, BASE + address_of("prog", old_name, NULL) + 1)->name,
			    "<demo::Seq as core::iter::Iterator>::next");
	assert_string_equal(func_at(f, 200, BASE + address_of("prog", new_name, NULL) + 1)->name,
			    "demo::module::run");
}

static void test_no_inline(void **state)
{
	struct fixture *f = *state;
	struct sym_frames frames;

	symtools_run("gcc -g -O2 -o prog $SRC/symbols.c");
	map_file(f, 100, BASE, "prog");
	open_sym(f, &(struct sym_options){ .no_inline = true });
	frames = resolve(f, 200, BASE + address_of("prog", "outer", NULL) + 9, false);
	assert_int_equal(frames.n, 1);
	assert_string_equal(frames.frames[0].func->name, "outer");
	assert_null(frames.frames[0].file);
}

/* A call can be a function's last instruction: its return address is the next function's. */
static void test_caller(void **state)
{
	struct fixture *f = *state;
	struct symtools_symbol *symbols;
	uint64_t start, size, end;
	size_t n;

	symtools_run("gcc -O2 -falign-functions=1 -o prog $SRC/symbols.c");
	map_file(f, 100, BASE, "prog");
	open_sym(f, NULL);
	start = address_of("prog", "last_call", &size);
	end = start + size;
	n = symtools_nm("prog", "--defined-only", &symbols);
	assert_string_equal(resolve(f, 200, BASE + end, true).frames[0].func->name, "last_call");
	assert_string_not_equal(resolve(f, 200, BASE + end, false).frames[0].func->name,
				"last_call");
	symtools_free_symbols(symbols, n);
}

/* Segments whose addresses are not at the same distance from their offsets. */
static void test_segments(void **state)
{
	struct fixture *f = *state;
	struct symtools_segment segments[8];

	symtools_run("gcc -O2 -Wl,--section-start=.text_far=0x900000 -o prog $SRC/symbols.c");
	assert_true(symtools_segments("prog", segments, 8) >= 2);
	map_file(f, 100, BASE, "prog");
	open_sym(f, NULL);
	assert_string_equal(func_at(f, 200, BASE + address_of("prog", "far_away", NULL) + 3)->name,
			    "far_away");
	assert_string_equal(func_at(f, 200, BASE + address_of("prog", "main", NULL) + 3)->name,
			    "main");
}

/* dlclose, dlopen of another library at the same address. */
static void test_time(void **state)
{
	struct fixture *f = *state;
	uint64_t outer;

	symtools_run("gcc -O2 -shared -fPIC -o one.so $SRC/symbols.c && "
		     "gcc -O2 -shared -fPIC -Douter=other_name -o two.so $SRC/symbols.c");
	map_file(f, 100, BASE, "one.so");
	map_file(f, 200, BASE, "two.so");
	map_file(f, 300, BASE, "one.so");
	open_sym(f, NULL);
	outer = BASE + address_of("one.so", "outer", NULL);
	assert_int_equal(address_of("two.so", "other_name", NULL) + BASE, outer);
	for (int i = 0; i < 3; i++) {
		assert_string_equal(func_at(f, 150, outer)->name, "outer");
		assert_string_equal(func_at(f, 250, outer)->name, "other_name");
		assert_ptr_equal(func_at(f, 350, outer), func_at(f, 150, outer));
		assert_unnamed(func_at(f, 50, outer), SYM_NO_MAPPING, func_at(f, 50, outer)->name);
	}
}

/* The same file in another process, at another address, is the same function. */
static void test_identity(void **state)
{
	static const struct ebt_task other = { .tid = 21, .pid = 20, .start_ns = 50 };
	struct fixture *f = *state;
	struct sym_frames frames;
	uint64_t outer;

	symtools_run("gcc -O2 -o prog $SRC/symbols.c");
	symtrace_task(f->trace, 20, 20, 40);
	symtrace_task(f->trace, 21, 20, 50);
	symtrace_task(f->trace, 30, 30, 60);
	map_file(f, 100, BASE, "prog");
	symtrace_fork(f->trace, 110, PID, 20, false);
	symtrace_fork(f->trace, 120, 20, 21, true);
	open_sym(f, NULL);
	outer = BASE + address_of("prog", "outer", NULL);
	assert_no_error(sym_resolve(f->sym, &other, 150, EBT_STACK_USER, outer, false, &frames));
	assert_ptr_equal(frames.frames[0].func, func_at(f, 150, outer));
	assert_ptr_equal(func_at(f, 150, outer + 1), func_at(f, 150, outer));
	assert_no_error(sym_resolve(f->sym, NULL, 150, EBT_STACK_USER, outer, false, &frames));
	assert_int_equal(frames.frames[0].func->reason, SYM_NO_MAPPING);
}

static void test_reasons(void **state)
{
	struct fixture *f = *state;
	struct sym_build_id none = { 0 }, other = { 4, { 1, 2, 3, 4 } }, lost = { 4, { 5, 6, 7 } };
	uint64_t code = 0x1010;
	char expected[64];

	symtools_run("gcc -O2 -o prog $SRC/symbols.c && gcc -O1 -o wrong $SRC/symbols.c && "
		     "strip -o stripped prog && echo text > text && head -c 40 prog > cut && "
		     "mkfifo pipe && gcc -Wl,--build-id=none -o noid $SRC/symbols.c");
	map_as(f, 100, BASE + 0x1000000, "prog", "/nowhere/prog", lost);
	map_as(f, 100, BASE + 0x2000000, "prog", symtools_path("wrong"), lost);
	map_as(f, 100, BASE + 0x3000000, "noid", symtools_path("noid"), none);
	map_as(f, 100, BASE + 0x4000000, "prog", symtools_path("text"), other);
	map_as(f, 100, BASE + 0x5000000, "prog", symtools_path("cut"), other);
	map_as(f, 100, BASE + 0x6000000, "prog", symtools_path("pipe"), other);
	map_as(f, 100, BASE + 0x7000000, "prog", "//anon", none);
	map_as(f, 100, BASE + 0x8000000, "prog", "/memfd:jit (deleted)", none);
	map_as(f, 100, BASE + 0x9000000, "stripped", symtools_path("stripped"), id_of("prog"));
	map_as(f, 100, BASE + 0xa000000, "noid", symtools_path("noid"), other);
	map_as(f, 100, BASE + 0xb000000, "prog", "/proc/self/exe", other);
	map_as(f, 100, BASE + 0xc000000, "prog", "[vdso]", other);
	open_sym(f, NULL);
	assert_unnamed(func_at(f, 200, 0x1234), SYM_NO_MAPPING, "0x1234");
	assert_unnamed(func_at(f, 200, BASE + 0x1000000 + code), SYM_NO_FILE, "prog+0x1010");
	assert_unnamed(func_at(f, 200, BASE + 0x2000000 + code), SYM_BUILD_ID_DIFFERS,
		       "wrong+0x1010");
	assert_unnamed(func_at(f, 200, BASE + 0x3000000 + code), SYM_NO_BUILD_ID, "noid+0x1010");
	assert_unnamed(func_at(f, 200, BASE + 0x4000000 + code), SYM_BAD_FILE, "text+0x1010");
	assert_unnamed(func_at(f, 200, BASE + 0x5000000 + code), SYM_BAD_FILE, "cut+0x1010");
	assert_unnamed(func_at(f, 200, BASE + 0x6000000 + code), SYM_NO_FILE, "pipe+0x1010");
	snprintf(expected, sizeof(expected), "0x%lx", BASE + 0x7000000 + code);
	assert_unnamed(func_at(f, 200, BASE + 0x7000000 + code), SYM_ANONYMOUS, expected);
	assert_int_equal(func_at(f, 200, BASE + 0x7000000 + code)->kind, SYM_JIT);
	snprintf(expected, sizeof(expected), "0x%lx", BASE + 0x8000000 + code);
	assert_unnamed(func_at(f, 200, BASE + 0x8000000 + code), SYM_ANONYMOUS, expected);
	code = address_of("prog", "outer", NULL);
	snprintf(expected, sizeof(expected), "stripped+0x%lx", code);
	assert_unnamed(func_at(f, 200, BASE + 0x9000000 + code), SYM_NO_SYMBOL, expected);
	/* The address of a caller is shown as it is, though the byte before it was looked up. */
	assert_unnamed(resolve(f, 200, BASE + 0x9000000 + code, true).frames[0].func, SYM_NO_SYMBOL,
		       expected);
	assert_int_equal(func_at(f, 200, BASE + 0xa000000 + code)->reason, SYM_BUILD_ID_DIFFERS);
	assert_int_equal(func_at(f, 200, BASE + 0xb000000 + code)->reason, SYM_NO_FILE);
	assert_int_equal(func_at(f, 200, BASE + 0xc000000 + code)->reason, SYM_NO_FILE);
	assert_int_equal(func_at(f, 200, BASE + 0xc000000 + code)->kind, SYM_VDSO);
}

static void test_disabled(void **state)
{
	struct fixture *f = *state;
	struct sym_frames frames;

	symtools_run("gcc -O2 -o prog $SRC/symbols.c");
	map_file(f, 100, BASE, "prog");
	open_sym(f, &(struct sym_options){ .disabled = true });
	assert_unnamed(func_at(f, 200, BASE + 0x1010), SYM_DISABLED, "prog+0x1010");
	assert_no_error(sym_resolve(f->sym, NULL, 200, 0, 0xffffffff81000000, false, &frames));
	assert_unnamed(frames.frames[0].func, SYM_DISABLED, "0xffffffff81000000");
}

/* Looks for `outer` of prog, which is mapped as /nowhere/prog. */
static void expect_outer(struct fixture *f, const struct sym_options *options, bool lines)
{
	struct sym_frames frames;
	uint64_t size, outer = address_of("full", "outer", &size);

	map_as(f, 100, BASE, "full", "/nowhere/prog", id_of("full"));
	open_sym(f, options);
	frames = resolve(f, 200, BASE + outer + size / 2, false);
	assert_string_equal(frames.frames[frames.n - 1].func->name, "outer");
	assert_int_equal(!!frames.frames[0].line, lines);
}

static char *build_id_file(const char *name, const char *dir)
{
	struct sym_build_id id = id_of(name);
	char *path = malloc(256), hex[129] = "";

	for (size_t i = 0; i < id.len; i++)
		sprintf(hex + 2 * i, "%02x", id.bytes[i]);
	snprintf(path, 256, "%s/.build-id/%.2s/%s", dir, hex, hex + 2);
	symtools_run("mkdir -p %s/.build-id/%.2s", dir, hex);
	return path;
}

static void make_full(void)
{
	symtools_run("gcc -g -O2 -o full $SRC/symbols.c && strip -o stripped full && "
		     "objcopy --only-keep-debug full full.debug && mkdir -p debug");
}

/* DIR/.build-id/ab/cdef.debug next to a stripped program. */
static void test_build_id_dir(void **state)
{
	struct fixture *f = *state;
	const char *dirs[] = { symtools_path("none"), symtools_path("debug"), NULL };
	char *path;

	make_full();
	path = build_id_file("full", "debug");
	symtools_run("cp full.debug %s.debug && cp stripped debug/prog", path);
	expect_outer(f, &(struct sym_options){ .debug_dirs = dirs }, true);
	free(path);
}

/* The debug information alone: objcopy took the offsets of its segments away. */
static void test_debug_file_alone(void **state)
{
	struct fixture *f = *state;
	const char *dirs[] = { symtools_path("debug"), NULL };
	char *path;

	make_full();
	path = build_id_file("full", "debug");
	symtools_run("cp full.debug %s.debug", path);
	expect_outer(f, &(struct sym_options){ .debug_dirs = dirs }, true);
	free(path);
}

static void test_plain_debug_file(void **state)
{
	struct fixture *f = *state;
	const char *dirs[] = { symtools_path("debug"), NULL };

	make_full();
	symtools_run("cp full debug/prog");
	expect_outer(f, &(struct sym_options){ .debug_dirs = dirs }, true);
}

static void test_wrong_debug_file(void **state)
{
	struct fixture *f = *state;
	const char *dirs[] = { symtools_path("debug"), NULL };
	char *path;

	make_full();
	path = build_id_file("full", "debug");
	symtools_run("gcc -g -O1 -o other $SRC/symbols.c && cp other debug/prog && "
		     "objcopy --only-keep-debug other %s.debug",
		     path);
	map_as(f, 100, BASE, "full", "/nowhere/prog", id_of("full"));
	open_sym(f, &(struct sym_options){ .debug_dirs = dirs });
	assert_int_equal(func_at(f, 200, BASE + 0x1010)->reason, SYM_BUILD_ID_DIFFERS);
	free(path);
}

static void test_sysroot(void **state)
{
	struct fixture *f = *state;

	make_full();
	symtools_run("mkdir -p root/nowhere && cp stripped root/nowhere/prog && "
		     "mkdir root/nowhere/.debug && cp full.debug root/nowhere/.debug/link && "
		     "cp full.debug link && objcopy --add-gnu-debuglink=link root/nowhere/prog && "
		     "rm link");
	expect_outer(f, &(struct sym_options){ .sysroot = symtools_path("root") }, true);
}

/* A linked file without a build-id is taken for its checksum. */
static void test_debuglink_crc(void **state)
{
	struct fixture *f = *state;

	make_full();
	symtools_run("mkdir -p root/nowhere && cp stripped root/nowhere/prog && "
		     "objcopy --remove-section=.note.gnu.build-id full.debug link && "
		     "objcopy --add-gnu-debuglink=link root/nowhere/prog && "
		     "mv link root/nowhere");
	expect_outer(f, &(struct sym_options){ .sysroot = symtools_path("root") }, true);
}

static void test_debuglink_wrong_crc(void **state)
{
	struct fixture *f = *state;

	make_full();
	symtools_run("mkdir -p root/nowhere && cp stripped root/nowhere/prog && "
		     "objcopy --remove-section=.note.gnu.build-id full.debug link && "
		     "objcopy --add-gnu-debuglink=link root/nowhere/prog && "
		     "echo >> link && mv link root/nowhere");
	map_as(f, 100, BASE, "full", "/nowhere/prog", id_of("full"));
	open_sym(f, &(struct sym_options){ .sysroot = symtools_path("root") });
	assert_int_equal(func_at(f, 200, BASE + address_of("full", "outer", NULL))->reason,
			 SYM_CHECKSUM_DIFFERS);
}

static const char kallsyms[] = "0000000000000000 A fixed_percpu_data\n"
			       "ffffffff81000000 T _text\n"
			       "ffffffff81000000 T startup_64\n"
			       "ffffffff81000100 t __internal\n"
			       "ffffffff81000100 T exported_alias\n"
			       "ffffffff81000200 W weak_one\n"
			       "ffffffff81000300 D some_data\n"
			       "garbage\n"
			       "ffffffffc0000000 t mod_init\t[foo]\n"
			       "ffffffffc0000040 t mod_exit\t[foo]\n"
			       "ffffffffc0100000 t bar_fn\t[bar]\n"
			       "ffffffffc0200000 t bpf_prog_old\t[bpf]";

static const struct sym_func *kernel_at(struct fixture *f, uint64_t time, uint64_t address,
					bool caller)
{
	struct sym_frames frames;

	assert_no_error(sym_resolve(f->sym, NULL, time, 0, address, caller, &frames));
	assert_int_equal(frames.n, 1);
	return frames.frames[0].func;
}

static void test_kernel(void **state)
{
	struct fixture *f = *state;
	const struct sym_func *func;

	symtrace_file(f->trace, "kallsyms", kallsyms, sizeof(kallsyms) - 1);
	symtrace_ksymbol(f->trace, 100, 0xffffffffc0200000, 0x100, false, "bpf_prog_new");
	symtrace_ksymbol(f->trace, 200, 0xffffffffc0200000, 0x100, true, "bpf_prog_new");
	symtrace_ksymbol(f->trace, 300, 0xffffffffc0200080, 0x100, false, "bpf_prog_third");
	open_sym(f, NULL);
	func = kernel_at(f, 50, 0xffffffff81000010, false);
	assert_string_equal(func->name, "startup_64");
	assert_string_equal(func->object, "[kernel]");
	assert_int_equal(func->kind, SYM_KERNEL);
	assert_string_equal(kernel_at(f, 50, 0xffffffff81000180, false)->name, "exported_alias");
	assert_string_equal(kernel_at(f, 50, 0xffffffff81000200, false)->name, "weak_one");
	assert_string_equal(kernel_at(f, 50, 0xffffffff81000200, true)->name, "exported_alias");
	assert_unnamed(kernel_at(f, 50, 0xffffffff81000310, false), SYM_NO_SYMBOL,
		       "0xffffffff81000310");
	func = kernel_at(f, 50, 0xffffffffc0000020, false);
	assert_string_equal(func->name, "mod_init");
	assert_string_equal(func->object, "[foo]");
	assert_int_equal(func->kind, SYM_MODULE);
	assert_string_equal(kernel_at(f, 50, 0xffffffffc0000050, false)->name, "mod_exit");
	assert_int_equal(kernel_at(f, 50, 0xffffffffc00f0000, false)->reason, SYM_NO_SYMBOL);
	assert_string_equal(kernel_at(f, 50, 0xffffffffc0200010, false)->name, "bpf_prog_old");
	func = kernel_at(f, 150, 0xffffffffc0200010, false);
	assert_string_equal(func->name, "bpf_prog_new");
	assert_string_equal(func->object, "[bpf]");
	assert_int_equal(kernel_at(f, 250, 0xffffffffc0200010, false)->reason, SYM_NO_SYMBOL);
	assert_string_equal(kernel_at(f, 350, 0xffffffffc0200110, false)->name, "bpf_prog_third");
	assert_int_equal(kernel_at(f, 350, 0xffffffffc0200010, false)->reason, SYM_NO_SYMBOL);
}

/* Modules that were there only at first, only at last, and one where another had been. */
static void test_modules(void **state)
{
	static const char first[] = "ffffffffc0000000 t gone_fn\t[gone]\n"
				    "ffffffffc0000100 t gone_last\t[gone]\n"
				    "ffffffffc0100000 t replaced_fn\t[replaced]\n"
				    "ffffffffc0100080 t replaced_last\t[replaced]\n";
	static const char whole[] = "ffffffff81000000 T startup_64\n"
				    "ffffffffc0200000 t stays_fn\t[stays]\n"
				    "ffffffffc0200100 t stays_last\t[stays]\n"
				    "ffffffffc0300000 t far_fn\t[far]\n";
	static const char last[] = "ffffffffc0100000 t new_fn\t[new]\n"
				   "ffffffffc0100040 t new_last\t[new]\n"
				   "ffffffffc0201000 t near_fn\t[near]\n"
				   "ffffffffc0201080 t near_last\t[near]\n";
	static const struct {
		uint64_t time, address;
		const char *name, *object;
	} cases[] = {
		{ 50, 0xffffffffc0000010, "gone_fn", "[gone]" },
		{ 50, 0xffffffffc0000110, "gone_last", "[gone]" },
		{ 450, 0xffffffffc0000010, "gone_fn", "[gone]" },
		{ 900, 0xffffffffc0000010, "gone_fn", "[gone]" },
		{ 50, 0xffffffffc0100010, "replaced_fn", "[replaced]" },
		{ 100, 0xffffffffc0100010, "replaced_fn", "[replaced]" },
		{ 600, 0xffffffffc0100010, "new_fn", "[new]" },
		{ 900, 0xffffffffc0100010, "new_fn", "[new]" },
		{ 50, 0xffffffffc0200010, "stays_fn", "[stays]" },
		{ 600, 0xffffffffc0200110, "stays_last", "[stays]" },
		/* Not the last function before it, which may reach so far for all that is known. */
		{ 50, 0xffffffffc0201010, "near_fn", "[near]" },
		{ 600, 0xffffffffc0201010, "near_fn", "[near]" },
		{ 600, 0xffffffffc0201090, "near_last", "[near]" },
		{ 600, 0xffffffff81000010, "startup_64", "[kernel]" },
	};
	struct fixture *f = *state;

	symtrace_file_of(f->trace, 800, 0, "kallsyms", last, sizeof(last) - 1);
	symtrace_file_of(f->trace, 500, 0, "kallsyms", whole, sizeof(whole) - 1);
	symtrace_file_of(f->trace, 100, 0, "kallsyms", first, sizeof(first) - 1);
	open_sym(f, NULL);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
			const struct sym_func *func =
				kernel_at(f, cases[i].time, cases[i].address, false);

			assert_string_equal(func->name, cases[i].name);
			assert_string_equal(func->object, cases[i].object);
		}
	}
}

/* BPF programs that were there before the recording, and ended in it: only the end is known. */
static void test_ended_programs(void **state)
{
	static const uint64_t at = 0xffffffffc0200000;
	struct fixture *f = *state;

	symtrace_file_of(f->trace, 900, 0, "kallsyms", kallsyms, sizeof(kallsyms) - 1);
	symtrace_ksymbol(f->trace, 200, at, 0x100, true, "bpf_prog_first");
	symtrace_ksymbol(f->trace, 300, at, 0x100, false, "bpf_prog_second");
	symtrace_ksymbol(f->trace, 400, at, 0x100, true, "bpf_prog_second");
	symtrace_ksymbol(f->trace, 500, at, 0x100, true, "bpf_prog_whose_begin_was_lost");
	open_sym(f, NULL);
	assert_string_equal(kernel_at(f, 199, at + 0x10, false)->name, "bpf_prog_first");
	assert_string_equal(kernel_at(f, 199, at + 0x10, false)->object, "[bpf]");
	assert_int_equal(kernel_at(f, 200, at + 0x10, false)->reason, SYM_NO_SYMBOL);
	assert_string_equal(kernel_at(f, 300, at + 0x10, false)->name, "bpf_prog_second");
	assert_int_equal(kernel_at(f, 450, at + 0x10, false)->reason, SYM_NO_SYMBOL);
	assert_int_equal(kernel_at(f, 600, at + 0x10, false)->reason, SYM_NO_SYMBOL);
	/* Behind it is what kallsyms has. */
	assert_string_equal(kernel_at(f, 100, at + 0x110, false)->name, "bpf_prog_old");
}

/* An ordinary user sees zeros in /proc/kallsyms. */
static void test_hidden_kernel(void **state)
{
	static const char hidden[] = "0000000000000000 T _text\n0000000000000000 T startup_64\n";
	struct fixture *f = *state;

	symtrace_file(f->trace, "kallsyms", hidden, sizeof(hidden) - 1);
	open_sym(f, NULL);
	assert_unnamed(kernel_at(f, 50, 0xffffffff81000010, false), SYM_NO_KERNEL,
		       "0xffffffff81000010");
}

static void map_self(struct fixture *f, const struct sym_build_id *vdso)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];

	while (fgets(line, sizeof(line), maps)) {
		struct symtrace_mapping mapping = { .snapshot = true };
		char prot[8], path[2048] = "";
		uint64_t end;

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %2047[^\n]", &mapping.start, &end, prot,
			   &mapping.pgoff, path) < 4 ||
		    prot[2] != 'x')
			continue;
		mapping.length = end - mapping.start;
		mapping.path = path;
		if (!strcmp(path, "[vdso]"))
			mapping.id = *vdso;
		else if (path[0] == '/')
			mapping.id = id_of(path);
		symtrace_mmap(f->trace, 100, PID, &mapping);
	}
	fclose(maps);
}

static struct sym_build_id add_vdso(struct fixture *f)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Ehdr) *ehdr = (const ElfW(Ehdr) *)image;
	FILE *copy = fopen(symtools_path("vdso"), "we");
	size_t len;

	if (!image)
		return (struct sym_build_id){ 0 };
	len = ehdr->e_shoff + (size_t)ehdr->e_shnum * ehdr->e_shentsize;
	fwrite(image, 1, len, copy);
	fclose(copy);
	symtrace_file(f->trace, "vdso", image, len);
	return id_of("vdso");
}

/* This process: its program, the C library and the vdso, as they are mapped. */
static void test_self(void **state)
{
	struct fixture *f = *state;
	struct sym_build_id vdso = add_vdso(f);
	void *handle = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	const struct sym_func *func;
	void *address;

	map_self(f, &vdso);
	open_sym(f, NULL);
	func = func_at(f, 50, (uintptr_t)test_self + 1);
	assert_string_equal(func->name, "test_self");
	/* A function that no sanitizer puts another one before. */
	func = func_at(f, 50, (uintptr_t)a64l + 1);
	assert_string_equal(func->name, "a64l");
	assert_non_null(strstr(func->object, "libc"));
	address = handle ? dlsym(handle, "__vdso_gettimeofday") : NULL;
	if (!address)
		return;
	func = func_at(f, 50, (uintptr_t)address + 1);
	assert_non_null(strstr(func->name, "gettimeofday"));
	assert_string_equal(func->object, "[vdso]");
	assert_int_equal(func->kind, SYM_VDSO);
	dlclose(handle);
}

static void test_names(void **state)
{
	(void)state;
	for (int i = 0; i < SYM_N_REASONS; i++)
		assert_string_not_equal(sym_reason_name(i), "unknown");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_inlined),
		TEST(test_dwz),
		TEST(test_dwz_strings),
		TEST(test_rust),
		TEST(test_no_inline),
		TEST(test_caller),
		TEST(test_segments),
		TEST(test_time),
		TEST(test_identity),
		TEST(test_reasons),
		TEST(test_disabled),
		TEST(test_build_id_dir),
		TEST(test_debug_file_alone),
		TEST(test_plain_debug_file),
		TEST(test_wrong_debug_file),
		TEST(test_sysroot),
		TEST(test_debuglink_crc),
		TEST(test_debuglink_wrong_crc),
		TEST(test_kernel),
		TEST(test_modules),
		TEST(test_ended_programs),
		TEST(test_hidden_kernel),
		TEST(test_self),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
