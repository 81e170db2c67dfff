/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that read rings; see consumer.h. */
#include "record/session/consumer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "format/schema/wire.h"
#include "record/base/beside.h"
#include "record/base/clocks.h"
#include "record/bpf/facts.h"
#include "record/bpf/shared.h"
#include "record/session/deferred.h"
#include "record/sideband/program.h"
#include "record/sideband/tasks.h"
#include "record/unwind/python.h"

#define NS_PER_MS UINT64_C(1000000)

/* A program reads the clock before it takes room in a ring. The two are this far apart at most: a
 * virtual machine's CPU may be taken away in between. */
#define SLACK_NS     (1000 * NS_PER_MS)

#define SLEEP_MS     50
#define FLUSH_NS     (100 * NS_PER_MS)
#define BATCH_BYTES  (64u << 10) /* less than this a pass: not worth another at once */
#define MAX_NOTICES  16384
#define MAX_PROGRAMS (4u << 20) /* bytes; programs beyond are looked up in /proc */
#define FINAL_PASSES 100

struct consumer_thread {
	struct consumer *consumer;
	struct ebt_stream *stream;
	uint32_t first_ring, end_ring; /* event and sample rings */
	uint64_t *ends;		       /* of a pass: positions of both kinds */
	uint64_t *spsc_ends;	       /* likewise, by CPU; only those of these rings are used */
	int epoll;
	pthread_t thread;
	bool started;
	uint64_t last_pass, last_flush;
	uint64_t malformed, left;
};

struct consumer {
	struct capture *capture;
	struct tasks *tasks;
	struct deferred *deferred; /* or NULL */
	struct consumer_thread *threads;
	uint32_t n_threads;
	int event, wake; /* to the caller; to the threads, at the end */

	pthread_mutex_t lock; /* of the task ring, and what follows */
	struct consumer_notice notices[MAX_NOTICES];
	size_t first_notice, n_notices;
	size_t program_bytes; /* of the notices */
	uint64_t notices_dropped, task_malformed;
	struct ebt_error *err; /* the first */

	bool failed, finishing, abandoned; /* atomic */
};

static void notify(const struct consumer *c)
{
	uint64_t one = 1;

	/* The counter of an eventfd cannot overflow here, and there is nothing else to fail. */
	if (write(c->event, &one, sizeof(one)) < 0)
		return;
}

/* With the lock held. */
static void add_notice(struct consumer *c, struct consumer_notice notice)
{
	if (c->n_notices == MAX_NOTICES) {
		free(notice.program);
		c->notices_dropped++;
		return;
	}
	c->program_bytes += program_size(notice.program);
	c->notices[(c->first_notice + c->n_notices++) % MAX_NOTICES] = notice;
	/* Who takes one takes all. */
	if (c->n_notices == 1)
		notify(c);
}

/* Adds a record, which may be several, one behind the other; counts what is malformed, which is no
 * reason to stop. */
static struct ebt_error *add_record(struct ebt_stream *stream, const void *record, size_t len,
				    uint64_t *malformed)
{
	struct ebt_wire_head head;
	struct ebt_error *err;

	do {
		err = ebt_stream_add(stream, record, len);
		if (err && err->code != EBT_ERR_INVALID)
			return err;
		if (err) {
			ebt_error_destroy(err);
			__atomic_fetch_add(malformed, 1, __ATOMIC_RELAXED);
			return NULL;
		}
		memcpy(&head, record, sizeof(head));
		record = (const char *)record + head.len;
		len -= head.len;
	} while (len >= sizeof(head));
	return NULL;
}

/* With the lock held: what changes address spaces. */
static void notice_task(struct consumer *c, const struct ebt_wire_head *head, const void *record,
			const struct ebrec_facts *facts)
{
	struct consumer_notice notice = { .time = head->time };
	struct ebt_wire_task_exec exec;
	struct ebt_wire_task_rename rename;
	struct ebt_wire_task_fork fork;
	struct ebt_wire_task_exit exit;
	struct ebt_task_id id;

	switch (head->table) {
	case EBT_T_task_exec:
		memcpy(&exec, record, sizeof(exec));
		notice.event = CONSUMER_EXEC;
		notice.pid = exec.pid;
		if (facts && c->program_bytes < MAX_PROGRAMS)
			notice.program =
				program_create(facts, (const char *)record + exec.cmdline.off,
					       exec.cmdline.len);
		break;
	case EBT_T_task_fork:
		memcpy(&fork, record, sizeof(fork));
		if (fork.thread)
			return;
		tasks_resolve(c->tasks, fork.parent, head->time, &id);
		notice.event = CONSUMER_FORK;
		notice.pid = id.pid;
		notice.child = fork.child_pid;
		break;
	case EBT_T_task_rename:
		memcpy(&rename, record, sizeof(rename));
		notice.event = CONSUMER_RENAME;
		notice.pid = rename.task;
		break;
	case EBT_T_task_exit:
		memcpy(&exit, record, sizeof(exit));
		if (!exit.group_dead)
			return;
		tasks_resolve(c->tasks, exit.task, head->time, &id);
		notice.event = CONSUMER_EXIT;
		notice.pid = id.pid;
		break;
	default:
		return;
	}
	add_notice(c, notice);
}

/* With the lock held. */
static struct ebt_error *take_task_record(struct consumer *c, struct ebt_stream *stream,
					  const void *record, size_t len)
{
	const struct ebrec_facts *facts = NULL;
	struct ebt_wire_head head;
	struct ebt_error *err;

	memcpy(&head, record, sizeof(head));
	if (head.table == EBREC_T_PROGRAM) {
		facts = record;
		record = facts + 1;
		len -= sizeof(*facts);
		memcpy(&head, record, sizeof(head));
	}
	if (head.table == EBREC_T_ATTACHED) {
		uint64_t pid;

		memcpy(&pid, (const char *)record + sizeof(head), sizeof(pid));
		add_notice(c, (struct consumer_notice){ .pid = (uint32_t)pid,
							.event = CONSUMER_ATTACHED,
							.time = head.time });
		return NULL;
	}
	err = tasks_observe(c->tasks, record, len);
	if (err)
		return err;
	notice_task(c, &head, record, facts);
	return add_record(stream, record, len, &c->task_malformed);
}

struct ebt_error *consumer_read_tasks(struct consumer *c, struct ebt_stream *stream)
{
	struct ring *ring = c->capture->task_ring;
	struct ebt_error *err = NULL;
	const void *record;
	uint64_t end;
	size_t len;

	pthread_mutex_lock(&c->lock);
	end = ring_end(ring);
	while (!err && (record = ring_next(ring, end, &len)))
		err = take_task_record(c, stream, record, len);
	ring_release(ring);
	pthread_mutex_unlock(&c->lock);
	return err;
}

static struct ebt_error *read_ring(struct consumer_thread *t, struct ring *ring, uint64_t end,
				   uint64_t now)
{
	struct deferred *deferred = t->consumer->deferred;
	struct ebt_error *err = NULL;
	const void *record;
	uint64_t n = 0;
	size_t len;

	while (!err && (record = ring_next(ring, end, &len))) {
		if (python_is_code(record, len))
			err = python_add_code(t->stream, record, len);
		else if (!deferred || !deferred_take(deferred, record, len, now))
			err = add_record(t->stream, record, len, &t->malformed);
		/* So that a second SIGINT need not wait for a whole ring. */
		if (!(++n % 4096) && __atomic_load_n(&t->consumer->abandoned, __ATOMIC_RELAXED))
			break;
	}
	ring_release(ring);
	return err;
}

static struct ebt_error *read_spsc(struct consumer_thread *t, struct spsc *queue, uint64_t end)
{
	struct ebt_error *err = NULL;
	const void *record;
	uint64_t n = 0;
	size_t len;

	while (!err && (record = spsc_next(queue, end, &len))) {
		err = add_record(t->stream, record, len, &t->malformed);
		if (!(++n % 4096) && __atomic_load_n(&t->consumer->abandoned, __ATOMIC_RELAXED))
			break;
	}
	spsc_release(queue);
	return err;
}

static struct ring *ring_of(const struct consumer_thread *t, uint32_t i)
{
	uint32_t n = t->end_ring - t->first_ring;

	return i < n ? &t->consumer->capture->event_rings[t->first_ring + i]
		     : &t->consumer->capture->sample_rings[t->first_ring + i - n];
}

static bool has_spsc(const struct consumer_thread *t, uint32_t cpu)
{
	uint32_t ring = t->consumer->capture->topology.cpu_ring[cpu];

	return ring >= t->first_ring && ring < t->end_ring;
}

static void take_positions(struct consumer_thread *t)
{
	for (uint32_t i = 0; i < 2 * (t->end_ring - t->first_ring); i++)
		t->ends[i] = ring_end(ring_of(t, i));
	for (uint32_t i = 0; i < t->consumer->capture->context.n_spsc; i++) {
		if (has_spsc(t, i))
			t->spsc_ends[i] = spsc_end(&t->consumer->capture->spsc[i]);
	}
}

/* Up to the positions taken. *ret_bytes: what was read; *ret_left: what could not be. */
static struct ebt_error *read_rings(struct consumer_thread *t, uint64_t now, uint64_t *ret_bytes,
				    uint64_t *ret_left)
{
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; i < 2 * (t->end_ring - t->first_ring) && !err; i++) {
		struct ring *ring = ring_of(t, i);
		uint64_t from = ring->pos;

		err = read_ring(t, ring, t->ends[i], now);
		*ret_bytes += ring->pos - from;
		*ret_left += t->ends[i] - ring->pos;
	}
	for (uint32_t i = 0; i < t->consumer->capture->context.n_spsc && !err; i++) {
		struct spsc *queue = &t->consumer->capture->spsc[i];
		uint64_t from = queue->pos;

		if (!has_spsc(t, i))
			continue;
		err = read_spsc(t, queue, t->spsc_ends[i]);
		*ret_bytes += queue->pos - from;
		*ret_left += t->spsc_ends[i] - queue->pos;
	}
	return err;
}

/* One pass over the thread's rings. *ret_bytes: what was read; *ret_left: what could not be. */
static struct ebt_error *pass(struct consumer_thread *t, uint64_t *ret_bytes, uint64_t *ret_left)
{
	uint64_t now = clocks_now(), bytes = 0, left = 0;
	struct ebt_error *err;

	take_positions(t);
	err = consumer_read_tasks(t->consumer, t->stream);
	if (err)
		return err;
	err = read_rings(t, now, &bytes, &left);
	if (err)
		return err;
	/* What came after `now` is newer, and what came before has been read. */
	if (!left && now > SLACK_NS)
		ebt_stream_set_low(t->stream, now - SLACK_NS);
	if (now - t->last_flush >= FLUSH_NS) {
		t->last_flush = now;
		err = ebt_stream_flush(t->stream, now, false);
		if (err)
			return err;
	}
	*ret_bytes = bytes;
	*ret_left = left;
	return NULL;
}

/* Until a ring is rather full, it is time to look again, or the end comes. */
static void sleep_until_needed(struct consumer_thread *t)
{
	struct epoll_event events[8];

	for (uint32_t i = t->first_ring; i < t->end_ring; i++)
		capture_set_asleep(t->consumer->capture, i);
	if (t == t->consumer->threads)
		capture_set_asleep(t->consumer->capture, t->consumer->capture->n_rings - 1);
	epoll_wait(t->epoll, events, 8, SLEEP_MS);
}

static struct ebt_error *run(struct consumer_thread *t)
{
	uint64_t bytes, left;
	struct ebt_error *err;

	while (!__atomic_load_n(&t->consumer->finishing, __ATOMIC_ACQUIRE)) {
		err = pass(t, &bytes, &left);
		if (err)
			return err;
		if (bytes < BATCH_BYTES)
			sleep_until_needed(t);
	}
	/* Nobody writes into the rings any more, so this ends; a record that was begun and never
	 * handed over would be the kernel's mistake, and is waited for only so long. */
	for (int i = 0; i < FINAL_PASSES; i++) {
		err = pass(t, &bytes, &left);
		if (err)
			return err;
		t->left = left;
		if ((!bytes && !left) || __atomic_load_n(&t->consumer->abandoned, __ATOMIC_RELAXED))
			break;
		if (!bytes)
			usleep(1000);
	}
	return NULL;
}

static void *thread_main(void *arg)
{
	struct consumer_thread *t = arg;
	struct consumer *c = t->consumer;
	struct ebt_error *err;

	/* A reader that gets its turn among all others' loses what they do meanwhile. */
	thread_before_others();
	err = run(t);
	if (!err)
		return NULL;
	pthread_mutex_lock(&c->lock);
	if (c->err)
		ebt_error_destroy(err);
	else
		c->err = err;
	pthread_mutex_unlock(&c->lock);
	__atomic_store_n(&c->failed, true, __ATOMIC_RELEASE);
	notify(c);
	return NULL;
}

static struct ebt_error *epoll_add(int epoll, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		return ebt_error_errno(errno, "cannot wait for a ring buffer");
	return NULL;
}

static struct ebt_error *init_thread(struct consumer *c, uint32_t i, struct ebt_writer *writer)
{
	const struct topology *topology = &c->capture->topology;
	struct consumer_thread *t = &c->threads[i];
	struct ebt_error *err;

	t->consumer = c;
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll < 0)
		return ebt_error_errno(errno, "cannot wait for ring buffers");
	while (topology_ring_thread(topology, t->first_ring) != i)
		t->first_ring++;
	t->end_ring = t->first_ring;
	while (t->end_ring < topology->n_rings && topology_ring_thread(topology, t->end_ring) == i)
		t->end_ring++;
	t->ends = calloc(2 * (t->end_ring - t->first_ring), sizeof(*t->ends));
	t->spsc_ends = calloc(topology->n_cpus, sizeof(*t->spsc_ends));
	if (!t->ends || !t->spsc_ends)
		return &ebt_enomem;
	err = epoll_add(t->epoll, c->wake, EPOLLIN);
	/* Edges: a ring that holds a little is always readable, and no reason to wake. */
	for (uint32_t r = 0; r < 2 * (t->end_ring - t->first_ring) && !err; r++)
		err = epoll_add(t->epoll, ring_of(t, r)->fd, EPOLLIN | EPOLLET);
	if (!err && !i)
		err = epoll_add(t->epoll, c->capture->task_ring->fd, EPOLLIN | EPOLLET);
	return err ? err : ebt_writer_add_stream(writer, &t->stream);
}

struct ebt_error *consumer_create(struct capture *capture, struct ebt_writer *writer,
				  struct tasks *tasks, struct deferred *deferred,
				  struct consumer **ret)
{
	_cleanup_(consumer_destroyp) struct consumer *c = calloc(1, sizeof(*c));
	struct ebt_error *err;

	if (!c)
		return &ebt_enomem;
	c->capture = capture;
	c->tasks = tasks;
	c->deferred = deferred;
	pthread_mutex_init(&c->lock, NULL);
	c->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->event < 0 || c->wake < 0)
		return ebt_error_errno(errno, "cannot make an eventfd");
	c->n_threads = capture->topology.n_threads;
	c->threads = calloc(c->n_threads, sizeof(*c->threads));
	if (!c->threads)
		return &ebt_enomem;
	for (uint32_t i = 0; i < c->n_threads; i++)
		c->threads[i].epoll = -1;
	for (uint32_t i = 0; i < c->n_threads; i++) {
		err = init_thread(c, i, writer);
		if (err)
			return err;
	}
	*ret = take_ptr(c);
	return NULL;
}

static void join_threads(struct consumer *c)
{
	uint64_t one = 1;

	__atomic_store_n(&c->finishing, true, __ATOMIC_RELEASE);
	if (write(c->wake, &one, sizeof(one)) < 0)
		c->failed = true;
	for (uint32_t i = 0; i < c->n_threads && c->threads; i++) {
		if (c->threads[i].started)
			pthread_join(c->threads[i].thread, NULL);
		c->threads[i].started = false;
	}
}

void consumer_destroy(struct consumer *c)
{
	if (!c)
		return;
	__atomic_store_n(&c->abandoned, true, __ATOMIC_RELAXED);
	join_threads(c);
	for (uint32_t i = 0; i < c->n_threads && c->threads; i++) {
		free(c->threads[i].ends);
		free(c->threads[i].spsc_ends);
		ebt_closep(&c->threads[i].epoll);
	}
	free(c->threads);
	for (size_t i = 0; i < c->n_notices; i++)
		free(c->notices[(c->first_notice + i) % MAX_NOTICES].program);
	ebt_closep(&c->event);
	ebt_closep(&c->wake);
	ebt_error_destroy(c->err);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct ebt_error *consumer_start(struct consumer *c)
{
	for (uint32_t i = 0; i < c->n_threads; i++) {
		int r = pthread_create(&c->threads[i].thread, NULL, thread_main, &c->threads[i]);

		if (r)
			return ebt_error_errno(r, "cannot start a thread");
		c->threads[i].started = true;
	}
	return NULL;
}

struct ebt_error *consumer_finish(struct consumer *c)
{
	join_threads(c);
	return take_ptr(c->err);
}

int consumer_fd(const struct consumer *c)
{
	return c->event;
}

bool consumer_failed(const struct consumer *c)
{
	return __atomic_load_n(&c->failed, __ATOMIC_ACQUIRE);
}

bool consumer_next_notice(struct consumer *c, struct consumer_notice *ret)
{
	bool found = false;
	uint64_t count;

	pthread_mutex_lock(&c->lock);
	if (c->n_notices) {
		*ret = c->notices[c->first_notice];
		c->first_notice = (c->first_notice + 1) % MAX_NOTICES;
		c->n_notices--;
		c->program_bytes -= program_size(ret->program);
		found = true;
	} else if (read(c->event, &count, sizeof(count)) < 0) {
		/* Nobody had notified; that is as good. */
	}
	pthread_mutex_unlock(&c->lock);
	return found;
}

void consumer_counts(const struct consumer *c, struct consumer_counts *ret)
{
	struct consumer_counts counts = {
		.malformed = __atomic_load_n(&c->task_malformed, __ATOMIC_RELAXED),
		.notices_dropped = __atomic_load_n(&c->notices_dropped, __ATOMIC_RELAXED),
	};

	for (uint32_t i = 0; i < c->n_threads; i++) {
		const struct consumer_thread *t = &c->threads[i];

		counts.malformed += __atomic_load_n(&t->malformed, __ATOMIC_RELAXED);
		counts.left += __atomic_load_n(&t->left, __ATOMIC_RELAXED);
	}
	*ret = counts;
}
