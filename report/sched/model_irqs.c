/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts, timers and work items in figures; see model_irqs.h. */
#include "report/sched/model_irqs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE_NAMES 8 /* of handlers that share a line */

static struct ebt_error *stat_of(struct irq_model *m, uint32_t cpu, uint32_t kind, uint32_t number,
				 struct irq_stat **ret)
{
	struct ebt_error *err;
	uint32_t key, i;

	err = ebt_map_add(&m->keys, (uint64_t)kind << 32 | number, (uint32_t)m->keys.n, &key)
		      ?: ebt_map_element(&m->by_key, (uint64_t)cpu << 32 | key, &m->stats,
					 &m->n_stats, &m->stats_capacity, &i);
	if (err)
		return err;
	*ret = &m->stats[i];
	(*ret)->cpu = cpu;
	(*ret)->kind = kind;
	(*ret)->number = number;
	return NULL;
}

/* ksoftirqd does nothing but soft interrupts: they take no time from it. */
static bool is_taken_from(const struct ebt_task *task)
{
	static const char own[] = "ksoftirqd/";

	return task->comm.len < sizeof(own) - 1 || memcmp(task->comm.data, own, sizeof(own) - 1);
}

static struct ebt_error *count_task(struct irq_model *m, const struct ebt_task *task, uint64_t ns)
{
	struct ebt_error *err;
	struct irq_task *t;
	uint32_t i;

	err = ebt_map_element(&m->by_task, task->id, &m->tasks, &m->n_tasks, &m->tasks_capacity,
			      &i);
	if (err)
		return err;
	t = &m->tasks[i];
	t->task = t->task ? t->task : task;
	t->count++;
	t->ns += ns;
	t->max_ns = ns > t->max_ns ? ns : t->max_ns;
	return NULL;
}

static struct ebt_error *count_irq(struct irq_model *m, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_irq_task(row);
	uint32_t kind = (uint32_t)ebt_irq_kind(row);
	uint64_t self = ebt_irq_self(row), delay = ebt_irq_delay(row);
	uint64_t number = ebt_irq_number(row);
	struct irq_stat *stat;
	struct ebt_error *err;

	err = stat_of(m, (uint32_t)ebt_irq_cpu(row), kind, (uint32_t)number, &stat);
	if (err)
		return err;
	if (self > stat->self.max || !stat->self.count)
		stat->max_at_ns = row->time;
	err = histogram_add(&stat->self, self);
	if (!err && delay)
		err = histogram_add(&stat->delay, delay);
	if (err || !task || !is_taken_from(task))
		return err;
	stat->busy_ns += self;
	return count_task(m, task, self);
}

static struct ebt_error *count_function(struct irq_functions *f, uint32_t kind, uint64_t function,
					uint64_t time, uint64_t ns)
{
	struct irq_function *stat;
	struct ebt_error *err;
	uint32_t i;

	err = ebt_map_element(&f->by_kind[kind != 0], function, &f->list, &f->n, &f->capacity, &i);
	if (err)
		return err;
	stat = &f->list[i];
	if (!stat->time.count) {
		stat->function = function;
		stat->first_time = time;
		stat->kind = kind;
	}
	if (ns > stat->time.max || !stat->time.count)
		stat->max_at_ns = time;
	return histogram_add(&stat->time, ns);
}

static bool has_name(const struct irq_line *line, struct ebt_str name)
{
	const char *at = text_get(&line->name), *end = at + line->name.len;

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t len = (size_t)((comma ? comma : end) - at);

		if (len == name.len && !memcmp(at, name.data, len))
			return true;
		at += len + 1;
	}
	return false;
}

static struct ebt_error *add_line(void *arg, const struct ebt_row *row)
{
	struct irq_model *m = arg;
	struct ebt_str name = ebt_irq_name_name(row);
	struct ebt_error *err;
	struct irq_line *line;
	uint32_t i;

	err = ebt_map_element(&m->by_line, ebt_irq_name_number(row), &m->lines, &m->n_lines,
			      &m->lines_capacity, &i);
	if (err)
		return err;
	line = &m->lines[i];
	if (has_name(line, name) || line->n == MAX_LINE_NAMES)
		return NULL;
	if (line->n++)
		text_addc(&line->name, ',');
	text_add(&line->name, name.data, name.len);
	return text_error(&line->name);
}

static struct ebt_error *count_row(void *arg, const struct ebt_row *row)
{
	struct irq_model *m = arg;

	switch (row->batch->table->id) {
	case EBT_T_irq:
		return count_irq(m, row);
	case EBT_T_timer:
		return count_function(&m->timers, (uint32_t)ebt_timer_kind(row),
				      ebt_timer_function(row), row->time, ebt_timer_self(row));
	default:
		return count_function(&m->works, 0, ebt_work_function(row), row->time,
				      ebt_work_duration(row));
	}
}

static struct ebt_error *read_rows(struct irq_model *m)
{
	static const struct ebt_want wants[] = {
		EBT_WANT(irq, cpu, task, kind, number, self, delay),
		EBT_WANT(timer, function, self, kind),
		EBT_WANT(work, function, duration),
	};

	return trace_read_rows(m->trace, wants, sizeof(wants) / sizeof(wants[0]), 0, count_row, m);
}

/* Names stand where a line was first seen, which may be anywhere. */
static struct ebt_error *read_names(struct irq_model *m)
{
	static const struct ebt_want want = EBT_WANT(irq_name, number, name);

	return trace_read_rows(m->trace, &want, 1, TRACE_UNFILTERED, add_line, m);
}

struct ebt_error *irq_model_create(struct trace *trace, struct irq_model **ret)
{
	_cleanup_(irq_model_destroyp) struct irq_model *m = calloc(1, sizeof(*m));
	struct ebt_error *err;

	if (!m)
		return &ebt_enomem;
	m->trace = trace;
	err = read_rows(m) ?: read_names(m);
	if (err)
		return err;
	*ret = take_ptr(m);
	return NULL;
}

static void functions_deinit(struct irq_functions *f)
{
	for (size_t i = 0; i < f->n; i++)
		histogram_deinit(&f->list[i].time);
	free(f->list);
	ebt_map_deinit(&f->by_kind[0]);
	ebt_map_deinit(&f->by_kind[1]);
}

void irq_model_destroy(struct irq_model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_stats; i++) {
		histogram_deinit(&m->stats[i].self);
		histogram_deinit(&m->stats[i].delay);
	}
	for (size_t i = 0; i < m->n_lines; i++)
		text_deinit(&m->lines[i].name);
	functions_deinit(&m->timers);
	functions_deinit(&m->works);
	ebt_map_deinit(&m->keys);
	ebt_map_deinit(&m->by_key);
	ebt_map_deinit(&m->by_task);
	ebt_map_deinit(&m->by_line);
	free(m->stats);
	free(m->tasks);
	free(m->lines);
	free(m);
}

struct ebt_str irq_model_line(const struct irq_model *m, uint32_t number)
{
	uint32_t i;

	if (!ebt_map_find(&m->by_line, number, &i))
		return (struct ebt_str){ 0 };
	return text_str(&m->lines[i].name);
}

/* NR_SOFTIRQS, as /proc/softirqs calls them. */
static const char *const soft_names[] = {
	"HI",	    "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
	"IRQ_POLL", "TASKLET", "SCHED",	 "HRTIMER", "RCU",
};

/* By kind; lines and soft interrupts have numbers. Of x86, what /proc/interrupts calls them. */
static const char *const kernel_names[] = {
	[EBT_V_irq_kind_local_timer] = "LOC",
	[EBT_V_irq_kind_reschedule] = "RES",
	[EBT_V_irq_kind_call_function] = "CAL",
	[EBT_V_irq_kind_call_function_single] = "CAL",
	[EBT_V_irq_kind_irq_work] = "IWI",
	[EBT_V_irq_kind_x86_platform_ipi] = "PLT",
	[EBT_V_irq_kind_thermal_apic] = "TRM",
	[EBT_V_irq_kind_threshold_apic] = "THR",
	[EBT_V_irq_kind_deferred_error_apic] = "DFR",
	[EBT_V_irq_kind_error_apic] = "ERR",
	[EBT_V_irq_kind_spurious_apic] = "SPU",
};
#define N_KERNEL_NAMES (sizeof(kernel_names) / sizeof(kernel_names[0]))

void irq_model_name_add(const struct irq_model *m, uint32_t kind, uint32_t number,
			struct text *text)
{
	struct ebt_str line;

	if (kind == EBT_V_irq_kind_soft && number < sizeof(soft_names) / sizeof(soft_names[0])) {
		text_cstr(text, soft_names[number]);
	} else if (kind == EBT_V_irq_kind_line) {
		line = irq_model_line(m, number);
		text_printf(text, "%" PRIu32 "%s", number, line.len ? " " : "");
		text_add(text, line.data, line.len);
	} else if (kind < N_KERNEL_NAMES && kernel_names[kind]) {
		text_cstr(text, kernel_names[kind]);
	} else {
		text_printf(text, "%" PRIu32, number);
	}
}
