/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building address spaces from a trace, and asking them; see addrspace.h. */
#include "symbolize/spaces/addrspace.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "symbolize/spaces/incarnations.h"

/* Snapshot rows of one process that are further apart are of two snapshots. */
#define SAME_SNAPSHOT_NS UINT64_C(1000000000)

/* Between mapping a program and the task_exec row of it lies the reading of a few pages. */
#define EXEC_NS UINT64_C(200000000)

/* Mappings that an exec makes before its row: segments of the program, its loader, vdso. */
#define MAX_EXEC_ROWS 16

/* Generations of processes that forked without exec. */
#define MAX_ANCESTORS 4096

DEFINE_CLEANUP(struct addrspace *, addrspace_destroy);

/* The pid that a task's mappings belong to; 0: none. */
static uint32_t pid_of(const struct ebt_task *task)
{
	return task->pid ? task->pid : task->tid;
}

static bool is_leader(const struct ebt_task *task)
{
	return pid_of(task) == task->tid;
}

static struct ebt_error *incarnation_of(struct addrspace *space, const struct ebt_task *task,
					uint64_t time, uint32_t *ret)
{
	bool leader = is_leader(task);

	return incarnations_get(space, pid_of(task),
				task->start_ns || leader ? task->start_ns : time, leader, ret);
}

static const char *entry_path(const struct addrspace *space, const struct timeline_entry *e)
{
	return space->objects[space->segments[e->value].object].path;
}

static struct ebt_error *add_mapping(struct addrspace *space, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_mmap_task(row);
	uint64_t start = ebt_mmap_start(row), length = ebt_mmap_length(row);
	bool snapshot = ebt_mmap_origin(row) == EBT_V_mmap_origin_snapshot;
	uint64_t end = length <= UINT64_MAX - start ? start + length : UINT64_MAX;
	struct ebt_error *err;
	struct image *image;
	uint32_t incarnation, segment;

	if (!task || !pid_of(task))
		return NULL;
	err = incarnation_of(space, task, row->time, &incarnation);
	if (err)
		return err;
	err = incarnations_segment(space, ebt_mmap_path(row), ebt_mmap_build_id(row),
				   ebt_mmap_pgoff(row), &segment);
	if (err)
		return err;
	image = &space->images[space->incarnations[incarnation].image];
	if (snapshot) {
		bool first = !image->base_time || row->time - image->base_time < SAME_SNAPSHOT_NS;

		if (first) {
			image->base_time = image->base_time ? image->base_time : row->time;
			err = timeline_add(&space->store, &image->base, start, end, 0, segment);
		}
		/* What the snapshot saw also holds from its time on, against all that came before.
		 */
		if (err || (first && !image->seen.n))
			return err;
	}
	err = timeline_add(&space->store, &image->seen, start, end, row->time, segment);
	if (!err && image->by_exec && image->vdso == TIMELINE_NONE && image->seen.n &&
	    !strcmp(entry_path(space, &space->store.entries[image->seen.last]), "[vdso]"))
		image->vdso = image->seen.last;
	return err;
}

static struct ebt_error *add_fork(struct addrspace *space, const struct ebt_row *row)
{
	const struct ebt_task *parent = ebt_task_fork_parent(row);
	uint32_t pid = ebt_task_fork_child_pid(row), incarnation, child, old;
	struct ebt_error *err;
	struct image *image;

	if (ebt_task_fork_thread(row) || !parent || !pid_of(parent) || !pid)
		return NULL;
	err = incarnation_of(space, parent, row->time, &incarnation);
	if (err)
		return err;
	/* Whoever had the pid before is gone, even where its exit was lost. */
	old = incarnations_find(space, pid, UINT64_MAX, false);
	if (old != INCARNATION_NONE && !space->incarnations[old].start)
		space->incarnations[old].dead = true;
	err = incarnations_get(space, pid, ebt_task_fork_child_start(row), true, &child);
	if (err || child == incarnation)
		return err;
	image = &space->images[space->incarnations[child].image];
	if (image->parent != IMAGE_NONE || image->before != IMAGE_NONE)
		return NULL;
	image->parent = space->incarnations[incarnation].image;
	image->forked = row->time;
	return NULL;
}

/* An exec maps files, and no memory without one ("//anon"). */
static bool is_file(const char *path)
{
	return path[0] == '/' && path[1] != '/';
}

/*
 * The row of an exec comes when it is done: its program, loader and vdso were mapped shortly
 * before. Puts those, newest first, into rows; returns how many.
 */
static size_t exec_rows(const struct addrspace *space, const struct image *image, uint64_t time,
			const struct timeline_entry **rows)
{
	const char *file = NULL;
	unsigned int files = 0;
	bool vdso = false;
	size_t n = 0;

	for (uint32_t i = image->seen.last; i != TIMELINE_NONE && n < MAX_EXEC_ROWS;) {
		const struct timeline_entry *e = &space->store.entries[i];
		const char *path = entry_path(space, e);

		/* An exec maps one vdso: that of the image so far is no part of the next. */
		if (i == image->vdso || (vdso && !strcmp(path, "[vdso]")))
			break;
		if (!strcmp(path, "[vdso]"))
			vdso = true;
		else if (!is_file(path) || (!vdso && time - e->from > EXEC_NS))
			break;
		else if (!file || strcmp(path, file))
			files++;
		if (path[0] == '/')
			file = path;
		if (files > 2)
			break;
		rows[n++] = e;
		i = e->before;
	}
	return n;
}

static struct ebt_error *add_exec(struct addrspace *space, const struct ebt_row *row)
{
	const struct timeline_entry *rows[MAX_EXEC_ROWS];
	struct timeline_entry copies[MAX_EXEC_ROWS];
	uint32_t pid = ebt_task_exec_pid(row), incarnation, image;
	struct ebt_error *err;
	size_t n;

	if (!pid)
		return NULL;
	err = incarnations_get(space, pid, ebt_task_exec_start(row), true, &incarnation);
	if (err)
		return err;
	n = exec_rows(space, &space->images[space->incarnations[incarnation].image], row->time,
		      rows);
	for (size_t i = 0; i < n; i++)
		copies[i] = *rows[i];
	err = incarnations_add_image(space, incarnation, row->time, &image);
	if (err)
		return err;
	space->incarnations[incarnation].image = image;
	space->images[image].by_exec = true;
	while (n-- > 0) {
		struct timeline *seen = &space->images[image].seen;

		err = timeline_add(&space->store, seen, copies[n].start, copies[n].end,
				   copies[n].from, copies[n].value);
		if (err)
			return err;
		if (!strcmp(entry_path(space, &copies[n]), "[vdso]"))
			space->images[image].vdso = seen->last;
	}
	return NULL;
}

static struct ebt_error *add_exit(struct addrspace *space, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_task_exit_task(row);
	uint32_t incarnation;

	if (!task || !ebt_task_exit_group_dead(row))
		return NULL;
	incarnation = addrspace_incarnation(space, task, row->time);
	if (incarnation != INCARNATION_NONE)
		space->incarnations[incarnation].dead = true;
	return NULL;
}

static struct ebt_error *add_process(struct addrspace *space, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_process_task(row);
	uint32_t incarnation;

	if (!task || !pid_of(task) || ebt_process_kernel(row))
		return NULL;
	return incarnation_of(space, task, row->time, &incarnation);
}

static struct ebt_error *add_row(void *arg, const struct ebt_row *row)
{
	struct addrspace *space = arg;

	switch (row->batch->table->id) {
	case EBT_T_mmap:
		return add_mapping(space, row);
	case EBT_T_task_fork:
		return add_fork(space, row);
	case EBT_T_task_exec:
		return add_exec(space, row);
	case EBT_T_task_exit:
		return add_exit(space, row);
	case EBT_T_process:
		return add_process(space, row);
	}
	return NULL;
}

/* Images that never had a mapping of their own are left out of chains of ancestors: a shell
 * forks and forks. Parents come before their children. */
static void shorten_ancestry(struct addrspace *space)
{
	for (size_t i = 0; i < space->n_images; i++) {
		struct image *image = &space->images[i];
		const struct image *parent;

		if (image->parent == IMAGE_NONE)
			continue;
		parent = &space->images[image->parent];
		if (!parent->seen.n && !parent->base.n && parent->parent != IMAGE_NONE) {
			image->forked = parent->forked;
			image->parent = parent->parent;
		}
	}
}

struct ebt_error *addrspace_create(struct ebt_reader *reader, struct addrspace **ret)
{
	static const struct ebt_want wants[] = {
		EBT_WANT(mmap, task, origin, start, length, pgoff, path, build_id),
		EBT_WANT(task_fork, parent, child_pid, child_start, thread),
		EBT_WANT(task_exec, pid, start),
		EBT_WANT(task_exit, task, group_dead),
		EBT_WANT(process, task, kernel),
	};
	_cleanup_(addrspace_destroyp) struct addrspace *space = calloc(1, sizeof(*space));
	struct ebt_error *err;

	if (!space)
		return &ebt_enomem;
	err = ebt_read_rows(reader, &(struct ebt_query){ wants, sizeof(wants) / sizeof(wants[0]) },
			    add_row, space);
	if (err)
		return err;
	shorten_ancestry(space);
	*ret = take_ptr(space);
	return NULL;
}

void addrspace_destroy(struct addrspace *space)
{
	if (!space)
		return;
	for (size_t i = 0; i < space->n_images; i++) {
		timeline_deinit(&space->images[i].seen);
		timeline_deinit(&space->images[i].base);
	}
	for (size_t i = 0; i < space->n_objects; i++)
		free(space->objects[i].path);
	free(space->objects);
	free(space->segments);
	free(space->images);
	free(space->incarnations);
	free(space->newest);
	ebt_map_deinit(&space->by_pid);
	ebt_map_deinit(&space->by_segment);
	ebt_map_deinit(&space->by_object);
	timeline_store_deinit(&space->store);
	free(space);
}

uint32_t addrspace_incarnation(const struct addrspace *space, const struct ebt_task *task,
			       uint64_t time_ns)
{
	bool leader = is_leader(task) && task->start_ns;

	return incarnations_find(space, pid_of(task), task->start_ns ? task->start_ns : time_ns,
				 leader);
}

/* What the image has at the address, without its ancestors. */
static struct ebt_error *find_in_image(struct addrspace *space, struct image *image,
				       uint64_t address, uint64_t time, struct timeline_hit *ret)
{
	struct timeline_hit under;
	struct ebt_error *err = timeline_find(&space->store, &image->seen, address, time, ret);

	if (err || ret->found)
		return err;
	err = timeline_find(&space->store, &image->base, address, time, &under);
	if (!err && under.found) {
		under.to = ret->to;
		*ret = under;
	}
	return err;
}

struct ebt_error *addrspace_find(struct addrspace *space, uint32_t incarnation, uint64_t address,
				 uint64_t time_ns, struct addrspace_place *ret)
{
	struct addrspace_place place = { .to = UINT64_MAX };
	struct image *image = &space->images[space->incarnations[incarnation].image];
	struct timeline_hit hit;
	struct ebt_error *err;

	while (time_ns < image->from && image->before != IMAGE_NONE) {
		place.to = image->from;
		image = &space->images[image->before];
	}
	err = find_in_image(space, image, address, time_ns, &hit);
	if (err)
		return err;
	place.from = hit.from > image->from ? hit.from : image->from;
	place.to = hit.to < place.to ? hit.to : place.to;
	for (int n = 0; !hit.found && image->parent != IMAGE_NONE && n < MAX_ANCESTORS; n++) {
		uint64_t forked = image->forked;

		image = &space->images[image->parent];
		err = find_in_image(space, image, address, forked, &hit);
		if (err)
			return err;
	}
	if (hit.found) {
		const struct segment *segment = &space->segments[hit.value];

		place.found = true;
		place.object = segment->object;
		place.pgoff = segment->pgoff;
		place.offset = address - hit.start + segment->pgoff;
		place.length = hit.end - hit.start;
	}
	*ret = place;
	return NULL;
}

/* The newest of those that begin closest. */
static const struct timeline_entry *closest(const struct addrspace *space,
					    const struct timeline *timeline, uint64_t address,
					    uint64_t time, const struct timeline_entry *best,
					    uint64_t *steps)
{
	uint32_t i = timeline->last;

	for (; i != TIMELINE_NONE && *steps; i = space->store.entries[i].before, --*steps) {
		const struct timeline_entry *e = &space->store.entries[i];

		if (e->from <= time && e->start <= address && (!best || e->start > best->start))
			best = e;
	}
	return best;
}

bool addrspace_below(const struct addrspace *space, uint32_t incarnation, uint64_t address,
		     uint64_t time_ns, uint64_t *steps, struct addrspace_place *ret,
		     uint64_t *ret_start)
{
	uint32_t i = space->incarnations[incarnation].image;
	const struct timeline_entry *best = NULL;
	const struct segment *segment;

	while (time_ns < space->images[i].from && space->images[i].before != IMAGE_NONE)
		i = space->images[i].before;
	for (int n = 0; i != IMAGE_NONE && n < MAX_ANCESTORS; n++) {
		const struct image *image = &space->images[i];

		best = closest(space, &image->seen, address, time_ns, best, steps);
		best = closest(space, &image->base, address, time_ns, best, steps);
		time_ns = image->forked;
		i = image->parent;
	}
	if (!best)
		return false;
	segment = &space->segments[best->value];
	*ret = (struct addrspace_place){
		.found = true,
		.object = segment->object,
		.pgoff = segment->pgoff,
		.length = best->end - best->start,
	};
	*ret_start = best->start;
	return true;
}

uint32_t addrspace_image(const struct addrspace *space, uint32_t incarnation, uint64_t time_ns,
			 uint64_t *ret_from, uint64_t *ret_to)
{
	uint32_t i = space->incarnations[incarnation].image;

	*ret_to = UINT64_MAX;
	while (time_ns < space->images[i].from && space->images[i].before != IMAGE_NONE) {
		*ret_to = space->images[i].from;
		i = space->images[i].before;
	}
	*ret_from = space->images[i].from;
	return i;
}

uint32_t addrspace_forked_from(const struct addrspace *space, uint32_t image, uint64_t *ret_time)
{
	*ret_time = space->images[image].forked;
	return space->images[image].parent;
}

const struct addrspace_object *addrspace_objects(const struct addrspace *space, size_t *ret_n)
{
	*ret_n = space->n_objects;
	return space->objects;
}
