/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Four threads that each do one thing only for SECONDS, and say for how long they did: compute on a
 * CPU, sleep, wait for a lock that another thread holds, read from a disk past the page cache.
 * planned SECONDS [FILE]; the last one only with FILE.
 *
 * A line a thread on standard output: name, tid, ns of wall-clock time and ns on a CPU in its loop,
 * ns in the calls that wait, ns of its naps besides, ns from before its beginning to when it was
 * gone, all as the kernel's clocks have it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define BLOCK  4096
#define NAP_NS 20000000

static uint64_t seconds;
static const char *path;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool held;
static uint64_t napped; /* by want() */

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns how long it was. */
static uint64_t nap(uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	const uint64_t begin = now(CLOCK_MONOTONIC);

	nanosleep(&t, NULL);
	return now(CLOCK_MONOTONIC) - begin;
}

/* Each returns ns in its calls that wait. */
__attribute__((noinline)) static uint64_t compute(uint64_t until)
{
	volatile uint64_t x = 1;

	while (now(CLOCK_MONOTONIC) < until) {
		for (int i = 0; i < 20000; i++)
			x = x * 3 + 1;
	}
	return 0;
}

__attribute__((noinline)) static uint64_t doze(uint64_t until)
{
	uint64_t waited = 0;

	while (now(CLOCK_MONOTONIC) < until)
		waited += nap(NAP_NS);
	return waited;
}

/* The main thread has it, and lets it go for a moment only. */
__attribute__((noinline)) static uint64_t want(uint64_t until)
{
	uint64_t begin, waited = 0;

	while (!held)
		;
	while ((begin = now(CLOCK_MONOTONIC)) < until) {
		pthread_mutex_lock(&lock);
		waited += now(CLOCK_MONOTONIC) - begin;
		pthread_mutex_unlock(&lock);
		napped += nap(1000000);
	}
	return waited;
}

__attribute__((noinline)) static uint64_t load(uint64_t until)
{
	uint64_t begin, waited = 0;
	int fd = open(path, O_RDONLY | O_DIRECT);
	void *block;

	if (fd < 0 || posix_memalign(&block, BLOCK, BLOCK))
		exit(1);
	for (off_t at = 0; (begin = now(CLOCK_MONOTONIC)) < until; at += BLOCK) {
		if (pread(fd, block, BLOCK, at) != BLOCK)
			at = -BLOCK;
		waited += now(CLOCK_MONOTONIC) - begin;
	}
	close(fd);
	free(block);
	return waited;
}

/* Threads that print would wait for each other: main() prints. */
static struct plan {
	const char *name;
	uint64_t (*fn)(uint64_t until);
	pid_t tid;
	uint64_t wall_ns, cpu_ns, waited_ns, created;
} plans[] = {
	{ .name = "compute", .fn = compute },
	{ .name = "doze", .fn = doze },
	{ .name = "want", .fn = want },
	{ .name = "load", .fn = load },
};

static void *run(void *arg)
{
	struct plan *plan = arg;
	uint64_t begin, cpu;

	prctl(PR_SET_NAME, plan->name);
	plan->tid = gettid();
	begin = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	plan->waited_ns = plan->fn(begin + seconds * 1000000000u);
	plan->wall_ns = now(CLOCK_MONOTONIC) - begin;
	plan->cpu_ns = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	return NULL;
}

/* A thread that has been joined may still be on its way out. */
static void wait_until_gone(pid_t tid)
{
	char file[64];

	snprintf(file, sizeof(file), "/proc/self/task/%d", tid);
	while (!access(file, F_OK))
		nap(200000);
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	int n = argc == 3 ? 4 : 3;
	uint64_t end;

	if (argc < 2)
		return 2;
	seconds = strtoull(argv[1], NULL, 10);
	path = n == 4 ? argv[2] : NULL;
	pthread_mutex_lock(&lock);
	held = true;
	for (int i = 0; i < n; i++) {
		plans[i].created = now(CLOCK_MONOTONIC);
		pthread_create(&threads[i], NULL, run, &plans[i]);
	}
	end = now(CLOCK_MONOTONIC) + seconds * 1000000000u;
	while (now(CLOCK_MONOTONIC) + 200000000u < end) {
		nap(100000000);
		pthread_mutex_unlock(&lock);
		nap(2000000);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		wait_until_gone(plans[i].tid);
		printf("%s %d %llu %llu %llu %llu %llu\n", plans[i].name, plans[i].tid,
		       (unsigned long long)plans[i].wall_ns, (unsigned long long)plans[i].cpu_ns,
		       (unsigned long long)plans[i].waited_ns,
		       plans[i].fn == want ? (unsigned long long)napped : 0,
		       (unsigned long long)(now(CLOCK_MONOTONIC) - plans[i].created));
	}
	return 0;
}
