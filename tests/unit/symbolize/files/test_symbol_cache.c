/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbol cache: the second time there are the same names without any file, better files are
 * noticed, and what is wrong with the cache is as if there were none. Addresses that are looked up
 * together, by threads, have the names that they have one by one.
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

#include "format/encoding/crc32c.h"
#include "symbolize/batch.h"
#include "symbolize/files/cache.h"
#include "symbolize/symbolize.h"
#include "tests/tools/make_trace.h"
#include "tests/tools/next_random.h"
#include "tests/tools/symtools.h"
#include "tests/tools/symtrace.h"

#define BASE	  UINT64_C(0x550000000000)
#define COPY	  UINT64_C(0x560000000000)
#define PAGE	  UINT64_C(4096)
#define PID	  10
#define MUTATIONS 2000

static const struct ebt_task task = { .tid = PID, .pid = PID, .start_ns = 5 };

struct fixture {
	struct symtrace *trace;
	struct ebt_reader *reader;
	struct symtools_symbol *symbols;
	size_t n_symbols;
};

static void map_program(struct fixture *f, uint64_t base, const char *path)
{
	struct symtools_segment segments[8];
	struct sym_build_id id = { 0 };
	size_t n = symtools_segments("prog", segments, 8);

	id.len = (uint8_t)symtools_build_id("prog", id.bytes);
	for (size_t i = 0; i < n; i++) {
		uint64_t start = segments[i].vaddr & -PAGE;
		uint64_t end = (segments[i].vaddr + segments[i].filesz + PAGE - 1) & -PAGE;

		symtrace_mmap(f->trace, 100, PID,
			      &(struct symtrace_mapping){ .start = base + start,
							  .length = end - start,
							  .pgoff = segments[i].offset & -PAGE,
							  .path = symtools_path(path),
							  .id = id });
	}
}

/* A program with debug information, and a trace of a process that has mapped it, and a copy of it
 * that is not there any more. */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	setenv("XDG_CACHE_HOME", symtools_path("cache"), 1);
	symtools_run("gcc -g -O2 -o prog $SRC/symbols.c && strip -o stripped prog && cp prog full");
	f->trace = symtrace_create();
	symtrace_task(f->trace, PID, PID, 5);
	map_program(f, BASE, "prog");
	map_program(f, COPY, "copy");
	f->reader = symtrace_read(f->trace);
	f->n_symbols = symtools_nm("prog", "--defined-only", &f->symbols);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	symtools_free_symbols(f->symbols, f->n_symbols);
	symtrace_destroy(f->trace);
	free(f);
	symtools_run("chmod -R u+rwx .");
	symtools_clean();
	return 0;
}

static void print_frames(FILE *out, uint64_t address, const struct sym_frames *frames)
{
	fprintf(out, "%lx:", (unsigned long)address);
	for (size_t i = 0; i < frames->n; i++) {
		const struct sym_frame *frame = &frames->frames[i];

		fprintf(out, " %s (%s:%u %d %s)", frame->func->name,
			frame->file ? frame->file : "?", frame->line, frame->inlined,
			sym_reason_name(frame->func->reason));
	}
	fputc('\n', out);
}

enum { COLLECT = 1 };

/* Calls the function for each address of the functions: their first bytes, and returns there. */
static void each_address(struct fixture *f, struct sym *sym, FILE *out)
{
	for (size_t i = 0; i < f->n_symbols; i++) {
		const struct symtools_symbol *s = &f->symbols[i];

		for (uint64_t at = 0; at < 2 * s->size && strchr("tT", s->type); at++) {
			uint64_t address = BASE + s->start + at / 2;
			struct sym_frames frames;

			if (!out) {
				assert_no_error(sym_collect(sym, &task, 200, EBT_STACK_USER,
							    address, at % 2));
				continue;
			}
			assert_no_error(sym_resolve(sym, &task, 200, EBT_STACK_USER, address,
						    at % 2, &frames));
			print_frames(out, address, &frames);
		}
	}
}

/* All names, files and lines, as a text that is freed with free(). */
static char *name_all(struct fixture *f, const struct sym_options *options, int flags)
{
	struct sym *sym;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_no_error(sym_create(f->reader, options, &sym));
	if (flags & COLLECT) {
		each_address(f, sym, NULL);
		assert_no_error(sym_find_collected(sym));
	}
	each_address(f, sym, out);
	sym_destroy(sym);
	fclose(out);
	return text;
}

static const struct sym_options cached = { .cache = true };
static const struct sym_options uncached = { 0 };

static void assert_same(char *a, char *b)
{
	assert_string_equal(a, b);
	free(a);
	free(b);
}

/* Path of the one file of the cache. */
static const char *cache_file(const char *end)
{
	char *name = symtools_output("ls cache/ebreport | grep '%s$'", end);
	char path[256];

	name[strcspn(name, "\n")] = '\0';
	snprintf(path, sizeof(path), "cache/ebreport/%s", name);
	free(name);
	return symtools_path(path);
}

static void test_second_time(void **state)
{
	struct fixture *f = *state;
	char *truth = name_all(f, &uncached, 0);

	assert_non_null(strstr(truth, "leaf ("));
	assert_non_null(strstr(truth, "symbols.c:"));
	assert_false(symtools_try("ls cache/ebreport"));
	assert_same(name_all(f, &cached, 0), strdup(truth));
	symtools_run("rm prog full");
	assert_same(name_all(f, &cached, 0), strdup(truth));
	assert_same(name_all(f, &cached, COLLECT), truth);
	/* Without it nothing is found any more. */
	truth = name_all(f, &uncached, 0);
	assert_null(strstr(truth, "symbols.c:"));
	assert_non_null(strstr(truth, "no such file"));
	free(truth);
}

/* Names of main in the copy and in the program, in this order. */
static char *name_copies(struct fixture *f, const struct sym_options *options)
{
	uint64_t main_at = 0;
	struct sym *sym;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; i < f->n_symbols; i++)
		main_at = strcmp(f->symbols[i].name, "main") ? main_at : f->symbols[i].start;
	assert_no_error(sym_create(f->reader, options, &sym));
	for (int i = 0; i < 2; i++) {
		uint64_t address = main_at + (i ? BASE : COPY);
		struct sym_frames frames;

		assert_no_error(
			sym_resolve(sym, &task, 200, EBT_STACK_USER, address, false, &frames));
		print_frames(out, address, &frames);
	}
	for (uint32_t i = 0; i < sym_n_objects(sym); i++) {
		struct sym_object object;

		assert_no_error(sym_object(sym, i, &object));
		fprintf(out, "%s: %s\n", strrchr(object.path, '/'),
			object.file ? strrchr(object.file, '/') : "none");
	}
	sym_destroy(sym);
	fclose(out);
	return text;
}

/* One file is there: it names what is in its copies, whichever is asked for first, and so the
 * cache adds nothing to that. Where there is none, both say so. */
static void test_copies(void **state)
{
	struct fixture *f = *state;
	char *truth = name_copies(f, &uncached), *none;

	assert_non_null(strstr(truth, "560000"));
	assert_null(strstr(truth, "no such file"));
	assert_non_null(strstr(truth, "/prog: /prog"));
	assert_non_null(strstr(truth, "/copy: /prog"));
	assert_same(name_copies(f, &cached), strdup(truth));
	assert_same(name_copies(f, &cached), truth);
	symtools_run("rm prog full");
	none = name_copies(f, &uncached);
	assert_non_null(strstr(none, "/copy: none"));
	assert_non_null(strstr(strstr(none, "no such file") + 1, "no such file"));
	free(none);
}

static void test_collected(void **state)
{
	struct fixture *f = *state;

	assert_same(name_all(f, &uncached, COLLECT), name_all(f, &uncached, 0));
	assert_same(name_all(f, &cached, COLLECT), name_all(f, &uncached, 0));
	symtools_run("cp cache/ebreport/*.frames first && rm cache/ebreport/*");
	free(name_all(f, &cached, COLLECT));
	symtools_run("cmp first cache/ebreport/*.frames");
}

static void test_no_inline(void **state)
{
	const struct sym_options plain = { .no_inline = true };
	const struct sym_options kept = { .no_inline = true, .cache = true };
	struct fixture *f = *state;
	char *names = name_all(f, &plain, 0), *frames = name_all(f, &cached, 0);

	assert_same(name_all(f, &kept, 0), strdup(names));
	symtools_run("rm prog full");
	assert_same(name_all(f, &kept, 0), names);
	assert_same(name_all(f, &cached, 0), frames);
}

/* Names without lines, until there is debug information; then nothing is forgotten again. */
static void test_better_files(void **state)
{
	struct fixture *f = *state;
	char *truth = name_all(f, &uncached, 0), *text;

	symtools_run("cp stripped prog");
	text = name_all(f, &cached, 0);
	assert_null(strstr(text, "symbols.c:"));
	assert_same(name_all(f, &cached, 0), text);
	symtools_run("cp full prog");
	assert_same(name_all(f, &cached, 0), strdup(truth));
	symtools_run("cp stripped prog");
	assert_same(name_all(f, &cached, 0), strdup(truth));
	symtools_run("cp full prog");
	assert_same(name_all(f, &cached, 0), truth);
}

/* What fewer files say does not replace what is there, and is not taken for more than it is. */
static void test_fewer_files(void **state)
{
	struct fixture *f = *state;
	struct sym_frames frames;
	struct sym *sym;
	uint64_t main_at = 0;
	char *truth = name_all(f, &uncached, 0);

	for (size_t i = 0; i < f->n_symbols; i++)
		main_at = strcmp(f->symbols[i].name, "main") ? main_at : f->symbols[i].start;
	assert_no_error(sym_create(f->reader, &cached, &sym));
	assert_no_error(
		sym_resolve(sym, &task, 200, EBT_STACK_USER, BASE + main_at, false, &frames));
	assert_string_equal(frames.frames[frames.n - 1].func->name, "main");
	sym_destroy(sym);
	symtools_run("cp cache/ebreport/*.frames first; cp stripped prog");
	free(name_all(f, &cached, 0));
	symtools_run("cmp first cache/ebreport/*.frames; cp full prog");
	assert_same(name_all(f, &cached, 0), truth);
}

/* A file of the cache that is cut anywhere is as if it were not there. */
static void test_cut(void **state)
{
	struct fixture *f = *state;
	char *truth = name_all(f, &cached, 0);
	const char *path = cache_file("frames");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);

	close(fd);
	assert_true(size > 1000);
	for (off_t len = 0; len < size; len += 1 + size / 20) {
		assert_int_equal(truncate(path, len), 0);
		assert_same(name_all(f, &cached, 0), strdup(truth));
	}
	/* The last one wrote it anew. */
	symtools_run("rm prog full");
	assert_same(name_all(f, &cached, 0), truth);
}

/* The file of one build under the name of another. */
static void test_other_build(void **state)
{
	struct fixture *f = *state;
	const char *path;

	free(name_all(f, &cached, 0));
	path = cache_file("frames");
	symtools_run("gcc -g -O1 -DOTHER -o other $SRC/symbols.c && cp %s taken", path);
	for (int i = 0; i < 2; i++) {
		struct cache_build build = { .id.len = 20 };
		bool good;
		char data[1 << 16];
		int fd = open(symtools_path("taken"), O_RDONLY | O_CLOEXEC);
		ssize_t len = read(fd, data, sizeof(data));

		close(fd);
		build.id.len = (uint8_t)symtools_build_id(i ? "full" : "other", build.id.bytes);
		assert_true(len > 100 && len < (ssize_t)sizeof(data));
		assert_no_error(cache_build_unpack(&build, data, (size_t)len, &good));
		assert_int_equal(good, i);
		cache_build_deinit(&build);
	}
}

/* Places where nothing can be kept, or where others may have put something. */
static void test_no_place(void **state)
{
	struct fixture *f = *state;
	char *truth = name_all(f, &uncached, 0);

	setenv("XDG_CACHE_HOME", "/proc/none", 1);
	assert_same(name_all(f, &cached, 0), strdup(truth));
	setenv("XDG_CACHE_HOME", symtools_path("full"), 1);
	assert_same(name_all(f, &cached, 0), strdup(truth));
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", symtools_path("home"), 1);
	symtools_run("mkdir home");
	assert_same(name_all(f, &cached, 0), strdup(truth));
	symtools_run("ls home/.cache/ebreport/*.frames && test ! -e relative");
	symtools_run("mkdir -p cache/ebreport && chmod 777 cache/ebreport");
	setenv("XDG_CACHE_HOME", symtools_path("cache"), 1);
	assert_same(name_all(f, &cached, 0), strdup(truth));
	symtools_run("test -z \"$(ls cache/ebreport)\" && chmod 500 cache/ebreport");
	assert_same(name_all(f, &cached, 0), truth);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	free(name_all(f, &cached, 0));
}

/* Beyond its size the oldest are dropped, and what somebody left half written. */
static void test_size(void **state)
{
	struct fixture *f = *state;

	symtools_run("mkdir -p cache/ebreport && chmod 700 cache/ebreport && cd cache/ebreport && "
		     "for i in 1 2 3 4 5; do truncate -s 300M 0$i.frames; "
		     "touch -d \"200$i-01-01\" 0$i.frames; done && "
		     "touch -d 2001-01-01 00.frames.77.tmp && touch 01.frames.78.tmp && "
		     "touch -d 2001-01-01 other");
	free(name_all(f, &cached, 0));
	symtools_run("cd cache/ebreport && ls && test ! -e 01.frames && test ! -e 02.frames && "
		     "test -e 03.frames && test -e 05.frames && test ! -e 00.frames.77.tmp && "
		     "test -e 01.frames.78.tmp && test -e other && "
		     "ls | grep -q '^[0-9a-f]\\{40\\}[.]frames$'");
}

/* Whatever is accepted can be used: strings end, and frames fit. */
static void use(struct cache_build *build)
{
	struct module_frame frames[DWARF_MAX_FRAMES];

	for (size_t i = 0; i < build->frames.n; i++) {
		size_t n;

		assert_true(frame_cache_find(&build->frames, build->frames.items[i].address, frames,
					     &n));
		assert_true(n <= DWARF_MAX_FRAMES);
		for (size_t k = 0; k < n; k++) {
			assert_true(strlen(frames[k].name) < 1 << 30);
			assert_true(frames[k].name_len < 1 << 30);
			assert_true(!frames[k].file || strlen(frames[k].file) < 1 << 30);
		}
	}
}

/* Mutations of the whole file, half of them with a checksum that is right again. */
static void test_mutations(void **state)
{
	static const uint64_t extremes[] = { 0, 1, 0x7f, 0xff, INT32_MAX, UINT32_MAX, UINT64_MAX };
	struct fixture *f = *state;
	const char *more = getenv("EBT_MUTATIONS"), *path;
	long wanted = more ? strtol(more, NULL, 10) : MUTATIONS, accepted = 0;
	struct sym_build_id id = { 0 };
	char *original = malloc(1 << 20);
	ssize_t len;
	int fd;

	free(name_all(f, &cached, 0));
	path = cache_file("frames");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = read(fd, original, 1 << 20);
	close(fd);
	assert_true(len > 1000 && len < 1 << 20);
	id.len = (uint8_t)symtools_build_id("prog", id.bytes);
	for (long i = 0; i < wanted; i++) {
		size_t size = next_random(10) ? (size_t)len : 1 + next_random((uint64_t)len);
		struct cache_build build = { .id = id };
		char *data = malloc(size);
		bool good;

		memcpy(data, original, size);
		for (uint64_t n = 1 + next_random(6); n > 0; n--) {
			uint64_t value =
				next_random(2) ? extremes[next_random(7)] : next_random(-1);
			size_t width = (size_t)1 << next_random(4);
			size_t at = next_random(next_random(2) ? 300 : size);

			if (at < size && size - at >= width)
				memcpy(data + at, &value, width);
		}
		if (i % 2 && size > 16) {
			uint32_t crc = ebt_crc32c(data + 16, size - 16);

			memcpy(data + 12, &crc, 4);
		}
		assert_no_error(cache_build_unpack(&build, data, size, &good));
		accepted += good;
		if (good) {
			assert_memory_equal(data + 20, id.bytes, id.len);
			use(&build);
		}
		cache_build_deinit(&build);
		free(data);
	}
	assert_true(accepted > 0 && accepted < wanted / 2);
	free(original);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_second_time), TEST(test_copies),	 TEST(test_collected),
		TEST(test_no_inline),	TEST(test_better_files), TEST(test_fewer_files),
		TEST(test_cut),		TEST(test_other_build),	 TEST(test_no_place),
		TEST(test_size),	TEST(test_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
