/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bounded queue of images and a thread behind it; see builder.h. */
#include "record/unwind/builder.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "format/base/cleanup.h"
#include "record/base/beside.h"
#include "unwind/image.h"
#include "unwind/table.h"

#define NS_PER_S UINT64_C(1000000000)

/* An image is at most 128 MiB, and most of those that come here are a few. */
#define MAX_JOBS 8u

struct build_job {
	uint32_t number;
	struct unwind_image image;
	struct unwind_table *table; /* or NULL, when it is done */
};

struct unwind_builder {
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t more, done;
	struct build_job jobs[MAX_JOBS]; /* a ring: first … made … last */
	uint32_t first, made, last;
	bool started, stop;
};

struct unwind_builder *unwind_builder_create(void)
{
	struct unwind_builder *b = calloc(1, sizeof(*b));
	pthread_condattr_t attributes;

	if (!b)
		return NULL;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->more, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&b->done, &attributes);
	pthread_condattr_destroy(&attributes);
	return b;
}

static struct unwind_table *build(struct unwind_image *image)
{
	struct unwind_table *table = NULL;
	_cleanup_error_ struct ebt_error *err = unwind_table_build(image, &table);

	unwind_image_deinit(image);
	return table;
}

static void *run(void *arg)
{
	struct unwind_builder *b = arg;

	/* Stacks end where the table of a program is not there yet. */
	thread_before_others();
	pthread_mutex_lock(&b->lock);
	while (!b->stop) {
		struct build_job *job = &b->jobs[b->made % MAX_JOBS];

		if (b->made == b->last) {
			pthread_cond_wait(&b->more, &b->lock);
			continue;
		}
		/* Nobody else looks at it before it is counted as made. */
		pthread_mutex_unlock(&b->lock);
		job->table = build(&job->image);
		pthread_mutex_lock(&b->lock);
		b->made++;
		pthread_cond_signal(&b->done);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

/* Signals are for the main thread. */
static bool start(struct unwind_builder *b)
{
	sigset_t all, before;

	if (b->started)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	b->started = !pthread_create(&b->thread, NULL, run, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return b->started;
}

void unwind_builder_destroy(struct unwind_builder *b)
{
	if (!b)
		return;
	if (b->started) {
		pthread_mutex_lock(&b->lock);
		b->stop = true;
		pthread_cond_signal(&b->more);
		pthread_mutex_unlock(&b->lock);
		pthread_join(b->thread, NULL);
	}
	for (uint32_t i = b->first; i != b->last; i++) {
		unwind_image_deinit(&b->jobs[i % MAX_JOBS].image);
		unwind_table_destroy(b->jobs[i % MAX_JOBS].table);
	}
	pthread_cond_destroy(&b->more);
	pthread_cond_destroy(&b->done);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

bool unwind_builder_add(struct unwind_builder *b, uint32_t number, struct unwind_image *image)
{
	bool fits;

	if (!start(b))
		return false;
	pthread_mutex_lock(&b->lock);
	fits = b->last - b->first < MAX_JOBS;
	if (fits) {
		b->jobs[b->last++ % MAX_JOBS] =
			(struct build_job){ .number = number, .image = *image };
		*image = (struct unwind_image){ 0 };
		pthread_cond_signal(&b->more);
	}
	pthread_mutex_unlock(&b->lock);
	return fits;
}

bool unwind_builder_next(struct unwind_builder *b, uint64_t until, uint32_t *ret_number,
			 struct unwind_table **ret)
{
	const struct timespec at = { .tv_sec = (time_t)(until / NS_PER_S),
				     .tv_nsec = (long)(until % NS_PER_S) };
	bool any, late = !until;

	pthread_mutex_lock(&b->lock);
	while (!late && b->first == b->made && b->made != b->last)
		late = pthread_cond_timedwait(&b->done, &b->lock, &at) == ETIMEDOUT;
	any = b->first != b->made;
	if (any) {
		struct build_job *job = &b->jobs[b->first++ % MAX_JOBS];

		*ret_number = job->number;
		*ret = job->table;
	}
	pthread_mutex_unlock(&b->lock);
	return any;
}
