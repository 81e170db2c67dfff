/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of known plan, each within a mark plan/frame: compute, within a mark of the same name
 * again, sleep, and some getppid(). Frame 3 sleeps longer, frame 6 computes longer. The same goes
 * on between frames and in a second thread, without marks. framed FRAMES.
 *
 * One line: tid, frames, getppid() within marks, then ns by the kernel's clocks: of wall-clock time
 * and on a CPU, read within the marks, the same read around them, of sleep within them, and of
 * computing within them, on a CPU.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ebmark.h"

#define MILLISECOND UINT64_C(1000000)

static atomic_bool over;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct reading {
	uint64_t wall, cpu;
};

static struct reading read_clocks(void)
{
	return (struct reading){ now(CLOCK_MONOTONIC), now(CLOCK_THREAD_CPUTIME_ID) };
}

static void add_since(const struct reading *begin, struct reading *sum)
{
	/* The other way round, so that time on a CPU lies within the time of the wall clock. */
	sum->cpu += now(CLOCK_THREAD_CPUTIME_ID) - begin->cpu;
	sum->wall += now(CLOCK_MONOTONIC) - begin->wall;
}

__attribute__((noinline)) static void compute(uint64_t ns)
{
	const uint64_t end = now(CLOCK_MONOTONIC) + ns;
	volatile uint64_t x = 1;

	while (now(CLOCK_MONOTONIC) < end) {
		for (int i = 0; i < 5000; i++)
			x = x * 3 + 1;
	}
}

__attribute__((noinline)) static uint64_t doze(uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	const uint64_t begin = now(CLOCK_MONOTONIC);

	nanosleep(&t, NULL);
	return now(CLOCK_MONOTONIC) - begin;
}

static void *disturb(void *arg)
{
	while (!over) {
		syscall(SYS_getppid);
		doze(2 * MILLISECOND);
		compute(MILLISECOND);
	}
	return arg;
}

int main(int argc, char **argv)
{
	const int frames = argc > 1 ? atoi(argv[1]) : 10;
	struct reading within = { 0 }, around = { 0 }, computed = { 0 };
	uint64_t calls = 0, slept = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, disturb, NULL))
		return 1;
	for (int i = 0; i < frames; i++) {
		const struct reading outer = read_clocks();
		struct reading inner, burn;

		ebmark_begin("plan", "frame");
		inner = read_clocks();
		ebmark_begin("plan", "frame");
		burn = read_clocks();
		compute((i == 6 ? 90 : 20) * MILLISECOND);
		add_since(&burn, &computed);
		ebmark_end("plan", "frame");
		slept += doze((i == 3 ? 120 : 30) * MILLISECOND);
		for (int k = 0; k < 10 + i; k++, calls++)
			syscall(SYS_getppid);
		add_since(&inner, &within);
		ebmark_end("plan", "frame");
		add_since(&outer, &around);
		compute(5 * MILLISECOND);
		doze(5 * MILLISECOND);
		syscall(SYS_getppid);
	}
	over = true;
	pthread_join(thread, NULL);
	printf("%d %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 "\n",
	       (int)getpid(), frames, calls, within.wall, within.cpu, around.wall, around.cpu,
	       slept, computed.cpu);
	return 0;
}
