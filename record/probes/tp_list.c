/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listing tracepoints; see tp_list.h. */
#include "record/probes/tp_list.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "record/base/tracefs.h"
#include "record/probes/tp_format.h"
#include "record/probes/tp_set.h"

static struct ebt_error *print_fields(FILE *to, int events, const char *name)
{
	_cleanup_(tp_event_deinit) struct tp_event event = { 0 };
	_cleanup_free_ char *format = NULL;
	struct ebt_error *err;

	err = tracefs_event(events, name, &event.id, &format);
	if (err)
		return err;
	err = tp_event_name(&event, name, strcspn(name, ":"), strchr(name, ':') + 1);
	if (err)
		return err;
	err = tp_format_parse(format, &event);
	if (err)
		return err;
	for (size_t i = 0; i < event.probe.n_args; i++)
		fprintf(to, "  %-20s %s\n", event.probe.args[i].name, event.probe.args[i].type);
	return NULL;
}

struct ebt_error *tp_list_print(FILE *to, const char *query)
{
	const char *pattern = strchr(query, ':') ? strchr(query, ':') + 1 : NULL;
	_cleanup_(tracefs_names_deinit) struct tracefs_names names = { 0 };
	_cleanup_close_ int events = -1;
	struct ebt_error *err;
	size_t n = 0;

	err = tracefs_open(&events);
	err = err ? err : tracefs_list(events, &names);
	for (size_t i = 0; i < names.n && !err; i++) {
		if (pattern && fnmatch(pattern, names.names[i], 0))
			continue;
		n++;
		fprintf(to, "tp:%s\n", names.names[i]);
		if (pattern)
			err = print_fields(to, events, names.names[i]);
	}
	if (!err && !n)
		return ebt_error_create(EBT_ERR_NOT_FOUND, "there is no tracepoint %s",
					pattern ? pattern : "");
	return ebt_error_prefix(err, "the tracepoints cannot be listed");
}
