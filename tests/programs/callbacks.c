/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callbacks SECONDS, on a CPU: what a stack walk has to get through without frame pointers:
 * recursion of many depths, and libc functions that call back (qsort) or recurse themselves
 * (regexec).
 */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HIDDEN __attribute__((noinline))

static unsigned int numbers[2000];
static volatile unsigned int sink;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static HIDDEN int compare(const void *a, const void *b)
{
	const unsigned int *x = a, *y = b;

	sink++;
	return (*x > *y) - (*x < *y);
}

static HIDDEN void sort(unsigned int seed)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		numbers[i] = seed = seed * 1664525 + 1013904223;
	qsort(numbers, sizeof(numbers) / sizeof(*numbers), sizeof(*numbers), compare);
}

static HIDDEN void match(unsigned int seed)
{
	char text[64];
	regex_t regex;

	if (regcomp(&regex, "(a|b)*[0-9]+(x|y)?\\1", REG_EXTENDED))
		exit(1);
	snprintf(text, sizeof(text), "ababab%uxab", seed);
	sink += (unsigned int)regexec(&regex, text, 0, NULL, 0);
	regfree(&regex);
}

static HIDDEN unsigned int recurse(unsigned int depth, unsigned int seed)
{
	unsigned int r;

	if (!depth) {
		sort(seed);
		match(seed);
		return seed;
	}
	r = recurse(depth - 1, seed);
	return r + sink % 3;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 1);

	for (unsigned int i = 0; now() < end; i++)
		sink += recurse(i % 60, i);
	return 0;
}
