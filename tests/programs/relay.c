/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PROCESSES processes in a ring (arguments: PROCESSES ROUNDS) hand a byte from one to the next, all
 * on one CPU; the nice value of each is by its number more than that of the first. Every wake-up of
 * one is by the one before it. Called relay0 to relayN, each says in the end: its number, pid,
 * voluntary switches (getrusage), run time and time on a run queue in ns (/proc/self/schedstat).
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 16

static int report(int number)
{
	unsigned long long run_ns = 0, wait_ns = 0;
	struct rusage usage;
	FILE *f = fopen("/proc/self/schedstat", "r");

	if (!f || fscanf(f, "%llu %llu", &run_ns, &wait_ns) != 2 || getrusage(RUSAGE_SELF, &usage))
		return 1;
	fclose(f);
	printf("%d %d %ld %llu %llu\n", number, getpid(), usage.ru_nvcsw, run_ns, wait_ns);
	return fflush(stdout) ? 1 : 0;
}

static int relay(int number, int in, int out, long rounds)
{
	char name[16], byte = 0;

	snprintf(name, sizeof(name), "relay%d", number);
	prctl(PR_SET_NAME, name);
	for (long i = 0; i < rounds; i++) {
		if (!number && write(out, &byte, 1) != 1)
			return 1;
		if (read(in, &byte, 1) != 1)
			return 1;
		if (number && write(out, &byte, 1) != 1)
			return 1;
	}
	return report(number);
}

static int pin(void)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return 1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		return sched_setaffinity(0, sizeof(one), &one);
	}
	return 1;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4, status, failed = 0, pipes[MAX_PROCESSES][2];
	long rounds = argc > 2 ? atol(argv[2]) : 1000;

	if (n < 2 || n > MAX_PROCESSES || pin())
		return 1;
	for (int i = 0; i < n; i++) {
		if (pipe(pipes[i]))
			return 1;
	}
	for (int i = 1; i < n; i++) {
		pid_t child = fork();

		if (child < 0)
			return 1;
		if (!child) {
			setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + i);
			_exit(relay(i, pipes[i][0], pipes[(i + 1) % n][1], rounds));
		}
	}
	failed = relay(0, pipes[0][0], pipes[1][1], rounds);
	while (wait(&status) > 0)
		failed |= status;
	return failed ? 1 : 0;
}
