/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracepoints being put together; see tp_event.h. */
#include "record/probes/tp_event.h"

#include <stdlib.h>
#include <string.h>

void tp_event_deinit(struct tp_event *event)
{
	probe_deinit(&event->probe);
	*event = (struct tp_event){ 0 };
}

struct ebt_error *tp_event_name(struct tp_event *event, const char *name)
{
	const char *colon = strchr(name, ':');

	event->probe.kind = EBT_V_probe_kind_tp;
	event->probe.group = strndup(name, (size_t)(colon - name));
	event->probe.name = strdup(colon + 1);
	return event->probe.group && event->probe.name ? NULL : &ebt_enomem;
}

struct ebt_error *tp_event_add(struct tp_event *event, const struct probe_arg *arg,
			       const struct ebrec_tp_arg *how)
{
	struct probe *probe = &event->probe;
	struct probe_arg *copy;

	if (probe->n_args == EBREC_PROBE_ARGS) {
		event->left_out++;
		return NULL;
	}
	if (!probe->args)
		probe->args = calloc(EBREC_PROBE_ARGS, sizeof(*probe->args));
	if (!probe->args)
		return &ebt_enomem;
	copy = &probe->args[probe->n_args];
	event->spec.args[probe->n_args++] = *how;
	event->spec.n_args = (uint32_t)probe->n_args;
	*copy = *arg;
	copy->name = arg->name ? strdup(arg->name) : NULL;
	copy->type = arg->type ? strdup(arg->type) : NULL;
	if ((arg->name && !copy->name) || (arg->type && !copy->type))
		return &ebt_enomem;
	return NULL;
}
