/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names, inlined calls and lines of real programs, against nm, addr2line and llvm-symbolizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolize/base/demangle.h"
#include "symbolize/files/module.h"
#include "tests/tools/make_trace.h"
#include "tests/tools/symtools.h"

/* Addresses of a program that are compared; spread over all functions. */
#define MAX_ADDRESSES 4000

struct variant {
	const char *name;
	const char *command; /* makes a file of that name */
	const char *needs;   /* a program that may be missing, or NULL */
};

static const struct variant with_dwarf[] = {
	{ "gcc-O2", "gcc -g -O2 -o gcc-O2 $SRC/symbols.c", NULL },
	{ "gcc-dwarf4", "gcc -gdwarf-4 -O3 -o gcc-dwarf4 $SRC/symbols.c", NULL },
	{ "gcc-dwarf5-O0", "gcc -gdwarf-5 -O0 -o gcc-dwarf5-O0 $SRC/symbols.c", NULL },
	{ "gcc-static-pie", "gcc -g -O2 -static-pie -o gcc-static-pie $SRC/symbols.c", NULL },
	{ "gcc-no-pie", "gcc -g -O2 -no-pie -o gcc-no-pie $SRC/symbols.c", NULL },
	{ "gcc-far", "gcc -g -O2 -Wl,--section-start=.text_far=0x900000 -o gcc-far $SRC/symbols.c",
	  NULL },
	{ "gcc-compressed", "gcc -g -gz -O2 -o gcc-compressed $SRC/symbols.c", NULL },
	{ "objcopy-compressed",
	  "gcc -gdwarf-4 -O2 -o plain $SRC/symbols.c && "
	  "objcopy --compress-debug-sections=zlib-gnu plain objcopy-compressed",
	  NULL },
	{ "gcc-lto", "gcc -g -O2 -flto -o gcc-lto $SRC/symbols.c", NULL },
	{ "g++-O2", "g++ -g -O2 -o g++-O2 $SRC/symbols.cc", "g++" },
	{ "g++-dwarf4", "g++ -gdwarf-4 -O3 -o g++-dwarf4 $SRC/symbols.cc", "g++" },
	{ "g++-gc", "g++ -g -O2 -ffunction-sections -Wl,--gc-sections -o g++-gc $SRC/symbols.cc",
	  "g++" },
	{ "clang-O2", "clang-19 -g -O2 -o clang-O2 $SRC/symbols.c", "clang-19" },
	{ "clang-dwarf4", "clang-19 -gdwarf-4 -O1 -o clang-dwarf4 $SRC/symbols.c", "clang-19" },
	{ "clang++-O2", "clang++-19 -g -O2 -o clang++-O2 $SRC/symbols.cc", "clang++-19" },
	{ "clang-lld", "clang-19 -g -O2 -fuse-ld=lld -o clang-lld $SRC/symbols.c", "ld.lld" },
	{ "gcc-zstd",
	  "gcc -g -O2 -o plain $SRC/symbols.c && "
	  "objcopy --compress-debug-sections=zstd plain gcc-zstd",
	  NULL },
	{ "gcc-split", "gcc -g -gsplit-dwarf -O2 -o gcc-split $SRC/symbols.c", NULL },
	{ "gcc-split4", "gcc -gdwarf-4 -gsplit-dwarf -O2 -o gcc-split4 $SRC/symbols.c", NULL },
	{ "g++-split", "g++ -g -gsplit-dwarf -O2 -o g++-split $SRC/symbols.cc", "g++" },
	{ "clang-split", "clang-19 -g -gsplit-dwarf -O2 -o clang-split $SRC/symbols.c",
	  "clang-19" },
	{ "clang-split4", "clang-19 -gdwarf-4 -gsplit-dwarf -O2 -o clang-split4 $SRC/symbols.c",
	  "clang-19" },
	{ "g++-types", "g++ -g -O2 -fdebug-types-section -o g++-types $SRC/symbols.cc", "g++" },
	{ "gcc-dwz",
	  "gcc -g -O2 -c -Dmain=other_main -o m1.o $SRC/symbols.c && "
	  "objcopy --keep-global-symbol=none m1.o && gcc -g -O2 -c -o m2.o $SRC/symbols.c && "
	  "gcc -g -o gcc-dwz m1.o m2.o && dwz gcc-dwz",
	  "dwz" },
	{ "g++-dwz", "g++ -g -O2 -o g++-dwz $SRC/symbols.cc && dwz g++-dwz", "dwz" },
	/* .debug_aranges has the unit of gcc only. */
	{ "mixed",
	  "clang-19 -g -O2 -c -Dmain=other_main -o m1.o $SRC/symbols.c && "
	  "objcopy --keep-global-symbol=none m1.o && gcc -g -O2 -c -o m2.o $SRC/symbols.c && "
	  "gcc -g -o mixed m1.o m2.o",
	  "clang-19" },
};

static bool make(const struct variant *variant)
{
	if (variant->needs && !symtools_try("command -v %s", variant->needs))
		return false;
	symtools_run("%s", variant->command);
	return true;
}

/* A module of one file, whatever its build-id. */
static struct module *open_file(const char *name)
{
	struct found files = { 0 };
	struct module *module;

	assert_no_error(elf_file_open(symtools_path(name), &files.main));
	assert_no_error(module_from_files(&files, false, &module));
	return module;
}

/* Addresses of functions, every one where they are few. */
static size_t choose_addresses(const struct symtools_symbol *symbols, size_t n, uint64_t *ret)
{
	uint64_t total = 0, step, at = 0;
	size_t chosen = 0;

	for (size_t i = 0; i < n; i++)
		total += symbols[i].size;
	step = total / MAX_ADDRESSES + 1;
	for (size_t i = 0; i < n; i++) {
		for (; at < symbols[i].size && chosen < MAX_ADDRESSES; at += step)
			ret[chosen++] = symbols[i].start + at;
		at -= at < symbols[i].size ? 0 : symbols[i].size;
	}
	return chosen;
}

/* Names without what tools disagree about: versions, parts that were split off, and which of the
 * identical constructors C1 and C2 it is. */
static char *comparable(const char *name, size_t len)
{
	static const char *const parts[] = { ".cold", ".part.", ".constprop.", ".isra.",
					     ".lto_priv." };
	char *copy = strndup(name, len), *demangled;

	copy[strcspn(copy, "@")] = '\0';
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		char *part = strstr(copy, parts[i]);

		if (part)
			*part = '\0';
	}
	assert_no_error(sym_demangle(copy, strlen(copy), &demangled));
	free(copy);
	return demangled;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether nm has both names at one address. */
static bool are_aliases(const struct symtools_symbol *symbols, size_t n, const char *a,
			const char *b)
{
	uint64_t start_a = 0, start_b = 1;

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(symbols[i].name, a))
			start_a = symbols[i].start;
		if (!strcmp(symbols[i].name, b))
			start_b = symbols[i].start;
	}
	return start_a == start_b;
}

static void compare_frames(const char *variant, const struct symtools_frames *truth,
			   const struct module_frame *frames, size_t n, bool files,
			   const struct symtools_symbol *symbols, size_t n_symbols)
{
	if (!n && truth->n == 1 && !strcmp(truth->frames[0].function, "??"))
		return;
	if (n != truth->n)
		fail_msg("%s: 0x%lx has %zu frames, should have %zu", variant, truth->address, n,
			 truth->n);
	for (size_t i = 0; i < n; i++) {
		const struct symtools_frame *t = &truth->frames[i];
		char *name = comparable(frames[i].name, frames[i].name_len);
		char *wanted = comparable(t->function, strlen(t->function));

		if (strcmp(name, wanted) && !are_aliases(symbols, n_symbols, name, wanted))
			fail_msg("%s: 0x%lx frame %zu is %s, should be %s", variant, truth->address,
				 i, name, wanted);
		if (frames[i].line != t->line)
			fail_msg("%s: 0x%lx frame %zu has line %u, should have %u", variant,
				 truth->address, i, frames[i].line, t->line);
		if (files && t->line && strcmp(base_name(frames[i].file), base_name(t->file)))
			fail_msg("%s: 0x%lx frame %zu is in %s, should be in %s", variant,
				 truth->address, i, frames[i].file, t->file);
		free(name);
		free(wanted);
	}
}

/* Compares with one tool; returns how many frames were inlined. */
static size_t compare_with(const char *variant, const char *tool, bool files)
{
	struct module_frame frames[DWARF_MAX_FRAMES];
	uint64_t addresses[MAX_ADDRESSES];
	struct symtools_symbol *symbols;
	struct symtools_frames *truth;
	struct module *module;
	size_t n_symbols, n, inlined = 0;

	n_symbols = symtools_nm(variant, "--defined-only", &symbols);
	n = choose_addresses(symbols, n_symbols, addresses);
	assert_true(n > 100);
	truth = symtools_symbolize(tool, addresses, n);
	module = open_file(variant);
	for (size_t i = 0; i < n; i++) {
		size_t n_frames;

		assert_no_error(module_find(module, addresses[i], frames, &n_frames));
		compare_frames(variant, &truth[i], frames, n_frames, files, symbols, n_symbols);
		inlined += n_frames > 1 ? n_frames - 1 : 0;
	}
	module_close(module);
	symtools_free_frames(truth, n);
	symtools_free_symbols(symbols, n_symbols);
	return inlined;
}

static void test_dwarf_as_llvm(void **state)
{
	(void)state;
	if (!symtools_try("command -v llvm-symbolizer-19"))
		skip();
	for (size_t i = 0; i < sizeof(with_dwarf) / sizeof(with_dwarf[0]); i++) {
		const struct variant *v = &with_dwarf[i];
		char tool[512];
		size_t inlined;

		/* LLVM does not read .zdebug_info. */
		if (strstr(v->command, "zlib-gnu") || !make(v))
			continue;
		snprintf(tool, sizeof(tool),
			 "llvm-symbolizer-19 --no-demangle --output-style=GNU -a -i -f --obj=%s",
			 v->name);
		inlined = compare_with(v->name, tool, true);
		if (!inlined && !strstr(v->name, "O0"))
			fail_msg("%s: nothing was inlined", v->name);
	}
}

/* binutils 2.40 is wrong about the files of inlined calls, about names of C++ functions that have
 * no linkage name, about calls that clang inlined into several ranges, and about inlined calls
 * in debug information that is split or that dwz made. */
static void test_dwarf_as_addr2line(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(with_dwarf) / sizeof(with_dwarf[0]); i++) {
		const struct variant *v = &with_dwarf[i];
		char tool[512];

		if (strstr(v->command, "clang") || strstr(v->command, "g++") ||
		    strstr(v->command, "split") || strstr(v->command, "dwz") || !make(v))
			continue;
		snprintf(tool, sizeof(tool), "addr2line -a -i -f -e %s", v->name);
		compare_with(v->name, tool, false);
	}
}

/* Each address has a name that nm gives to it, or none. */
static void check_symbols(const char *name, const char *nm_of, const char *nm_options)
{
	struct symtools_symbol *symbols;
	size_t n = symtools_nm(nm_of, nm_options, &symbols);
	struct module_frame frames[DWARF_MAX_FRAMES];
	struct module *module = open_file(name);

	assert_true(n > 3);
	for (size_t i = 0; i < n; i++) {
		for (uint64_t at = 0; at < symbols[i].size; at++) {
			size_t n_frames;

			assert_no_error(
				module_find(module, symbols[i].start + at, frames, &n_frames));
			if (n_frames != 1)
				fail_msg("%s: nothing at %s+%lu", name, symbols[i].name, at);
			if (strncmp(frames[0].name, symbols[i].name, frames[0].name_len) &&
			    !are_aliases(symbols, n, frames[0].name, symbols[i].name))
				fail_msg("%s: %s+%lu is %s", name, symbols[i].name, at,
					 frames[0].name);
			assert_null(frames[0].file);
		}
	}
	module_close(module);
	symtools_free_symbols(symbols, n);
}

static void test_symtab(void **state)
{
	(void)state;
	symtools_run("gcc -O2 -o symtab $SRC/symbols.c");
	check_symbols("symtab", "symtab", "--defined-only");
	symtools_run("gcc -O2 -shared -fPIC -o symtab.so $SRC/symbols.c");
	check_symbols("symtab.so", "symtab.so", "--defined-only");
}

static void find(struct module *module, uint64_t address, char *ret, size_t size)
{
	struct module_frame frames[DWARF_MAX_FRAMES];
	size_t n;

	assert_no_error(module_find(module, address, frames, &n));
	snprintf(ret, size, "%.*s%s", n ? (int)frames[0].name_len : 0, n ? frames[0].name : "",
		 n && frames[0].plt ? "@plt" : "");
}

static uint64_t address_of(const char *file, const char *function)
{
	struct symtools_symbol *symbols;
	size_t n = symtools_nm(file, "--defined-only", &symbols);
	uint64_t address = 0;

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(symbols[i].name, function))
			address = symbols[i].start;
	}
	symtools_free_symbols(symbols, n);
	assert_int_not_equal(address, 0);
	return address;
}

/* A stripped library names what it exports, and nothing else by it. */
static void test_dynsym(void **state)
{
	struct module *module;
	char name[256];

	(void)state;
	symtools_run("gcc -O2 -shared -fPIC -o full.so $SRC/symbols.c && "
		     "strip -o stripped.so full.so");
	check_symbols("stripped.so", "stripped.so", "-D --defined-only");
	module = open_file("stripped.so");
	find(module, address_of("full.so", "local_only"), name, sizeof(name));
	assert_string_equal(name, "");
	find(module, address_of("full.so", "__exported"), name, sizeof(name));
	assert_string_equal(name, "exported");
	module_close(module);
}

static void test_gnu_debugdata(void **state)
{
	(void)state;
	if (!symtools_try("command -v xz"))
		skip();
	/* As Fedora packs it: the symbols that .dynsym lacks. */
	symtools_run("gcc -O2 -shared -fPIC -o mini-full.so $SRC/symbols.c && "
		     "objcopy --only-keep-debug mini-full.so mini.debug && rm -f mini.debug.xz && "
		     "xz mini.debug && strip -o mini.so mini-full.so && "
		     "objcopy --add-section .gnu_debugdata=mini.debug.xz mini.so");
	check_symbols("mini.so", "mini-full.so", "--defined-only");
	/* One that is no xz, and one that is cut off, leave .dynsym. */
	symtools_run("strip -o bad.so mini-full.so && "
		     "objcopy --add-section .gnu_debugdata=$SRC/symbols.c bad.so && "
		     "head -c 200 mini.debug.xz > cut.xz && strip -o cut.so mini-full.so && "
		     "objcopy --add-section .gnu_debugdata=cut.xz cut.so");
	check_symbols("bad.so", "bad.so", "-D --defined-only");
	check_symbols("cut.so", "cut.so", "-D --defined-only");
}

/* objdump names stubs too. */
static void check_plt(const char *file)
{
	char *text = symtools_output("objdump -d --no-show-raw-insn %s | grep '^[0-9a-f].*@plt>:'",
				     file);
	struct module *module = open_file(file);
	size_t n = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		uint64_t address = strtoull(line, NULL, 16);
		char *wanted = strchr(line, '<') + 1;
		char name[256];

		*strchr(wanted, '>') = '\0';
		find(module, address, name, sizeof(name));
		assert_string_equal(name, wanted);
		find(module, address + 5, name, sizeof(name));
		assert_string_equal(name, wanted);
		n++;
	}
	assert_true(n >= 3);
	module_close(module);
	free(text);
}

static void test_plt(void **state)
{
	(void)state;
	if (!symtools_try("gcc -dumpmachine | grep -q x86_64"))
		skip();
	symtools_run("gcc -O2 -o plt $SRC/symbols.c");
	check_plt("plt");
	symtools_run("gcc -O2 -fcf-protection=none -Wl,-z,noibtplt -o plt1 $SRC/symbols.c");
	check_plt("plt1");
	symtools_run("gcc -O2 -fcf-protection -Wl,-z,ibtplt -o plt2 $SRC/symbols.c");
	check_plt("plt2");
}

static void test_demangle(void **state)
{
	static const char *const names[][2] = {
		{ "main", "main" },
		{ "", "" },
		{ "_Z", "_Z" },
		{ "_ZN3foo3barEi", "foo::bar(int)" },
		{ "_Z3foov.part.0", "foo() [clone .part.0]" },
		{ "_ZN3FooC2ERKSs", "Foo::Foo(std::string const&)" },
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
		  "17h930b740aa94f1d3aE",
		  "<Test + 'static as foo::Bar<Test>>::bar" },
		{ "_RNvCskwGfYPst2Cb_3foo3bar", "foo::bar" },
		{ "_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3new",
		  "<std::path::PathBuf>::new" },
		{ "_R", "_R" },
		/* These three are what c++filt -s dlang says. */
		{ "_D3std6string5stripFNaNbNiAyaZQd", "std.string.strip(immutable(char)[])" },
		{ "_D3std11concurrency8ownerTidFNdZSQBfQBe3Tid", "std.concurrency.ownerTid()" },
		{ "_D2rt4util8typeinfo__T15TypeInfoGenericTeTeZQw6__vtblZ",
		  "vtable for rt.util.typeinfo.TypeInfoGeneric!(real, real).TypeInfoGeneric" },
		{ "_Dmain", "_Dmain" },
		{ "_D", "_D" },
		{ "$s4main3fooyyF", "$s4main3fooyyF" },			      /* Swift */
		{ "main.(*T).Method", "main.(*T).Method" },		      /* Go */
		{ "camlStdlib__List__map_123", "camlStdlib__List__map_123" }, /* OCaml */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *text;

		assert_no_error(sym_demangle(names[i][0], strlen(names[i][0]), &text));
		assert_string_equal(text, names[i][1]);
		free(text);
	}
}

/* A name whose text doubles with each of its parameters. */
static void test_demangle_bomb(void **state)
{
	char name[1024] = "_Z1f", *text;

	(void)state;
	strcat(name, "St4pairIiiE");
	for (int i = 0; i < 34; i++) {
		char digit = i < 10 ? '0' + i : 'A' + i - 10, part[32];

		snprintf(part, sizeof(part), "S_IS%c_S%c_E", digit, digit);
		strcat(name, part);
	}
	assert_no_error(sym_demangle(name, strlen(name), &text));
	assert_string_equal(text, name);
	free(text);
}

/* A type of D: a table from the last type to the last type, and so on. */
static void test_demangle_d_bomb(void **state)
{
	enum { DEPTH = 40 };
	char name[1024] = "_D1a1v", *text;

	(void)state;
	for (int i = 0; i < DEPTH; i++)
		strcat(name, "H");
	strcat(name, "Hii");
	/* Each refers to the type that has just ended, by how far back it begins. */
	for (int i = 0; i < DEPTH; i++) {
		size_t distance = strlen(name) - (strlen("_D1a1v") + DEPTH - (size_t)i);
		char part[4] = "Q";

		if (distance >= 26)
			strncat(part, &"ABCDEFGHIJKLMNOPQRSTUVWXYZ"[distance / 26], 1);
		strncat(part, &"abcdefghijklmnopqrstuvwxyz"[distance % 26], 1);
		strcat(name, part);
	}
	assert_no_error(sym_demangle(name, strlen(name), &text));
	assert_string_equal(text, name);
	free(text);
}

static int teardown(void **state)
{
	(void)state;
	symtools_clean();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symtab),		cmocka_unit_test(test_dynsym),
		cmocka_unit_test(test_gnu_debugdata),	cmocka_unit_test(test_plt),
		cmocka_unit_test(test_dwarf_as_llvm),	cmocka_unit_test(test_dwarf_as_addr2line),
		cmocka_unit_test(test_demangle),	cmocka_unit_test(test_demangle_bomb),
		cmocka_unit_test(test_demangle_d_bomb),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
