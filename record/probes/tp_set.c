/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From names to tracepoints; see tp_set.h. */
#include "record/probes/tp_set.h"

#include <errno.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/base/spelling.h"
#include "record/base/kernel.h"
#include "record/base/tracefs.h"
#include "record/config/source_args.h"
#include "record/probes/btf_tracepoint.h"
#include "record/probes/tp_format.h"

#define MAX_SIMILAR 3

struct ebt_error *tp_set_create(const struct kernel *kernel, struct tp_set **ret)
{
	struct tp_set *set = calloc(1, sizeof(*set));
	struct ebt_error *err;

	if (!set)
		return &ebt_enomem;
	set->kernel = kernel;
	set->events = -1;
	err = tracefs_open(&set->events);
	if (err) {
		snprintf(set->refused, sizeof(set->refused), "%s", err->message);
		ebt_error_destroy(err);
	} else if (!kernel_has_helper(kernel, "BPF_FUNC_get_attach_cookie")) {
		/* Before Linux 5.15. */
		set->refused_perf = true;
		strcpy(set->refused, "this kernel's programs cannot tell events apart");
	}
	*ret = set;
	return NULL;
}

void tp_set_destroy(struct tp_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n; i++)
		tp_event_deinit(&set->list[i]);
	free(set->list);
	ebt_closep(&set->events);
	free(set);
}

/* --- one --- */

static bool has(const struct tp_set *set, const char *name)
{
	size_t len = strcspn(name, ":");

	for (size_t i = 0; i < set->n; i++) {
		const struct probe *probe = &set->list[i].probe;

		if (strlen(probe->group) == len && !memcmp(probe->group, name, len) &&
		    !strcmp(probe->name, name + len + 1))
			return true;
	}
	return false;
}

/* Takes the event over. */
static struct ebt_error *append(struct tp_set *set, struct tp_event *event)
{
	struct ebt_error *err = ebt_array_reserve(&set->list, set->n, &set->capacity);

	if (err)
		return err;
	set->list[set->n++] = *event;
	*event = (struct tp_event){ 0 };
	return NULL;
}

/* May perf have it? That takes other rights than reading of it does. */
static bool may_open(uint64_t id, int *ret_errnum)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = id,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	*ret_errnum = errno;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* As tracefs describes it; EBT_ERR_NOT_FOUND: it does not. */
static struct ebt_error *from_tracefs(struct tp_set *set, const char *name, struct tp_event *event)
{
	_cleanup_free_ char *format = NULL;
	struct ebt_error *err;
	int errnum;

	err = tracefs_event(set->events, name, &event->id, &format);
	if (err && err->errnum == ENOENT) {
		ebt_error_destroy(err);
		return ebt_error_create(EBT_ERR_NOT_FOUND, "there is no tracepoint %s", name);
	}
	if (err)
		return err;
	if (!set->n && !may_open(event->id, &errnum)) {
		set->refused_perf = true;
		snprintf(set->refused, sizeof(set->refused), "perf_event_open: %s",
			 strerror(errnum));
	}
	return tp_event_name(event, name) ?: tp_format_parse(format, event);
}

static struct ebt_error *from_types(struct tp_set *set, const char *name, struct tp_event *event)
{
	struct ebt_error *err = tp_event_name(event, name);

	event->raw = true;
	return err ? err : btf_tracepoint_parse(set->kernel->btf, event);
}

static struct ebt_error *add(struct tp_set *set, const char *name, bool raw)
{
	_cleanup_(tp_event_deinit) struct tp_event event = { 0 };
	struct ebt_error *err;

	if (has(set, name))
		return NULL;
	if (!raw && !set->refused_perf) {
		err = from_tracefs(set, name, &event);
		if (err)
			return err;
		if (set->refused_perf)
			tp_event_deinit(&event);
	}
	err = raw || set->refused_perf ? from_types(set, name, &event) : NULL;
	return err ? err : append(set, &event);
}

/* --- what is meant --- */

/* Names that somebody who wrote this may have meant, the likeliest first. */
static void similar(const char *text, const struct tracefs_names *names, char *ret, size_t size)
{
	size_t limit = strlen(text) / 3 + 1, used = 0;

	*ret = '\0';
	for (size_t d = 1, n = 0; d <= limit && n < MAX_SIMILAR; d++) {
		for (size_t i = 0; i < names->n && n < MAX_SIMILAR && used < size; i++) {
			if (ebt_spelling_distance(text, names->names[i]) != d)
				continue;
			used += (size_t)snprintf(ret + used, size - used, "%s%s",
						 n++ ? ", " : "; there is ", names->names[i]);
		}
	}
}

static struct ebt_error *not_found(const char *text, const struct tracefs_names *names)
{
	char also[4 * TP_NAME_MAX];

	similar(text, names, also, sizeof(also));
	return ebt_error_create(EBT_ERR_NOT_FOUND,
				"there is no tracepoint %s%s (`ebrec --list-events=tp` lists them)",
				text, also);
}

/* Does it exist under another category? */
static bool named_elsewhere(const char *text, const struct tracefs_names *names)
{
	const char *name = strchr(text, ':');

	for (size_t i = 0; i < names->n; i++) {
		if (!strcmp(strchr(names->names[i], ':'), name))
			return true;
	}
	return false;
}

/* One that tracefs does not know: some of the scheduler's have no trace event. */
static struct ebt_error *add_unknown(struct tp_set *set, const char *text,
				     const struct tracefs_names *names)
{
	struct ebt_error *err;

	if (named_elsewhere(text, names))
		return not_found(text, names);
	err = add(set, text, true);
	if (!err || err->code != EBT_ERR_NOT_FOUND)
		return err;
	ebt_error_destroy(err);
	return not_found(text, names);
}

static struct ebt_error *add_matching(struct tp_set *set, const char *text,
				      const struct tracefs_names *names)
{
	struct ebt_error *err = NULL;
	size_t n = 0;

	for (size_t i = 0; i < names->n; i++)
		n += !fnmatch(text, names->names[i], 0);
	if (!n)
		return not_found(text, names);
	if (set->n + n > EBREC_MAX_PROBES)
		return ebt_error_create(EBT_ERR_LIMIT,
					"%s stands for %zu tracepoints; all together, %d are the "
					"most",
					text, n, EBREC_MAX_PROBES);
	for (size_t i = 0; i < names->n && !err; i++) {
		if (!fnmatch(text, names->names[i], 0))
			err = add(set, names->names[i], false);
	}
	return err;
}

static struct ebt_error *without_tracefs(struct tp_set *set, const char *text, bool pattern)
{
	struct ebt_error *err = NULL;

	if (!pattern) {
		err = add(set, text, true);
		if (!err || err->code != EBT_ERR_NOT_FOUND)
			return err;
	}
	ebt_error_destroy(err);
	return ebt_error_create(EBT_ERR_NOT_FOUND,
				pattern ? "what %s stands for is not known without %s"
					: "the kernel's types have no tracepoint %s, and others "
					  "need %s",
				text, set->refused);
}

struct ebt_error *tp_set_add(struct tp_set *set, const char *text)
{
	bool pattern = strpbrk(text, "*?[");
	_cleanup_(tracefs_names_deinit) struct tracefs_names names = { 0 };
	struct ebt_error *err;

	if (set->events < 0)
		return without_tracefs(set, text, pattern);
	if (!pattern) {
		err = add(set, text, false);
		if (!err || err->code != EBT_ERR_NOT_FOUND)
			return err;
		ebt_error_destroy(err);
	}
	return tracefs_list(set->events, &names)
		       ?: pattern ? add_matching(set, text, &names)
				  : add_unknown(set, text, &names);
}

/* --- all that there are --- */

static struct ebt_error *print_fields(FILE *to, int events, const char *name)
{
	_cleanup_(tp_event_deinit) struct tp_event event = { 0 };
	_cleanup_free_ char *format = NULL;
	struct ebt_error *err;

	err = tracefs_event(events, name, &event.id, &format) ?:
	      tp_event_name(&event, name) ?:
	      tp_format_parse(format, &event);
	if (err)
		return err;
	for (size_t i = 0; i < event.probe.n_args; i++)
		fprintf(to, "  %-20s %s\n", event.probe.args[i].name, event.probe.args[i].type);
	return NULL;
}

struct ebt_error *tp_set_print(FILE *to, const char *query)
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
