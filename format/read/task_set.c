/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two hash tables: one finds the task, one gives a life its number. */
#include "format/read/task_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product =
		(unsigned __int128)(a ^ 0x9e3779b97f4a7c15) * (b ^ 0xd6e8feb86659fd93);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_life(const struct ebt_task_set *set, const struct ebt_task *task)
{
	return mix(mix(set->seed, task->start_ns), set->seed ^ task->tid);
}

static uint64_t hash_task(const struct ebt_task_set *set, const struct ebt_task *task)
{
	uint64_t hash = mix(hash_life(set, task), set->seed ^ task->pid);
	size_t left = task->comm.len;
	const char *p = task->comm.data;

	while (left) {
		size_t n = left < 8 ? left : 8;
		uint64_t word = 0;

		memcpy(&word, p, n);
		hash = mix(hash ^ n, set->seed ^ word);
		p += n;
		left -= n;
	}
	return hash;
}

static bool same_life(const struct ebt_task *a, const struct ebt_task *b)
{
	return a->tid == b->tid && a->start_ns == b->start_ns;
}

static bool same_task(const struct ebt_task *a, const struct ebt_task *b)
{
	return same_life(a, b) && a->pid == b->pid && a->comm.len == b->comm.len &&
	       (!a->comm.len || !memcmp(a->comm.data, b->comm.data, a->comm.len));
}

typedef uint64_t hash_fn(const struct ebt_task_set *set, const struct ebt_task *task);
typedef bool same_fn(const struct ebt_task *a, const struct ebt_task *b);

/* The slot that holds the key, or the free one where it belongs. */
static const struct ebt_task **find(const struct ebt_task_slots *slots, uint64_t hash,
				    same_fn *same, const struct ebt_task *key)
{
	size_t i = hash & (slots->size - 1);

	while (slots->slot[i] && !same(slots->slot[i], key))
		i = (i + 1) & (slots->size - 1);
	return &slots->slot[i];
}

static struct ebt_error *make_room(const struct ebt_task_set *set, struct ebt_task_slots *slots,
				   hash_fn *hash)
{
	struct ebt_task_slots wider = { .size = slots->size * 2 };

	if (slots->used < slots->size / 2)
		return NULL;
	wider.slot = calloc(wider.size, sizeof(*wider.slot));
	if (!wider.slot)
		return &ebt_enomem;
	for (size_t i = 0; i < slots->size; i++) {
		size_t to;

		if (!slots->slot[i])
			continue;
		to = hash(set, slots->slot[i]) & (wider.size - 1);
		while (wider.slot[to])
			to = (to + 1) & (wider.size - 1);
		wider.slot[to] = slots->slot[i];
	}
	wider.used = slots->used;
	free(slots->slot);
	*slots = wider;
	return NULL;
}

static struct ebt_error *slots_init(struct ebt_task_slots *slots)
{
	slots->size = 256;
	slots->used = 0;
	slots->slot = calloc(slots->size, sizeof(*slots->slot));
	return slots->slot ? NULL : &ebt_enomem;
}

struct ebt_error *ebt_task_set_init(struct ebt_task_set *set)
{
	struct ebt_error *err;

	*set = (struct ebt_task_set){ 0 };
	ebt_arena_init(&set->arena, EBT_MAX_TASK_MEMORY);
	/* Without randomness the set still works; only a file made for it is slow. */
	if (getrandom(&set->seed, sizeof(set->seed), GRND_NONBLOCK) < 0)
		set->seed = (uintptr_t)set;
	err = slots_init(&set->tasks);
	if (!err)
		err = slots_init(&set->lives);
	if (err)
		ebt_task_set_deinit(set);
	return err;
}

void ebt_task_set_deinit(struct ebt_task_set *set)
{
	free(set->tasks.slot);
	free(set->lives.slot);
	ebt_arena_deinit(&set->arena);
	*set = (struct ebt_task_set){ 0 };
}

static struct ebt_error *new_task(struct ebt_task_set *set, const struct ebt_task *key,
				  struct ebt_task **ret)
{
	struct ebt_error *err;
	struct ebt_task *task;
	const char *comm;
	void *memory;

	err = ebt_arena_alloc(&set->arena, sizeof(*task), &memory);
	if (!err)
		err = ebt_arena_string(&set->arena, key->comm.data, key->comm.len, &comm);
	if (err)
		return err;
	task = memory;
	*task = *key;
	task->comm.data = comm;
	*ret = task;
	return NULL;
}

struct ebt_error *ebt_task_set_intern(struct ebt_task_set *set, const struct ebt_task *key,
				      const struct ebt_task **ret)
{
	const struct ebt_task **found = find(&set->tasks, hash_task(set, key), same_task, key);
	const struct ebt_task **life;
	struct ebt_error *err;
	struct ebt_task *task;

	if (*found) {
		*ret = *found;
		return NULL;
	}
	err = make_room(set, &set->tasks, hash_task);
	if (!err)
		err = make_room(set, &set->lives, hash_life);
	if (!err)
		err = new_task(set, key, &task);
	if (err)
		return err;
	life = find(&set->lives, hash_life(set, key), same_life, key);
	task->id = *life ? (*life)->id : (uint32_t)set->lives.used;
	if (!*life) {
		*life = task;
		set->lives.used++;
	}
	*find(&set->tasks, hash_task(set, key), same_task, key) = task;
	set->tasks.used++;
	*ret = task;
	return NULL;
}
