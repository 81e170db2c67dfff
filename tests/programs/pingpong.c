/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two processes that hand a byte to and fro N times (argument), and then say what the kernel
 * counted for each: pid, voluntary and involuntary switches (getrusage), run time in ns
 * (/proc/self/schedstat).
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int report(void)
{
	unsigned long long run_ns = 0;
	struct rusage usage;
	FILE *f = fopen("/proc/self/schedstat", "r");

	if (!f || fscanf(f, "%llu", &run_ns) != 1 || getrusage(RUSAGE_SELF, &usage))
		return 1;
	fclose(f);
	printf("%d %ld %ld %llu\n", getpid(), usage.ru_nvcsw, usage.ru_nivcsw, run_ns);
	return fflush(stdout) ? 1 : 0;
}

static int play(int in, int out, long n)
{
	char byte = 0;

	for (long i = 0; i < n; i++) {
		if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
			return 1;
	}
	return report();
}

int main(int argc, char **argv)
{
	int there[2], back[2], status;
	long n = argc > 1 ? atol(argv[1]) : 1000;
	pid_t child;

	if (pipe(there) || pipe(back))
		return 1;
	child = fork();
	if (child < 0)
		return 1;
	/* Whoever is left alone reads the end of its pipe, and ends. */
	close(child ? there[0] : there[1]);
	close(child ? back[1] : back[0]);
	if (!child)
		_exit(play(there[0], back[1], n));
	if (play(back[0], there[1], n))
		return 1;
	if (waitpid(child, &status, 0) != child)
		return 1;
	return status ? 1 : 0;
}
