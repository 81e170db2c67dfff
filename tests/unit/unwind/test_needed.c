/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs and libraries of the system need, against readelf(1); and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/needed.h"

#define FILES	  60
#define MUTATIONS 20000

/* The text in brackets of a line that has `what`; NULL: it has not. */
static char *bracketed(char *line, const char *what)
{
	char *begin = strstr(line, what), *end;

	begin = begin ? strchr(begin, '[') : NULL;
	end = begin ? strchr(begin, ']') : NULL;
	if (!end)
		return NULL;
	*end = '\0';
	return begin + 1;
}

static void compare(const char *path)
{
	struct needed *needed = malloc(sizeof(*needed));
	char command[4096], line[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	FILE *readelf;
	size_t n = 0;

	assert_non_null(needed);
	assert_true(fd >= 0);
	needed_read(fd, needed);
	snprintf(command, sizeof(command), "LC_ALL=C readelf -dW '%s' 2>&1", path);
	readelf = popen(command, "r");
	assert_non_null(readelf);
	while (fgets(line, sizeof(line), readelf)) {
		char *name = bracketed(line, "Shared library: ");
		char *runpath = name ? NULL : bracketed(line, "unpath: ");

		if (name) {
			assert_true(n < needed->n);
			assert_string_equal(name, needed->names[n++]);
		} else if (runpath) {
			assert_string_equal(runpath, needed->runpath);
		}
	}
	pclose(readelf);
	assert_int_equal(n, needed->n);
	needed_deinit(needed);
	free(needed);
	close(fd);
}

static void test_system(void **state)
{
	glob_t files;

	(void)state;
	assert_int_equal(glob("/usr/bin/[a-g]*", 0, NULL, &files), 0);
	glob("/usr/lib/*/lib*.so.*", GLOB_APPEND, NULL, &files);
	assert_true(files.gl_pathc > 1);
	for (size_t i = 0; i < FILES; i++) {
		const char *path = files.gl_pathv[i * (files.gl_pathc - 1) / (FILES - 1)];

		if (!access(path, R_OK) && !strchr(path, '\''))
			compare(path);
	}
	globfree(&files);
}

static void test_self(void **state)
{
	struct needed *needed = malloc(sizeof(*needed));
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_non_null(needed);
	needed_read(fd, needed);
	assert_true(needed->n > 0);
	assert_int_equal(access(needed->interpreter, X_OK), 0);
	needed_deinit(needed);
	free(needed);
	close(fd);
}

/* Bytes at the beginning of a program, where its headers are, and anywhere. */
static void test_damaged(void **state)
{
	struct needed *needed = malloc(sizeof(*needed));
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("damaged", MFD_CLOEXEC);
	size_t len = (size_t)lseek(self, 0, SEEK_END);
	unsigned char *data = malloc(len);

	(void)state;
	assert_non_null(needed);
	assert_non_null(data);
	assert_int_equal(pread(self, data, len, 0), len);
	assert_int_equal(pwrite(fd, data, len, 0), len);
	srandom(1);
	for (int i = 0; i < MUTATIONS; i++) {
		size_t at = (size_t)random() % (i % 2 ? 1024 : len);
		unsigned char byte = (unsigned char)(random() % 4 ? random() : 255);

		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
		needed_read(fd, needed);
		assert_true(needed->n <= NEEDED_MAX);
		needed_deinit(needed);
		/* Damage adds up for a while. */
		if (i % 8 == 7)
			assert_int_equal(pwrite(fd, data, len < 8192 ? len : 8192, 0),
					 len < 8192 ? len : 8192);
	}
	free(needed);
	free(data);
	close(self);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
