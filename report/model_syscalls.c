/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting system calls; see model_syscalls.h. */
#include "model_syscalls.h"

#include <stdlib.h>
#include <string.h>

#include "syscall_names.h"

/* 64-bit keys to indices, open addressing; grows at half full. */
struct map {
	struct map_slot {
		uint64_t key;
		uint32_t value; /* 1 + index; 0: free */
	} * slots;
	size_t n, capacity; /* capacity: a power of two, or 0 */
};

struct syscall_model {
	struct trace *trace;
	enum syscall_grouping grouping;
	const struct names *names; /* SYSCALLS_BY_PROCESS */
	struct syscall_stat *stats;
	size_t n_stats, stats_capacity;
	struct syscall_group *groups;
	size_t n_groups, groups_capacity;
	struct syscall_errno *errnos;
	size_t n_errnos, errnos_capacity;
	struct map stat_by_key, group_by_id, errno_by_key;
	uint32_t *group_of_task; /* by task id: 1 + group; 0: not known yet */
	uint32_t n_group_of_task;
};

static size_t map_hash(uint64_t key, size_t capacity)
{
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (capacity - 1);
}

static struct map_slot *map_find(const struct map *map, uint64_t key)
{
	size_t i = map_hash(key, map->capacity);

	while (map->slots[i].value && map->slots[i].key != key)
		i = (i + 1) & (map->capacity - 1);
	return &map->slots[i];
}

static struct ebt_error *map_grow(struct map *map)
{
	struct map grown = { .n = map->n, .capacity = map->capacity ? map->capacity * 2 : 256 };

	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return &ebt_enomem;
	for (size_t i = 0; i < map->capacity; i++) {
		if (map->slots[i].value)
			*map_find(&grown, map->slots[i].key) = map->slots[i];
	}
	free(map->slots);
	*map = grown;
	return NULL;
}

/* The slot of a key, with value 0 if it is new: the caller then sets it. */
static struct ebt_error *map_slot(struct map *map, uint64_t key, struct map_slot **ret)
{
	struct ebt_error *err;

	if (map->n * 2 >= map->capacity) {
		err = map_grow(map);
		if (err)
			return err;
	}
	*ret = map_find(map, key);
	if (!(*ret)->value) {
		(*ret)->key = key;
		map->n++;
	}
	return NULL;
}

/* Room for one more element; *ret is where the elements are then. */
static struct ebt_error *reserve(void *data, size_t n, size_t *capacity, size_t size, void **ret)
{
	size_t more = *capacity ? *capacity * 2 : 64;

	*ret = data;
	if (n < *capacity)
		return NULL;
	if (n >= UINT32_MAX / 2)
		return ebt_error_create(EBT_ERR_LIMIT, "too many kinds of system calls");
	data = reallocarray(data, more, size);
	if (!data)
		return &ebt_enomem;
	*ret = data;
	*capacity = more;
	return NULL;
}

static struct ebt_error *new_group(struct syscall_model *m, const struct ebt_task *task,
				   struct map_slot *slot)
{
	struct ebt_error *err;
	void *grown;

	err = reserve(m->groups, m->n_groups, &m->groups_capacity, sizeof(*m->groups), &grown);
	if (err)
		return err;
	m->groups = grown;
	m->groups[m->n_groups] = (struct syscall_group){ .task = task };
	m->groups[m->n_groups].all.group = (uint32_t)m->n_groups;
	slot->value = (uint32_t)++m->n_groups;
	return NULL;
}

/* Key 0 is for rows without a task, and for all rows in SYSCALLS_BY_CALL. */
static struct ebt_error *find_group(struct syscall_model *m, const struct ebt_task *task,
				    uint32_t *ret)
{
	struct map_slot *slot;
	struct ebt_error *err;
	uint64_t key = 0;

	if (task && m->grouping == SYSCALLS_BY_THREAD)
		key = (uint64_t)task->id + 1;
	else if (task && m->grouping == SYSCALLS_BY_PROCESS)
		key = names_process_key(m->names, task) + 1;
	err = map_slot(&m->group_by_id, key, &slot);
	if (!err && !slot->value)
		err = new_group(m, key ? task : NULL, slot);
	if (!err)
		*ret = slot->value - 1;
	return err;
}

static struct ebt_error *group_of(struct syscall_model *m, const struct ebt_task *task,
				  uint32_t *ret)
{
	struct ebt_error *err;

	if (!task || m->grouping == SYSCALLS_BY_CALL)
		return find_group(m, NULL, ret);
	if (task->id >= m->n_group_of_task) {
		uint32_t n = task->id < 512 ? 1024 : task->id * 2;
		uint32_t *grown;

		if (task->id > UINT32_MAX / 4)
			return find_group(m, task, ret);
		grown = reallocarray(m->group_of_task, n, sizeof(*grown));
		if (!grown)
			return &ebt_enomem;
		memset(grown + m->n_group_of_task, 0, (n - m->n_group_of_task) * sizeof(*grown));
		m->group_of_task = grown;
		m->n_group_of_task = n;
	}
	if (!m->group_of_task[task->id]) {
		err = find_group(m, task, ret);
		if (err)
			return err;
		m->group_of_task[task->id] = *ret + 1;
		/* A process shows the name of its first thread, where that is known. */
		if (task->tid == task->pid)
			m->groups[*ret].task = task;
	}
	*ret = m->group_of_task[task->id] - 1;
	return NULL;
}

static struct ebt_error *stat_of(struct syscall_model *m, uint32_t group, uint32_t nr, bool compat,
				 struct syscall_stat **ret)
{
	/* A number has 32 bits in a file, a group fewer than 31. */
	uint64_t key = (uint64_t)group << 33 | (uint64_t)nr << 1 | compat;
	struct map_slot *slot;
	struct ebt_error *err;
	void *grown;

	err = map_slot(&m->stat_by_key, key, &slot);
	if (err)
		return err;
	if (!slot->value) {
		err = reserve(m->stats, m->n_stats, &m->stats_capacity, sizeof(*m->stats), &grown);
		if (err)
			return err;
		m->stats = grown;
		m->stats[m->n_stats] =
			(struct syscall_stat){ .group = group, .nr = nr, .compat = compat };
		slot->value = (uint32_t)++m->n_stats;
	}
	*ret = &m->stats[slot->value - 1];
	return NULL;
}

static struct ebt_error *count_errno(struct syscall_model *m, uint32_t nr, bool compat,
				     uint32_t errnum)
{
	uint64_t key = (uint64_t)errnum << 33 | (uint64_t)nr << 1 | compat;
	struct map_slot *slot;
	struct ebt_error *err;
	void *grown;

	err = map_slot(&m->errno_by_key, key, &slot);
	if (err)
		return err;
	if (!slot->value) {
		err = reserve(m->errnos, m->n_errnos, &m->errnos_capacity, sizeof(*m->errnos),
			      &grown);
		if (err)
			return err;
		m->errnos = grown;
		m->errnos[m->n_errnos] =
			(struct syscall_errno){ .nr = nr, .errnum = errnum, .compat = compat };
		slot->value = (uint32_t)++m->n_errnos;
	}
	m->errnos[slot->value - 1].count++;
	return NULL;
}

static struct ebt_error *count_row(struct syscall_model *m, const struct ebt_row *row)
{
	uint32_t nr = (uint32_t)ebt_u64(row, EBT_F_syscall_nr), group = 0;
	uint64_t duration = ebt_u64(row, EBT_F_syscall_duration);
	int64_t result = ebt_i64(row, EBT_F_syscall_ret);
	bool compat = ebt_u64(row, EBT_F_syscall_abi);
	struct syscall_stat *stat;
	struct ebt_error *err;

	if (m->grouping != SYSCALLS_BY_CALL) {
		err = group_of(m, ebt_task(row, EBT_F_syscall_task), &group);
		if (err)
			return err;
	}
	err = stat_of(m, group, nr, compat, &stat);
	if (err)
		return err;
	if (duration > stat->time.max || !stat->time.count)
		stat->max_at_ns = row->time;
	if (syscall_failed(result)) {
		stat->errors++;
		err = count_errno(m, nr, compat, (uint32_t)-result);
		if (err)
			return err;
	}
	return histogram_add(&stat->time, duration);
}

static struct ebt_error *read_rows(struct syscall_model *m)
{
	struct ebt_want want = { EBT_T_syscall, EBT_COL(syscall, nr) | EBT_COL(syscall, abi) |
							EBT_COL(syscall, duration) |
							EBT_COL(syscall, ret) };
	_cleanup_(trace_cursor_destroyp) struct trace_cursor *cursor = NULL;
	struct ebt_error *err;
	struct ebt_row row;

	if (m->grouping != SYSCALLS_BY_CALL)
		want.columns |= EBT_COL(syscall, task);
	err = trace_cursor_create(m->trace, &want, 1, 0, &cursor);
	while (!err) {
		err = trace_next(cursor, &row);
		if (err || !row.batch)
			break;
		err = count_row(m, &row);
	}
	return err;
}

static struct ebt_error *sum_groups(struct syscall_model *m)
{
	struct ebt_error *err = NULL;
	uint32_t unused;

	if (m->grouping == SYSCALLS_BY_CALL)
		err = find_group(m, NULL, &unused);
	for (size_t i = 0; !err && i < m->n_stats; i++) {
		const struct syscall_stat *stat = &m->stats[i];
		struct syscall_stat *all = &m->groups[stat->group].all;

		if (stat->time.max > all->time.max || !all->time.count)
			all->max_at_ns = stat->max_at_ns;
		all->errors += stat->errors;
		err = histogram_merge(&all->time, &stat->time);
	}
	return err;
}

struct ebt_error *syscall_model_create(struct trace *trace, enum syscall_grouping grouping,
				       struct syscall_model **ret)
{
	_cleanup_(syscall_model_destroyp) struct syscall_model *m = calloc(1, sizeof(*m));
	struct ebt_error *err = NULL;

	if (!m)
		return &ebt_enomem;
	m->trace = trace;
	m->grouping = grouping;
	if (grouping == SYSCALLS_BY_PROCESS)
		err = trace_names(trace, &m->names);
	if (!err)
		err = read_rows(m);
	if (!err)
		err = sum_groups(m);
	if (err)
		return err;
	*ret = take_ptr(m);
	return NULL;
}

void syscall_model_destroy(struct syscall_model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_stats; i++)
		histogram_deinit(&m->stats[i].time);
	for (size_t i = 0; i < m->n_groups; i++)
		histogram_deinit(&m->groups[i].all.time);
	free(m->stats);
	free(m->groups);
	free(m->errnos);
	free(m->stat_by_key.slots);
	free(m->group_by_id.slots);
	free(m->errno_by_key.slots);
	free(m->group_of_task);
	free(m);
}

const struct syscall_stat *syscall_model_stats(const struct syscall_model *m, size_t *ret_n)
{
	*ret_n = m->n_stats;
	return m->stats;
}

const struct syscall_group *syscall_model_groups(const struct syscall_model *m, size_t *ret_n)
{
	*ret_n = m->n_groups;
	return m->groups;
}

const struct syscall_errno *syscall_model_errnos(const struct syscall_model *m, size_t *ret_n)
{
	*ret_n = m->n_errnos;
	return m->errnos;
}
