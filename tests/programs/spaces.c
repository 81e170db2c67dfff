/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Works in address spaces that a profiler easily confuses: in a child and a grandchild that never
 * exec, after an exec, and in two plugins of which the second gets the first one's addresses.
 *
 * Usage: spaces PLUGIN PLUGIN
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORK_MS 150

__attribute__((noinline)) static void burn(int64_t ms)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		for (volatile int i = 0; i < 100000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

/* All different, or the compiler would make one of them. */
__attribute__((noinline)) static void grandchild_work(void)
{
	burn(WORK_MS + 0);
}

__attribute__((noinline)) static void child_work(void)
{
	burn(WORK_MS + 1);
}

__attribute__((noinline)) static void parent_work(void)
{
	burn(WORK_MS + 2);
}

__attribute__((noinline)) static void exec_work(void)
{
	burn(WORK_MS + 3);
}

static int plugin_work(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	void (*work)(void) = handle ? (void (*)(void))dlsym(handle, "work") : NULL;

	if (!work)
		return 1;
	work();
	return dlclose(handle);
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc == 2 && !strcmp(argv[1], "exec")) {
		exec_work();
		return 0;
	}
	if (argc != 3)
		return 2;
	if (!fork()) {
		if (!fork()) {
			grandchild_work();
			_exit(0);
		}
		child_work();
		wait(&status);
		_exit(0);
	}
	parent_work();
	wait(&status);
	if (plugin_work(argv[1]) || plugin_work(argv[2]))
		return 1;
	execl("/proc/self/exe", argv[0], "exec", (char *)NULL);
	return 1;
}
