/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Following CPUs that come online; see new_cpus.h. */
#include "record/session/new_cpus.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/base/rows.h"

/* What is missing of a CPU until now, or from now on; how much nobody knows. */
static struct ebt_error *add_gap(const struct new_cpus *c, struct ebt_stream *stream, int cpu,
				 uint32_t table, const char *source, const struct ebt_error *failed)
{
	char detail[32];
	const struct lost_row lost = {
		.from = c->last,
		.table_id = table,
		.reason = EBT_V_lost_reason_CPU_came_online,
		.ring = (uint32_t)cpu,
		.source = source,
		.detail = failed ? failed->message : detail,
	};

	snprintf(detail, sizeof(detail), "CPU %d", cpu);
	return add_lost(stream, clocks_now(), &lost);
}

/* A CPU that cannot be followed is no reason to end: the others can. */
static struct ebt_error *follow(const struct new_cpus *c, struct ebt_stream *stream, int cpu)
{
	_cleanup_error_ struct ebt_error *failed = sideband_add_cpu(c->sideband, cpu);
	struct ebt_error *err = add_gap(c, stream, cpu, EBT_T_mmap, "sideband", failed);
	const struct source_context *context = &c->capture->context;
	uint32_t told = 0;

	for (size_t i = 0; !err && i < context->n_cpu_events; i++) {
		const struct source_cpu_event *event = &context->cpu_events[i];
		_cleanup_error_ struct ebt_error *refused = source_attach_cpu(context, event, cpu);

		if (refused || event->table != told)
			err = add_gap(c, stream, cpu, event->table, event->source, refused);
		told = event->table;
	}
	return err;
}

struct ebt_error *new_cpus_follow(struct new_cpus *c, struct ebt_stream *stream, bool *ret)
{
	const uint64_t now = clocks_now();
	_cleanup_free_ int *cpus = NULL;
	size_t n;
	struct ebt_error *err = hotplug_look(c->hotplug, &cpus, &n);

	*ret = !err && n;
	for (size_t i = 0; !err && i < n; i++)
		err = follow(c, stream, cpus[i]);
	c->last = now;
	return err;
}
