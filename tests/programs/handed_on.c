// SPDX-License-Identifier: GPL-2.0-or-later
// handed_on SEED STEPS [DISK]: work that is handed on from one thread to the next, by pipes,
// sockets, TCP on this machine, mutexes, condition variables, semaphores and children, so that
// nobody works before the one before is done. Which thread works, at what, for how long, and how it
// hands on, are chosen by SEED. Others work meanwhile, and nobody waits for them. Each step is a
// line: thread id, what it did (run, sleep, child, disk), how long that took in ns, at least and at
// most, how it was handed over, and by whom a child was made and how long that took. A child takes
// its work at least, and at most its CPU time, as the kernel counts it: who waits for it is woken
// before it is gone. Of one that had ended before it was waited for the least is 0. A sleep takes
// what was asked for at least, and at most what its thread saw. DISK is a file or a device that
// takes its time for each read: at least what the thread was not on a CPU meanwhile.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS	  4
#define MAX_STEPS 64
#define MS	  1000000
#define BLOCK	  4096

enum way { BY_PIPE, BY_SOCKET, BY_TCP, BY_MUTEX, BY_CONDITION, BY_SEMAPHORE, N_WAYS };
enum work { RUN, SLEEP, CHILD, DISK, N_WORKS };

static const char *const ways[] = { "pipe", "socket", "tcp", "mutex", "condition", "semaphore" };
static const char *const works[] = { "run", "sleep", "child", "disk" };

static struct step {
	int worker;
	enum way way;
	enum work work;
	long ns;
	pid_t tid, parent;
	int64_t took, fork_took, ran; /* ran: of took, on a CPU */
} steps[MAX_STEPS + 1];

static int n_steps;
static int pipes[WORKERS + 1][2], sockets[WORKERS + 1][2], connections[WORKERS + 1][2];
static int disk = -1;
static sem_t semaphores[WORKERS + 1];
/* By step: who does the one before has it until it hands on. */
static pthread_mutex_t mutexes[MAX_STEPS + 1];
static pthread_barrier_t all_taken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t conditions[WORKERS + 1];
static int turn = -1; /* of those that wait for a condition */

static uint64_t seed;

static unsigned int draw(unsigned int below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(seed >> 33) % below;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void must(bool done, const char *what)
{
	if (done)
		return;
	perror(what);
	exit(1);
}

static void run_for(long ns)
{
	const int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void sleep_for(long ns)
{
	struct timespec t = { 0, ns };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void read_disk(int n)
{
	static char buffers[WORKERS][BLOCK] __attribute__((aligned(BLOCK)));

	must(pread(disk, buffers[steps[n].worker], BLOCK, (off_t)n * BLOCK) == BLOCK, "pread");
}

static int64_t time_ns(const struct timeval *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_usec * 1000;
}

static void do_in_child(struct step *step)
{
	const int64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	const pid_t child = fork();
	struct rusage used;

	must(child >= 0, "fork");
	if (!child) {
		run_for(step->ns);
		_exit(0);
	}
	step->fork_took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	/* Who comes too late to wait does not wait. */
	if (wait4(child, NULL, WNOHANG, &used) == child)
		step->ns = 0;
	else
		must(wait4(child, NULL, 0, &used) == child, "wait4");
	step->parent = step->tid;
	step->tid = child;
	step->took = time_ns(&used.ru_utime) + time_ns(&used.ru_stime);
}

static void do_work(struct step *step)
{
	const int64_t start = clock_ns(CLOCK_MONOTONIC);
	int64_t ran;

	step->tid = (pid_t)syscall(SYS_gettid);
	if (step->work == CHILD) {
		do_in_child(step);
		return;
	}
	ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (step->work == RUN)
		run_for(step->ns);
	else if (step->work == DISK)
		read_disk((int)(step - steps));
	else
		sleep_for(step->ns);
	step->ran = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran;
	step->took = clock_ns(CLOCK_MONOTONIC) - start;
}

/* To who does the step; behind the last one, to main. */
static void hand_on(int n)
{
	const struct step *step = &steps[n];
	char byte = (char)n;

	switch (step->way) {
	case BY_PIPE:
		must(write(pipes[step->worker][1], &byte, 1) == 1, "write");
		break;
	case BY_SOCKET:
		must(write(sockets[step->worker][1], &byte, 1) == 1, "write");
		break;
	case BY_TCP:
		must(write(connections[step->worker][1], &byte, 1) == 1, "write");
		break;
	case BY_MUTEX:
		pthread_mutex_unlock(&mutexes[n]);
		break;
	case BY_SEMAPHORE:
		must(!sem_post(&semaphores[step->worker]), "sem_post");
		break;
	default:
		pthread_mutex_lock(&lock);
		turn = n;
		pthread_cond_signal(&conditions[step->worker]);
		pthread_mutex_unlock(&lock);
	}
}

static void wait_for(int n)
{
	const struct step *step = &steps[n];
	char byte;

	switch (step->way) {
	case BY_PIPE:
		must(read(pipes[step->worker][0], &byte, 1) == 1, "read");
		break;
	case BY_SOCKET:
		must(read(sockets[step->worker][0], &byte, 1) == 1, "read");
		break;
	case BY_TCP:
		must(read(connections[step->worker][0], &byte, 1) == 1, "read");
		break;
	case BY_MUTEX:
		pthread_mutex_lock(&mutexes[n]);
		pthread_mutex_unlock(&mutexes[n]);
		break;
	case BY_SEMAPHORE:
		while (sem_wait(&semaphores[step->worker]) && errno == EINTR)
			;
		break;
	default:
		pthread_mutex_lock(&lock);
		while (turn != n)
			pthread_cond_wait(&conditions[step->worker], &lock);
		pthread_mutex_unlock(&lock);
	}
}

/* Those that it will hand on by. */
static void take_mutexes(int self)
{
	for (int n = 0; n <= n_steps; n++) {
		const int before = n ? steps[n - 1].worker : WORKERS;

		if (steps[n].way == BY_MUTEX && before == self)
			pthread_mutex_lock(&mutexes[n]);
	}
	pthread_barrier_wait(&all_taken);
}

static void *work(void *arg)
{
	const int self = (int)(intptr_t)arg;

	take_mutexes(self);
	for (int n = 0; n < n_steps; n++) {
		if (steps[n].worker != self)
			continue;
		wait_for(n);
		do_work(&steps[n]);
		hand_on(n + 1);
	}
	return NULL;
}

/* Whom nobody waits for. */
static void *aside(void *arg)
{
	(void)arg;
	for (;;) {
		run_for(MS);
		sleep_for(4 * MS);
	}
	return NULL;
}

static void make_plan(int n)
{
	n_steps = n < MAX_STEPS ? n : MAX_STEPS;
	for (int i = 0; i < n_steps; i++) {
		steps[i].worker = (int)draw(WORKERS);
		steps[i].way = (enum way)draw(N_WAYS);
		steps[i].work = (enum work)draw(disk < 0 ? DISK : N_WORKS);
		steps[i].ns = (long)(2 + draw(18)) * MS;
	}
	steps[n_steps].worker = WORKERS;
	steps[n_steps].way = (enum way)draw(N_WAYS);
	/* Nobody waits for a mutex of its own. */
	for (int i = 1; i < n_steps; i++) {
		if (steps[i].way == BY_MUTEX && steps[i].worker == steps[i - 1].worker)
			steps[i].way = BY_PIPE;
	}
}

static void connect_pair(int pair[2])
{
	struct sockaddr_in address = { AF_INET, 0, { htonl(INADDR_LOOPBACK) }, { 0 } };
	socklen_t len = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM, 0), at_once = 1;

	must(!bind(listening, (void *)&address, len), "bind");
	must(!listen(listening, 1), "listen");
	must(!getsockname(listening, (void *)&address, &len), "getsockname");
	pair[1] = socket(AF_INET, SOCK_STREAM, 0);
	must(!connect(pair[1], (void *)&address, len), "connect");
	pair[0] = accept(listening, NULL, NULL);
	must(pair[0] >= 0, "accept");
	setsockopt(pair[1], IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
	close(listening);
}

static int64_t at_least(const struct step *step)
{
	switch (step->work) {
	case RUN:
		return step->took;
	case DISK:
		return step->took - step->ran;
	default:
		return step->ns;
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS], other;

	if (argc != 3 && argc != 4)
		return 1;
	seed = strtoull(argv[1], NULL, 10);
	if (argc == 4) {
		disk = open(argv[3], O_RDONLY | O_DIRECT);
		must(disk >= 0, argv[3]);
	}
	make_plan(atoi(argv[2]));
	pthread_barrier_init(&all_taken, NULL, WORKERS + 1);
	for (int i = 0; i <= n_steps; i++)
		pthread_mutex_init(&mutexes[i], NULL);
	for (int i = 0; i <= WORKERS; i++) {
		connect_pair(connections[i]);
		must(!pipe(pipes[i]), "pipe");
		must(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[i]), "socketpair");
		must(!sem_init(&semaphores[i], 0, 0), "sem_init");
		pthread_cond_init(&conditions[i], NULL);
	}
	must(!pthread_create(&other, NULL, aside, NULL), "pthread_create");
	for (int i = 0; i < WORKERS; i++)
		must(!pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i),
		     "pthread_create");
	take_mutexes(WORKERS);
	/* All wait by now. */
	sleep_for(20 * MS);
	hand_on(0);
	wait_for(n_steps);
	for (int i = 0; i < n_steps; i++)
		printf("%d %s %" PRId64 " %" PRId64 " %s %d %" PRId64 "\n", steps[i].tid,
		       works[steps[i].work], at_least(&steps[i]), steps[i].took, ways[steps[i].way],
		       steps[i].parent, steps[i].fork_took);
	return 0;
}
