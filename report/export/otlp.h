/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of OpenTelemetry's profiles, to which profiles have indices. */
#ifndef REPORT_EXPORT_OTLP_H
#define REPORT_EXPORT_OTLP_H

#include "report/export/message.h"
#include "report/export/profile.h"
#include "report/export/proto/otlp.pb-c.h"

#define OTLP_SAMPLE_ATTRIBUTES 3

struct otlp_attribute {
	uint32_t key;	/* a text */
	bool is_number; /* else `value` is a text of `values` */
	uint64_t value;
};

struct otlp_tables {
	struct profile profile;
	struct otlp_attribute *attributes; /* from 1 on */
	size_t n_attributes, attributes_capacity;
	struct ebt_map by_attribute;
	struct interned values;
	uint32_t *stacks; /* nodes, from 1 on */
	size_t n_stacks, stacks_capacity;
	uint32_t *stack_of; /* by node */
	size_t n_stack_of;

	/* While they are written: to there, or where that is NULL only their size is added up. */
	struct message_writer *writer;
	uint64_t size;
	/* Of the message at hand. */
	int32_t *indices;
	Otlp__Line *lines, **line;
	size_t indices_capacity, lines_capacity, line_capacity;
};

struct ebt_error *otlp_tables_init(struct otlp_tables *tables, struct export *e);
void otlp_tables_deinit(struct otlp_tables *tables);

struct ebt_error *otlp_text_index(struct otlp_tables *tables, const char *s, int32_t *ret);
/* The stack of a node; 0: it has none. */
struct ebt_error *otlp_stack_index(struct otlp_tables *tables, uint32_t node, int32_t *ret);
/* Of a thread, and of the state in which it stopped (enum sched_why). task NULL: idle. */
struct ebt_error *otlp_sample_attributes(struct otlp_tables *tables, const struct ebt_task *task,
					 uint32_t why, int32_t *ret, size_t *ret_n);

/* After the last of these. */
struct ebt_error *otlp_tables_write(struct otlp_tables *tables, struct message_writer *writer);

#endif
