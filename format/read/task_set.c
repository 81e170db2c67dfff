/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two hash tables: one finds the task, one gives an incarnation its number. */
#include "format/read/task_set.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

static uint64_t hash_incarnation(const struct ebt_task *task)
{
	return ebt_hash_u64(task->start_ns, task->tid);
}

static uint64_t hash_task(const struct ebt_task *task)
{
	return ebt_hash_bytes(ebt_hash_u64(hash_incarnation(task), task->pid), task->comm.data,
			      task->comm.len);
}

static bool same_incarnation(const struct ebt_task *a, const struct ebt_task *b)
{
	return a->tid == b->tid && a->start_ns == b->start_ns;
}

static bool same_task(const struct ebt_task *a, const struct ebt_task *b)
{
	return same_incarnation(a, b) && a->pid == b->pid && a->comm.len == b->comm.len &&
	       (!a->comm.len || !memcmp(a->comm.data, b->comm.data, a->comm.len));
}

void ebt_task_set_init(struct ebt_task_set *set)
{
	*set = (struct ebt_task_set){ 0 };
	ebt_arena_init(&set->arena, EBT_MAX_TASK_MEMORY);
}

void ebt_task_set_deinit(struct ebt_task_set *set)
{
	ebt_map_deinit(&set->by_task);
	ebt_map_deinit(&set->by_incarnation);
	free(set->tasks);
	ebt_arena_deinit(&set->arena);
	*set = (struct ebt_task_set){ 0 };
}

typedef bool same_fn(const struct ebt_task *a, const struct ebt_task *b);

/* The task that is the same as the key; NULL: there is none. */
static const struct ebt_task *find(const struct ebt_task_set *set, const struct ebt_map *map,
				   uint64_t hash, same_fn *same, const struct ebt_task *key)
{
	uint32_t found = ebt_map_search(map, hash, i, same(set->tasks[i], key));

	return found == EBT_MAP_NONE ? NULL : set->tasks[found];
}

static struct ebt_error *new_task(struct ebt_task_set *set, const struct ebt_task *key,
				  struct ebt_task **ret)
{
	struct ebt_error *err;
	struct ebt_task *task;
	const char *comm;
	void *memory;

	err = ebt_arena_alloc(&set->arena, sizeof(*task), &memory);
	if (err)
		return err;
	err = ebt_arena_string(&set->arena, key->comm.data, key->comm.len, &comm);
	if (err)
		return err;
	task = memory;
	*task = *key;
	task->comm.data = comm;
	*ret = task;
	return NULL;
}

static struct ebt_error *add(struct ebt_task_set *set, const struct ebt_task *key, uint64_t hash,
			     const struct ebt_task **ret)
{
	const struct ebt_task *incarnation =
		find(set, &set->by_incarnation, hash_incarnation(key), same_incarnation, key);
	struct ebt_error *err;
	struct ebt_task *task;

	err = ebt_array_reserve(&set->tasks, set->n, &set->capacity);
	if (err)
		return err;
	err = new_task(set, key, &task);
	if (err)
		return err;
	task->id = incarnation ? incarnation->id : (uint32_t)set->by_incarnation.n;
	set->tasks[set->n] = task;
	if (!incarnation) {
		err = ebt_map_insert(&set->by_incarnation, hash_incarnation(key), (uint32_t)set->n);
		if (err)
			return err;
	}
	*ret = task;
	return ebt_map_insert(&set->by_task, hash, (uint32_t)set->n++);
}

struct ebt_error *ebt_task_set_intern(struct ebt_task_set *set, const struct ebt_task *key,
				      const struct ebt_task **ret)
{
	uint64_t hash = hash_task(key);

	*ret = find(set, &set->by_task, hash, same_task, key);
	return *ret ? NULL : add(set, key, hash, ret);
}
