// SPDX-License-Identifier: GPL-2.0-or-later
// requests N: N requests, each a mark "shop/request", of about 3 ms: 2 ms on a CPU, and 1 ms in
// another thread, which is asked through a socket. Every tenth sleeps 50 ms besides, in rest(), and
// the other thread has 6 ms more to do, in search().
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ebmark.h"

#define MS	 1000000
#define NOINLINE __attribute__((noinline))

static int sockets[2];

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void run_for(long ns)
{
	const int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static NOINLINE void search(void)
{
	run_for(6 * MS);
	__asm__ volatile("");
}

static NOINLINE void rest(void)
{
	struct timespec t = { 0, 50 * MS };

	nanosleep(&t, NULL);
	__asm__ volatile("");
}

static void *serve(void *arg)
{
	char slow;

	while (read(sockets[1], &slow, 1) == 1) {
		run_for(MS);
		if (slow)
			search();
		if (write(sockets[1], &slow, 1) != 1)
			abort();
	}
	return arg;
}

int main(int argc, char **argv)
{
	const int n = argc == 2 ? atoi(argv[1]) : 0;
	pthread_t server;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) ||
	    pthread_create(&server, NULL, serve, NULL))
		return 1;
	for (int i = 0; i < n; i++) {
		char slow = i % 10 == 9;

		ebmark_begin("shop", "request");
		run_for(2 * MS);
		if (write(sockets[0], &slow, 1) != 1 || read(sockets[0], &slow, 1) != 1)
			return 1;
		if (slow)
			rest();
		ebmark_end("shop", "request");
	}
	return 0;
}
