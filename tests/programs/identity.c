/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiled by tests many times over, with another NAME and another LINE each, so that a frame which
 * is taken from the wrong build has the wrong name and the wrong line. Uses SECONDS of CPU time:
 *	SECONDS			in NAME
 *	SECONDS fork		the same in a child that runs no other program
 *	SECONDS use LIB		in LIB's work()
 *	SECONDS dlopen LIB NEW AGAIN
 *				half in LIB's work(), then NEW becomes LIB by rename(), and half in
 *				that; AGAIN is another path of LIB, or ld.so thinks that it has it
 * With a last argument "wait" it goes on with what it did last, with pauses. -DLIBRARY makes LIB.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

volatile unsigned long sink;

#line LINE "identity.c"
__attribute__((noinline)) void NAME(void)
{
	for (unsigned long i = 0; i < 1000000; i++)
		sink += i;
}

#ifdef LIBRARY
void work(void)
{
	NAME();
	sink++;
}
#else
static void use(double seconds, void (*function)(void))
{
	struct timespec now;
	double end = 0;

	do {
		function();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		if (end == 0)
			end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + seconds;
	} while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end);
}

static void (*use_library(double seconds, const char *path))(void)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*work)(void) = library ? (void (*)(void))dlsym(library, "work") : NULL;

	if (!work) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	use(seconds, work);
	return work;
}

int main(int argc, char **argv)
{
	double seconds = atof(argv[1]);
	void (*last)(void) = NAME;

	if (argc > 2 && !strcmp(argv[2], "fork")) {
		pid_t child = fork();

		if (!child) {
			use(seconds, NAME);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	} else if (argc > 5 && !strcmp(argv[2], "dlopen")) {
		use_library(seconds / 2, argv[3]);
		if (rename(argv[4], argv[3]))
			return 1;
		last = use_library(seconds / 2, argv[5]);
	} else if (argc > 3 && !strcmp(argv[2], "use")) {
		last = use_library(seconds, argv[3]);
	} else {
		use(seconds, NAME);
	}
	puts("done");
	fflush(stdout);
	while (!strcmp(argv[argc - 1], "wait")) {
		use(0.05, last);
		usleep(10000);
	}
	return 0;
}
#endif
