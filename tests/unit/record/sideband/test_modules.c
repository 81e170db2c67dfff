/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules that come and go while a recording goes on: which functions the trace gets, and when. */
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

#include "format/read/reader.h"
#include "record/sideband/modules.h"
#include "tests/tools/make_trace.h"

#define KERNEL	"ffffffff81000000 T startup_64\n"
#define PROGRAM "ffffffffc0700000 t bpf_prog_1234_x\t[bpf]\n"
#define ONE                                        \
	"ffffffffc0000000 t one_fn\t[one]\n"       \
	"ffffffffc0000000 t __pfx_one_fn\t[one]\n" \
	"ffffffffc0000100 d one_data\t[one]\n"
#define TWO	 "ffffffffc0100000 T two_fn\t[two]\n"

#define LIST_ONE "one 16384 0 - Live 0xffffffffc0000000\n"
#define LIST_TWO "two 16384 1 one,three, Live 0xffffffffc0100000 (OE)\n"

struct fixture {
	char *trace, *modules, *kallsyms;
	int fd;
	struct ebt_writer *writer;
	struct sideband_context context;
	struct modules *state;
	struct ebt_reader *reader;
};

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void set(struct fixture *f, const char *modules, const char *kallsyms)
{
	put(f->modules, modules);
	put(f->kallsyms, kallsyms);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct ebt_writer_options options;

	f->trace = make_temporary_path("modules.ebt");
	f->modules = make_temporary_path("modules");
	f->kallsyms = make_temporary_path("kallsyms");
	f->fd = open(f->trace, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	options = (struct ebt_writer_options){ .fd = f->fd, .name = f->trace };
	assert_no_error(ebt_writer_create(&options, &f->writer));
	assert_no_error(ebt_writer_add_stream(f->writer, &f->context.stream));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	modules_destroy(f->state);
	ebt_reader_close(f->reader);
	ebt_writer_destroy(f->writer);
	close(f->fd);
	free_temporary_path(f->trace);
	free_temporary_path(f->modules);
	free_temporary_path(f->kallsyms);
	free(f);
	return 0;
}

static void begin(struct fixture *f)
{
	const struct modules_paths paths = { f->modules, f->kallsyms };

	assert_no_error(modules_create(&paths, &f->context, &f->state));
}

/* The trace has these copies, in order of time. */
static void assert_copies(struct fixture *f, const char *const *copies, size_t n)
{
	const struct ebt_file *files;
	uint64_t before = 0;
	size_t n_files;

	assert_no_error(ebt_writer_finish(f->writer));
	assert_no_error(ebt_reader_open(f->trace, &f->reader));
	assert_no_error(ebt_reader_files(f->reader, &files, &n_files));
	assert_int_equal(n_files, n);
	for (size_t i = 0; i < n; i++) {
		char *content;
		size_t len;

		assert_string_equal(files[i].role, "kallsyms");
		assert_true(files[i].time > before);
		before = files[i].time;
		assert_no_error(ebt_reader_file_content(f->reader, files[i].id, &content, &len));
		assert_string_equal(content, copies[i]);
		free(content);
	}
}

static void test_nothing_changes(void **state)
{
	struct fixture *f = *state;

	set(f, LIST_ONE LIST_TWO, KERNEL ONE TWO);
	begin(f);
	/* Somebody uses one of them. */
	set(f, "odd\none 16384 7 x, Live 0xffffffffc0000000\n" LIST_TWO, KERNEL ONE TWO);
	assert_no_error(modules_look(f->state));
	assert_copies(f, NULL, 0);
}

static void test_come_and_go(void **state)
{
	static const char *const copies[] = { "ffffffffc0000000 t one_fn\t[one]\n", TWO };
	struct fixture *f = *state;

	set(f, LIST_ONE, KERNEL ONE PROGRAM);
	begin(f);
	assert_no_error(modules_look(f->state));
	set(f, LIST_TWO, KERNEL TWO PROGRAM);
	assert_no_error(modules_look(f->state));
	assert_no_error(modules_look(f->state));
	assert_copies(f, copies, 2);
}

static void test_first_and_last(void **state)
{
	static const char *const copies[] = { TWO };
	struct fixture *f = *state;

	/* A kernel without modules has no such file. */
	unlink(f->modules);
	put(f->kallsyms, KERNEL);
	begin(f);
	assert_no_error(modules_look(f->state));
	set(f, LIST_TWO, KERNEL TWO);
	assert_no_error(modules_look(f->state));
	set(f, "", KERNEL);
	assert_no_error(modules_look(f->state));
	assert_copies(f, copies, 1);
}

static void test_moved(void **state)
{
	static const char *const copies[] = { TWO, "ffffffffc0180000 T two_fn\t[two]\n" };
	struct fixture *f = *state;

	set(f, LIST_TWO, KERNEL TWO);
	begin(f);
	set(f, "two 16384 1 one,three, Live 0xffffffffc0180000 (OE)\n",
	    KERNEL "ffffffffc0180000 T two_fn\t[two]\n");
	assert_no_error(modules_look(f->state));
	assert_copies(f, copies, 2);
}

/* Addresses that are hidden name nothing. */
static void test_hidden(void **state)
{
	struct fixture *f = *state;

	set(f, "one 16384 0 - Live 0x0000000000000000\n", "0000000000000000 t one_fn\t[one]\n");
	begin(f);
	set(f, "", "");
	assert_no_error(modules_look(f->state));
	assert_copies(f, NULL, 0);
}

static void test_for_ever(void **state)
{
	const char *copies[32];
	struct fixture *f = *state;

	set(f, LIST_TWO, KERNEL TWO);
	begin(f);
	for (int i = 0; i < 100; i++) {
		set(f, i & 1 ? LIST_TWO : "", i & 1 ? KERNEL TWO : KERNEL);
		assert_no_error(modules_look(f->state));
	}
	for (int i = 0; i < 32; i++)
		copies[i] = TWO;
	assert_copies(f, copies, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_come_and_go, setup, teardown),
		cmocka_unit_test_setup_teardown(test_first_and_last, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hidden, setup, teardown),
		cmocka_unit_test_setup_teardown(test_for_ever, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
