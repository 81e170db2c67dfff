/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes descriptors in functions of which some forget to close them, and calls that fail. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static __attribute__((noinline)) int keeps(void)
{
	int fd = open("/etc/passwd", O_RDONLY);

	return fd + 1;
}

static __attribute__((noinline)) int closes(void)
{
	int fd = open("/etc/passwd", O_RDONLY);

	return close(fd) + 1;
}

static __attribute__((noinline)) int keeps_pipe(void)
{
	int ends[2];

	return pipe(ends) ? 0 : ends[0] + 1;
}

static __attribute__((noinline)) int keeps_one_of_two(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), other = dup(fd);

	return close(fd) + other;
}

static __attribute__((noinline)) int fails(void)
{
	return open("/no/such/file", O_RDONLY) + access("/no/such/file", R_OK);
}

static __attribute__((noinline)) int calls_it(int (*fn)(void))
{
	return fn() + 1;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 5; i++)
		sum += calls_it(keeps) + calls_it(closes) + fails();
	sum += keeps_pipe() + calls_it(keeps_one_of_two);
	printf("%d\n", sum);
	return 0;
}
