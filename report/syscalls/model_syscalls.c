/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting system calls; see model_syscalls.h. */
#include "report/syscalls/model_syscalls.h"

#include <stdlib.h>

#include "format/base/map.h"
#include "report/calls/names.h"
#include "report/cli/command.h"

struct syscall_model {
	const struct syscall_within *within; /* or NULL */
	struct syscall_stat *stats;
	size_t n, capacity;
	struct ebt_map by_key;
};

struct ebt_error *syscall_sum_add(struct syscall_sum *sum, const struct ebt_row *row,
				  uint64_t duration)
{
	if (duration > sum->time.max || !sum->time.count)
		sum->max_at_ns = row->time;
	sum->errors += syscall_failed(ebt_syscall_ret(row));
	return histogram_add(&sum->time, duration);
}

struct ebt_error *syscall_sum_merge(struct syscall_sum *to, const struct syscall_sum *from)
{
	if (from->time.max > to->time.max || !to->time.count)
		to->max_at_ns = from->max_at_ns;
	to->errors += from->errors;
	return histogram_merge(&to->time, &from->time);
}

static struct ebt_error *count_row(struct syscall_model *m, const struct ebt_row *row,
				   uint64_t duration)
{
	uint32_t nr = (uint32_t)ebt_syscall_nr(row), i;
	bool compat = ebt_syscall_abi(row) != EBT_V_syscall_abi_native;
	struct ebt_error *err;

	err = ebt_map_element(&m->by_key, syscall_key(nr, compat), &m->stats, &m->n, &m->capacity,
			      &i);
	if (err)
		return err;
	m->stats[i].nr = nr;
	m->stats[i].compat = compat;
	return syscall_sum_add(&m->stats[i].sum, row, duration);
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	struct syscall_model *m = arg;
	const struct syscall_within *within = m->within;
	uint64_t duration = ebt_syscall_duration(row), entered;
	const struct ebt_task *task;
	struct ebt_error *err;

	if (!within)
		return count_row(m, row, duration);
	task = ebt_syscall_task(row);
	entered = row->time > duration ? row->time - duration : 0;
	if (!span_set_touches(within->spans, task, entered, row->time))
		return NULL;
	err = count_row(m, row, span_set_ns(within->spans, task, entered, row->time));
	return err || !within->call ? err : within->call(within->arg, row);
}

struct ebt_error *syscall_model_create(struct trace *trace, const struct syscall_within *within,
				       struct syscall_model **ret)
{
	_cleanup_(syscall_model_destroyp) struct syscall_model *m = calloc(1, sizeof(*m));
	struct ebt_want want = EBT_WANT(syscall, nr, abi, duration, ret);
	struct ebt_error *err;

	if (!m)
		return &ebt_enomem;
	m->within = within;
	if (within)
		want.columns |= EBT_COL(syscall, task);
	err = trace_read_rows(trace, &want, 1, 0, take_row, m);
	if (!err)
		*ret = take_ptr(m);
	return err;
}

void syscall_model_destroy(struct syscall_model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		histogram_deinit(&m->stats[i].sum.time);
	free(m->stats);
	ebt_map_deinit(&m->by_key);
	free(m);
}

const struct syscall_stat *syscall_model_stats(const struct syscall_model *m, size_t *ret_n)
{
	*ret_n = m->n;
	return m->stats;
}

struct ebt_error *syscall_model_warn_none(struct trace *trace)
{
	static const struct command_subject subject = {
		.what = "system calls",
		.source = "syscalls",
		.tables = { EBT_T_syscall },
	};

	if (trace_has_more(trace) || trace_has_rows(trace, EBT_T_syscall))
		return NULL;
	return trace_warn_nothing(trace, &subject);
}
