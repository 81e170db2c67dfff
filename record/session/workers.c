/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running the sources' workers; see workers.h. */
#include "record/session/workers.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#define MAX_READY 16

struct worker {
	const struct source_worker *is;
	void *state;
};

struct workers {
	struct worker *list;
	size_t n;
	int epoll;
};

static struct ebt_error *watch(struct workers *workers, struct worker *worker)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = worker };
	const char *state = worker->state;
	int fd = worker->is->fd ? *(const int *)(state + worker->is->fd) : -1;

	if (fd >= 0 && epoll_ctl(workers->epoll, EPOLL_CTL_ADD, fd, &event))
		return ebt_error_errno(errno, "cannot wait for a source");
	return NULL;
}

static void close_last(struct workers *workers)
{
	const struct worker *worker = &workers->list[--workers->n];

	if (worker->is->close)
		worker->is->close(worker->state);
	free(worker->state);
}

static struct ebt_error *open_worker(struct workers *workers, struct capture *capture,
				     const struct source_worker *is, struct source_state *state)
{
	struct worker *worker = &workers->list[workers->n];
	struct ebt_error *err;

	*worker = (struct worker){ is, calloc(1, is->size) };
	if (!worker->state)
		return &ebt_enomem;
	workers->n++;
	err = is->open(&capture->context, state, worker->state);
	if (err)
		return err;
	if (source_is_on(state))
		return watch(workers, worker);
	close_last(workers);
	return NULL;
}

struct ebt_error *workers_create(struct capture *capture, struct workers **ret)
{
	_cleanup_(workers_destroyp) struct workers *workers = calloc(1, sizeof(*workers));
	struct ebt_error *err = NULL;

	if (!workers)
		return &ebt_enomem;
	workers->list = calloc(ebrec_n_sources, sizeof(*workers->list));
	workers->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!workers->list)
		return &ebt_enomem;
	if (workers->epoll < 0)
		return ebt_error_errno(errno, "cannot wait for sources");
	for (size_t i = 0; i < ebrec_n_sources && !err; i++) {
		struct source_state *state = &capture->states[i];

		if (ebrec_sources[i]->worker && source_is_on(state))
			err = open_worker(workers, capture, ebrec_sources[i]->worker, state);
	}
	if (err)
		return err;
	*ret = take_ptr(workers);
	return NULL;
}

void workers_destroy(struct workers *workers)
{
	if (!workers)
		return;
	while (workers->n)
		close_last(workers);
	free(workers->list);
	ebt_closep(&workers->epoll);
	free(workers);
}

int workers_fd(const struct workers *workers)
{
	return workers->epoll;
}

static struct ebt_error *run_ready(struct workers *workers, struct ebt_stream *stream)
{
	struct epoll_event events[MAX_READY];
	struct ebt_error *err = NULL;
	/* What is left is ready the next time too. */
	int n = epoll_wait(workers->epoll, events, MAX_READY, 0);

	for (int i = 0; i < n && !err; i++) {
		const struct worker *worker = events[i].data.ptr;

		err = worker->is->work(worker->state, stream, SOURCE_READY);
	}
	return err;
}

struct ebt_error *workers_run(struct workers *workers, struct ebt_stream *stream,
			      enum source_moment moment)
{
	struct ebt_error *err = NULL;

	if (moment == SOURCE_READY)
		return run_ready(workers, stream);
	for (size_t i = 0; i < workers->n && !err; i++) {
		const struct worker *worker = &workers->list[i];

		if (worker->is->work)
			err = worker->is->work(worker->state, stream, moment);
	}
	return err;
}

struct ebt_error *workers_on_file(struct workers *workers, struct ebt_stream *stream,
				  const struct source_file *file, bool *ret)
{
	struct ebt_error *err = NULL;

	*ret = false;
	for (size_t i = 0; i < workers->n && !err; i++) {
		const struct worker *worker = &workers->list[i];
		bool again = false;

		if (worker->is->on_file)
			err = worker->is->on_file(worker->state, stream, file, &again);
		*ret |= again;
	}
	return err;
}
