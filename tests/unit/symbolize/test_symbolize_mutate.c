/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Damaged ELF and DWARF: whatever the bytes, looking for names ends, with an answer or with none.
 * The seed is fixed; EBT_MUTATIONS asks for more than the usual number.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbolize/base/demangle.h"
#include "symbolize/elf/elffile.h"
#include "symbolize/files/module.h"
#include "tests/tools/make_trace.h"
#include "tests/tools/next_random.h"
#include "tests/tools/symtools.h"

#define MUTATIONS 1000 /* of each file */
#define ADDRESSES 32

static char *load(const char *name, size_t *ret_len)
{
	int fd = open(symtools_path(name), O_RDONLY | O_CLOEXEC);
	char *data = malloc(1 << 20);
	ssize_t len = read(fd, data, 1 << 20);

	assert_true(len > 0);
	close(fd);
	*ret_len = len;
	return data;
}

/* Parts of a file that matter most: those of which a byte decides a lot. */
struct area {
	uint64_t offset, size;
};

static size_t find_areas(const char *name, struct area *ret, size_t max)
{
	char *text = symtools_output("readelf -SW %s", name);
	size_t n = 0;

	ret[n++] = (struct area){ 0, 64 };
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned long offset, size;
		char *dot = strchr(line, '.');
		char section[64];

		if (!dot || n == max ||
		    sscanf(dot, "%63s %*s %*x %lx %lx", section, &offset, &size) != 3 || !size)
			continue;
		if (strstr(section, "debug") || strstr(section, "sym") || strstr(section, "str") ||
		    strstr(section, "rela") || strstr(section, "note") || strstr(section, "plt"))
			ret[n++] = (struct area){ offset, size };
	}
	free(text);
	return n;
}

/* Changes some bytes, mostly in one area, or cuts the end off. */
static void mutate(char *data, size_t *len, const struct area *areas, size_t n_areas)
{
	static const uint64_t extremes[] = {
		0, 1, 0x7f, 0x80, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, UINT64_MAX,
	};
	const struct area *area = &areas[next_random(n_areas)];
	size_t changes = 1 + next_random(8);
	/* Section headers are at the end. */
	size_t headers = *len > 2560 ? *len - 2560 : 0;

	if (!next_random(20))
		*len = 1 + next_random(*len);
	while (changes-- > 0) {
		uint64_t at = area->offset + next_random(area->size), value;
		size_t width;

		if (!next_random(4))
			at = headers + next_random(2560);
		value = next_random(2) ? extremes[next_random(10)] : next_random(UINT64_MAX);
		width = (size_t)1 << next_random(4);
		if (at < *len && *len - at >= width)
			memcpy(data + at, &value, width);
	}
}

/* Takes the file over. */
static void use(struct elf_file *file, const uint64_t *addresses)
{
	struct module_frame frames[DWARF_MAX_FRAMES];
	struct found files = { .main = file };
	struct module *module;
	struct debuglink link;
	struct sym_build_id id;
	const char *name;

	debuglink_read(file, &link);
	dwarf_altlink(file, &name, &id);
	assert_no_error(module_from_files(&files, false, &module));
	for (size_t i = 0; i < ADDRESSES; i++) {
		uint64_t address;
		size_t n;

		assert_no_error(module_find(module, addresses[i], frames, &n));
		for (size_t f = 0; f < n; f++) {
			char *text;

			assert_no_error(sym_demangle(frames[f].name, frames[f].name_len, &text));
			free(text);
			/* Strings are whole: reading them to the end is safe. */
			assert_true(!frames[f].file || strlen(frames[f].file) < 1 << 20);
		}
		elf_file_address(file, addresses[i], &address);
		elf_file_address_by_mapping(file, 0x1000, 0x1000, addresses[i], &address);
	}
	module_close(module);
}

static void try_image(char *data, size_t len, const uint64_t *addresses)
{
	struct elf_file *file;
	struct ebt_error *err = elf_file_from_memory(data, len, &file);

	if (!err)
		use(file, addresses);
	assert_true(!err || err->code == EBT_ERR_CORRUPT);
	ebt_error_destroy(err);
}

/* libelf reads a file in other ways than memory. Only what has the bytes of the build-id can be
 * taken for that build. */
static void try_file(const char *data, size_t len, const uint64_t *addresses,
		     const struct sym_build_id *id)
{
	const char *path = symtools_path("mutated");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct elf_file *file;
	struct ebt_error *err;

	assert_int_equal(write(fd, data, len), len);
	close(fd);
	err = elf_file_open(path, &file);
	if (!err && sym_build_id_equal(&file->id, id))
		assert_non_null(memmem(data, len, id->bytes, id->len));
	if (!err)
		use(file, addresses);
	assert_true(!err || err->code == EBT_ERR_CORRUPT);
	ebt_error_destroy(err);
}

static void mutate_file(const char *name)
{
	const char *more = getenv("EBT_MUTATIONS");
	long wanted = more ? strtol(more, NULL, 10) : MUTATIONS;
	struct symtools_symbol *symbols;
	uint64_t addresses[ADDRESSES];
	struct area areas[32];
	size_t n_areas = find_areas(name, areas, 32), len;
	size_t n_symbols = symtools_nm("prog", "--defined-only", &symbols);
	char *original = load(name, &len);
	struct sym_build_id id = { 0 };

	id.len = (uint8_t)symtools_build_id(name, id.bytes);
	assert_true(id.len > 0);

	for (size_t i = 0; i < ADDRESSES; i++) {
		const struct symtools_symbol *s = &symbols[next_random(n_symbols)];

		addresses[i] = s->start + (s->size ? next_random(s->size) : 0);
	}
	for (long i = 0; i < wanted; i++) {
		size_t mutated_len = len;
		char *data = malloc(len), *exact;

		memcpy(data, original, len);
		mutate(data, &mutated_len, areas, n_areas);
		/* Of the exact size, so that a sanitizer sees what is read beyond it. */
		exact = malloc(mutated_len);
		memcpy(exact, data, mutated_len);
		free(data);
		if (i % 4)
			try_image(exact, mutated_len, addresses);
		else
			try_file(exact, mutated_len, addresses, &id);
		free(exact);
	}
	symtools_free_symbols(symbols, n_symbols);
	free(original);
}

static void test_dwarf5(void **state)
{
	(void)state;
	symtools_run("gcc -gdwarf-5 -O2 -o prog $SRC/symbols.c");
	mutate_file("prog");
}

static void test_dwarf4(void **state)
{
	(void)state;
	symtools_run("gcc -gdwarf-4 -O2 -o prog $SRC/symbols.c");
	mutate_file("prog");
}

static void test_compressed(void **state)
{
	(void)state;
	symtools_run("gcc -g -gz -O2 -o prog $SRC/symbols.c");
	mutate_file("prog");
}

static void test_debugdata(void **state)
{
	(void)state;
	if (!symtools_try("command -v xz"))
		skip();
	symtools_run(
		"gcc -O2 -o prog $SRC/symbols.c && rm -f mini.debug.xz && "
		"objcopy --only-keep-debug prog mini.debug && xz mini.debug && "
		"strip -o mini prog && objcopy --add-section .gnu_debugdata=mini.debug.xz mini");
	mutate_file("mini");
}

static void test_clang(void **state)
{
	(void)state;
	if (!symtools_try("command -v clang-19"))
		skip();
	symtools_run("clang-19 -g -O2 -o prog $SRC/symbols.c");
	mutate_file("prog");
}

/* Opens a program that has nothing but `main`, and looks for it. Returns whether it has a line. */
static bool find_main(const char *name)
{
	struct module_frame frames[DWARF_MAX_FRAMES];
	struct found files = { 0 };
	struct module *module;
	bool has_line;
	struct symtools_symbol *symbols;
	size_t n_symbols = symtools_nm(name, "--defined-only", &symbols), n = 0;

	assert_no_error(elf_file_open(symtools_path(name), &files.main));
	assert_no_error(module_from_files(&files, false, &module));
	for (size_t i = 0; i < n_symbols; i++) {
		if (!strcmp(symbols[i].name, "main"))
			assert_no_error(module_find(module, symbols[i].start, frames, &n));
	}
	assert_int_equal(n, 1);
	assert_int_equal(strncmp(frames[0].name, "main", 4), 0);
	has_line = frames[0].file;
	symtools_free_symbols(symbols, n_symbols);
	module_close(module);
	return has_line;
}

/* Files that could make a reader take more memory than there is. */
static void test_bombs(void **state)
{
	(void)state;
	if (!symtools_try("gcc -dumpmachine | grep -q x86_64"))
		skip();
	symtools_run("gcc -o line_bomb $SRC/line_bomb.s");
	/* Only the path that is asked for is put together. */
	assert_true(find_main("line_bomb"));
	symtools_run("sed 's/1000000/10/; s/200000/2/' $SRC/line_bomb.s > small.s && "
		     "gcc -o small small.s");
	assert_true(find_main("small"));
	/* A unit that leaves what it covers to .debug_aranges. */
	symtools_run("(sed '/DW_AT_low_pc/d; /DW_AT_high_pc/d; "
		     "/debug_info/,/Linfo_end:/ { /quad/d }' small.s && "
		     "printf '.section .debug_aranges, \"\", @progbits\\n"
		     ".long 44\\n.short 2\\n.long .Lunit\\n.byte 8, 0\\n.long 0\\n"
		     ".quad main, 2, 0, 0\\n') > aranges.s && gcc -o aranges aranges.s");
	assert_true(find_main("aranges"));
	symtools_run("printf '.section .debug_str,\"\",@progbits\\n.zero 80000000\\n' > zeros.s && "
		     "gcc -gz -o zip_bomb small.s zeros.s");
	assert_false(find_main("zip_bomb"));
}

/* Names that are nearly mangled. */
static void test_demangle(void **state)
{
	static const char *const names[] = {
		"_ZNSt8_Rb_treeISsSt4pairIKSsSt6vectorIiSaIiEEESt10_Select1stIS5_ESt4lessISsESaIS5_"
		"EE22_M_emplace_hint_uniqueIJRKSt21piecewise_construct_tSt5tupleIJRS1_EESG_IJEEEEE"
		"St17_Rb_tree_iteratorIS5_ESt23_Rb_tree_const_iteratorIS5_EDpOT_",
		"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
		"_RNvNtNtNtCs5l0EXMQXRMU_21rustc_ast_pretty_tool5tests6parser3foo",
		"_RINvMsY_NtCseXNvpPnDBDp_3std4iterINtB8_3MapppE4foldjNCNvB5_1_0E",
		"_D2rt4util8typeinfo__T15TypeInfoGenericTeTeZQw6__vtblZ",
		"_D3std5range__T5chainTSQv3utf__T10byCodeUnitTAaZQqFQgZ14ByCodeUnitImplTSQCsQCrZ",
	};

	(void)state;
	for (int i = 0; i < 40000; i++) {
		char name[512], *text;
		size_t len, changes = 1 + next_random(4);

		strcpy(name, names[next_random(6)]);
		len = strlen(name);
		while (changes-- > 0)
			name[2 + next_random(len - 2)] = (char)next_random(128);
		assert_no_error(sym_demangle(name, len, &text));
		free(text);
	}
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
		cmocka_unit_test(test_dwarf5),	   cmocka_unit_test(test_dwarf4),
		cmocka_unit_test(test_compressed), cmocka_unit_test(test_debugdata),
		cmocka_unit_test(test_clang),	   cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_demangle),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
