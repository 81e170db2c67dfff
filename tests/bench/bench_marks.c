/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A loop of marks with a group, a name and a message, and what each takes: bench_marks N. Built by
 * tests/bench/marks.py with one of EBMARK, SDT, LTTNG, or with none of them for the loop alone.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(EBMARK)
#include "ebmark.h"
#define MARK(message) ebmark_instant("bench", "mark", message)
#elif defined(SDT)
#include <sys/sdt.h>
#define MARK(message) STAP_PROBE3(bench, mark, "bench", "mark", message)
#elif defined(LTTNG)
#define TRACEPOINT_CREATE_PROBES
#define TRACEPOINT_DEFINE
#include "bench_lttng.h"
#define MARK(message) tracepoint(bench, mark, "bench", "mark", message)
#else
#define MARK(message) __asm__ volatile("" ::"r"(message) : "memory")
#endif

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const char *const message = argc > 2 ? argv[2] : "a message";
	const long n = argc > 1 ? atol(argv[1]) : 1;
	double start = now();

	for (long i = 0; i < n; i++)
		MARK(message);
	printf("%.4f ns a mark\n", (now() - start) / (double)n);
	return 0;
}
