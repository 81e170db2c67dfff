/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting system calls; see model_syscalls.h. */
#include "report/syscalls/model_syscalls.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "report/syscalls/names.h"
#include "report/trace/task_groups.h"
#include "format/base/array.h"

struct syscall_model {
	struct trace *trace;
	const struct syscall_within *within; /* or NULL */
	struct task_groups *tasks;	     /* NULL: SYSCALLS_BY_CALL */
	struct syscall_stat *stats;
	size_t n_stats, stats_capacity;
	struct syscall_group *groups; /* made of the stats at the end */
	size_t n_groups;
	struct syscall_errno *errnos;
	size_t n_errnos, errnos_capacity;
	struct ebt_map stat_by_key, errno_by_key;
};

static struct ebt_error *stat_of(struct syscall_model *m, uint32_t group, uint32_t nr, bool compat,
				 struct syscall_stat **ret)
{
	/* A number has 32 bits in a file, a group fewer than 31. */
	uint64_t key = (uint64_t)group << 33 | (uint64_t)nr << 1 | compat;
	struct ebt_error *err;
	uint32_t i;

	err = ebt_array_reserve(&m->stats, m->n_stats, &m->stats_capacity);
	if (err)
		return err;
	err = ebt_map_add(&m->stat_by_key, key, (uint32_t)m->n_stats, &i);
	if (err)
		return err;
	if (i == m->n_stats)
		m->stats[m->n_stats++] =
			(struct syscall_stat){ .group = group, .nr = nr, .compat = compat };
	*ret = &m->stats[i];
	return NULL;
}

static struct ebt_error *count_errno(struct syscall_model *m, uint32_t nr, bool compat,
				     uint32_t errnum)
{
	uint64_t key = (uint64_t)errnum << 33 | (uint64_t)nr << 1 | compat;
	struct ebt_error *err;
	uint32_t i;

	err = ebt_array_reserve(&m->errnos, m->n_errnos, &m->errnos_capacity);
	if (err)
		return err;
	err = ebt_map_add(&m->errno_by_key, key, (uint32_t)m->n_errnos, &i);
	if (err)
		return err;
	if (i == m->n_errnos)
		m->errnos[m->n_errnos++] =
			(struct syscall_errno){ .nr = nr, .errnum = errnum, .compat = compat };
	m->errnos[i].count++;
	return NULL;
}

static struct ebt_error *count_row(struct syscall_model *m, const struct ebt_row *row,
				   uint64_t duration)
{
	uint32_t nr = (uint32_t)ebt_syscall_nr(row), group = 0;
	int64_t result = ebt_syscall_ret(row);
	bool compat = ebt_syscall_abi(row) != EBT_V_syscall_abi_native;
	struct syscall_stat *stat;
	struct ebt_error *err;

	if (m->tasks) {
		err = task_groups_of(m->tasks, ebt_syscall_task(row), &group);
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

static struct ebt_error *count_within(struct syscall_model *m, const struct ebt_row *row)
{
	const struct syscall_within *within = m->within;
	const struct ebt_task *task = ebt_syscall_task(row);
	uint64_t duration = ebt_syscall_duration(row);
	uint64_t entered = row->time > duration ? row->time - duration : 0;
	struct ebt_error *err;

	if (!span_set_touches(within->spans, task, entered, row->time))
		return NULL;
	err = count_row(m, row, span_set_ns(within->spans, task, entered, row->time));
	return err || !within->call ? err : within->call(within->arg, row);
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct syscall_model *m = arg;

	return m->within ? count_within(m, row) : count_row(m, row, ebt_syscall_duration(row));
}

static struct ebt_error *read_rows(struct syscall_model *m)
{
	struct ebt_want want = { EBT_T_syscall, EBT_COL(syscall, nr) | EBT_COL(syscall, abi) |
							EBT_COL(syscall, duration) |
							EBT_COL(syscall, ret) };

	if (m->tasks || m->within)
		want.columns |= EBT_COL(syscall, task);
	return trace_read_rows(m->trace, &want, 1, 0, take_row, m);
}

static struct ebt_error *sum_groups(struct syscall_model *m)
{
	struct ebt_error *err = NULL;

	m->n_groups = m->tasks ? task_groups_n(m->tasks) : 1;
	m->groups = calloc(m->n_groups + 1, sizeof(*m->groups));
	if (!m->groups)
		return &ebt_enomem;
	for (size_t i = 0; i < m->n_groups; i++) {
		m->groups[i].all.group = (uint32_t)i;
		if (m->tasks)
			m->groups[i].task = task_groups_task(m->tasks, i);
	}
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
				       const struct syscall_within *within,
				       struct syscall_model **ret)
{
	_cleanup_(syscall_model_destroyp) struct syscall_model *m = calloc(1, sizeof(*m));
	struct ebt_error *err = NULL;

	if (!m)
		return &ebt_enomem;
	m->trace = trace;
	m->within = within;
	if (grouping != SYSCALLS_BY_CALL)
		err = task_groups_create(trace, grouping == SYSCALLS_BY_THREAD, &m->tasks);
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
	for (size_t i = 0; m->groups && i < m->n_groups; i++)
		histogram_deinit(&m->groups[i].all.time);
	free(m->stats);
	free(m->groups);
	free(m->errnos);
	ebt_map_deinit(&m->stat_by_key);
	ebt_map_deinit(&m->errno_by_key);
	task_groups_destroy(m->tasks);
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

struct ebt_error *syscall_model_warn_none(struct trace *trace)
{
	if (trace_has_more(trace) || ebt_reader_has_rows(trace_reader(trace), EBT_T_syscall))
		return NULL;
	return trace_warn(trace, "no system calls in this trace: ebrec "
				 "records them with -e syscalls");
}
