/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of interrupts, timers and work items: by CPU and kind, by function, and by the task that
 * was interrupted. Interrupts within an interrupt are not in its sum, so that all sums of a CPU add
 * up.
 */
#ifndef REPORT_SCHED_MODEL_IRQS_H
#define REPORT_SCHED_MODEL_IRQS_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "report/base/histogram.h"
#include "report/base/text.h"
#include "report/trace/trace.h"

struct irq_stat {
	uint32_t cpu, kind, number; /* of column irq.kind; number: of kinds line, soft and vector */
	struct histogram self;	    /* ns */
	uint64_t max_at_ns;
	uint64_t busy_ns;	/* of self: while the CPU had something to run */
	struct histogram delay; /* soft: from raised to begun, where that is known */
};

/* A timer's function, or a work item's. */
struct irq_function {
	uint64_t function, first_time;
	uint32_t kind;	       /* that of the row, of table timer */
	struct histogram time; /* of timers without interrupts; of work items with sleep */
	uint64_t max_at_ns;
};

struct irq_task {
	const struct ebt_task *task;
	uint64_t count, ns, max_ns;
};

/* Who handles a line. */
struct irq_line {
	struct text name;
	unsigned int n;
};

struct irq_functions {
	struct irq_function *list;
	size_t n, capacity;
	struct ebt_map by_kind[2];
};

struct irq_model {
	struct trace *trace;
	struct irq_stat *stats;
	size_t n_stats, stats_capacity;
	struct ebt_map keys, by_key; /* kind and number to a number; that and CPU to a stat */
	struct irq_functions timers, works;
	struct irq_task *tasks; /* for the caller to put in order */
	size_t n_tasks, tasks_capacity;
	struct ebt_map by_task;
	struct irq_line *lines;
	size_t n_lines, lines_capacity;
	struct ebt_map by_line;
};

struct ebt_error *irq_model_create(struct trace *trace, struct irq_model **ret);
void irq_model_destroy(struct irq_model *model);
DEFINE_CLEANUP(struct irq_model *, irq_model_destroy);

/* Who handles a line; empty where that is not known. Several share one: with commas. */
struct ebt_str irq_model_line(const struct irq_model *model, uint32_t number);
/* Adds what an interrupt is called: "NET_RX", "11 virtio0", "LOC". */
void irq_model_name_add(const struct irq_model *model, uint32_t kind, uint32_t number,
			struct text *text);

#endif
