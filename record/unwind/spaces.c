/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mappings of processes for the BPF programs; see spaces.h. */
#include "record/unwind/spaces.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/base/clocks.h"
#include "record/bpf/unwind_maps.h"
#include "record/unwind/slots.h"

/* Where mappings are published; processes that forked share one. */
struct unwind_range {
	uint32_t first, n, owners;
};

struct unwind_spaces {
	struct unwind_spaces_maps maps;
	struct ebrec_unwind_mapping *entries; /* of all processes */
	size_t bytes;
	struct unwind_slots room; /* among them */
	struct unwind_model now;
	struct unwind_model *past; /* or NULL */
	uint64_t full;
};

struct ebt_error *unwind_spaces_create(const struct unwind_spaces_maps *maps,
				       struct unwind_model *past, struct unwind_spaces **ret)
{
	_cleanup_(unwind_spaces_destroyp) struct unwind_spaces *s = calloc(1, sizeof(*s));
	void *entries;

	if (!s)
		return &ebt_enomem;
	s->maps = *maps;
	s->past = past;
	s->room.unit = UINT32_MAX;
	if (!unwind_slots_give(&s->room, maps->first, maps->n - maps->first, 0))
		return &ebt_enomem;
	s->bytes = maps->n * sizeof(*s->entries);
	entries = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, maps->mappings_fd, 0);
	if (entries == MAP_FAILED)
		return ebt_error_errno(errno, "cannot map the mappings of the BPF programs");
	s->entries = entries;
	*ret = take_ptr(s);
	return NULL;
}

static void put_range(struct unwind_spaces *s, struct unwind_range *range)
{
	if (!range || --range->owners)
		return;
	unwind_slots_give(&s->room, range->first, range->n, clocks_now());
	free(range);
}

/* NULL: there is no room, or no memory. */
static struct unwind_range *new_range(struct unwind_spaces *s, uint32_t n, uint64_t now_ns)
{
	struct unwind_range *range = malloc(sizeof(*range));

	if (!range)
		return NULL;
	*range = (struct unwind_range){ .n = n, .owners = 1 };
	if (unwind_slots_take(&s->room, n, now_ns, &range->first))
		return range;
	free(range);
	return NULL;
}

void unwind_spaces_destroy(struct unwind_spaces *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->now.n; i++)
		put_range(s, s->now.list[i].range);
	unwind_model_deinit(&s->now);
	unwind_slots_deinit(&s->room);
	if (s->entries)
		munmap(s->entries, s->bytes);
	free(s);
}

/* --- what happened --- */

struct ebt_error *unwind_spaces_map(struct unwind_spaces *s, const struct mapping *m)
{
	struct unwind_op op = { .time = m->time, .kind = OP_MAP, .pid = m->pid };
	uint64_t bias;

	op.mapping.start = m->start;
	op.mapping.end = m->start + m->length;
	op.mapping.table = s->maps.table(s->maps.arg, m, &bias);
	op.mapping.bias = bias;
	op.is_code = !(m->prot & PROT_WRITE);
	return unwind_model_add(&s->now, &op);
}

struct ebt_error *unwind_spaces_tell(struct unwind_spaces *s, const struct unwind_op *op)
{
	return unwind_model_add(&s->now, op);
}

struct ebt_error *unwind_spaces_forget(struct unwind_spaces *s, uint32_t pid, uint64_t time_ns)
{
	const struct unwind_op op = { .time = time_ns, .kind = OP_FORGET, .pid = pid };

	for (size_t i = 0; i < s->now.n_ops; i++) {
		const struct unwind_op *told = &s->now.ops[i];

		if (told->kind == OP_MAP && told->pid == pid && told->time == time_ns)
			return unwind_model_add(&s->now, &op);
	}
	/* A process that could not be read keeps what it has. */
	return NULL;
}

/* The process whose mappings are others then. */
static uint32_t pid_of(const struct unwind_op *op)
{
	return op->kind == OP_FORK ? op->child : op->pid;
}

static bool apply(struct unwind_spaces *s, const struct unwind_op *op)
{
	const bool fork = op->kind == OP_FORK;
	struct unwind_process *space = unwind_model_process(&s->now, pid_of(op));
	const struct unwind_process *parent = fork ? unwind_model_process(&s->now, op->pid) : NULL;
	struct unwind_range *range;
	bool done;

	if (fork && !parent)
		return true;
	range = parent ? parent->range : NULL;
	if (range)
		range->owners++;
	if (space && (fork || op->kind == OP_EXIT)) {
		put_range(s, space->range);
		space->range = NULL;
	}
	done = unwind_model_apply(&s->now, op);
	if (op->kind == OP_EXIT)
		s->maps.remove(s->maps.arg, op->pid);
	space = unwind_model_process(&s->now, pid_of(op));
	if (space && fork)
		space->range = range;
	else
		put_range(s, range);
	/* The BPF side copied its parent's entry to a child; this brings what changed since. */
	if (space && (fork || op->kind == OP_MAP || op->kind == OP_EXEC))
		space->dirty = true;
	return done;
}

/* --- publishing --- */

/* Two programs see an exec, and look at the clock, at about the same time. */
#define SAME_NS UINT64_C(1000000)

/* Time of what is known: newer than what the BPF side placed at exec, if that is in it. */
static uint64_t time_of(const struct unwind_spaces *s, const struct unwind_process *space)
{
	struct ebrec_unwind_process own;

	if (space->changed > space->exec + SAME_NS || !s->maps.own(s->maps.arg, space->pid, &own) ||
	    own.time < space->changed || own.time > space->exec + SAME_NS)
		return space->changed;
	return own.time + 1;
}

/* As the kernel counts mm->exec_vm. That of a range that was unmapped is too much here, as nobody
 * tells of that. */
static uint64_t pages_of_code(const struct unwind_process *space)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; space->mappings && i < space->mappings->n; i++) {
		const struct unwind_known *known = &space->mappings->known[i];

		if (known->is_code)
			bytes += known->mapping.end - known->mapping.start;
	}
	return bytes / (uint64_t)sysconf(_SC_PAGESIZE);
}

static void publish_space(struct unwind_spaces *s, struct unwind_process *space, uint64_t now_ns)
{
	const struct unwind_mappings *mappings = space->mappings;
	struct ebrec_unwind_published entry = {
		.time = time_of(s, space),
		.n = mappings ? mappings->n : 0,
		.exec_vm = pages_of_code(space),
	};
	struct unwind_range *range = NULL;

	space->dirty = false;
	if (entry.n)
		range = new_range(s, entry.n, now_ns);
	if (range)
		entry.first = range->first;
	for (uint32_t i = 0; range && i < entry.n; i++)
		s->entries[range->first + i] = mappings->known[i].mapping;
	/* Until the map changes, programs use the old range; a walk that has begun still does. */
	if (!range || !s->maps.publish(s->maps.arg, space->pid, &entry)) {
		s->full += entry.n != 0;
		s->maps.publish(s->maps.arg, space->pid, NULL);
		put_range(s, range);
		range = NULL;
	}
	put_range(s, space->range);
	space->range = range;
}

struct ebt_error *unwind_spaces_publish(struct unwind_spaces *s, uint64_t now_ns)
{
	struct unwind_model *now = &s->now;

	unwind_model_sort(now);
	for (size_t i = 0; i < now->n_ops; i++) {
		s->full += !apply(s, &now->ops[i]);
		if (s->past && unwind_model_add(s->past, &now->ops[i]))
			s->full++;
	}
	for (size_t i = 0; i < now->n_ops; i++) {
		struct unwind_process *space = unwind_model_process(now, pid_of(&now->ops[i]));

		if (space && space->dirty)
			publish_space(s, space, now_ns);
	}
	now->n_ops = 0;
	return NULL;
}

const struct ebrec_unwind_mapping *unwind_spaces_find(const struct unwind_spaces *s, uint32_t pid,
						      uint64_t address)
{
	return unwind_model_find(&s->now, pid, address);
}

/* --- what was not told --- */

void unwind_spaces_doubt(struct unwind_spaces *s)
{
	for (size_t i = 0; i < s->now.n; i++)
		s->now.list[i].suspect = true;
}

/* Events may be on their way, so a difference has to last from one time to the next. */
static bool is_doubtful(struct unwind_spaces *s, struct unwind_process *space)
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

	for (size_t i = 0; i < s->now.n && n < max; i++) {
		struct unwind_process *space = &s->now.list[i];

		if (!is_doubtful(s, space))
			continue;
		space->suspect = false;
		pids[n++] = space->pid;
	}
	return n;
}

uint64_t unwind_spaces_full(const struct unwind_spaces *s)
{
	return s->full;
}
