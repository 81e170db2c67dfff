/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes known numbers of objects of the kernel: opens files, pipes and sockets, keeps some of each
 * and closes the others. What is kept and what is closed comes from different functions. Prints
 * its process id, and what /proc/slabinfo says before and after ("slab STEP CACHE ACTIVE"), if it
 * may be read. With "wait" it begins when it has read a line from standard input, and ends after
 * another.
 *
 *	hoarder KEPT CLOSED [wait]
 */
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* None of these may be inlined, nor end in a jump. */
#define APART __attribute__((noinline))
static volatile unsigned long sink;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

APART static void keep_files(int n)
{
	for (int i = 0; i < n; i++) {
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			fail("/dev/null");
	}
	sink++;
}

APART static void keep_sockets(int n)
{
	for (int i = 0; i < n; i++) {
		if (socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0)
			fail("socket");
	}
	sink++;
}

APART static void keep_pipes(int n)
{
	int ends[2];

	for (int i = 0; i < n; i++) {
		if (pipe2(ends, O_CLOEXEC))
			fail("pipe");
	}
	sink++;
}

/* At a time as many as the limit of files leaves room for. */
#define AT_A_TIME 100

APART static void drop_files(int n)
{
	int fds[AT_A_TIME];

	for (int i = 0; i < n; i++) {
		int *fd = &fds[i % AT_A_TIME];

		if (i >= AT_A_TIME)
			close(*fd);
		*fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (*fd < 0)
			fail("/dev/null");
	}
	for (int i = 0; i < n && i < AT_A_TIME; i++)
		close(fds[i]);
	sink++;
}

/* Caches whose objects are counted by /proc/slabinfo. */
static void say_slabs(const char *step)
{
	char line[512], name[64];
	FILE *f = fopen("/proc/slabinfo", "r");
	unsigned long active;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %lu", name, &active) == 2 &&
		    (!strcmp(name, "filp") || !strcmp(name, "sock_inode_cache")))
			printf("slab %s %s %lu\n", step, name, active);
	}
	if (f)
		fclose(f);
	fflush(stdout);
}

/* A file that is closed is freed after a grace period of RCU, with others of its batch. */
static void wait_for_frees(void)
{
	const struct timespec moment = { 0, 20000000 };

	for (int i = 0; i < 10; i++) {
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
		nanosleep(&moment, NULL);
	}
}

int main(int argc, char **argv)
{
	int kept = argc > 2 ? atoi(argv[1]) : 0, dropped = argc > 2 ? atoi(argv[2]) : 0;

	if (argc < 3) {
		fprintf(stderr, "usage: hoarder KEPT CLOSED [wait]\n");
		return 2;
	}
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	if (argc > 3 && getchar() == EOF)
		return 1;
	say_slabs("before");
	drop_files(dropped);
	keep_files(kept);
	keep_sockets(kept / 10);
	keep_pipes(kept / 10);
	wait_for_frees();
	say_slabs("after");
	puts("done");
	fflush(stdout);
	if (argc > 3)
		getchar();
	return 0;
}
