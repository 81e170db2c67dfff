/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Eight threads that block in eight places, each below nine calls, until somebody ends them. Says
 * "PLACE TID NS" of each when it is about to block, NS of CLOCK_MONOTONIC, and then "ready". A
 * compiler may inline nothing here, and keeps each call: tests compare stacks with a debugger's.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HERE __attribute__((noinline))

struct place {
	const char *name;
	void (*block)(void);
};

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t none;
static int nobody[2]; /* a pipe into which nothing is written */
volatile int calls;

static void say(const char *name)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("%s %ld %lld\n", name, syscall(SYS_gettid), now.tv_sec * 1000000000LL + now.tv_nsec);
	fflush(stdout);
}

HERE static void in_read(void)
{
	char byte;

	say("read");
	calls += (int)read(nobody[0], &byte, 1);
}

HERE static void in_mutex(void)
{
	say("mutex");
	calls += pthread_mutex_lock(&held);
}

HERE static void in_cond(void)
{
	pthread_mutex_lock(&lock);
	say("cond");
	calls += pthread_cond_wait(&never, &lock);
}

HERE static void in_sem(void)
{
	say("sem");
	calls += sem_wait(&none);
}

HERE static void in_poll(void)
{
	struct pollfd fd = { nobody[0], POLLIN, 0 };

	say("poll");
	calls += poll(&fd, 1, -1);
}

HERE static void in_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	epoll_ctl(epoll, EPOLL_CTL_ADD, nobody[0], &event);
	say("epoll");
	calls += epoll_wait(epoll, &event, 1, -1);
}

HERE static void in_accept(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	calls += bind(fd, &(struct sockaddr){ .sa_family = AF_UNIX }, sizeof(sa_family_t));
	calls += listen(fd, 1);
	say("accept");
	calls += accept(fd, NULL, NULL);
}

HERE static void in_nanosleep(void)
{
	struct timespec day = { .tv_sec = 86400 };

	say("nanosleep");
	calls += nanosleep(&day, NULL);
}

/* clang-format off */
HERE static void one(const struct place *p) { p->block(); calls++; }
HERE static void two(const struct place *p) { one(p); calls++; }
HERE static void three(const struct place *p) { two(p); calls++; }
HERE static void four(const struct place *p) { three(p); calls++; }
HERE static void five(const struct place *p) { four(p); calls++; }
HERE static void six(const struct place *p) { five(p); calls++; }
HERE static void seven(const struct place *p) { six(p); calls++; }
HERE static void eight(const struct place *p) { seven(p); calls++; }
HERE static void nine(const struct place *p) { eight(p); calls++; }
/* clang-format on */

static void *thread(void *arg)
{
	nine(arg);
	return NULL;
}

int main(void)
{
	static const struct place places[] = {
		{ "read", in_read },	 { "mutex", in_mutex },		{ "cond", in_cond },
		{ "sem", in_sem },	 { "poll", in_poll },		{ "epoll", in_epoll },
		{ "accept", in_accept }, { "nanosleep", in_nanosleep },
	};
	const struct timespec settled = { .tv_nsec = 200000000 };
	pthread_t last;

	if (pipe(nobody) || sem_init(&none, 0, 0))
		return 1;
	pthread_mutex_lock(&held);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (pthread_create(&last, NULL, thread, (void *)&places[i]))
			return 1;
		pthread_setname_np(last, places[i].name);
	}
	nanosleep(&settled, NULL);
	puts("ready");
	fflush(stdout);
	pthread_join(last, NULL);
	return 0;
}
