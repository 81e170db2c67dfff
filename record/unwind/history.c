/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address spaces of a moment ago; see history.h. Most forks are followed by an exec, so
 * that parent and child share a list of mappings until one of them changes.
 */
#include "record/unwind/history.h"

#include <stdlib.h>
#include <string.h>

#define N_BUCKETS 4096u

struct history_known {
	struct ebrec_unwind_mapping mapping;
	uint64_t since;
};

struct mappings {
	uint32_t users;
	uint32_t n;
	struct history_known known[]; /* ascending, none overlaps another */
};

struct past_space {
	struct past_space *next; /* of the bucket */
	uint32_t pid;
	uint64_t renamed; /* last change of name: where an exec begins */
	struct mappings *mappings;
};

struct unwind_history {
	struct past_space *buckets[N_BUCKETS];
	struct unwind_op *ops; /* that have not happened yet */
	size_t n_ops, capacity;
	bool unsorted;
};

int unwind_op_compare(const void *a, const void *b)
{
	const struct unwind_op *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

struct unwind_history *unwind_history_create(void)
{
	return calloc(1, sizeof(struct unwind_history));
}

static void put(struct mappings *mappings)
{
	if (mappings && !--mappings->users)
		free(mappings);
}

void unwind_history_destroy(struct unwind_history *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < N_BUCKETS; i++) {
		while (h->buckets[i]) {
			struct past_space *space = h->buckets[i];

			h->buckets[i] = space->next;
			put(space->mappings);
			free(space);
		}
	}
	free(h->ops);
	free(h);
}

bool unwind_history_add(struct unwind_history *h, const struct unwind_op *op)
{
	if (h->n_ops == h->capacity) {
		size_t capacity = h->capacity ? 2 * h->capacity : 64;
		struct unwind_op *ops = reallocarray(h->ops, capacity, sizeof(*ops));

		if (!ops)
			return false;
		h->ops = ops;
		h->capacity = capacity;
	}
	h->unsorted |= h->n_ops && unwind_op_compare(&h->ops[h->n_ops - 1], op) > 0;
	h->ops[h->n_ops++] = *op;
	return true;
}

static struct past_space *find_space(const struct unwind_history *h, uint32_t pid)
{
	struct past_space *space = h->buckets[pid % N_BUCKETS];

	while (space && space->pid != pid)
		space = space->next;
	return space;
}

static struct past_space *get_space(struct unwind_history *h, uint32_t pid)
{
	struct past_space *space = find_space(h, pid);

	if (space)
		return space;
	space = calloc(1, sizeof(*space));
	if (!space)
		return NULL;
	space->pid = pid;
	space->next = h->buckets[pid % N_BUCKETS];
	h->buckets[pid % N_BUCKETS] = space;
	return space;
}

static void remove_space(struct unwind_history *h, uint32_t pid)
{
	struct past_space **p = &h->buckets[pid % N_BUCKETS], *space;

	while (*p && (*p)->pid != pid)
		p = &(*p)->next;
	space = *p;
	if (!space)
		return;
	*p = space->next;
	put(space->mappings);
	free(space);
}

static struct mappings *new_mappings(uint32_t room)
{
	struct mappings *m = malloc(sizeof(*m) + room * sizeof(*m->known));

	if (m)
		*m = (struct mappings){ .users = 1 };
	return m;
}

/* The new one takes what others had of its range, and splits one that reaches over both ends. */
static void insert(struct past_space *space, const struct unwind_op *op)
{
	const struct mappings *old = space->mappings;
	const struct history_known added = { op->mapping, op->time };
	uint32_t n = old ? old->n : 0;
	struct mappings *new;
	bool done = false;

	if (op->mapping.start >= op->mapping.end || n + 2 > UNWIND_MAX_MAPPINGS)
		return;
	new = new_mappings(n + 2);
	if (!new)
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct history_known piece = old->known[i];

		if (piece.mapping.start < op->mapping.start) {
			new->known[new->n] = piece;
			if (piece.mapping.end > op->mapping.start)
				new->known[new->n].mapping.end = op->mapping.start;
			new->n++;
		}
		if (!done && piece.mapping.end > op->mapping.start) {
			new->known[new->n++] = added;
			done = true;
		}
		if (piece.mapping.end > op->mapping.end) {
			if (piece.mapping.start < op->mapping.end)
				piece.mapping.start = op->mapping.end;
			new->known[new->n++] = piece;
		}
	}
	if (!done)
		new->known[new->n++] = added;
	put(space->mappings);
	space->mappings = new;
}

/* What was mapped before the thread was renamed for its new program has gone. */
static void exec(struct past_space *space)
{
	const struct mappings *old = space->mappings;
	struct mappings *new = old ? new_mappings(old->n) : NULL;

	if (!new)
		return;
	for (uint32_t i = 0; i < old->n; i++) {
		if (old->known[i].since >= space->renamed)
			new->known[new->n++] = old->known[i];
	}
	put(space->mappings);
	space->mappings = new;
}

static void fork_space(struct unwind_history *h, const struct unwind_op *op)
{
	const struct past_space *parent = find_space(h, op->pid);
	struct past_space *child;

	if (!parent)
		return;
	remove_space(h, op->child);
	child = get_space(h, op->child);
	if (!child)
		return;
	child->mappings = parent->mappings;
	if (child->mappings)
		child->mappings->users++;
}

static void apply(struct unwind_history *h, const struct unwind_op *op)
{
	struct past_space *space;

	switch (op->kind) {
	case OP_RENAME:
		space = find_space(h, op->pid);
		if (space)
			space->renamed = op->time;
		break;
	case OP_FORGET:
		space = find_space(h, op->pid);
		if (space) {
			put(space->mappings);
			space->mappings = NULL;
		}
		break;
	case OP_MAP:
		space = get_space(h, op->pid);
		if (space)
			insert(space, op);
		break;
	case OP_EXEC:
		space = find_space(h, op->pid);
		if (space)
			exec(space);
		break;
	case OP_FORK:
		fork_space(h, op);
		break;
	case OP_EXIT:
		remove_space(h, op->pid);
		break;
	}
}

void unwind_history_advance(struct unwind_history *h, uint64_t time_ns)
{
	size_t done = 0;

	if (h->unsorted)
		qsort(h->ops, h->n_ops, sizeof(*h->ops), unwind_op_compare);
	h->unsorted = false;
	while (done < h->n_ops && h->ops[done].time <= time_ns)
		apply(h, &h->ops[done++]);
	if (!done)
		return;
	h->n_ops -= done;
	memmove(h->ops, h->ops + done, h->n_ops * sizeof(*h->ops));
}

const struct ebrec_unwind_mapping *unwind_history_find(const struct unwind_history *h, uint32_t pid,
						       uint64_t address)
{
	const struct past_space *space = find_space(h, pid);
	uint32_t low = 0, high = space && space->mappings ? space->mappings->n : 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct ebrec_unwind_mapping *m = &space->mappings->known[middle].mapping;

		if (address < m->start)
			high = middle;
		else if (address >= m->end)
			low = middle + 1;
		else
			return m;
	}
	return NULL;
}
