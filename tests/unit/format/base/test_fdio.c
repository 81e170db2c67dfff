/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes are written whole, whatever write(2) makes of a call: it is played here. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/base/fdio.h"
#include "format/write/writer.h"

/* A file descriptor that nobody has. */
#define PLAYED 12345

/* What calls return, one after the other: a number of bytes at the most, or an error below 0. */
static const int *answers;
static size_t n_answers;
static char written[64];
static size_t n_written;

static ssize_t answer(const void *data, size_t len)
{
	size_t n;

	/* Asked on and on. */
	if (!n_answers)
		abort();
	n_answers--;
	if (*answers < 0) {
		errno = -*answers++;
		return -1;
	}
	n = (size_t)*answers++ < len ? (size_t)answers[-1] : len;
	if (n > sizeof(written) - n_written)
		return (ssize_t)n;
	memcpy(written + n_written, data, n);
	n_written += n;
	return (ssize_t)n;
}

ssize_t write(int fd, const void *data, size_t len)
{
	const struct iovec part = { (void *)(uintptr_t)data, len };

	return fd == PLAYED ? answer(data, len) : writev(fd, &part, 1);
}

/* pwritev2() with offset -1 is writev(). */
ssize_t writev(int fd, const struct iovec *parts, int n)
{
	return fd == PLAYED ? answer(parts->iov_base, parts->iov_len)
			    : pwritev2(fd, parts, n, -1, 0);
}

static void play(const int *list, size_t n)
{
	answers = list;
	n_answers = n;
	n_written = 0;
	errno = 0;
}

static void test_whole(void **state)
{
	static const int list[] = { 2, -EINTR, 1, 100 };

	(void)state;
	play(list, 4);
	assert_true(ebt_write(PLAYED, "abcdef", 6));
	assert_int_equal(n_answers, 0);
	assert_int_equal(n_written, 6);
	assert_memory_equal(written, "abcdef", 6);
}

static void test_failure(void **state)
{
	static const int list[] = { 2, -ENOSPC };

	(void)state;
	play(list, 2);
	assert_false(ebt_write(PLAYED, "abcdef", 6));
	assert_int_equal(errno, ENOSPC);
}

/* What takes nothing is not asked for ever. */
static void test_nothing(void **state)
{
	static const int list[] = { 2, 0 };
	const struct ebt_writer_options options = { .fd = PLAYED, .name = "t.ebt" };
	struct ebt_writer *writer = NULL;
	struct ebt_error *err;

	(void)state;
	play(list, 2);
	assert_false(ebt_write(PLAYED, "abcdef", 6));
	assert_int_equal(errno, EIO);
	play(list, 2);
	err = ebt_writer_create(&options, &writer);
	assert_non_null(err);
	assert_int_equal(err->errnum, EIO);
	ebt_error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
