/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of thread_stack with names; see model_threads.h. */
#include "report/system/model_threads.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "report/sched/model_locks.h"
#include "report/sched/model_sched.h"
#include "report/trace/prepare.h"

/* A tree beyond this is no answer to anything. */
#define MAX_FRAMES    (1u << 24)

#define FUTEX_PRIVATE 128 /* FUTEX_PRIVATE_FLAG of linux/futex.h */

struct threads {
	struct sym *sym;
	unsigned int moments;
	struct thread_seen *all;
	size_t n, capacity;
	struct thread_frame *frames;
	size_t n_frames, frames_capacity;
	struct ebt_map by_frame; /* frames, by hash */
	uint64_t *addresses;
	size_t n_addresses, addresses_capacity;
};

/* --- stacks --- */

static bool is_same_frame(const struct thread_frame *a, const struct thread_frame *b)
{
	return a->parent == b->parent && a->func == b->func && a->line == b->line &&
	       a->inlined == b->inlined &&
	       (a->file == b->file || (a->file && b->file && !strcmp(a->file, b->file)));
}

/* The frame among those that its caller called. */
static struct ebt_error *get_frame(struct threads *t, const struct thread_frame *frame,
				   uint32_t *ret)
{
	const uint64_t key[] = { frame->parent, frame->func->id, frame->line, frame->inlined };
	const uint64_t hash = ebt_hash_bytes(0, key, sizeof(key));
	struct ebt_error *err;
	size_t at = 0;

	while ((*ret = ebt_map_next(&t->by_frame, hash, &at)) != EBT_MAP_NONE) {
		if (is_same_frame(&t->frames[*ret], frame))
			return NULL;
	}
	if (t->n_frames == MAX_FRAMES)
		return ebt_error_create(EBT_ERR_LIMIT,
					"the stacks have more than %u frames: use a filter",
					MAX_FRAMES);
	err = ebt_array_reserve(&t->frames, t->n_frames, &t->frames_capacity);
	if (err)
		return err;
	*ret = (uint32_t)t->n_frames;
	t->frames[t->n_frames++] = *frame;
	return ebt_map_insert(&t->by_frame, hash, *ret);
}

static struct ebt_error *add_address(struct threads *t, const struct thread_seen *seen,
				     const struct ebt_stack *stack, uint32_t i, bool caller,
				     uint32_t *frame)
{
	struct sym_frames frames;
	struct ebt_error *err = sym_resolve(t->sym, seen->task, seen->time, stack->attrs,
					    stack->addresses[i], caller, &frames);

	for (size_t k = err ? 0 : frames.n; !err && k-- > 0;) {
		const struct thread_frame next = {
			.parent = *frame,
			.func = frames.frames[k].func,
			.file = frames.frames[k].file,
			.line = frames.frames[k].line,
			.inlined = frames.frames[k].inlined,
			.kernel = !(stack->attrs & EBT_STACK_USER),
		};

		err = get_frame(t, &next, frame);
	}
	return err;
}

/* Their frames, of the outermost first. */
static struct ebt_error *add_frames(struct threads *t, struct thread_seen *seen,
				    const struct ebt_stack *stack, bool first_is_caller)
{
	struct ebt_error *err = NULL;

	for (uint32_t i = stack->n; !err && i-- > 0;) {
		if (!sym_is_shown_by_next(stack, i))
			err = add_address(t, seen, stack, i, i > 0 || first_is_caller,
					  &seen->frame);
	}
	return err;
}

static struct ebt_error *keep_addresses(struct threads *t, struct thread_seen *seen,
					const struct ebt_stack *stack)
{
	const uint64_t none = stack->attrs & EBT_STACK_USER ? EBT_ENTRY_INTERP : 0;

	for (uint32_t i = 0; i < stack->n; i++) {
		struct ebt_error *err =
			ebt_array_reserve(&t->addresses, t->n_addresses, &t->addresses_capacity);

		if (err)
			return err;
		if (sym_is_shown_by_next(stack, i))
			continue;
		t->addresses[t->n_addresses++] =
			stack->addresses[i] & none ? 0 : stack->addresses[i];
		seen->n++;
	}
	return NULL;
}

/* Values of the columns. The kernel was entered from where the user stack is. */
static struct ebt_error *add_stacks(struct threads *t, const struct ebt_batch *batch,
				    struct thread_seen *seen, uint64_t kernel, uint64_t user)
{
	const struct ebt_stack *k = kernel ? &batch->stacks[kernel - 1] : NULL,
			       *u = user ? &batch->stacks[user - 1] : NULL;
	struct ebt_error *err = NULL;

	seen->first = t->n_addresses;
	if (u) {
		seen->stop = u->attrs >> EBT_STACK_STOP_SHIFT & 0xff;
		err = add_frames(t, seen, u, seen->call >= 0);
	}
	if (!err && k)
		err = add_frames(t, seen, k, false) ?: keep_addresses(t, seen, k);
	return err || !u ? err : keep_addresses(t, seen, u);
}

/* --- rows --- */

/* Who holds a mutex and is in no table has ended: the mutex is of this process alone. That it is
 * one is a guess of the recorder's, which the stack confirms. */
static const struct ebt_task *owner_that_ended(const struct threads *t,
					       const struct thread_seen *seen,
					       const struct ebt_task *owner)
{
	if (!owner || owner->pid || !(seen->args[1] & FUTEX_PRIVATE))
		return NULL;
	for (uint32_t at = seen->frame; at; at = t->frames[at].parent) {
		if (strstr(t->frames[at].func->name, "pthread_mutex_lock"))
			return owner;
	}
	return NULL;
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	const uint64_t user = ebt_thread_stack_ustack_id(row),
		       kernel = ebt_thread_stack_kstack_id(row),
		       moment = ebt_thread_stack_moment(row);
	struct thread_seen seen = {
		.task = ebt_thread_stack_task(row),
		.time = row->time,
		.since = ebt_thread_stack_since(row),
		.moment = moment,
		.user = ebt_thread_stack_user(row),
		.state = ebt_thread_stack_state(row),
		.on_cpu = ebt_thread_stack_on_cpu(row),
		.compat = ebt_thread_stack_abi(row) == EBT_V_thread_stack_abi_compat,
		.call = ebt_thread_stack_call(row),
		.args = { ebt_thread_stack_arg0(row), ebt_thread_stack_arg1(row),
			  ebt_thread_stack_arg2(row), ebt_thread_stack_arg3(row),
			  ebt_thread_stack_arg4(row), ebt_thread_stack_arg5(row) },
		.owner = lock_owner_of_stack(row),
	};
	struct threads *t = arg;
	struct ebt_error *err;

	if (!seen.task || moment > 1 || !(t->moments & 1u << moment))
		return NULL;
	err = add_stacks(t, row->batch, &seen, kernel, user);
	if (err)
		return err;
	if (!seen.owner)
		seen.owner = owner_that_ended(t, &seen, ebt_thread_stack_owner(row));
	err = ebt_array_reserve(&t->all, t->n, &t->capacity);
	if (!err)
		t->all[t->n++] = seen;
	return err;
}

static int by_thread(const void *a, const void *b)
{
	const struct thread_seen *x = a, *y = b;

	return ebt_compare(x->task->pid, y->task->pid) ?: ebt_compare(x->task->tid, y->task->tid)
		       ?: ebt_compare(x->task->id, y->task->id) ?: ebt_compare(x->time, y->time);
}

struct ebt_error *threads_read(struct trace *trace, unsigned int moments, struct threads **ret)
{
	_cleanup_(threads_destroyp) struct threads *t = calloc(1, sizeof(*t));
	struct ebt_error *err;

	if (!t)
		return &ebt_enomem;
	t->moments = moments;
	err = trace_sym(trace, &t->sym)
		      ?: prepare_names(trace, EBT_T_thread_stack, 0)
		      ?: ebt_array_reserve_zeroed(&t->frames, 0, &t->frames_capacity);
	if (err)
		return err;
	t->n_frames = 1;
	err = trace_read_table(trace, EBT_T_thread_stack, 0, take_row, t);
	if (err)
		return err;
	if (t->n)
		qsort(t->all, t->n, sizeof(*t->all), by_thread);
	*ret = take_ptr(t);
	return NULL;
}

void threads_destroy(struct threads *t)
{
	if (!t)
		return;
	ebt_map_deinit(&t->by_frame);
	free(t->frames);
	free(t->addresses);
	free(t->all);
	free(t);
}

const struct thread_seen *threads_all(const struct threads *t, size_t *ret_n)
{
	*ret_n = t->n;
	return t->all;
}

const struct thread_frame *threads_frames(const struct threads *t)
{
	return t->frames;
}

const uint64_t *threads_addresses(const struct threads *t)
{
	return t->addresses;
}

/* --- one of them --- */

const char *thread_state_name(const struct thread_seen *seen)
{
	return seen->on_cpu ? "running" : sched_why_name(sched_why(seen->state, false));
}

bool thread_is_equal(const struct thread_seen *a, const struct thread_seen *b)
{
	return a->frame == b->frame && a->call == b->call && a->compat == b->compat &&
	       a->user == b->user && a->stop == b->stop && a->owner == b->owner &&
	       (!a->owner || a->args[0] == b->args[0]) &&
	       !strcmp(thread_state_name(a), thread_state_name(b));
}
