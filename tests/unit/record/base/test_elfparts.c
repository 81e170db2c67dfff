/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Segments of files of this system against readelf, files that are blanked against nm, and files
 * that are made to mislead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/base/identity.h"

#define MUTATIONS 1000u

static uint64_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_size;
}

/* "LOAD 0x… 0x… 0x… 0x… 0x… R E 0x…" of each PT_LOAD. */
static size_t compare_loads(const char *path, const struct elfparts *parts)
{
	char command[512], line[512];
	size_t n = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "readelf -lW '%s' 2>/dev/null", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		unsigned long long offset, vaddr, paddr, filesz, memsz;

		if (sscanf(line, " LOAD %llx %llx %llx %llx %llx", &offset, &vaddr, &paddr, &filesz,
			   &memsz) != 5)
			continue;
		assert_true(n < parts->n_loads);
		assert_int_equal(parts->loads[n].offset, offset);
		assert_int_equal(parts->loads[n].vaddr, vaddr);
		assert_int_equal(parts->loads[n].filesz, filesz);
		assert_int_equal(parts->loads[n].memsz, memsz);
		n++;
	}
	pclose(pipe);
	assert_int_equal(n, parts->n_loads);
	return n;
}

static void test_system_files(void **state)
{
	glob_t files = { 0 };
	size_t loads = 0, links = 0;

	(void)state;
	if (system("readelf --version >/dev/null 2>&1"))
		skip(); /* no binutils */
	glob("/usr/bin/[a-d]*", 0, NULL, &files);
	glob("/usr/lib/*-linux-gnu*/lib[a-b]*.so.?", GLOB_APPEND, NULL, &files);
	for (size_t i = 0; i < files.gl_pathc && i < 100; i++) {
		struct elfparts parts;
		int fd = open(files.gl_pathv[i], O_RDONLY | O_CLOEXEC);

		if (fd >= 0 && elfparts_read(fd, &parts)) {
			loads += compare_loads(files.gl_pathv[i], &parts);
			links += parts.debuglink[0] != '\0';
		}
		close(fd);
	}
	globfree(&files);
	assert_true(loads > 20);
	assert_true(links > 5); /* Debian's have one */
}

static char *slurp(const char *path, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *content;

	assert_true(fd >= 0);
	*ret_len = size_of(fd);
	content = malloc(*ret_len);
	assert_non_null(content);
	assert_int_equal(read(fd, content, *ret_len), *ret_len);
	close(fd);
	return content;
}

static int memory_file(const void *content, size_t len)
{
	int fd = memfd_create("elfparts", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, len), len);
	return fd;
}

/* Symbols and debug information of this program survive; most of its code does not. */
static void test_blank(void **state)
{
	struct elfparts parts;
	char command[256];
	size_t len, zeros = 0;
	char *content = slurp("/proc/self/exe", &len);
	int fd = memory_file(content, len);

	(void)state;
	if (system("nm --version >/dev/null 2>&1"))
		skip(); /* no binutils */
	assert_true(elfparts_read(fd, &parts));
	assert_true(parts.n_dull > 3);
	for (size_t i = 0; i < parts.n_dull; i++)
		zeros += parts.dull[i].len;
	elfparts_blank(&parts, content, len);
	close(fd);
	fd = memory_file(content, len);
	assert_true(zeros > 1000);
	for (size_t i = 0; i < parts.n_dull; i++) {
		for (uint64_t k = 0; k < parts.dull[i].len; k++)
			assert_int_equal(content[parts.dull[i].offset + k], 0);
	}
	for (int dwarf = 0; dwarf < 2; dwarf++) {
		const char *tool = dwarf ? "readelf -wi" : "nm -n";

		snprintf(command, sizeof(command),
			 "%s /proc/%d/exe >/tmp/elfparts.%d.a 2>/dev/null;"
			 "%s /proc/%d/fd/%d >/tmp/elfparts.%d.b 2>/dev/null;"
			 "tail -n +4 /tmp/elfparts.%d.a >/tmp/elfparts.%d.c;"
			 "tail -n +4 /tmp/elfparts.%d.b | cmp -s - /tmp/elfparts.%d.c",
			 tool, getpid(), getpid(), tool, getpid(), fd, getpid(), getpid(), getpid(),
			 getpid(), getpid());
		assert_int_equal(system(command), 0);
	}
	snprintf(command, sizeof(command), "rm -f /tmp/elfparts.%d.?", getpid());
	assert_int_equal(system(command), 0);
	close(fd);
	free(content);
}

/* Whatever the headers say, nothing outside of the file is read or blanked. */
static void test_mutations(void **state)
{
	size_t len, kept = 4096;
	char *content = slurp("/proc/self/exe", &len), *copy = malloc(len);
	const size_t sections = (size_t) * (uint64_t *)(content + 0x28);
	unsigned int seed = 4711;

	(void)state;
	assert_non_null(copy);
	assert_true(sections < len);
	for (unsigned int i = 0; i < MUTATIONS; i++) {
		struct elfparts parts;
		int fd;

		memcpy(copy, content, len);
		for (int k = 0; k < 20; k++) {
			size_t range = rand_r(&seed) % 2 ? kept : len - sections;
			size_t at = (size_t)rand_r(&seed) % range;

			copy[range == kept ? at : sections + at] = (char)rand_r(&seed);
		}
		if (i % 2)
			memcpy(copy, content, 16); /* so that more than the magic is looked at */
		fd = memory_file(copy, i % 3 ? len : len * (i % 7) / 7);
		if (elfparts_read(fd, &parts)) {
			assert_true(parts.n_loads <= ELFPARTS_MAX_LOADS);
			assert_true(parts.n_dull <= ELFPARTS_MAX_DULL);
			assert_true(strnlen(parts.debuglink, sizeof(parts.debuglink)) <
				    sizeof(parts.debuglink));
			elfparts_blank(&parts, copy, size_of(fd));
		}
		close(fd);
	}
	free(copy);
	free(content);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system_files),
		cmocka_unit_test(test_blank),
		cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
