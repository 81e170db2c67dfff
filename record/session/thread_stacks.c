/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at threads until none has run between two looks; see thread_stacks.h. */
#include "record/session/thread_stacks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/base/search.h"
#include "record/base/clocks.h"
#include "record/base/rows.h"
#include "record/bpf/thread_stack.h"
#include "record/config/skeleton.h"
#include "record/session/capture.h"
#include "record/session/reader.h"
#include "record/session/thread_python.h"
#include "record/session/thread_walk.h"
#include "record/sideband/tasks.h"

/* Most threads sleep, and the second look finds them where they were. Every other one walks. */
#define MAX_LOOKS 6

/* For kernel stacks, 5 to 10 us each, and then for walks. */
#define STACKS_NS UINT64_C(500000000)
#define WALK_NS	  UINT64_C(500000000)

/* A look without stacks that begins later than this is the last. */
#define LONG_NS UINT64_C(100000000)

/* One thread at one look. Its addresses are in the look's array, first the kernel's. */
struct seen {
	struct ebrec_thread_stack row;
	size_t first;
	uint32_t n_user, attrs;	  /* of the user stack */
	uint32_t owner, owner_by; /* of the lock that it waits for */
	enum ebt_thread_stack_user user;
	bool walked, told;
};

struct look {
	struct seen *threads; /* by tid */
	size_t n, capacity;
	uint64_t *addresses;
	size_t n_addresses, addresses_capacity;
};

struct taking {
	struct capture *capture;
	struct ebt_stream *stream;
	struct tasks *tasks;
	enum ebt_thread_stack_moment moment;
	uint32_t but; /* a process */
	uint64_t before;
	struct bpf_link *link;
	struct ebt_record record;
	uint64_t deadline;
	bool stacks;		  /* else states alone */
	bool user;		  /* user stacks too */
	struct reader *reader;	  /* NULL: nothing more is walked at this look */
	uint32_t walking;	  /* a process, while it is read; else 0 */
	bool given_up;		  /* a walk was: there are no more */
	struct ebt_error *missed; /* why not all threads were looked at */
	uint64_t ahead;		  /* CLOCK_MONOTONIC is ahead of the scheduler's by this */
	bool ahead_is_known;	  /* and by no less */
	struct thread_python python;
};

static void look_deinit(struct look *look)
{
	free(look->threads);
	free(look->addresses);
	*look = (struct look){ 0 };
}

/* --- what the kernel says --- */

static struct ebt_error *add_addresses(struct look *look, const void *addresses, size_t n)
{
	struct ebt_error *err;

	if (!n)
		return NULL;
	err = ebt_array_reserve(&look->addresses, look->n_addresses + n - 1,
				&look->addresses_capacity);
	if (err)
		return err;
	memcpy(look->addresses + look->n_addresses, addresses, n * sizeof(*look->addresses));
	look->n_addresses += n;
	return NULL;
}

/* The scheduler's clock is read a little before the other one, or a tick. */
static void learn_clock(struct taking *t, const struct ebrec_thread_stack *row)
{
	if (!row->clock)
		return;
	if (!t->ahead_is_known || (int64_t)(row->time - row->clock - t->ahead) < 0)
		t->ahead = row->time - row->clock;
	t->ahead_is_known = true;
}

/* Takes whole records from the beginning of what was read. *ret: their bytes. */
static struct ebt_error *take_records(struct taking *t, struct look *look, const char *data,
				      size_t len, size_t *ret)
{
	size_t at = 0;

	for (;;) {
		struct seen seen = { .first = look->n_addresses };
		struct ebt_error *err;
		size_t bytes;

		if (len - at < sizeof(seen.row))
			break;
		memcpy(&seen.row, data + at, sizeof(seen.row));
		bytes = seen.row.n * sizeof(uint64_t);
		if (len - at - sizeof(seen.row) < bytes)
			break;
		err = ebt_array_reserve(&look->threads, look->n, &look->capacity)
			      ?: add_addresses(look, data + at + sizeof(seen.row), seen.row.n);
		if (err)
			return err;
		learn_clock(t, &seen.row);
		if (seen.row.pid != t->but && seen.row.start < t->before)
			look->threads[look->n++] = seen;
		at += sizeof(seen.row) + bytes;
	}
	*ret = at;
	return NULL;
}

static int by_tid(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return ebt_compare(x->row.tid, y->row.tid);
}

static struct ebt_error *cannot_look(int errnum)
{
	return ebt_error_errno(errnum, "cannot go through the threads of the machine");
}

static struct ebt_error *read_look(struct taking *t, struct look *look)
{
	/* So that the scheduler has just looked at its clock. */
	const struct timespec moment = { .tv_nsec = 1 };
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(t->link));
	_cleanup_free_ char *data = malloc(64u << 10);
	size_t have = 0;

	if (!data)
		return &ebt_enomem;
	if (fd < 0)
		return cannot_look(errno);
	nanosleep(&moment, NULL);
	for (;;) {
		ssize_t n = read(fd, data + have, (64u << 10) - have);
		struct ebt_error *err;
		size_t taken;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return cannot_look(errno);
		if (!n)
			break;
		have += (size_t)n;
		err = take_records(t, look, data, have, &taken);
		if (err)
			return err;
		have -= taken;
		memmove(data, data + taken, have);
	}
	if (look->n)
		qsort(look->threads, look->n, sizeof(*look->threads), by_tid);
	return NULL;
}

static struct seen *find(struct look *look, uint32_t tid)
{
	size_t at = ebt_count_first(look->n, i, look->threads[i].row.tid < tid);

	return at < look->n && look->threads[at].row.tid == tid ? &look->threads[at] : NULL;
}

/* --- user stacks --- */

static struct ebt_error *walk(struct taking *t, struct look *look, struct seen *seen)
{
	const struct ebrec_bpf_config *config = &t->capture->context.skel->rodata->config;
	const uint32_t max = config->max_entries;
	const struct thread_walk how = {
		.reader = t->reader,
		.unwinder = t->capture->unwinder,
		.python = config->python ? &t->python : NULL,
		.max = config->max_stack,
		.max_entries = max < EBREC_MAX_STACK ? max : EBREC_MAX_STACK,
		.deadline = t->deadline,
	};
	uint64_t entries[EBREC_MAX_STACK];

	seen->n_user = thread_walk(&how, &seen->row, entries, &seen->attrs);
	seen->owner = thread_lock_owner(&how, &seen->row, &seen->owner_by);
	return add_addresses(look, entries, seen->n_user);
}

/* Walks the user stack; its addresses come to lie behind all others of the look. */
static struct ebt_error *take_user(struct taking *t, struct look *look, struct seen *seen)
{
	const size_t kernel = seen->first, n = seen->row.n;
	struct ebt_error *err;

	seen->user = EBT_V_thread_stack_user_none;
	if (!seen->row.user)
		return NULL;
	seen->user = EBT_V_thread_stack_user_not_wanted;
	if (!t->user)
		return NULL;
	seen->user = EBT_V_thread_stack_user_left_out;
	seen->walked = false;
	if (!t->reader || seen->row.pid == t->capture->unreadable || clocks_now() > t->deadline)
		return NULL;
	err = ebt_array_reserve(&look->addresses, look->n_addresses + n, &look->addresses_capacity);
	if (err)
		return err;
	seen->first = look->n_addresses;
	memcpy(look->addresses + seen->first, look->addresses + kernel, n * sizeof(uint64_t));
	look->n_addresses += n;
	seen->user = EBT_V_thread_stack_user_walked;
	seen->walked = true;
	t->walking = seen->row.pid;
	err = walk(t, look, seen);
	t->walking = 0;
	return err;
}

/* --- rows --- */

/* Since when it is what it is: off its CPU, in the queue for one, or on one. */
static uint64_t since(const struct taking *t, const struct ebrec_thread_stack *row)
{
	uint64_t at = row->arrival;

	if (!at || !t->ahead_is_known)
		return 0;
	if (!row->on_cpu)
		at = !row->state && row->queued ? row->queued : at + row->run;
	at += t->ahead;
	return at < row->time ? at : row->time;
}

/* The record of its fork may still be in a ring, or was lost. */
static struct ebt_error *name_task(struct taking *t, const struct ebrec_thread_stack *in)
{
	struct ebt_task_id id = { .tid = in->tid, .pid = in->pid, .start_ns = in->start };

	memcpy(id.comm, in->comm, strnlen(in->comm, sizeof(in->comm)));
	return tasks_add(t->tasks, &id, in->time);
}

static struct ebt_error *tell(struct taking *t, const struct look *look, struct seen *seen)
{
	const struct ebrec_thread_stack *in = &seen->row;
	const uint64_t *kernel = look->addresses + seen->first;
	const bool user = seen->n_user && seen->user == EBT_V_thread_stack_user_walked;
	const uint32_t max = t->capture->context.skel->rodata->config.max_frames;
	const __u64 *r = in->registers;
	struct ebt_error *err = name_task(t, in);
	struct ebt_wire_thread_stack *row =
		ebt_record_begin(&t->record, EBT_T_thread_stack, in->time);

	row->task = in->tid;
	row->moment = t->moment;
	row->state = in->state;
	row->on_cpu = in->on_cpu;
	row->since = since(t, in);
	row->call = in->call;
	row->abi = in->compat;
	row->user = seen->user;
	if (seen->user == EBT_V_thread_stack_user_walked) {
		row->owner = seen->owner;
		row->owner_by = seen->owner_by;
	}
	if (in->compat) {
		row->arg0 = (__u32)r[3];
		row->arg1 = (__u32)r[2];
		row->arg2 = (__u32)r[1];
		row->arg3 = (__u32)r[4];
		row->arg4 = (__u32)r[5];
		row->arg5 = (__u32)r[6];
	} else if (in->call >= 0) {
		row->arg0 = r[5];
		row->arg1 = r[4];
		row->arg2 = r[1];
		row->arg3 = r[10];
		row->arg4 = r[8];
		row->arg5 = r[9];
	}
	if (in->n)
		ebt_record_stack(&t->record, offsetof(struct ebt_wire_thread_stack, kstack),
				 in->n < max ? 0 : EBT_STACK_TRUNCATED, kernel, in->n);
	if (user) {
		ebt_record_stack(&t->record, offsetof(struct ebt_wire_thread_stack, ustack),
				 seen->attrs, kernel + in->n, seen->n_user);
		err = err
			      ?: thread_codes_tell(&t->python.codes, t->stream, kernel + in->n,
						   seen->n_user);
	}
	seen->told = true;
	return err ?: ebt_record_add(&t->record, t->stream);
}

/* --- looks --- */

/* It has not run since: what was read of its stack then belongs together. */
static bool is_as_before(const struct seen *before, const struct seen *now)
{
	return before->row.start == now->row.start && before->row.switches == now->row.switches &&
	       !now->row.on_cpu;
}

/* Takes the stacks of a thread that nothing has been told of. What is walked has to be confirmed;
 * one that runs may not at the next look. */
static struct ebt_error *take(struct taking *t, struct look *now, struct seen *seen)
{
	struct ebt_error *err;

	seen->user = EBT_V_thread_stack_user_running;
	if (seen->row.on_cpu)
		return NULL;
	err = take_user(t, now, seen);
	return err || seen->walked ? err : tell(t, now, seen);
}

/* A look without stacks: has the thread stayed where it was at the look before? */
static struct ebt_error *confirm(struct taking *t, const struct look *before, struct seen *then,
				 struct seen *seen, bool last)
{
	const bool same = then && then->walked && is_as_before(then, seen);

	seen->told = same || (then && last);
	if (!seen->told)
		return NULL;
	if (!same && then->walked)
		then->user = EBT_V_thread_stack_user_ran_meanwhile;
	return tell(t, before, then);
}

static struct ebt_error *judge(struct taking *t, struct look *before, struct look *now,
			       struct seen *seen, bool stacks, bool last)
{
	struct seen *then = find(before, seen->row.tid);

	if (then && then->row.start != seen->row.start)
		then = NULL;
	if (then && then->told) {
		seen->told = true;
		return NULL;
	}
	return stacks ? take(t, now, seen) : confirm(t, before, then, seen, last);
}

/* Threads of a look that are to be judged. */
struct judging {
	struct taking *t;
	struct look *before, *now;
	bool stacks, last;
	size_t next, left;
	struct ebt_error *err;
};

static void judge_rest(void *arg, struct reader *reader)
{
	struct judging *j = arg;

	j->t->reader = reader;
	for (; j->next < j->now->n && !j->err; j->next++) {
		struct seen *seen = &j->now->threads[j->next];

		j->err = judge(j->t, j->before, j->now, seen, j->stacks, j->last);
		j->left += !seen->told;
	}
}

/* Walks are given up where one does not come back: that thread is judged again, without. */
static void judge_all(struct judging *j)
{
	struct taking *t = j->t;

	/* Threads have begun and ended since. */
	t->python.states.pid = 0;
	thread_codes_forget_places(&t->python.codes);
	if (j->stacks && t->user && !t->given_up && !reader_run(judge_rest, j, t->deadline)) {
		t->given_up = true;
		t->capture->unreadable = t->walking;
	}
	judge_rest(j, NULL);
}

/* Looks with stacks and without take turns. Of many threads there are two looks in all. */
static struct ebt_error *look_until_told(struct taking *t)
{
	__u64 *until = &t->capture->context.skel->bss->thread_stacks_until;
	const uint64_t begin = clocks_now();
	struct look looks[2] = { 0 };
	struct ebt_error *err = NULL;
	size_t left = 1;

	for (int i = 0; i < MAX_LOOKS && left && !err; i++) {
		struct look *now = &looks[i % 2], *before = &looks[(i + 1) % 2];
		const bool stacks = !(i % 2),
			   last = i + 1 == MAX_LOOKS || clocks_now() - begin > LONG_NS;
		struct judging j = { t, before, now, stacks, last, 0, 0, NULL };

		look_deinit(now);
		*until = stacks && t->stacks ? clocks_now() + STACKS_NS : 0;
		t->missed = read_look(t, now);
		if (t->missed)
			break;
		t->deadline = clocks_now() + WALK_NS;
		judge_all(&j);
		err = j.err;
		left = j.left;
		if (!stacks && last)
			break;
	}
	look_deinit(&looks[0]);
	look_deinit(&looks[1]);
	return err;
}

/* A recording without these rows is better than none. */
static struct ebt_error *tell_missed(const struct taking *t)
{
	const struct lost_row lost = {
		.from = clocks_now(),
		.count = 1,
		.table_id = EBT_T_thread_stack,
		.reason = EBT_V_lost_reason_cannot_be_read,
		.source = "task",
		.detail = t->missed->message,
	};

	return add_lost(t->stream, lost.from, &lost);
}

/* Names of Python functions. */
static struct ebt_error *tell_refused(const struct taking *t)
{
	const struct lost_row lost = {
		.from = clocks_now(),
		.count = t->python.codes.refused,
		.table_id = EBT_T_interp_code,
		.reason = EBT_V_lost_reason_other,
		.source = "task",
		.detail =
			"Python functions in stacks of threads have no names: there were too many",
	};

	return add_lost(t->stream, lost.from, &lost);
}

struct ebt_error *thread_stacks_take(struct capture *capture, struct ebt_stream *stream,
				     struct tasks *tasks, enum ebt_thread_stack_moment moment,
				     uint32_t but, uint64_t before)
{
	const enum call_graph graph = capture->context.options->call_graph;
	struct ebrec_bpf *skel = capture->context.skel;
	struct taking t = {
		.capture = capture,
		.stream = stream,
		.tasks = tasks,
		.moment = moment,
		.but = but,
		.before = before,
		.stacks = graph,
		.user = capture->unwinder || graph == CALL_GRAPH_FP,
		.link = bpf_program__attach_iter(skel->progs.ebrec_thread_stack, NULL),
		.python = { .skel = skel, .codes.last_id = &skel->bss->python_last_id },
	};
	struct ebt_error *err = NULL;

	if (!t.link)
		t.missed = cannot_look(errno);
	else
		err = look_until_told(&t);
	if (t.missed && !err)
		err = tell_missed(&t);
	if (t.python.codes.refused && !err)
		err = tell_refused(&t);
	ebt_error_destroy(t.missed);
	thread_codes_deinit(&t.python.codes);
	ebt_record_deinit(&t.record);
	bpf_link__destroy(t.link);
	return err;
}
