/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting page faults; see model_faults.h. */
#include "report/memory/model_faults.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "format/base/map.h"

#define MAX_OF_A_HASH 64u

struct fault_model {
	enum faults_by by;
	struct calltree *tree;
	struct task_groups *tasks;
	struct ebt_map by_node;
	struct ebt_map by_mapping;
	uint64_t seed;
	struct fault_group *groups;
	size_t n, capacity;
	struct fault_sum all;
};

/* Makes groups up to number i. */
static struct ebt_error *reach(struct fault_model *m, size_t i)
{
	size_t capacity = m->capacity ? m->capacity : 64;
	struct fault_group *groups;

	while (capacity <= i)
		capacity *= 2;
	if (capacity > m->capacity) {
		groups = reallocarray(m->groups, capacity, sizeof(*groups));
		if (!groups)
			return &ebt_enomem;
		m->groups = groups;
		m->capacity = capacity;
	}
	for (; m->n <= i; m->n++)
		m->groups[m->n] = (struct fault_group){ 0 };
	return NULL;
}

static bool same_mapping(const struct fault_mapping *a, const struct fault_mapping *b)
{
	return a->kind == b->kind && a->file.inode == b->file.inode &&
	       a->file.dev_major == b->file.dev_major && a->file.dev_minor == b->file.dev_minor &&
	       a->file.generation == b->file.generation;
}

static struct ebt_error *group_of_mapping(struct fault_model *m,
					  const struct fault_mapping *mapping, uint32_t *ret)
{
	uint64_t hash = ebt_hash_u64(m->seed, mapping->file.inode);
	struct ebt_error *err;
	size_t at = 0;
	uint32_t i;

	hash = ebt_hash_u64(hash, mapping->kind);
	hash = ebt_hash_u64(hash,
			    (uint64_t)mapping->file.dev_major << 32 | mapping->file.dev_minor);
	hash = ebt_hash_u64(hash, mapping->file.generation);
	while ((i = ebt_map_next(&m->by_mapping, hash, &at)) != EBT_MAP_NONE) {
		if (same_mapping(&m->groups[i].mapping, mapping)) {
			*ret = i;
			return NULL;
		}
	}
	if (m->n >= UINT32_MAX / 2 || ebt_map_has(&m->by_mapping, hash, MAX_OF_A_HASH))
		return ebt_error_create(EBT_ERR_LIMIT, "too many mappings");
	i = (uint32_t)m->n;
	err = reach(m, i);
	if (!err)
		err = ebt_map_insert(&m->by_mapping, hash, i);
	if (err)
		return err;
	m->groups[i].mapping = *mapping;
	*ret = i;
	return NULL;
}

static struct ebt_error *group_of_stack(struct fault_model *m, const struct ebt_row *row,
					uint32_t *ret)
{
	const struct calltree_stack stack = {
		.batch = row->batch,
		.task = ebt_fault_task(row),
		.time = row->time,
		.kernel = ebt_fault_kstack_id(row),
		.user = ebt_fault_ustack_id(row),
	};
	struct ebt_error *err;
	uint32_t node;

	err = calltree_place(m->tree, &stack, &node);
	if (!err)
		err = ebt_map_add(&m->by_node, node, (uint32_t)m->n, ret);
	if (!err)
		err = reach(m, *ret);
	if (err)
		return err;
	calltree_add(m->tree, node, 1);
	m->groups[*ret].node = node;
	return NULL;
}

static struct ebt_error *group_of_task(struct fault_model *m, const struct ebt_task *task,
				       uint32_t *ret)
{
	struct ebt_error *err = task_groups_of(m->tasks, task, ret);

	return err ? err : reach(m, *ret);
}

static struct ebt_error *group_of(struct fault_model *m, const struct ebt_row *row, uint32_t *ret)
{
	struct fault_mapping mapping = { 0 };

	if (m->by == FAULTS_BY_STACK)
		return group_of_stack(m, row, ret);
	if (m->by == FAULTS_BY_MAPPING) {
		mapping.kind = (uint32_t)ebt_fault_mapping(row);
		if (mapping.kind == EBT_V_fault_mapping_file)
			mapping.file = (struct inode_key){
				.inode = ebt_fault_inode(row),
				.dev_major = (uint32_t)ebt_fault_dev_major(row),
				.dev_minor = (uint32_t)ebt_fault_dev_minor(row),
				.generation = (uint32_t)ebt_fault_generation(row),
			};
		return group_of_mapping(m, &mapping, ret);
	}
	return group_of_task(m, ebt_fault_task(row), ret);
}

static void add_fault(struct fault_sum *sum, const struct ebt_row *row)
{
	uint64_t ns = ebt_fault_duration(row);
	bool major = ebt_fault_kind(row) == EBT_V_fault_kind_major;

	if (major) {
		sum->major++;
		sum->major_ns += ns;
	} else {
		sum->minor++;
	}
	sum->writes += ebt_fault_access(row) == EBT_V_fault_access_write;
	sum->kernel += !ebt_fault_user(row);
	sum->ns += ns;
	if (ns > sum->max_ns) {
		sum->max_ns = ns;
		sum->max_at = row->time;
	}
}

static void add_silent(struct fault_sum *sum, uint64_t minor, uint64_t major)
{
	sum->minor += minor;
	sum->major += major;
	sum->silent += minor + major;
}

/* What belongs to no stack is only in the sum of all. */
static struct ebt_error *count_silent(struct fault_model *m, const struct ebt_task *task,
				      uint64_t minor, uint64_t major)
{
	static const struct fault_mapping silent = { .kind = FAULT_SILENT };
	struct ebt_error *err = NULL;
	uint32_t i;

	if (!minor && !major)
		return NULL;
	add_silent(&m->all, minor, major);
	if (m->by == FAULTS_BY_STACK)
		return NULL;
	if (m->by == FAULTS_BY_MAPPING)
		err = group_of_mapping(m, &silent, &i);
	else
		err = group_of_task(m, task, &i);
	if (!err)
		add_silent(&m->groups[i].sum, minor, major);
	return err;
}

static struct ebt_error *count_row(void *arg, const struct ebt_row *row)
{
	struct fault_model *m = arg;
	struct ebt_error *err;
	uint32_t i;

	if (row->batch->table->id == EBT_T_fault_rest)
		return count_silent(m, ebt_fault_rest_task(row), ebt_fault_rest_silent_minor(row),
				    ebt_fault_rest_silent_major(row));
	err = group_of(m, row, &i);
	if (err)
		return err;
	add_fault(&m->groups[i].sum, row);
	add_fault(&m->all, row);
	return count_silent(m, ebt_fault_task(row), ebt_fault_silent_minor(row),
			    ebt_fault_silent_major(row));
}

static struct ebt_error *read_rows(struct fault_model *m, struct trace *trace)
{
	struct ebt_want wants[] = {
		{ EBT_T_fault, EBT_COL(fault, task) | EBT_COL(fault, kind) |
				       EBT_COL(fault, access) | EBT_COL(fault, user) |
				       EBT_COL(fault, duration) | EBT_COL(fault, silent_minor) |
				       EBT_COL(fault, silent_major) },
		{ EBT_T_fault_rest, ~UINT64_C(0) },
	};

	if (m->by == FAULTS_BY_MAPPING)
		wants[0].columns |= EBT_COL(fault, mapping) | EBT_COL(fault, inode) |
				    EBT_COL(fault, dev_major) | EBT_COL(fault, dev_minor) |
				    EBT_COL(fault, generation);
	if (m->by == FAULTS_BY_STACK)
		wants[0].columns |= EBT_COL(fault, kstack) | EBT_COL(fault, ustack);
	return trace_read_rows(trace, wants, 2, 0, count_row, m);
}

struct ebt_error *fault_model_create(struct trace *trace, enum faults_by by, struct calltree *tree,
				     struct fault_model **ret)
{
	_cleanup_(fault_model_destroyp) struct fault_model *m = calloc(1, sizeof(*m));
	struct ebt_error *err;

	if (!m)
		return &ebt_enomem;
	m->by = by;
	m->tree = tree;
	m->seed = ebt_hash_u64(0, (uintptr_t)m);
	err = task_groups_create(trace, by == FAULTS_BY_THREAD, &m->tasks);
	if (!err)
		err = read_rows(m, trace);
	if (!err && tree)
		err = calltree_finish(tree);
	if (err)
		return err;
	*ret = take_ptr(m);
	return NULL;
}

void fault_model_destroy(struct fault_model *m)
{
	if (!m)
		return;
	task_groups_destroy(m->tasks);
	ebt_map_deinit(&m->by_node);
	ebt_map_deinit(&m->by_mapping);
	free(m->groups);
	free(m);
}

const struct fault_group *fault_model_groups(const struct fault_model *m, size_t *ret_n)
{
	*ret_n = m->n;
	return m->groups;
}

const struct task_groups *fault_model_tasks(const struct fault_model *m)
{
	return m->tasks;
}

const struct fault_sum *fault_model_all(const struct fault_model *m)
{
	return &m->all;
}
