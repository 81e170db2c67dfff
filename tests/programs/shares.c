/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program whose profile is known: in each of its threads, burn_half(), burn_third() and
 * burn_fifth() take turns for 10, 6 and 4 ms of the thread's CPU time, so that 50, 30 and 20 % of
 * it is theirs, nearly all of it in an inlined helper. Arguments: CPU seconds a thread (less than
 * 0.02: one round of turns of that length), number of threads. Built with frame pointers.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define MAX_THREADS 64

/* Iterations between two looks at the clock: long against these, short against 1 ms. */
#define UNIT 50000

static double seconds = 2;

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static inline __attribute__((always_inline)) uint64_t mix(uint64_t x, uint64_t salt)
{
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x + salt;
}

/* Computes until the thread has used that much CPU time. The salt keeps the compiler from making
 * one function of three. */
#define BURN(name, salt)                                                              \
	static __attribute__((noinline)) uint64_t name(uint64_t x, uint64_t until_ns) \
	{                                                                             \
		while (cpu_ns() < until_ns) {                                         \
			for (unsigned int i = 0; i < UNIT; i++)                       \
				x = mix(x, salt);                                     \
		}                                                                     \
		return x;                                                             \
	}
BURN(burn_half, 1)
BURN(burn_third, 2)
BURN(burn_fifth, 3)

static __attribute__((noinline)) void *work(void *arg)
{
	uint64_t tenth = (seconds < 0.02 ? seconds : 0.02) * 1e8;
	uint64_t x = (uintptr_t)arg | 1, until = cpu_ns();

	while (until < seconds * 1e9) {
		x = burn_half(x, until += 5 * tenth);
		x = burn_third(x, until += 3 * tenth);
		x = burn_fifth(x, until += 2 * tenth);
	}
	return (void *)(uintptr_t)(x ? x : 1);
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];
	int n = 1, i;

	if (argc > 1)
		seconds = atof(argv[1]);
	if (argc > 2)
		n = atoi(argv[2]);
	if (seconds <= 0 || n < 1 || n > MAX_THREADS)
		return 2;
	for (i = 1; i < n; i++) {
		if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i))
			return 1;
	}
	work((void *)(uintptr_t)argc);
	for (i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
