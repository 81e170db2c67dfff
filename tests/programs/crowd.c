/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crowd SECONDS LIBRARY...: loads all libraries, then burns CPU for so many seconds below each of
 * them in turn. Built without frame pointers.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds;
static volatile unsigned long sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void burn(void)
{
	const double end = now() + seconds;

	while (now() < end) {
		for (int i = 0; i < 20000; i++)
			sink += (unsigned long)i * sink + 1;
	}
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	void (*run[8])(void (*)(void));
	int n = argc - 2;

	if (n < 1 || n > 8)
		return 2;
	seconds = atof(argv[1]);
	for (int i = 0; i < n; i++) {
		void *handle = dlopen(argv[2 + i], RTLD_NOW);

		run[i] = handle ? dlsym(handle, "run") : NULL;
		if (!run[i]) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
	}
	for (int i = 0; i < n; i++)
		run[i](burn);
	return 0;
}
