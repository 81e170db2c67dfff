/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks in calls of libc, each in a known place of the program: in main, and in a thread for each
 * of them. Built without frame pointers. Prints, for each place and task, how often the kernel says
 * that it blocked there: "PLACE TID COUNT".
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 25
#define DEPTH  8
#define NS     2000000

static volatile unsigned long sink;

/* None of these may be inlined, nor end in a jump. */
#define APART __attribute__((noinline))
#define CALLED()                      \
	do {                          \
		sink++;               \
		__asm__ volatile(""); \
	} while (0)

static long blocks(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static int timer(void)
{
	const struct itimerspec often = { .it_interval.tv_nsec = NS, .it_value.tv_nsec = NS };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	if (fd < 0 || timerfd_settime(fd, 0, &often, NULL))
		exit(1);
	return fd;
}

APART static void block_futex(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < ROUNDS; i++) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += NS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		while (pthread_cond_timedwait(&cond, &mutex, &until) != ETIMEDOUT)
			;
	}
	pthread_mutex_unlock(&mutex);
	CALLED();
}

APART static void block_read(void)
{
	int fd = timer();
	uint64_t n;

	for (int i = 0; i < ROUNDS; i++) {
		if (read(fd, &n, sizeof(n)) != sizeof(n))
			exit(1);
	}
	close(fd);
	CALLED();
}

APART static void block_nanosleep(void)
{
	const struct timespec t = { .tv_nsec = NS };

	for (int i = 0; i < ROUNDS; i++)
		nanosleep(&t, NULL);
	CALLED();
}

APART static void block_epoll(void)
{
	int fd = epoll_create1(0);
	struct epoll_event event;

	for (int i = 0; i < ROUNDS; i++)
		epoll_wait(fd, &event, 1, NS / 1000000);
	close(fd);
	CALLED();
}

static const struct place {
	const char *name;
	void (*block)(void);
} places[] = {
	{ "block_futex", block_futex },
	{ "block_read", block_read },
	{ "block_nanosleep", block_nanosleep },
	{ "block_epoll", block_epoll },
};

#define N_PLACES (sizeof(places) / sizeof(*places))

APART static void descend(const struct place *place, int depth)
{
	if (depth)
		descend(place, depth - 1);
	else
		place->block();
	CALLED();
}

/* Where a thread blocks besides is no part of it. */
APART static void count(const struct place *place)
{
	long before = blocks();

	descend(place, DEPTH);
	printf("%s %d %ld\n", place->name, (int)gettid(), blocks() - before);
	CALLED();
}

static void *thread(void *arg)
{
	count(arg);
	CALLED();
	return NULL;
}

int main(void)
{
	pthread_t threads[N_PLACES];

	for (size_t i = 0; i < N_PLACES; i++)
		count(&places[i]);
	for (size_t i = 0; i < N_PLACES; i++)
		pthread_create(&threads[i], NULL, thread, (void *)&places[i]);
	for (size_t i = 0; i < N_PLACES; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
