/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * churn threads N: makes and joins N threads, one after the other.
 * churn exec N PROGRAM: forks, runs the program and waits for it, N times.
 * Prints how long that took, and how much CPU time.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double clock_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_seconds(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void *nothing(void *arg)
{
	return arg;
}

static int make_thread(char **program)
{
	pthread_t thread;

	(void)program;
	return pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL);
}

static int run_program(char **program)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		execv(program[0], program);
		_exit(127);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

int main(int argc, char **argv)
{
	int (*one)(char **program) = NULL;
	double begin;

	if (argc == 3 && !strcmp(argv[1], "threads"))
		one = make_thread;
	else if (argc > 3 && !strcmp(argv[1], "exec"))
		one = run_program;
	if (!one)
		return 2;
	begin = clock_seconds();
	for (int i = atoi(argv[2]); i > 0; i--) {
		if (one(argv + 3))
			return 1;
	}
	printf("took %.6f cpu %.6f\n", clock_seconds() - begin,
	       cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN));
	return 0;
}
