/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page faults of known number: each job on the command line, NAME[=FILE], is done by a child of its
 * own, and what the kernel says that the child had is printed: job, pid, minor, major.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES	1000
#define THREADS 4

static size_t page;
static char *shared; /* PAGES that the parent has written to */
static volatile char sink;

static char *fresh(int flags)
{
	char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, PAGES * page, MADV_NOHUGEPAGE))
		err(1, "no memory");
	return memory;
}

__attribute__((noinline)) static void touch(char *memory)
{
	for (size_t i = 0; i < PAGES; i++)
		memory[i * page] = 1;
}

static void *touch_fresh(void *arg)
{
	touch(fresh(0));
	return arg;
}

static void threads(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, touch_fresh, NULL))
			errx(1, "no thread");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static char *map_file(const char *path, int fd, size_t *size)
{
	off_t end = lseek(fd, 0, SEEK_END);
	char *file = mmap(NULL, (size_t)end, PROT_READ, MAP_SHARED, fd, 0);

	if (file == MAP_FAILED)
		err(1, "%s", path);
	*size = (size_t)end;
	return file;
}

/* A page that somebody looks at just then stays. */
static void forget(const char *path, int fd, char *file, size_t size)
{
	size_t n = (size + page - 1) / page;
	unsigned char *there = malloc(n);

	if (!there)
		err(1, NULL);
	for (int tries = 10000; tries; tries--) {
		if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) || mincore(file, size, there))
			break;
		for (size_t i = 0; i < n; i++)
			there[0] |= there[i];
		if (!(there[0] & 1)) {
			free(there);
			return;
		}
		usleep(1000);
	}
	errx(1, "%s: cannot be forgotten", path);
}

/* The file stays in memory for as long as this process lives; whatever that takes is not the job's.
 */
static void keep(const char *path)
{
	int fd = open(path, O_RDONLY);
	size_t size;
	char *file = map_file(path, fd, &size);

	if (mlock(file, size))
		err(1, "%s: cannot be kept", path);
	close(fd);
}

/* Every page of the file by itself, read ahead of nothing. */
static void look_at(const char *path, int cold)
{
	int fd = open(path, O_RDONLY);
	size_t size;
	char *file = map_file(path, fd, &size);

	if (cold) {
		forget(path, fd, file, size);
		if (madvise(file, size, MADV_RANDOM))
			err(1, "%s", path);
	}
	for (size_t at = 0; at < size; at += page)
		sink = file[at];
	close(fd);
}

/* The kernel writes to the memory: its faults are the process's. */
static void read_into(void)
{
	char *memory = fresh(0);
	int fd = open("/dev/zero", O_RDONLY);

	for (size_t i = 0; i < PAGES; i++) {
		if (read(fd, memory + i * page, 1) != 1)
			err(1, "/dev/zero");
	}
	close(fd);
}

static void work(const char *job, const char *path)
{
	if (!strcmp(job, "fresh"))
		touch(fresh(0));
	else if (!strcmp(job, "populate"))
		touch(fresh(MAP_POPULATE));
	else if (!strcmp(job, "cow"))
		touch(shared);
	else if (!strcmp(job, "threads"))
		threads();
	else if (!strcmp(job, "read"))
		read_into();
	else if (path && (!strcmp(job, "cold") || !strcmp(job, "warm")))
		look_at(path, !strcmp(job, "cold"));
	else
		errx(1, "%s: no such job", job);
}

int main(int argc, char **argv)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	shared = fresh(0);
	touch(shared);
	/* A page of a library that went meanwhile would be a major fault of who wants it next. */
	if (mlockall(MCL_CURRENT))
		err(1, "cannot be locked");
	for (int i = 1; i < argc; i++) {
		char *path = strchr(argv[i], '=');
		struct rusage usage;
		int status;
		pid_t pid;

		if (path)
			*path++ = '\0';
		if (path && !strcmp(argv[i], "warm"))
			keep(path);
		fflush(stdout);
		pid = fork();
		if (!pid) {
			work(argv[i], path);
			_exit(0);
		}
		if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status)
			errx(1, "%s failed", argv[i]);
		printf("%s %d %ld %ld\n", argv[i], (int)pid, usage.ru_minflt, usage.ru_majflt);
	}
	return 0;
}
