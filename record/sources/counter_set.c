/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counters are and were; see counter_set.h. */
#include "record/sources/counter_set.h"

#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/schema/wire.h"
#include "record/base/rows.h"

/* Containers come with network interfaces of their own, one after the other. */
#define MAX_COUNTERS 65536u

struct counter {
	const struct counter_class *class;
	const char *category;
	char instance[COUNTER_INSTANCE];
	uint64_t value, written;
	bool known;   /* there is a value */
	bool defined; /* in the file */
};

struct counter_set {
	struct counter *list;
	uint32_t n;
	size_t capacity;
	bool begun; /* emitted once */
	/* The first that had no room, until that is said. */
	const char *refused; /* its category; NULL: none */
	char refused_instance[COUNTER_INSTANCE];
	bool full; /* there was one */
	struct ebt_record rec;
};

struct ebt_error *counter_set_create(struct counter_set **ret)
{
	struct counter_set *set = calloc(1, sizeof(*set));

	if (!set)
		return &ebt_enomem;
	*ret = set;
	return NULL;
}

void counter_set_destroy(struct counter_set *set)
{
	if (!set)
		return;
	ebt_record_deinit(&set->rec);
	free(set->list);
	free(set);
}

static void refuse(struct counter_set *set, const char *category, const char *instance)
{
	if (set->full)
		return;
	set->full = true;
	set->refused = category;
	strncpy(set->refused_instance, instance, sizeof(set->refused_instance) - 1);
}

struct ebt_error *counter_set_add(struct counter_set *set, const char *category,
				  const char *instance, const struct counter_class *classes,
				  size_t n, uint32_t *ret)
{
	struct ebt_error *err;

	if (set->n + n > MAX_COUNTERS) {
		refuse(set, category, instance);
		*ret = COUNTER_NONE;
		return NULL;
	}
	err = ebt_array_reserve(&set->list, set->n + n, &set->capacity);
	if (err)
		return err;
	*ret = set->n;
	for (size_t i = 0; i < n; i++) {
		struct counter *counter = &set->list[set->n++];

		*counter = (struct counter){ .class = &classes[i], .category = category };
		strncpy(counter->instance, instance, sizeof(counter->instance) - 1);
	}
	return NULL;
}

void counter_set_put(struct counter_set *set, uint32_t counter, uint64_t value)
{
	if (counter >= set->n)
		return;
	set->list[counter].value = value * set->list[counter].class->factor;
	set->list[counter].known = true;
}

static struct ebt_error *define(struct counter_set *set, uint32_t i, struct ebt_stream *stream,
				uint64_t time_ns)
{
	const struct counter *counter = &set->list[i];
	const struct counter_class *class = counter->class;
	struct ebt_wire_counter_def *row = ebt_record_begin(&set->rec, EBT_T_counter_def, time_ns);

	row->counter = i + 1;
	row->kind = class->kind;
	row->divisor = class->divisor;
	ebt_record_str(&set->rec, offsetof(struct ebt_wire_counter_def, category),
		       counter->category);
	ebt_record_str(&set->rec, offsetof(struct ebt_wire_counter_def, instance),
		       counter->instance);
	ebt_record_str(&set->rec, offsetof(struct ebt_wire_counter_def, name), class->name);
	ebt_record_str(&set->rec, offsetof(struct ebt_wire_counter_def, unit), class->unit);
	ebt_record_str(&set->rec, offsetof(struct ebt_wire_counter_def, doc), class->doc);
	return ebt_record_add(&set->rec, stream);
}

static struct ebt_error *emit_value(struct counter_set *set, uint32_t i, uint64_t value,
				    struct ebt_stream *stream, uint64_t time_ns)
{
	struct ebt_wire_counter *row = ebt_record_begin(&set->rec, EBT_T_counter, time_ns);

	row->counter = i + 1;
	row->value = value;
	return ebt_record_add(&set->rec, stream);
}

static struct ebt_error *emit(struct counter_set *set, uint32_t i, struct ebt_stream *stream,
			      uint64_t time_ns, bool again)
{
	struct counter *counter = &set->list[i];
	bool fresh = !counter->defined;
	struct ebt_error *err = NULL;

	if (!counter->known || (!fresh && !again && counter->value == counter->written))
		return NULL;
	if (fresh || again)
		err = define(set, i, stream, time_ns);
	if (!err && fresh && set->begun && counter->class->kind == COUNTER_CUMULATIVE &&
	    counter->value)
		err = emit_value(set, i, 0, stream, time_ns);
	counter->defined = true;
	counter->written = counter->value;
	return err ? err : emit_value(set, i, counter->value, stream, time_ns);
}

/* How many values are missing, nobody knows. */
static struct ebt_error *say_refused(struct counter_set *set, struct ebt_stream *stream,
				     uint64_t time_ns)
{
	char detail[160];
	const struct lost_row lost = {
		.from = time_ns,
		.table_id = EBT_T_counter,
		.reason = EBT_V_lost_reason_other,
		.source = "counter",
		.detail = detail,
	};

	snprintf(detail, sizeof(detail), "counters after the first %u, as those of %s %s",
		 MAX_COUNTERS, set->refused, set->refused_instance);
	set->refused = NULL;
	return add_lost(stream, time_ns, &lost);
}

struct ebt_error *counter_set_emit(struct counter_set *set, struct ebt_stream *stream,
				   uint64_t time_ns, bool again)
{
	for (uint32_t i = 0; i < set->n; i++) {
		struct ebt_error *err = emit(set, i, stream, time_ns, again);

		if (err)
			return err;
	}
	set->begun = true;
	return set->refused ? say_refused(set, stream, time_ns) : NULL;
}
