/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for locks; see model_locks.h. */
#include "report/sched/model_locks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "report/base/names.h"
#include "report/stacks/doubts.h"
#include "report/stacks/model_calltree.h"

/* Of the kernel, not for programs. */
#define KERNEL_ERESTARTSYS	     512
#define KERNEL_ERESTART_RESTARTBLOCK 516

/* Flags of table lock_wait. */
enum { SPINS = 1, READS = 2, WRITES = 4, RT = 8, PERCPU = 16, MUTEX = 32 };

struct lock_model {
	struct trace *trace;
	struct grouping *g;
	struct calltree *callers; /* of kernel locks */
	struct nameless nameless; /* of those callers */
	const struct names *names;
	struct lock *locks;
	size_t n_locks, locks_capacity;
	struct lock_thread *threads;
	size_t n_threads, threads_capacity;
	/* Parts of keys to numbers, so that a key has 64 bits; then keys to indices. */
	struct ebt_map values, pairs;
	struct ebt_map private_locks, shared_locks, kernel_locks;
	struct ebt_map by_thread;
};

const char *lock_kind_name(enum lock_kind kind)
{
	static const char *const names[LOCK_N_KINDS] = {
		[LOCK_FUTEX] = "futex",
		[LOCK_MUTEX] = "mutex",
		[LOCK_PI_MUTEX] = "pi mutex",
		[LOCK_SPIN] = "spinlock",
		[LOCK_RWLOCK_READ] = "rwlock read",
		[LOCK_RWLOCK_WRITE] = "rwlock write",
		[LOCK_KERNEL_MUTEX] = "kernel mutex",
		[LOCK_RWSEM_READ] = "rwsem read",
		[LOCK_RWSEM_WRITE] = "rwsem write",
		[LOCK_RT_MUTEX] = "rt mutex",
		[LOCK_PERCPU_READ] = "percpu rwsem read",
		[LOCK_PERCPU_WRITE] = "percpu rwsem write",
		[LOCK_SEMAPHORE] = "semaphore",
	};

	return names[kind];
}

static enum lock_kind kernel_kind(uint64_t flags)
{
	if (flags & MUTEX)
		return LOCK_KERNEL_MUTEX;
	if (flags & PERCPU)
		return flags & WRITES ? LOCK_PERCPU_WRITE : LOCK_PERCPU_READ;
	if (flags & RT)
		return LOCK_RT_MUTEX;
	if (flags & SPINS)
		return flags & READS	? LOCK_RWLOCK_READ
		       : flags & WRITES ? LOCK_RWLOCK_WRITE
					: LOCK_SPIN;
	return flags & READS ? LOCK_RWSEM_READ : flags & WRITES ? LOCK_RWSEM_WRITE : LOCK_SEMAPHORE;
}

/* --- arrays --- */

/* Another number for each pair of a number, which may be 0, and a value. */
static struct ebt_error *number(struct lock_model *m, uint32_t before, uint64_t value,
				uint32_t *ret)
{
	uint32_t i;
	struct ebt_error *err = ebt_map_add(&m->values, value, (uint32_t)m->values.n, &i);

	if (err)
		return err;
	return ebt_map_add(&m->pairs, (uint64_t)before << 32 | i, (uint32_t)m->pairs.n, ret);
}

static struct ebt_error *lock_of(struct lock_model *m, struct ebt_map *map, uint64_t key,
				 const struct lock *new, uint32_t *ret)
{
	struct ebt_error *err;

	err = ebt_map_add(map, key, (uint32_t)m->n_locks, ret);
	if (err || *ret < m->n_locks)
		return err;
	err = ebt_array_reserve(&m->locks, m->n_locks, &m->locks_capacity);
	if (err)
		return err;
	m->locks[m->n_locks++] = *new;
	return NULL;
}

static struct ebt_error *thread_of(struct lock_model *m, uint32_t group, bool holder,
				   const struct ebt_task *task, struct lock_thread **ret)
{
	uint64_t id = task ? (uint64_t)task->id + 1 : 0;
	struct ebt_error *err;
	uint32_t i;

	if (id >= UINT32_MAX)
		id = 0;
	err = ebt_map_add(&m->by_thread, (uint64_t)group << 33 | (uint64_t)holder << 32 | id,
			  (uint32_t)m->n_threads, &i)
		      ?: ebt_array_reserve(&m->threads, m->n_threads, &m->threads_capacity);
	if (err)
		return err;
	if (i == m->n_threads)
		m->threads[m->n_threads++] =
			(struct lock_thread){ .group = group, .holder = holder, .task = task };
	*ret = &m->threads[i];
	return NULL;
}

/* --- waits --- */

struct wait {
	uint32_t lock;
	const struct ebt_task *task;
	uint64_t ns, time;
	enum lock_kind kind;
	bool at_once, timeout, interrupted;
	uint64_t kernel, user; /* stacks */
	uint32_t group;	       /* once it is counted: where in the table */
};

static struct ebt_error *add_wait(void *arg, void *figures, uint32_t id)
{
	struct wait *wait = arg;
	struct lock_sum *sum = figures;

	if (!(id & 1))
		wait->group = id / 2;
	sum->kind = wait->kind;
	sum->at_once += wait->at_once;
	sum->timeouts += wait->timeout;
	sum->interrupted += wait->interrupted;
	if (wait->at_once)
		return NULL;
	if (wait->ns > sum->wait.max || !sum->wait.count)
		sum->max_at_ns = wait->time;
	return histogram_add(&sum->wait, wait->ns);
}

static struct ebt_error *count_thread(struct lock_model *m, const struct wait *wait, bool holder,
				      const struct ebt_task *task)
{
	struct lock_thread *thread;
	struct ebt_error *err;

	err = thread_of(m, wait->group, holder, task, &thread);
	if (err)
		return err;
	thread->count++;
	thread->ns += wait->ns;
	thread->max_ns = wait->ns > thread->max_ns ? wait->ns : thread->max_ns;
	return NULL;
}

static struct ebt_error *count_wait(struct lock_model *m, const struct ebt_row *row,
				    struct wait *wait)
{
	const struct calltree_stack stack = {
		.batch = row->batch,
		.task = wait->task,
		.time = row->time,
		.kernel = wait->kernel,
		.user = wait->user,
	};
	struct group_row key = { .task = wait->task, .no_stack = wait->at_once };
	struct ebt_error *err = NULL;

	key.own[LOCK_BY_LOCK - GROUP_OWN] = wait->lock;
	key.own[LOCK_BY_KIND - GROUP_OWN] = wait->kind;
	wait->time = row->time;
	if (!wait->at_once)
		err = grouping_place(m->g, &stack, &key.node);
	if (!err)
		err = grouping_add(m->g, &key, add_wait, wait);
	if (err || wait->at_once || !grouping_has_rows(m->g))
		return err;
	return count_thread(m, wait, false, wait->task);
}

/* --- of programs --- */

static struct ebt_error *find_futex(struct lock_model *m, const struct ebt_row *row,
				    const struct ebt_task *task, uint32_t *ret)
{
	struct lock new = {
		.kind = LOCK_FUTEX,
		.task = task,
		.address = ebt_futex_wait_address(row),
		.first_time = row->time,
		.dev_major = (uint32_t)ebt_futex_wait_dev_major(row),
		.dev_minor = (uint32_t)ebt_futex_wait_dev_minor(row),
		.inode = ebt_futex_wait_inode(row),
		.offset = ebt_futex_wait_offset(row),
	};
	uint64_t device = (uint64_t) new.dev_major << 32 | new.dev_minor;
	struct ebt_error *err;
	uint32_t part;

	new.shared = new.inode != 0;
	if (new.shared) {
		err = number(m, 0, new.inode, &part) ?:
		      number(m, part, device, &part) ?:
		      number(m, part, new.offset, &part);
		return err ? err : lock_of(m, &m->shared_locks, part, &new, ret);
	}
	err = number(m, 0, task ? names_process_key(m->names, task) + 1 : 0, &part);
	if (!err)
		err = number(m, part, new.address, &part);
	return err ? err : lock_of(m, &m->private_locks, part, &new, ret);
}

/* Memory that only looks like a mutex may have any number where the owner's would be: of a lock
 * that is not shared, only threads of the process are believed. */
static bool is_of_process(const struct ebt_task *owner, const struct ebt_task *waiter)
{
	return owner && waiter && owner->pid == waiter->pid;
}

/* Who had the lock when the wait began, or NULL. */
static const struct ebt_task *owner_of(const struct ebt_row *row, const struct ebt_task *waiter)
{
	const struct ebt_task *owner = ebt_futex_wait_owner(row);

	if (ebt_futex_wait_owner_by(row) == EBT_V_futex_wait_owner_by_guess &&
	    !ebt_futex_wait_inode(row) && !is_of_process(owner, waiter))
		return NULL;
	return owner;
}

const struct ebt_task *lock_owner_of_stack(const struct ebt_row *row)
{
	const struct ebt_task *owner = ebt_thread_stack_owner(row),
			      *task = ebt_thread_stack_task(row);
	const bool guess = ebt_thread_stack_owner_by(row) == EBT_V_thread_stack_owner_by_guess;

	return task && (!guess || is_of_process(owner, task)) ? owner : NULL;
}

/* Because of whom it was: of the owner, else of who gave the lock away. */
static struct ebt_error *count_holders(struct lock_model *m, const struct ebt_row *row,
				       const struct wait *wait, const struct ebt_task *owner)
{
	const struct ebt_task *waker = ebt_futex_wait_waker(row);
	struct lock_thread *thread;
	struct ebt_error *err = NULL;

	if (ebt_futex_wait_woken(row) != EBT_V_futex_wait_woken_task || ebt_futex_wait_ret(row) < 0)
		waker = NULL;
	if (waker) {
		err = thread_of(m, wait->group, true, waker, &thread);
		if (!err)
			thread->woke++;
	}
	if (!err && owner) {
		err = thread_of(m, wait->group, true, owner, &thread);
		if (!err)
			thread->owned++;
	}
	if (err || (!owner && !waker))
		return err;
	return count_thread(m, wait, true, owner ? owner : waker);
}

static struct ebt_error *count_futex(struct lock_model *m, const struct ebt_row *row)
{
	uint64_t by = ebt_futex_wait_owner_by(row);
	int64_t result = ebt_futex_wait_ret(row);
	struct wait wait = {
		.task = ebt_futex_wait_task(row),
		.ns = ebt_futex_wait_duration(row),
		.at_once = !ebt_futex_wait_slept(row),
		.user = grouping_tree(m->g) ? ebt_futex_wait_ustack_id(row) : 0,
	};
	const struct ebt_task *owner = owner_of(row, wait.task);
	struct ebt_error *err;
	struct lock *lock;

	if (!trace_task_wanted(m->trace, wait.task))
		return NULL;
	err = find_futex(m, row, wait.task, &wait.lock);
	if (err)
		return err;
	lock = &m->locks[wait.lock];
	if (by == EBT_V_futex_wait_owner_by_futex)
		lock->kind = LOCK_PI_MUTEX;
	else if (by == EBT_V_futex_wait_owner_by_guess && owner && lock->kind == LOCK_FUTEX)
		lock->kind = LOCK_MUTEX;
	wait.kind = lock->kind;
	wait.timeout = !wait.at_once && result == -ETIMEDOUT;
	wait.interrupted =
		!wait.at_once && (result == -EINTR || (result <= -KERNEL_ERESTARTSYS &&
						       result >= -KERNEL_ERESTART_RESTARTBLOCK));
	err = count_wait(m, row, &wait);
	if (err || wait.at_once || !grouping_has_rows(m->g))
		return err;
	return count_holders(m, row, &wait, owner);
}

/* --- of the kernel --- */

/* Functions that are the lock's own; the first one that is not wanted it. */
static bool is_of_lock(const char *name)
{
	static const char *const starts[] = {
		"_raw_read_",  "_raw_spin_",	    "_raw_write_",  "__down_",
		"__mutex_",    "__percpu_",	    "__pv_queued_", "__raw_",
		"__rt_mutex_", "__ww_mutex_",	    "bpf_prog_",    "down",
		"mutex_",      "native_queued_",    "percpu_down_", "pv_queued_",
		"queued_",     "resilient_",	    "rqspinlock_",  "rt_mutex_",
		"rt_read_",    "rt_spin_",	    "rt_write_",    "rtlock_",
		"rwsem_",      "trace_contention_", "virt_spin_",   "ww_mutex_",
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return false;
}

static struct ebt_error *find_caller(struct lock_model *m, const struct ebt_row *row,
				     uint64_t kernel, uint32_t *ret_func, const char **ret)
{
	const struct calltree_stack stack = {
		.batch = row->batch,
		.time = row->time,
		.kernel = kernel,
	};
	const struct calltree_node *nodes;
	const struct calltree_func *funcs;
	struct ebt_error *err;
	uint32_t node, n;

	*ret_func = UINT32_MAX;
	*ret = "[not known]";
	if (!kernel)
		return NULL;
	err = calltree_place(m->callers, &stack, &node);
	if (err)
		return err;
	nodes = calltree_nodes(m->callers, &n);
	funcs = calltree_funcs(m->callers, &n);
	/* A stack of nothing but such functions keeps its outermost. */
	for (; node && funcs[nodes[node].func].kind != CALLTREE_ROOT; node = nodes[node].parent) {
		*ret_func = nodes[node].func;
		*ret = funcs[nodes[node].func].name;
		if (!is_of_lock(*ret))
			break;
	}
	return NULL;
}

static struct ebt_error *add_caller(struct lock_model *m, uint32_t func, uint64_t ns)
{
	uint32_t n;
	const struct calltree_func *funcs = calltree_funcs(m->callers, &n);

	return func < n ? nameless_add_func(&m->nameless, &funcs[func], (double)ns) : NULL;
}

static struct ebt_error *count_kernel(struct lock_model *m, const struct ebt_row *row)
{
	uint64_t kstack = ebt_lock_wait_kstack_id(row);
	bool interrupt = ebt_lock_wait_interrupt(row);
	const struct ebt_task *task = ebt_lock_wait_task(row);
	struct lock new = { .kind = kernel_kind(ebt_lock_wait_flags(row)) };
	struct wait wait = {
		.task = interrupt ? NULL : task,
		.ns = ebt_lock_wait_duration(row),
		.kind = new.kind,
		.kernel = kstack,
		.interrupted = ebt_lock_wait_ret(row) < 0,
		.user = grouping_tree(m->g) ? ebt_lock_wait_ustack_id(row) : 0,
	};
	struct ebt_error *err;
	uint32_t func;

	if (!trace_task_wanted(m->trace, task))
		return NULL;
	err = find_caller(m, row, kstack, &func, &new.caller)
		      ?: add_caller(m, func, wait.ns)
		      ?: lock_of(m, &m->kernel_locks, (uint64_t) new.kind << 32 | func, &new,
				 &wait.lock);
	if (err)
		return err;
	return count_wait(m, row, &wait);
}

/* --- all --- */

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	return row->batch->table->id == EBT_T_futex_wait ? count_futex(arg, row)
							 : count_kernel(arg, row);
}

static struct ebt_error *read_rows(struct lock_model *m, const struct lock_options *options)
{
	const struct ebt_want wants[] = { { EBT_T_futex_wait, ~UINT64_C(0) },
					  { EBT_T_lock_wait, ~UINT64_C(0) } };
	size_t from = options->no_user, to = options->no_kernel ? 1 : 2;

	return trace_read_rows(m->trace, wants + from, to - from, 0, take_row, m);
}

static int compare_threads(const void *a, const void *b)
{
	const struct lock_thread *x = a, *y = b;
	int order = ebt_compare(x->group, y->group) ?: ebt_compare(x->holder, y->holder);

	return order ?: ebt_compare(y->ns, x->ns) ?: ebt_compare(y->woke, x->woke);
}

static void finish(struct lock_model *m)
{
	if (m->n_threads)
		qsort(m->threads, m->n_threads, sizeof(*m->threads), compare_threads);
	for (size_t i = m->n_threads; i-- > 0;) {
		struct lock_sum *sum = grouping_figures(m->g, m->threads[i].group);

		sum->threads = i;
		if (m->threads[i].holder)
			sum->n_holders++;
		else
			sum->n_waiters++;
	}
}

struct ebt_error *lock_model_create(struct trace *trace, const struct lock_options *options,
				    struct grouping *g, struct lock_model **ret)
{
	_cleanup_(lock_model_destroyp) struct lock_model *m = calloc(1, sizeof(*m));
	struct ebt_error *err;

	if (!m)
		return &ebt_enomem;
	m->trace = trace;
	m->g = g;
	err = trace_names(trace, &m->names) ?:
	      calltree_create_for(trace, CALLTREE_NO_ROOTS, &m->callers) ?:
	      read_rows(m, options);
	if (err)
		return err;
	finish(m);
	*ret = take_ptr(m);
	return NULL;
}

void lock_model_destroy(struct lock_model *m)
{
	if (!m)
		return;
	ebt_map_deinit(&m->values);
	ebt_map_deinit(&m->pairs);
	ebt_map_deinit(&m->private_locks);
	ebt_map_deinit(&m->shared_locks);
	ebt_map_deinit(&m->kernel_locks);
	ebt_map_deinit(&m->by_thread);
	nameless_deinit(&m->nameless);
	calltree_destroy(m->callers);
	free(m->locks);
	free(m->threads);
	free(m);
}

struct ebt_error *lock_model_tell_callers(const struct lock_model *m)
{
	return nameless_warn(&m->nameless, m->trace);
}

const struct lock *lock_model_lock(const struct lock_model *m, uint64_t lock)
{
	return &m->locks[lock];
}

const struct lock_thread *lock_model_threads(const struct lock_model *m)
{
	return m->threads;
}
