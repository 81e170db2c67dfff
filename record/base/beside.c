/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread for each; see beside.h. */
#include "record/base/beside.h"

#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>

#include "format/base/cleanup.h"

#define NICE (-15)

static void *run(void *arg)
{
	struct beside *b = arg;

	b->err = b->work(b->arg);
	return NULL;
}

void beside_start(struct beside *b, struct ebt_error *(*work)(void *arg), void *arg)
{
	sigset_t all, before;

	*b = (struct beside){ .work = work, .arg = arg };
	/* Signals are for the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	b->started = !pthread_create(&b->thread, NULL, run, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!b->started)
		run(b);
}

struct ebt_error *beside_join(struct beside *b)
{
	if (b->started)
		pthread_join(b->thread, NULL);
	b->started = false;
	return take_ptr(b->err);
}

/* Both of this thread alone. */
int thread_before_others(void)
{
	int nice = getpriority(PRIO_PROCESS, 0);

	setpriority(PRIO_PROCESS, 0, NICE);
	return nice;
}

void thread_as_before(int nice)
{
	setpriority(PRIO_PROCESS, 0, nice);
}
