/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of /proc/PID/maps that a careless parser trips over, and the file of this process. */
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
#include <sys/wait.h>
#include <unistd.h>

#include "record/base/procmaps.h"

static bool parse(const char *text, struct mapping *ret)
{
	static char line[70000];

	snprintf(line, sizeof(line), "%s", text);
	return procmaps_parse(line, strlen(line), ret);
}

static void test_plain(void **state)
{
	struct mapping e;

	(void)state;
	assert_true(
		parse("7f0a1000-7f0a3000 r-xp 00001000 fd:1f 1234567                    /usr/bin/x",
		      &e));
	assert_int_equal(e.start, 0x7f0a1000);
	assert_int_equal(e.length, 0x2000);
	assert_int_equal(e.prot, PROT_READ | PROT_EXEC);
	assert_int_equal(e.flags, MAP_PRIVATE);
	assert_int_equal(e.pgoff, 0x1000);
	assert_int_equal(e.dev_major, 0xfd);
	assert_int_equal(e.dev_minor, 0x1f);
	assert_int_equal(e.inode, 1234567);
	assert_string_equal(e.path, "/usr/bin/x");
	assert_int_equal(e.path_len, strlen("/usr/bin/x"));

	assert_true(parse("1000-2000 rwxs 00000000 00:05 9 /dev/zero (deleted)", &e));
	assert_int_equal(e.prot, PROT_READ | PROT_WRITE | PROT_EXEC);
	assert_int_equal(e.flags, MAP_SHARED);
	assert_string_equal(e.path, "/dev/zero (deleted)");
}

static void test_odd_paths(void **state)
{
	struct mapping e;

	(void)state;
	assert_true(parse("1000-2000 r-xp 00000000 00:00 0 ", &e));
	assert_string_equal(e.path, "");
	assert_true(parse("1000-2000 r-xp 00000000 00:00 0", &e));
	assert_string_equal(e.path, "");
	assert_true(parse("1000-2000 r-xp 00000000 08:01 5 /a b/ c  d", &e));
	assert_string_equal(e.path, "/a b/ c  d");
	assert_true(parse("1000-2000 r-xp 00000000 08:01 5 /two\\012lines\\012", &e));
	assert_string_equal(e.path, "/two\nlines\n");
	assert_int_equal(e.path_len, 11);
	/* Only the newline is escaped by the kernel. */
	assert_true(parse("1000-2000 r-xp 00000000 08:01 5 /back\\slash\\040\\01", &e));
	assert_string_equal(e.path, "/back\\slash\\040\\01");
	assert_true(parse("1000-2000 r-xp 00000000 00:00 0 [anon:it's mine]", &e));
	assert_string_equal(e.path, "[anon:it's mine]");
	assert_true(
		parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", &e));
	assert_int_equal(e.start, 0xffffffffff600000u);
}

static void test_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 r-x",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0 08:01",
		"1000-2000 r-xp 0 08 5 /x",
		"1000-2000 r-xp 0 08:01 /x",
		"2000-1000 r-xp 0 08:01 5 /x",
		"10000000000000000-20000000000000000 r-xp 0 08:01 5 /x",
		"1000-2000 r-xp 0 100000000:01 5 /x",
		"1000-2000 r-xp 0 08:01 99999999999999999999 /x",
		"1000-2000 r-xp 0 08:01 5/x",
		"1000 2000 r-xp 0 08:01 5 /x",
		" 1000-2000 r-xp 0 08:01 5 /x",
	};
	struct mapping e;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (parse(lines[i], &e))
			fail_msg("taken: %s", lines[i]);
}

struct found {
	unsigned int n, wanted_n;
	const char *wanted;
	uint64_t start, end;
};

static bool count(void *arg, const struct mapping *entry)
{
	struct found *found = arg;

	assert_true(entry->prot & PROT_EXEC);
	assert_int_equal(entry->path[entry->path_len], 0);
	found->n++;
	if (found->wanted && !strcmp(entry->path, found->wanted)) {
		found->wanted_n++;
		found->start = entry->start;
		found->end = entry->start + entry->length;
	}
	return true;
}

static bool stop(void *arg, const struct mapping *entry)
{
	(void)entry;
	++*(unsigned int *)arg;
	return false;
}

/* Read through a pipe, in pieces that end anywhere. */
static void feed(const char *text, size_t len, size_t piece, int fd)
{
	for (size_t at = 0; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;

		if (write(fd, text + at, n) != (ssize_t)n)
			_exit(1);
	}
	_exit(0);
}

static int each_of(const char *text, size_t len, size_t piece, procmaps_fn *fn, void *arg)
{
	int fds[2], status, r;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		close(fds[0]);
		feed(text, len, piece, fds[1]);
	}
	close(fds[1]);
	r = procmaps_each(fds[0], PROT_EXEC, fn, arg);
	assert_int_equal(waitpid(child, &status, 0), child);
	return r;
}

static void test_pieces(void **state)
{
	const char text[] = "1000-2000 r-xp 00000000 08:01 5 /first\n"
			    "2000-3000 rw-p 00000000 08:01 5 /not executable\n"
			    "this is no such line\n"
			    "3000-4000 --xp 00000000 08:01 5 /second\n"
			    "4000-5000 r-xp 00000000 08:01 5 /cut of";

	(void)state;
	for (size_t piece = 1; piece <= sizeof(text); piece += 3) {
		struct found found = { .wanted = "/second" };

		assert_int_equal(each_of(text, sizeof(text) - 1, piece, count, &found), 0);
		assert_int_equal(found.n, 2);
		assert_int_equal(found.wanted_n, 1);
	}
}

static void test_too_long(void **state)
{
	static char text[100000];
	struct found found = { 0 };

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_true(each_of(text, sizeof(text), sizeof(text), count, &found) < 0);
	assert_int_equal(found.n, 0);
}

static void test_huge(void **state)
{
	const unsigned int n = 65536;
	char *text = malloc((size_t)n * 64);
	struct found found = { .wanted = "/library" };
	size_t len = 0;

	(void)state;
	assert_non_null(text);
	for (unsigned int i = 0; i < n; i++)
		len += (size_t)sprintf(text + len, "%x-%x r-xp 00000000 08:01 5 /library\n",
				       0x1000 + i * 0x1000, 0x2000 + i * 0x1000);
	assert_int_equal(each_of(text, len, 4000, count, &found), 0);
	assert_int_equal(found.wanted_n, n);
	assert_int_equal(found.start, 0x1000 + (n - 1) * 0x1000u);
	free(text);
}

/* A file whose name has a newline, mapped by this process and then deleted. */
static void test_own(void **state)
{
	char name[] = "/tmp/test procmaps\nXXXXXX", wanted[64];
	struct found found = { .wanted = wanted };
	unsigned int calls = 0;
	int fd = mkstemp(name), maps;
	void *p;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	p = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	unlink(name);
	close(fd);
	if (p == MAP_FAILED)
		skip(); /* /tmp is mounted noexec */
	snprintf(wanted, sizeof(wanted), "%s (deleted)", name);
	maps = open("/proc/self/maps", O_RDONLY);
	assert_int_equal(procmaps_each(maps, PROT_EXEC, count, &found), 0);
	assert_int_equal(found.wanted_n, 1);
	assert_int_equal(found.start, (uintptr_t)p);
	assert_int_equal(found.end, (uintptr_t)p + 8192);
	assert_true(found.n > 3);

	maps = open("/proc/self/maps", O_RDONLY);
	assert_int_equal(procmaps_each(maps, PROT_EXEC, stop, &calls), 0);
	assert_int_equal(calls, 1);
	munmap(p, 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	 cmocka_unit_test(test_odd_paths),
		cmocka_unit_test(test_refused),	 cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_too_long), cmocka_unit_test(test_huge),
		cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
