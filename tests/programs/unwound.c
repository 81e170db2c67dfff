/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwound [-r ROUNDS] WAY [FILE FILE | DEPTH]: burns CPU time in burn(), called by way of what
 * stack walks find hard: half a second, or 50 ms in each of ROUNDS. Built without frame pointers.
 * Each way ends in work(), which calls burn().
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static int rounds = 10; /* calls of work(), of 50 ms each */

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void burn(double seconds);
void work(void);

__attribute__((noinline)) void burn(double seconds)
{
	const double end = cpu_seconds() + seconds;

	while (cpu_seconds() < end) {
		for (int i = 0; i < 20000; i++)
			sink += (unsigned long)i * sink + 1;
	}
	__asm__ volatile("");
}

__attribute__((noinline)) void work(void)
{
	burn(0.05);
	__asm__ volatile("");
}

__attribute__((noinline)) static void plain(void)
{
	for (int i = 0; i < rounds; i++)
		work();
}

__attribute__((noinline)) static void recurse(int depth)
{
	if (depth)
		recurse(depth - 1);
	else
		plain();
	__asm__ volatile("");
}

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	if (rounds-- > 0)
		work();
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void sorted(void)
{
	int numbers[100];

	for (int i = 0; i < 100; i++)
		numbers[i] = (i * 37) % 100;
	qsort(numbers, 100, sizeof(*numbers), compare);
}

__attribute__((noinline)) static void handler(int sig)
{
	(void)sig;
	work();
}

__attribute__((noinline)) static void signalled(int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	stack_t stack = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < rounds; i++)
		raise(SIGUSR1);
}

/* An aligned array and one of unknown size: the frame is found by a register of its own. */
__attribute__((noinline)) static void aligned(int n)
{
	_Alignas(64) char buf[64];
	char vla[n];

	memset(buf, n, sizeof(buf));
	memset(vla, n, (size_t)n);
	plain();
	sink += (unsigned long)(buf[n % 64] + vla[n / 2]);
}

__attribute__((noinline)) static void *thread(void *arg)
{
	plain();
	return arg;
}

__attribute__((noinline)) static void threads(void)
{
	pthread_t t[2];

	rounds /= 2;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

__attribute__((noinline)) static void vforked(void)
{
	pid_t child = vfork();

	if (!child) {
		plain();
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* The libraries take turns, mostly at the same address. The recorder, which waits for a CPU where
 * others want it, has time to hear of each. */
__attribute__((noinline)) static void reloaded(char **files)
{
	for (int i = 0; i < 8; i++) {
		void *handle = dlopen(files[i % 2], RTLD_NOW);
		void (*run)(void (*)(void)) = handle ? dlsym(handle, "run") : NULL;

		if (!run) {
			fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
		usleep(300000);
		run(work);
		dlclose(handle);
	}
}

/* Libraries that nobody has had time to hear of. */
__attribute__((noinline)) static void fresh(char **files)
{
	for (int i = 0; i < 2; i++) {
		void *handle;
		void (*run)(void (*)(void));

		usleep(300000);
		handle = dlopen(files[i], RTLD_NOW);
		run = handle ? dlsym(handle, "run") : NULL;
		if (!run)
			exit(1);
		run(work);
	}
}

/* A library takes another's address while the recorder sleeps, and misses it: what it is told does
 * not fit its buffers. Then burns until the recorder has had time to find out. */
__attribute__((noinline)) static void missed(char **files)
{
	const int page = 4096, fd = open("/proc/self/exe", O_RDONLY);
	void (*run)(void (*)(void));
	void *handle = dlopen(files[0], RTLD_NOW), *place;

	run = handle ? dlsym(handle, "run") : NULL;
	if (!run || fd < 0)
		exit(1);
	run(work);
	kill(getppid(), SIGSTOP);
	usleep(100000);
	place = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE, fd, 0);
	for (int i = 0; i < 100000; i++)
		mmap(place, (size_t)page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
	munmap(place, (size_t)page);
	dlclose(handle);
	handle = dlopen(files[1], RTLD_NOW);
	run = handle ? dlsym(handle, "run") : NULL;
	kill(getppid(), SIGCONT);
	if (!run)
		exit(1);
	for (int i = 0; i < 100; i++)
		run(work);
}

__attribute__((noinline)) static void deleted(const char *self)
{
	if (unlink(self))
		exit(1);
	usleep(200000);
	plain();
}

/* Frames of changing size above the same call: a stack that was seen may look like another one. */
__attribute__((noinline)) static void nap(int n)
{
	char vla[n];

	memset(vla, n, (size_t)n);
	usleep(1000);
	sink += (unsigned long)vla[n / 2];
}

__attribute__((noinline)) static void left(int n)
{
	nap(n);
	sink++;
}

__attribute__((noinline)) static void right(int n)
{
	nap(n);
	sink += 2;
}

__attribute__((noinline)) static void naps(void)
{
	for (int i = 0; i < 200; i++) {
		if (i % 2)
			left(1 + i % 7 * 24);
		else
			right(1 + i % 5 * 24);
	}
}

/* Calls of the kernel's code in the process, from which samples find back. */
__attribute__((noinline)) static void clocks(void)
{
	struct timespec t;

	for (int i = 0; i < 12000000; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
}

int main(int argc, char **argv)
{
	const char *self = argv[0], *way;

	if (argc > 2 && !strcmp(argv[1], "-r")) {
		rounds = atoi(argv[2]);
		argc -= 2;
		argv += 2;
	}
	way = argc > 1 ? argv[1] : "";
	if (!strcmp(way, "plain"))
		plain();
	else if (!strcmp(way, "recurse"))
		recurse(argc > 2 ? atoi(argv[2]) : 60);
	else if (!strcmp(way, "sort"))
		sorted();
	else if (!strcmp(way, "signal"))
		signalled(0);
	else if (!strcmp(way, "altstack"))
		signalled(SA_ONSTACK);
	else if (!strcmp(way, "aligned"))
		aligned(argc * 100);
	else if (!strcmp(way, "threads"))
		threads();
	else if (!strcmp(way, "vfork"))
		vforked();
	else if (!strcmp(way, "reload") && argc == 4)
		reloaded(argv + 2);
	else if (!strcmp(way, "fresh") && argc == 4)
		fresh(argv + 2);
	else if (!strcmp(way, "missed") && argc == 4)
		missed(argv + 2);
	else if (!strcmp(way, "deleted"))
		deleted(self);
	else if (!strcmp(way, "naps"))
		naps();
	else if (!strcmp(way, "vdso"))
		clocks();
	else
		return 2;
	return 0;
}
