/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rewritten FOLDER N: makes files a and b, and opens N times the path that another thread changes
 * between them all the while. Prints a letter for each, by the inode that it got. The threads have
 * a CPU each where there are two: on a busy one they would take turns between calls.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[4096];
static volatile char *last;
static volatile bool stop;

/* To the first or the last CPU of these. */
static void bind_to(const cpu_set_t *all, bool first)
{
	cpu_set_t one;
	int cpu = first ? 0 : CPU_SETSIZE - 1;

	while (cpu >= 0 && cpu < CPU_SETSIZE && !CPU_ISSET(cpu, all))
		cpu += first ? 1 : -1;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		perror("sched_setaffinity");
}

static void *rewrite(void *arg)
{
	bind_to(arg, false);
	while (!stop)
		*last = *last == 'a' ? 'b' : 'a';
	return NULL;
}

static ino_t inode_of(int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		exit(1);
	}
	return st.st_ino;
}

int main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[2]) : 0, fd;
	pthread_t thread;
	cpu_set_t cpus;
	ino_t a;

	last = path + snprintf(path, sizeof(path), "%s/a", n ? argv[1] : ".") - 1;
	for (*last = 'b'; *last >= 'a'; (*last)--)
		close(fd = open(path, O_CREAT | O_RDONLY, 0600));
	*last = 'a';
	fd = open(path, O_RDONLY);
	a = inode_of(fd);
	close(fd);
	if (sched_getaffinity(0, sizeof(cpus), &cpus) ||
	    pthread_create(&thread, NULL, rewrite, &cpus))
		return 1;
	bind_to(&cpus, true);
	for (int i = 0; i < n; i++) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		putchar(inode_of(fd) == a ? 'a' : 'b');
		close(fd);
	}
	stop = true;
	pthread_join(thread, NULL);
	return 0;
}
