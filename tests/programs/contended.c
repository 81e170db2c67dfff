/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that wait for one another at locks of known addresses, and measure how long. A line for
 * each lock: what it is, its address, how many waits were long enough to be one, their sum in ns as
 * the waiters have it, how long they all slept at least, as the holder has it, and how long the
 * waiters waited for a CPU in all their life, as the kernel has it.
 *
 *	contended mutex|robust|pi|rwlock|cond|shared ROUNDS HOLD_US
 *	contended mmap ROUNDS		threads map and unmap memory in one address space
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAITERS 2
#define MAPPERS 8

pthread_mutex_t the_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t quiet_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t the_rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t the_cond = PTHREAD_COND_INITIALIZER;

static pthread_barrier_t barrier;
static long rounds, hold_us;
static unsigned long long waited_ns[WAITERS], waits[WAITERS], delayed_ns[WAITERS];
static unsigned long long held_ns;
static volatile int said;
static long waiter_tids[WAITERS];

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Of the thread that calls. */
static unsigned long long run_delay_ns(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	unsigned long long ns;

	if (!f || fscanf(f, "%*u %llu", &ns) != 1)
		exit(1);
	fclose(f);
	return ns;
}

static void name(const char *what, long *tid)
{
	*tid = syscall(SYS_gettid);
	prctl(PR_SET_NAME, what);
	printf("thread %s %ld\n", what, *tid);
	fflush(stdout);
}

static FILE *open_of_task(long pid, long tid, const char *file)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/%s", pid, tid, file);
	f = fopen(path, "r");
	if (!f)
		exit(1);
	return f;
}

/* Does the thread sleep in futex(), at an address of the lock? One that a tracer has stopped on its
 * way into the call does not. */
static int sleeps(long pid, long tid, const void *lock, size_t size)
{
	FILE *f = open_of_task(pid, tid, "syscall");
	unsigned long nr, address;
	int n = fscanf(f, "%lu %lx", &nr, &address);
	char state;

	fclose(f);
	if (n != 2 || nr != SYS_futex || address - (unsigned long)lock >= size)
		return 0;
	f = open_of_task(pid, tid, "stat");
	n = fscanf(f, "%*d (%*[^)]) %c", &state);
	fclose(f);
	return n == 1 && state == 'S';
}

static void hold_longer(void)
{
	unsigned long long since = now_ns();

	usleep(hold_us);
	held_ns += now_ns() - since;
}

/* When all others wait, for a while longer. */
static void hold(const void *lock, size_t size)
{
	for (size_t i = 0; i < WAITERS; i++) {
		while (!sleeps(getpid(), waiter_tids[i], lock, size))
			usleep(200);
	}
	hold_longer();
}

/* Takes the lock when the holder has it, so that each round is one wait. */
static void *wait_for_mutex(void *arg)
{
	size_t n = (size_t)arg;
	unsigned long long since;

	name(n ? "waiter1" : "waiter0", &waiter_tids[n]);
	for (long i = 0; i < rounds; i++) {
		pthread_barrier_wait(&barrier);
		since = now_ns();
		pthread_mutex_lock(&the_mutex);
		waited_ns[n] += now_ns() - since;
		waits[n]++;
		pthread_mutex_lock(&quiet_mutex);
		pthread_mutex_unlock(&quiet_mutex);
		pthread_mutex_unlock(&the_mutex);
		pthread_barrier_wait(&barrier);
	}
	delayed_ns[n] = run_delay_ns();
	return NULL;
}

static void *hold_mutex(void *arg)
{
	long tid;

	name("holder", &tid);
	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&the_mutex);
		pthread_barrier_wait(&barrier);
		hold(&the_mutex, sizeof(the_mutex));
		pthread_mutex_unlock(&the_mutex);
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

static void *wait_for_rwlock(void *arg)
{
	size_t n = (size_t)arg;
	unsigned long long since;

	name(n ? "reader1" : "reader0", &waiter_tids[n]);
	for (long i = 0; i < rounds; i++) {
		pthread_barrier_wait(&barrier);
		since = now_ns();
		pthread_rwlock_rdlock(&the_rwlock);
		waited_ns[n] += now_ns() - since;
		waits[n]++;
		pthread_rwlock_unlock(&the_rwlock);
		pthread_barrier_wait(&barrier);
	}
	delayed_ns[n] = run_delay_ns();
	return NULL;
}

static void *hold_rwlock(void *arg)
{
	long tid;

	name("writer", &tid);
	for (long i = 0; i < rounds; i++) {
		pthread_rwlock_wrlock(&the_rwlock);
		pthread_barrier_wait(&barrier);
		hold(&the_rwlock, sizeof(the_rwlock));
		pthread_rwlock_unlock(&the_rwlock);
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

static void *wait_for_cond(void *arg)
{
	size_t n = (size_t)arg;
	unsigned long long since;

	name(n ? "sleeper1" : "sleeper0", &waiter_tids[n]);
	for (long i = 0; i < rounds; i++) {
		pthread_barrier_wait(&barrier);
		pthread_mutex_lock(&the_mutex);
		since = now_ns();
		while (said <= i)
			pthread_cond_wait(&the_cond, &the_mutex);
		waited_ns[n] += now_ns() - since;
		waits[n]++;
		pthread_mutex_unlock(&the_mutex);
		pthread_barrier_wait(&barrier);
	}
	delayed_ns[n] = run_delay_ns();
	return NULL;
}

static void *signal_cond(void *arg)
{
	long tid;

	name("signaller", &tid);
	for (long i = 0; i < rounds; i++) {
		pthread_barrier_wait(&barrier);
		hold(&the_cond, sizeof(the_cond));
		pthread_mutex_lock(&the_mutex);
		said = (int)i + 1;
		pthread_mutex_unlock(&the_mutex);
		pthread_cond_broadcast(&the_cond);
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

static void run(void *(*waiter)(void *), void *(*holder)(void *), const char *what, void *lock)
{
	pthread_t threads[WAITERS + 1];
	unsigned long long all = 0, ns = 0, delayed = 0;

	pthread_barrier_init(&barrier, NULL, WAITERS + 1);
	for (size_t i = 0; i < WAITERS; i++)
		pthread_create(&threads[i], NULL, waiter, (void *)i);
	pthread_create(&threads[WAITERS], NULL, holder, NULL);
	for (size_t i = 0; i <= WAITERS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < WAITERS; i++) {
		all += waits[i];
		ns += waited_ns[i];
		delayed += delayed_ns[i];
	}
	printf("%s %p %llu %llu %llu %llu\n", what, lock, all, ns, WAITERS * held_ns, delayed);
	printf("quiet %p 0 0 0 0\n", (void *)&quiet_mutex);
}

static void set_mutex(int protocol, int robust)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, protocol);
	pthread_mutexattr_setrobust(&attr, robust);
	pthread_mutex_init(&the_mutex, &attr);
}

/* Two processes with the same mutex at different addresses. */
static void share(void)
{
	int fd = memfd_create("shared", 0);
	pthread_mutex_t *mutex;
	pthread_mutexattr_t attr;
	unsigned long long since, ns = 0;
	char *room;
	pid_t child;

	if (fd < 0 || ftruncate(fd, 8192))
		exit(1);
	mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(mutex, &attr);
	pthread_mutex_lock(mutex);
	child = fork();
	if (!child) {
		room = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mutex = mmap(room, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 4096);
		since = now_ns();
		pthread_mutex_lock(mutex);
		ns = now_ns() - since;
		pthread_mutex_unlock(mutex);
		printf("child %p 1 %llu 0 %llu\n", (void *)mutex, ns, run_delay_ns());
		fflush(stdout);
		_exit(0);
	}
	while (!sleeps(child, child, NULL, -1ul))
		usleep(200);
	hold_longer();
	pthread_mutex_unlock(mutex);
	waitpid(child, NULL, 0);
	printf("parent %p 0 0 %llu 0\n", (void *)mutex, held_ns);
}

static void *map_and_unmap(void *arg)
{
	for (long i = 0; i < rounds; i++) {
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

		if (p == MAP_FAILED)
			exit(1);
		for (size_t at = 0; at < 1 << 20; at += 65536)
			p[at] = 1;
		munmap(p, 1 << 20);
	}
	return arg;
}

static void map_much(void)
{
	pthread_t threads[MAPPERS];

	for (size_t i = 0; i < MAPPERS; i++)
		pthread_create(&threads[i], NULL, map_and_unmap, NULL);
	for (size_t i = 0; i < MAPPERS; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	rounds = argc > 2 ? atol(argv[2]) : 0;
	hold_us = argc > 3 ? atol(argv[3]) : 0;
	if (!strcmp(what, "robust"))
		set_mutex(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
	if (!strcmp(what, "pi"))
		set_mutex(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
	if (!strcmp(what, "mutex") || !strcmp(what, "robust") || !strcmp(what, "pi"))
		run(wait_for_mutex, hold_mutex, what, &the_mutex);
	else if (!strcmp(what, "rwlock"))
		run(wait_for_rwlock, hold_rwlock, what, &the_rwlock);
	else if (!strcmp(what, "cond"))
		run(wait_for_cond, signal_cond, what, &the_cond);
	else if (!strcmp(what, "shared"))
		share();
	else if (!strcmp(what, "mmap"))
		map_much();
	else
		return 1;
	return 0;
}
