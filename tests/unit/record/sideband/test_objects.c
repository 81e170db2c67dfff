/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a mapped file gets a row, and what travels in the trace: files of this process, mapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "format/read/reader.h"
#include "record/sideband/objects.h"

static void expect(struct ebt_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

struct fixture {
	char trace[64], file[64];
	struct ebt_writer *writer;
	struct ebt_stream *stream;
	struct objects *objects;
	struct sideband_context context;
	int fd;
	struct mapping mapping;
	char path[128]; /* of the mapping */
	struct ebt_reader *reader;
	struct ebt_cursor *cursor;
};

static void begin(struct fixture *f)
{
	struct ebt_writer_options options = { .name = f->trace };

	memset(f, 0, sizeof(*f));
	strcpy(f->trace, "/tmp/ebt-objects-XXXXXX");
	f->fd = mkstemp(f->trace);
	assert_true(f->fd >= 0);
	options.fd = f->fd;
	expect(ebt_writer_create(&options, &f->writer));
	expect(ebt_writer_add_stream(f->writer, &f->stream));
	f->context.stream = f->stream;
	expect(objects_create(&f->context, &f->objects));
	strcpy(f->file, "/tmp/ebt-mapped-XXXXXX");
	close(mkstemp(f->file));
}

/* This program without its build-id, and `tail` behind it; at the same inode as before. */
static void write_program(const char *path, const char *tail)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "objcopy --remove-section=.note.gnu.build-id /proc/%d/exe %s.x && "
		 "cat %s.x >%s && printf '%s' >>%s; rm -f %s.x",
		 getpid(), path, path, path, tail, path, path);
	assert_int_equal(system(command), 0);
}

static void map_file(struct fixture *f, int fd, const char *path)
{
	struct stat st;
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(fstat(fd, &st), 0);
	if (f->mapping.start)
		munmap((void *)f->mapping.start, 4096);
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->mapping = (struct mapping){
		.start = (uint64_t)p,
		.length = 4096,
		.inode = st.st_ino,
		.pid = (uint32_t)getpid(),
		.prot = PROT_READ | PROT_EXEC,
		.dev_major = major(st.st_dev),
		.dev_minor = minor(st.st_dev),
		.path = f->path,
		.path_len = strlen(f->path),
	};
}

static void on_mapping(struct fixture *f)
{
	expect(objects_on_mapping(f->objects, &f->mapping));
	expect(objects_work(f->objects, false));
}

static void written(struct fixture *f)
{
	static const struct ebt_want want = { EBT_T_object, UINT64_MAX };
	static const struct ebt_query query = { &want, 1, 0, 0, 0 };

	expect(objects_work(f->objects, true));
	objects_destroy(f->objects);
	expect(ebt_writer_finish(f->writer));
	ebt_writer_destroy(f->writer);
	close(f->fd);
	expect(ebt_reader_open(f->trace, &f->reader));
	expect(ebt_cursor_create(f->reader, &query, &f->cursor));
}

static bool next(struct fixture *f, struct ebt_row *ret)
{
	expect(ebt_cursor_next(f->cursor, ret));
	return ret->batch;
}

static void end(struct fixture *f)
{
	munmap((void *)f->mapping.start, 4096);
	ebt_cursor_destroy(f->cursor);
	ebt_reader_close(f->reader);
	unlink(f->trace);
	unlink(f->file);
}

static size_t embedded(struct fixture *f)
{
	const struct ebt_file *files;
	size_t n;

	expect(ebt_reader_files(f->reader, &files, &n));
	return n;
}

/* A file gets a row once; another one when it changes, and in each epoch that maps it. */
static void test_rows(void **state)
{
	struct ebt_row row;
	uint64_t sizes[3];
	struct fixture f;
	int fd;

	(void)state;
	begin(&f);
	write_program(f.file, "");
	fd = open(f.file, O_RDWR | O_CLOEXEC);
	map_file(&f, fd, f.file);
	on_mapping(&f);
	on_mapping(&f);
	write_program(f.file, "longer");
	on_mapping(&f);
	on_mapping(&f);
	objects_next_epoch(f.objects);
	on_mapping(&f);
	on_mapping(&f);
	written(&f);
	for (int i = 0; i < 3; i++) {
		assert_true(next(&f, &row));
		sizes[i] = ebt_object_size(&row);
		assert_int_equal(ebt_object_inode(&row), f.mapping.inode);
		assert_int_equal(ebt_object_links(&row), 1);
		assert_int_equal(ebt_object_hash(&row).len, 16);
		assert_int_not_equal(ebt_object_file_id(&row), 0);
	}
	assert_false(next(&f, &row));
	assert_int_equal(sizes[1], sizes[0] + strlen("longer"));
	assert_int_equal(sizes[2], sizes[1]);
	assert_int_equal(embedded(&f), 2);
	close(fd);
	end(&f);
}

/* What is no ELF file, and has no name, is code that changes: no hash, and looked at once. */
static void test_generated_code(void **state)
{
	struct ebt_row row;
	struct fixture f;
	int fd = memfd_create("jit", MFD_CLOEXEC);

	(void)state;
	begin(&f);
	assert_int_equal(ftruncate(fd, 8192), 0);
	map_file(&f, fd, "/memfd:jit (deleted)");
	for (int i = 0; i < 10; i++) {
		assert_int_equal(pwrite(fd, "code", 4, i), 4);
		on_mapping(&f);
	}
	written(&f);
	if (next(&f, &row)) { /* or nobody may look: not root */
		assert_int_equal(ebt_object_hash(&row).len, 0);
		assert_int_equal(ebt_object_links(&row), 0);
		assert_int_equal(ebt_object_file_id(&row), 0);
		assert_false(next(&f, &row));
	}
	assert_int_equal(embedded(&f), 0);
	close(fd);
	end(&f);
}

/* A name that leads to another file, and a mapping that has gone. */
static void test_not_the_file(void **state)
{
	struct ebt_row row;
	struct fixture f;
	int fd;

	(void)state;
	begin(&f);
	write_program(f.file, "");
	fd = open(f.file, O_RDONLY | O_CLOEXEC);
	map_file(&f, fd, f.file);
	f.mapping.inode++;
	on_mapping(&f);
	f.mapping.build_id.len = 20;
	on_mapping(&f);
	f.mapping.build_id.len = 0;
	f.mapping.inode = 0;
	on_mapping(&f);
	written(&f);
	assert_false(next(&f, &row));
	close(fd);
	end(&f);
}

/* Deleted after it was mapped; it has a build-id, so that it was not worth embedding before. */
static void test_deleted_later(void **state)
{
	struct ebt_row row;
	struct fixture f;
	char command[128];
	int fd;

	(void)state;
	if (geteuid())
		skip(); /* map_files is root's */
	begin(&f);
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", getpid(), f.file);
	assert_int_equal(system(command), 0);
	fd = open(f.file, O_RDONLY | O_CLOEXEC);
	map_file(&f, fd, f.file);
	assert_true(buildid_of_fd(fd, &f.mapping.build_id));
	on_mapping(&f);
	expect(objects_check(f.objects, false));
	unlink(f.file);
	expect(objects_check(f.objects, false));
	expect(objects_check(f.objects, true));
	written(&f);
	assert_true(next(&f, &row));
	assert_int_equal(ebt_object_links(&row), 1);
	assert_int_equal(ebt_object_file_id(&row), 0);
	assert_true(next(&f, &row));
	assert_int_equal(ebt_object_links(&row), 0);
	assert_int_equal(ebt_object_file_id(&row), 1);
	assert_false(next(&f, &row));
	assert_int_equal(embedded(&f), 1);
	close(fd);
	end(&f);
}

/* However many files nobody can get again: 64 MiB of them. */
static void test_much(void **state)
{
	struct fixture f;
	char command[256];
	size_t n = 100;

	(void)state;
	if (geteuid())
		skip(); /* map_files is root's */
	begin(&f);
	write_program(f.file, "");
	for (size_t i = 0; i < n; i++) {
		int fd = memfd_create("program", MFD_CLOEXEC);

		snprintf(command, sizeof(command), "cat %s >/proc/%d/fd/%d", f.file, getpid(), fd);
		assert_int_equal(system(command), 0);
		assert_int_equal(ftruncate(fd, 1 << 20), 0);
		map_file(&f, fd, "/memfd:program (deleted)");
		expect(objects_on_mapping(f.objects, &f.mapping));
		close(fd);
	}
	written(&f);
	assert_int_equal(embedded(&f), 64);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	     cmocka_unit_test(test_generated_code),
		cmocka_unit_test(test_not_the_file), cmocka_unit_test(test_deleted_later),
		cmocka_unit_test(test_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
