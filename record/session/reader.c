/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that may be given up while it reads; see reader.h. */
#include "record/session/reader.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "record/base/clocks.h"

#define NS_PER_S UINT64_C(1000000000)

/* For a read that is slow, as from a disk that is busy. */
#define GRACE_NS UINT64_C(100000000)

struct reader {
	void (*work)(void *arg, struct reader *reader);
	void *arg;
	uint64_t deadline;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	bool reading, done, given_up;
};

static void *run(void *arg)
{
	struct reader *r = arg;

	r->work(r->arg, r);
	pthread_mutex_lock(&r->lock);
	r->done = true;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static bool begin_read(struct reader *r)
{
	pthread_mutex_lock(&r->lock);
	r->reading = clocks_now() <= r->deadline;
	pthread_mutex_unlock(&r->lock);
	return r->reading;
}

static void end_read(struct reader *r)
{
	pthread_mutex_lock(&r->lock);
	/* There is nothing left to return to. */
	while (r->given_up)
		pthread_cond_wait(&r->changed, &r->lock);
	r->reading = false;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

ssize_t reader_read(struct reader *r, pid_t pid, const struct iovec *local,
		    const struct iovec *remote, unsigned long n)
{
	ssize_t len;

	if (!begin_read(r))
		return -1;
	len = process_vm_readv(pid, local, 1, remote, n, 0);
	end_read(r);
	return len;
}

/* No read begins behind the deadline. */
static bool wait_for(struct reader *r)
{
	const uint64_t until = r->deadline + GRACE_NS;
	const struct timespec at = { .tv_sec = (time_t)(until / NS_PER_S),
				     .tv_nsec = (long)(until % NS_PER_S) };
	bool done;

	pthread_mutex_lock(&r->lock);
	while (!r->done && !r->given_up) {
		if (clocks_now() < until)
			pthread_cond_timedwait(&r->changed, &r->lock, &at);
		else if (r->reading)
			r->given_up = true;
		else
			pthread_cond_wait(&r->changed, &r->lock);
	}
	done = r->done;
	pthread_mutex_unlock(&r->lock);
	return done;
}

/* Signals are for the main thread. */
static bool start(struct reader *r, pthread_t *ret)
{
	sigset_t all, before;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	started = !pthread_create(ret, NULL, run, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

static struct reader *create(void)
{
	struct reader *r = calloc(1, sizeof(*r));
	pthread_condattr_t attributes;

	if (!r)
		return NULL;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&r->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

static void destroy(struct reader *r)
{
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

bool reader_run(void (*work)(void *arg, struct reader *reader), void *arg, uint64_t deadline)
{
	struct reader *r = create();
	pthread_t thread;

	if (!r)
		return false;
	r->work = work;
	r->arg = arg;
	r->deadline = deadline;
	if (!start(r, &thread)) {
		destroy(r);
		return false;
	}
	/* A thread that was given up keeps its reader until the process ends. */
	if (!wait_for(r)) {
		pthread_detach(thread);
		return false;
	}
	pthread_join(thread, NULL);
	destroy(r);
	return true;
}
