/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `sysprof`: what programs that know Sysprof say of themselves. No BPF: the command and its
 * children inherit a socket and a file, and variables that tell them so.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include "record/base/clocks.h"
#include "record/config/inherited.h"
#include "record/config/source.h"
#include "record/sources/sysprof_control.h"
#include "record/sources/sysprof_rows.h"
#include "record/sources/sysprof_trace.h"

#define CONTROL_VARIABLE "SYSPROF_CONTROL_FD"
#define TRACE_VARIABLE	 "SYSPROF_TRACE_FD"

/* How often what programs write is read. No program waits for it, but a ring may fill. */
#define TICK_NS 20000000

/* Rings need descriptors. */
#define DESCRIPTORS 4096

struct sysprof_worker {
	int timer, epoll;
	int socket, file; /* -1: that way is not asked for, or closed */
	struct sysprof_rows rows;
	struct sysprof_control *control;
	struct sysprof_trace *trace;
	bool ticking, written, ended; /* written: there was something in the file of late */
	uint32_t events;	      /* that the socket is waited for */
};

static struct ebt_error *check_args(const char *args)
{
	if (!strcmp(args, "control") || !strcmp(args, "trace"))
		return NULL;
	return ebt_error_create(EBT_ERR_INVALID, "'%s' is not one of control and trace", args);
}

/* Both ways are open unless one is named: a program knows one of them. */
static bool wanted(const struct record_options *options, const char *way)
{
	size_t source = (size_t)source_by_name("sysprof", strlen("sysprof"));
	const char *text = source_args_get(&options->source_args, source, 0);
	bool found = !text;

	for (size_t i = 0; !found && (text = source_args_get(&options->source_args, source, i));
	     i++)
		found = !strcmp(text, way);
	return found;
}

static struct ebt_error *inherit(const struct record_options *options, struct inherited *inherited)
{
	const struct {
		const char *way, *variable;
		struct ebt_error *(*pair)(int *theirs, int *ours);
	} ways[] = {
		{ "control", CONTROL_VARIABLE, sysprof_control_pair },
		{ "trace", TRACE_VARIABLE, sysprof_trace_pair },
	};

	for (size_t i = 0; options_record_command(options) && i < 2; i++) {
		struct ebt_error *err;
		int theirs, ours;

		if (!wanted(options, ways[i].way))
			continue;
		err = ways[i].pair(&theirs, &ours)
			      ?: inherited_add(inherited, ways[i].variable, theirs, ours);
		if (err)
			return err;
	}
	return NULL;
}

static void close_worker(void *arg)
{
	struct sysprof_worker *w = arg;

	sysprof_control_destroy(w->control);
	sysprof_trace_destroy(w->trace);
	sysprof_rows_deinit(&w->rows);
	ebt_closep(&w->socket);
	ebt_closep(&w->file);
	ebt_closep(&w->timer);
	ebt_closep(&w->epoll);
}

static struct ebt_error *watch(const struct sysprof_worker *w, int op, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(w->epoll, op, fd, &event) ? ebt_error_errno(errno, "cannot wait") : NULL;
}

static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= DESCRIPTORS)
		return;
	limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static struct ebt_error *open_ways(struct sysprof_worker *w, struct inherited *inherited)
{
	int theirs = inherited_number(inherited, CONTROL_VARIABLE);
	struct ebt_error *err = NULL;

	w->socket = inherited_take(inherited, CONTROL_VARIABLE);
	if (w->socket >= 0) {
		raise_limit();
		err = sysprof_control_create(w->socket, theirs, &w->rows, &w->control);
		w->events = EPOLLIN;
		if (!err)
			err = watch(w, EPOLL_CTL_ADD, w->socket, w->events);
	}
	theirs = inherited_number(inherited, TRACE_VARIABLE);
	w->file = inherited_take(inherited, TRACE_VARIABLE);
	if (!err && w->file >= 0)
		err = sysprof_trace_create(w->file, theirs, &w->rows, &w->trace);
	return err;
}

static struct ebt_error *prepare_worker(struct sysprof_worker *w, struct inherited *inherited)
{
	struct ebt_error *err;

	err = sysprof_rows_init(clocks_now(), &w->rows);
	if (err)
		return err;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (w->epoll < 0 || w->timer < 0)
		return ebt_error_errno(errno, "cannot wait for programs");
	return watch(w, EPOLL_CTL_ADD, w->timer, EPOLLIN) ?: open_ways(w, inherited);
}

static struct ebt_error *open_worker(const struct source_context *context,
				     struct source_state *state, void *worker)
{
	struct sysprof_worker *w = worker;

	w->socket = w->file = w->epoll = w->timer = -1;
	if (options_record_command(context->options))
		return prepare_worker(w, context->options->inherited);
	state->status = EBT_V_source_status_unavailable;
	snprintf(state->detail, sizeof(state->detail),
		 "only a command that ebrec starts and records can be told");
	return NULL;
}

static struct ebt_error *tick(struct sysprof_worker *w, bool on)
{
	const struct itimerspec every = {
		.it_interval.tv_nsec = on ? TICK_NS : 0,
		.it_value.tv_nsec = on ? TICK_NS : 0,
	};

	if (on == w->ticking)
		return NULL;
	w->ticking = on;
	return timerfd_settime(w->timer, 0, &every, NULL) ? ebt_error_errno(errno, "cannot wait")
							  : NULL;
}

/* Answers who asks, and decides what the socket is waited for: nothing that would come at once
 * again and again. */
static struct ebt_error *answer(struct sysprof_worker *w)
{
	enum sysprof_wait wait;
	uint32_t events;

	if (w->socket < 0)
		return NULL;
	wait = sysprof_control_answer(w->control);
	if (wait == SYSPROF_WAIT_END) {
		/* Closing it takes it off the list. */
		ebt_closep(&w->socket);
		w->socket = -1;
		return NULL;
	}
	events = wait == SYSPROF_WAIT_READ ? EPOLLIN : wait == SYSPROF_WAIT_WRITE ? EPOLLOUT : 0;
	if (events == w->events)
		return NULL;
	w->events = events;
	return watch(w, EPOLL_CTL_MOD, w->socket, events);
}

static struct ebt_error *read_all(struct sysprof_worker *w, bool all)
{
	bool written = false;
	struct ebt_error *err = NULL;

	if (w->control)
		err = sysprof_control_read(w->control, all);
	if (!err && w->trace)
		err = sysprof_trace_read(w->trace, all, &written);
	w->written = w->written || written;
	return err;
}

static struct ebt_error *every_second(struct sysprof_worker *w)
{
	struct ebt_error *err;
	bool on;

	w->written = false;
	err = read_all(w, false);
	if (w->control)
		sysprof_control_reap(w->control);
	on = w->written || (w->control && sysprof_control_rings(w->control));
	if (err)
		return err;
	return tick(w, on) ?: sysprof_rows_tell(&w->rows);
}

static struct ebt_error *ready(struct sysprof_worker *w)
{
	uint64_t ticks;
	struct ebt_error *err;

	err = answer(w);
	if (err)
		return err;
	if (read(w->timer, &ticks, sizeof(ticks)) == sizeof(ticks))
		err = read_all(w, false);
	if (err || !w->control || !sysprof_control_rings(w->control))
		return err;
	return tick(w, true);
}

static struct ebt_error *finish(struct sysprof_worker *w)
{
	if (w->trace)
		sysprof_trace_close(w->trace);
	w->ended = true;
	return read_all(w, true) ?: sysprof_rows_end(&w->rows);
}

static struct ebt_error *work(void *arg, struct ebt_stream *stream, enum source_moment moment)
{
	struct sysprof_worker *w = arg;

	w->rows.stream = stream;
	if (w->ended)
		return NULL;
	switch (moment) {
	case SOURCE_READY:
		return ready(w);
	case SOURCE_SECOND:
		return every_second(w);
	case SOURCE_END:
		return finish(w);
	default:
		return NULL;
	}
}

static const struct source_worker worker_of_sysprof = {
	.size = sizeof(struct sysprof_worker),
	.fd = SOURCE_WORKER_FD(struct sysprof_worker, epoll),
	.open = open_worker,
	.work = work,
	.close = close_worker,
};

const struct ebrec_source source_sysprof = {
	.name = "sysprof",
	.doc = "marks, counters and logs of programs that know Sysprof, as those of GTK do",
	.cost = "about 1 us of another CPU for each; the command inherits two more descriptors",
	.args_doc = "control|trace (both)",
	.tables = (const uint16_t[]){ EBT_T_mark, EBT_T_mark_counter, EBT_T_log, 0 },
	.check_args = check_args,
	.inherit = inherit,
	.worker = &worker_of_sysprof,
};
