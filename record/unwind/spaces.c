/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mappings of processes for the BPF programs; see spaces.h. */
#include "record/unwind/spaces.h"

#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/bpf/unwind_maps.h"
#include "record/unwind/history.h"
#include "record/unwind/slab.h"

#define N_BUCKETS 16384u

struct spaces_known {
	struct ebrec_unwind_mapping mapping;
	uint64_t since;
	bool is_code;
};

struct space {
	struct space *next; /* of the bucket */
	uint32_t pid;
	bool dirty;
	uint64_t changed;	       /* last change of mappings */
	uint64_t exec;		       /* time of the last one */
	uint64_t renamed;	       /* last change of name; see OP_EXEC */
	uint64_t doubted;	       /* pages of code that are not as known, if it stays so */
	uint64_t looked_at;	       /* pages of code when that did not help, or was done last */
	bool suspect;		       /* to be looked at in any case */
	struct spaces_known *mappings; /* ascending, none overlaps another */
	uint32_t n;
	struct unwind_range *range; /* where they are published; forks share it. NULL: nowhere */
};

struct unwind_spaces {
	struct unwind_spaces_maps maps;
	struct unwind_slab *slab;
	struct unwind_history *history; /* or NULL */
	struct space **buckets;
	struct unwind_op *ops;
	size_t n_ops, ops_capacity;
	uint64_t full;
};

struct ebt_error *unwind_spaces_create(const struct unwind_spaces_maps *maps,
				       struct unwind_history *history, struct unwind_spaces **ret)
{
	_cleanup_(unwind_spaces_destroyp) struct unwind_spaces *s = calloc(1, sizeof(*s));
	struct ebt_error *err;

	if (!s)
		return &ebt_enomem;
	s->maps = *maps;
	s->history = history;
	s->buckets = calloc(N_BUCKETS, sizeof(*s->buckets));
	if (!s->buckets)
		return &ebt_enomem;
	err = unwind_slab_create(maps->mappings_fd, maps->first, maps->n, &s->slab);
	if (err)
		return err;
	*ret = take_ptr(s);
	return NULL;
}

static void space_destroy(struct unwind_spaces *s, struct space *space)
{
	unwind_range_put(s->slab, space->range);
	free(space->mappings);
	free(space);
}

void unwind_spaces_destroy(struct unwind_spaces *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->buckets && i < N_BUCKETS; i++) {
		while (s->buckets[i]) {
			struct space *space = s->buckets[i];

			s->buckets[i] = space->next;
			space_destroy(s, space);
		}
	}
	unwind_slab_destroy(s->slab);
	free(s->buckets);
	free(s->ops);
	free(s);
}

/* --- what happened --- */

static struct ebt_error *add_op(struct unwind_spaces *s, const struct unwind_op *op)
{
	if (s->n_ops == s->ops_capacity) {
		size_t capacity = s->ops_capacity ? 2 * s->ops_capacity : 64;
		struct unwind_op *ops = realloc(s->ops, capacity * sizeof(*ops));

		if (!ops)
			return &ebt_enomem;
		s->ops = ops;
		s->ops_capacity = capacity;
	}
	s->ops[s->n_ops++] = *op;
	return NULL;
}

struct ebt_error *unwind_spaces_map(struct unwind_spaces *s, const struct mapping *m)
{
	struct unwind_op op = { .time = m->time, .kind = OP_MAP, .pid = m->pid };
	uint64_t bias;

	op.mapping.start = m->start;
	op.mapping.end = m->start + m->length;
	op.mapping.table = s->maps.table(s->maps.arg, m, &bias);
	op.mapping.bias = bias;
	op.is_code = !(m->prot & PROT_WRITE);
	return add_op(s, &op);
}

struct ebt_error *unwind_spaces_fork(struct unwind_spaces *s, uint32_t parent, uint32_t child,
				     uint64_t time_ns)
{
	return add_op(s, &(struct unwind_op){
				 .time = time_ns, .kind = OP_FORK, .pid = parent, .child = child });
}

struct ebt_error *unwind_spaces_exec(struct unwind_spaces *s, uint32_t pid, uint64_t time_ns)
{
	return add_op(s, &(struct unwind_op){ .time = time_ns, .kind = OP_EXEC, .pid = pid });
}

struct ebt_error *unwind_spaces_rename(struct unwind_spaces *s, uint32_t pid, uint64_t time_ns)
{
	return add_op(s, &(struct unwind_op){ .time = time_ns, .kind = OP_RENAME, .pid = pid });
}

struct ebt_error *unwind_spaces_exit(struct unwind_spaces *s, uint32_t pid, uint64_t time_ns)
{
	return add_op(s, &(struct unwind_op){ .time = time_ns, .kind = OP_EXIT, .pid = pid });
}

struct ebt_error *unwind_spaces_forget(struct unwind_spaces *s, uint32_t pid, uint64_t time_ns)
{
	size_t i = 0;

	/* A process that could not be read keeps what it has. */
	while (i < s->n_ops &&
	       (s->ops[i].kind != OP_MAP || s->ops[i].pid != pid || s->ops[i].time != time_ns))
		i++;
	if (i == s->n_ops)
		return NULL;
	return add_op(s, &(struct unwind_op){ .time = time_ns, .kind = OP_FORGET, .pid = pid });
}

/* --- the model --- */

static struct space **bucket_of(struct unwind_spaces *s, uint32_t pid)
{
	return &s->buckets[pid % N_BUCKETS];
}

static struct space *find_space(struct unwind_spaces *s, uint32_t pid)
{
	struct space *space = *bucket_of(s, pid);

	while (space && space->pid != pid)
		space = space->next;
	return space;
}

static struct space *get_space(struct unwind_spaces *s, uint32_t pid)
{
	struct space *space = find_space(s, pid);

	if (space)
		return space;
	space = calloc(1, sizeof(*space));
	if (!space)
		return NULL;
	space->pid = pid;
	space->next = *bucket_of(s, pid);
	*bucket_of(s, pid) = space;
	return space;
}

static void remove_space(struct unwind_spaces *s, uint32_t pid)
{
	struct space **p = bucket_of(s, pid), *space;

	while (*p && (*p)->pid != pid)
		p = &(*p)->next;
	space = *p;
	if (!space)
		return;
	*p = space->next;
	space_destroy(s, space);
}

/* The new one takes what others had of its range, and splits one that reaches over both ends. */
static bool insert(struct space *space, const struct unwind_op *op)
{
	const struct ebrec_unwind_mapping *m = &op->mapping;
	const struct spaces_known added = { *m, op->time, op->is_code };
	struct spaces_known *out, piece;
	uint32_t n = 0;
	bool done = false;

	if (m->start >= m->end || space->n + 2 > UNWIND_MAX_MAPPINGS)
		return false;
	out = calloc(space->n + 2, sizeof(*out));
	if (!out)
		return false;
	for (uint32_t i = 0; i < space->n; i++) {
		piece = space->mappings[i];
		if (piece.mapping.start < m->start) {
			out[n] = piece;
			if (piece.mapping.end > m->start)
				out[n].mapping.end = m->start;
			n++;
		}
		if (!done && piece.mapping.end > m->start) {
			out[n++] = added;
			done = true;
		}
		if (piece.mapping.end > m->end) {
			if (piece.mapping.start < m->end)
				piece.mapping.start = m->end;
			out[n++] = piece;
		}
	}
	if (!done)
		out[n++] = added;
	free(space->mappings);
	space->mappings = out;
	space->n = n;
	return true;
}

static bool fork_space(struct unwind_spaces *s, const struct unwind_op *op)
{
	struct space *parent = find_space(s, op->pid), *child;
	struct spaces_known *copy;

	if (!parent)
		return true;
	remove_space(s, op->child);
	child = get_space(s, op->child);
	copy = malloc((parent->n + 1) * sizeof(*copy));
	if (!child || !copy) {
		free(copy);
		return false;
	}
	if (parent->n)
		memcpy(copy, parent->mappings, parent->n * sizeof(*copy));
	child->mappings = copy;
	child->n = parent->n;
	child->changed = parent->changed;
	child->exec = parent->exec;
	child->range = unwind_range_get(parent->range);
	/* The BPF side copied its parent's entry; this brings what changed since. */
	child->dirty = true;
	return true;
}

/*
 * The kernel renames a thread that runs another program, maps the program, and reports the exec
 * last: what was mapped before the rename has gone.
 */
static void exec_space(struct space *space, uint64_t time)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < space->n; i++) {
		if (space->mappings[i].since >= space->renamed)
			space->mappings[n++] = space->mappings[i];
	}
	space->n = n;
	space->exec = time;
	space->dirty = true;
}

static bool apply(struct unwind_spaces *s, const struct unwind_op *op)
{
	struct space *space;

	switch (op->kind) {
	case OP_FORK:
		return fork_space(s, op);
	case OP_EXIT:
		remove_space(s, op->pid);
		s->maps.remove(s->maps.arg, op->pid);
		return true;
	case OP_EXEC:
		space = find_space(s, op->pid);
		if (space)
			exec_space(space, op->time);
		return true;
	case OP_RENAME:
		space = find_space(s, op->pid);
		if (space)
			space->renamed = op->time;
		return true;
	case OP_FORGET:
		space = find_space(s, op->pid);
		if (space)
			space->n = 0;
		return true;
	case OP_MAP:
		space = get_space(s, op->pid);
		if (!space)
			return false;
		space->dirty = true;
		space->changed = op->time;
		return insert(space, op);
	}
	return true;
}

/* --- publishing --- */

/* Two programs see an exec, and look at the clock, at about the same time. */
#define SAME_NS UINT64_C(1000000)

/* Time of what is known: newer than what the BPF side placed at exec, if that is in it. */
static uint64_t time_of(const struct unwind_spaces *s, const struct space *space)
{
	struct ebrec_unwind_process own;

	if (space->changed > space->exec + SAME_NS || !s->maps.own(s->maps.arg, space->pid, &own) ||
	    own.time < space->changed || own.time > space->exec + SAME_NS)
		return space->changed;
	return own.time + 1;
}

static void publish_space(struct unwind_spaces *s, struct space *space, uint64_t now_ns)
{
	struct ebrec_unwind_published entry = { .time = time_of(s, space), .n = space->n };
	struct unwind_range *range = NULL;

	space->dirty = false;
	if (space->n)
		range = unwind_slab_alloc(s->slab, space->n, now_ns);
	if (range) {
		struct ebrec_unwind_mapping *out = unwind_slab_entries(s->slab, range);

		for (uint32_t i = 0; i < space->n; i++)
			out[i] = space->mappings[i].mapping;
		entry.first = unwind_range_first(range);
	}
	/* Until the map changes, programs use the old range; a walk that has begun still does. */
	if (!range || !s->maps.publish(s->maps.arg, space->pid, &entry)) {
		s->full += space->n != 0;
		s->maps.publish(s->maps.arg, space->pid, NULL);
		unwind_range_put(s->slab, range);
		range = NULL;
	}
	unwind_range_put(s->slab, space->range);
	space->range = range;
}

struct ebt_error *unwind_spaces_publish(struct unwind_spaces *s, uint64_t now_ns)
{
	qsort(s->ops, s->n_ops, sizeof(*s->ops), unwind_op_compare);
	for (size_t i = 0; i < s->n_ops; i++) {
		if (!apply(s, &s->ops[i]) ||
		    (s->history && !unwind_history_add(s->history, &s->ops[i])))
			s->full++;
	}
	for (size_t i = 0; i < s->n_ops; i++) {
		uint32_t pid = s->ops[i].kind == OP_FORK ? s->ops[i].child : s->ops[i].pid;
		struct space *space = find_space(s, pid);

		if (space && space->dirty)
			publish_space(s, space, now_ns);
	}
	s->n_ops = 0;
	return NULL;
}

/* --- what was not told --- */

void unwind_spaces_doubt(struct unwind_spaces *s)
{
	for (uint32_t i = 0; i < N_BUCKETS; i++) {
		for (struct space *space = s->buckets[i]; space; space = space->next)
			space->suspect = true;
	}
}

/* As the kernel counts mm->exec_vm. That of a range that was unmapped is too much here, as nobody
 * tells of that. */
static uint64_t pages_of_code(const struct space *space)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < space->n; i++) {
		if (space->mappings[i].is_code)
			bytes += space->mappings[i].mapping.end - space->mappings[i].mapping.start;
	}
	return bytes / (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Events may be on their way, so a difference has to last from one time to the next. */
static bool is_doubtful(struct unwind_spaces *s, struct space *space)
{
	struct ebrec_unwind_published seen;
	uint64_t doubted = space->doubted;

	space->doubted = 0;
	if (space->suspect)
		return true;
	if (!space->range || !s->maps.published(s->maps.arg, space->pid, &seen) || !seen.exec_vm ||
	    seen.exec_vm == space->looked_at || seen.exec_vm == pages_of_code(space))
		return false;
	if (seen.exec_vm != doubted) {
		space->doubted = seen.exec_vm;
		return false;
	}
	space->looked_at = seen.exec_vm;
	return true;
}

size_t unwind_spaces_doubtful(struct unwind_spaces *s, uint32_t *pids, size_t max)
{
	size_t n = 0;

	for (uint32_t i = 0; i < N_BUCKETS; i++) {
		for (struct space *space = s->buckets[i]; space && n < max; space = space->next) {
			if (!is_doubtful(s, space))
				continue;
			space->suspect = false;
			pids[n++] = space->pid;
		}
	}
	return n;
}

uint64_t unwind_spaces_full(const struct unwind_spaces *s)
{
	return s->full;
}
