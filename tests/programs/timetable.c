/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that run, sleep and wait for one another, and tell when each did what: a line for each
 * phase on standard output, "TID NAME run|wait FROM TO", in ns of CLOCK_MONOTONIC. Between the two
 * times a thread that says `run` is on a CPU or wants one. One that says `wait` is about to block
 * at FROM, and nobody has ended that before TO.
 *
 *	timetable ROUNDS ROUND_MS
 */
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_PHASES 1000

struct phase {
	const char *what;
	uint64_t from, to;
};

struct thread {
	const char *name;
	void (*round)(struct thread *thread);
	long tid;
	struct phase phases[MAX_PHASES];
	int n;
	sem_t go, done;
	pthread_t id;
};

static long rounds, round_ns;
static uint64_t released; /* when the main thread has begun to end waits */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t word;
static int in[2], last[2];

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void add(struct thread *thread, const char *what, uint64_t from, uint64_t to)
{
	if (thread->n == MAX_PHASES)
		exit(1);
	thread->phases[thread->n++] = (struct phase){ what, from, to };
}

static void sleep_until(struct thread *thread, uint64_t until)
{
	const struct timespec t = { (time_t)(until / 1000000000u), (long)(until % 1000000000u) };
	const uint64_t from = now();

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	if (from < until)
		add(thread, "wait", from, until);
}

static void compute(struct thread *thread, uint64_t ns)
{
	const uint64_t from = now();
	volatile uint64_t x = 1;

	while (now() < from + ns) {
		for (int i = 0; i < 20000; i++)
			x = x * 3 + 1;
	}
	add(thread, "run", from, now());
}

/* --- a round of each --- */

static void busy(struct thread *thread)
{
	compute(thread, (uint64_t)round_ns * 2 / 3);
}

static void dozy(struct thread *thread)
{
	compute(thread, (uint64_t)round_ns / 20);
	sleep_until(thread, now() + (uint64_t)round_ns / 2);
}

static void locked(struct thread *thread)
{
	const uint64_t from = now();

	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	add(thread, "wait", from, released);
}

static void reader(struct thread *thread)
{
	const uint64_t from = now();
	char c;

	if (read(in[0], &c, 1) != 1)
		exit(1);
	add(thread, "wait", from, released);
}

static void waiter(struct thread *thread)
{
	const uint64_t from = now();

	while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	add(thread, "wait", from, released);
}

static struct thread threads[] = {
	{ .name = "busy", .round = busy },     { .name = "dozy", .round = dozy },
	{ .name = "locked", .round = locked }, { .name = "reader", .round = reader },
	{ .name = "waiter", .round = waiter },
};
#define N (sizeof(threads) / sizeof(threads[0]))

static void *run(void *arg)
{
	struct thread *thread = arg;

	thread->tid = syscall(SYS_gettid);
	prctl(PR_SET_NAME, thread->name);
	for (long i = 0; i < rounds; i++) {
		sem_wait(&thread->go);
		thread->round(thread);
		sem_post(&thread->done);
	}
	return NULL;
}

/* One wait from the beginning to the end. */
static void *run_still(void *arg)
{
	struct thread *thread = arg;
	uint64_t from;
	char c;

	thread->tid = syscall(SYS_gettid);
	prctl(PR_SET_NAME, thread->name);
	from = now();
	if (read(last[0], &c, 1) != 1)
		exit(1);
	add(thread, "wait", from, released);
	return NULL;
}

/* --- all --- */

static void play_round(struct thread *self)
{
	pthread_mutex_lock(&mutex);
	word = 0;
	for (size_t i = 0; i < N; i++)
		sem_post(&threads[i].go);
	sleep_until(self, now() + (uint64_t)round_ns);
	released = now();
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	if (write(in[1], "", 1) != 1)
		exit(1);
	pthread_mutex_unlock(&mutex);
	for (size_t i = 0; i < N; i++)
		sem_wait(&threads[i].done);
}

static void print(const struct thread *thread)
{
	for (int i = 0; i < thread->n; i++)
		printf("%ld %s %s %llu %llu\n", thread->tid, thread->name, thread->phases[i].what,
		       (unsigned long long)thread->phases[i].from,
		       (unsigned long long)thread->phases[i].to);
}

int main(int argc, char **argv)
{
	static struct thread self = { .name = "timetable" }, still = { .name = "still" };

	if (argc != 3 || pipe(in) || pipe(last))
		return 2;
	rounds = atol(argv[1]);
	round_ns = atol(argv[2]) * 1000000;
	self.tid = getpid();
	pthread_create(&still.id, NULL, run_still, &still);
	for (size_t i = 0; i < N; i++) {
		sem_init(&threads[i].go, 0, 0);
		sem_init(&threads[i].done, 0, 0);
		pthread_create(&threads[i].id, NULL, run, &threads[i]);
	}
	for (long i = 0; i < rounds; i++)
		play_round(&self);
	for (size_t i = 0; i < N; i++)
		pthread_join(threads[i].id, NULL);
	released = now();
	if (write(last[1], "", 1) != 1)
		return 1;
	pthread_join(still.id, NULL);
	print(&self);
	print(&still);
	for (size_t i = 0; i < N; i++)
		print(&threads[i]);
	return 0;
}
