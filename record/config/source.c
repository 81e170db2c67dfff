/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sources share; see source.h. */
#include "record/config/source.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "record/base/topology.h"
#include "record/config/skeleton.h"

int source_by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < ebrec_n_sources; i++) {
		if (strlen(ebrec_sources[i]->name) == len &&
		    !memcmp(ebrec_sources[i]->name, name, len))
			return (int)i;
	}
	return -1;
}

static size_t index_of(const struct ebrec_source *source)
{
	size_t i = 0;

	while (i < ebrec_n_sources && ebrec_sources[i] != source)
		i++;
	return i;
}

const char *source_nth_args(const struct source_context *context, const struct ebrec_source *source,
			    size_t n)
{
	return source_args_get(&context->options->source_args, index_of(source), n);
}

const char *source_args(const struct source_context *context, const struct ebrec_source *source)
{
	const char *args = NULL, *next;

	for (size_t n = 0; (next = source_nth_args(context, source, n)); n++)
		args = next;
	return args;
}

void source_add_detail(struct source_state *state, const char *what)
{
	size_t len = strlen(state->detail);

	snprintf(state->detail + len, sizeof(state->detail) - len, "%s%s", len ? "; " : "", what);
}

void source_note_stacks(const struct kernel *kernel, struct source_state *state)
{
	char missing[PRIVILEGES_TEXT];

	if (state->status == EBT_V_source_status_unavailable)
		return;
	if (!kernel_can_unwind(kernel))
		source_add_detail(state, "user stacks by frame pointers only (before Linux 5.17)");
	privileges_say(&kernel->privileges, missing);
	if (!*missing)
		return;
	state->status = EBT_V_source_status_partial;
	source_add_detail(state, missing);
}

static bool has(const struct kernel *kernel, const char *tracepoint)
{
	return tracepoint && kernel_has_tracepoint(kernel, tracepoint);
}

void source_probe(const struct ebrec_source *source, const struct kernel *kernel,
		  struct source_state *state)
{
	for (const char *const *need = source->needs; need && *need; need++) {
		if (has(kernel, *need))
			continue;
		state->status = EBT_V_source_status_unavailable;
		snprintf(state->detail, sizeof(state->detail), "this kernel has no tracepoint %s",
			 *need);
	}
	for (const struct source_want *want = source->wants; want && want->name; want++) {
		if (state->status != EBT_V_source_status_on || has(kernel, want->name) ||
		    has(kernel, want->other))
			continue;
		state->status = EBT_V_source_status_partial;
		snprintf(state->detail, sizeof(state->detail),
			 "this kernel has no tracepoint %s: no %s", want->name, want->without);
	}
	if (source->probe)
		source->probe(kernel, state);
	if (source->stacks)
		source_note_stacks(kernel, state);
}

static bool begins(const char *name, const char *beginning)
{
	return !strncmp(name, beginning, strlen(beginning));
}

/* Programs of a tracepoint are in sections tp_btf/NAME or raw_tp/NAME. */
static bool can_attach(const struct kernel *kernel, const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	return (!begins(section, "tp_btf/") && !begins(section, "raw_tp/")) ||
	       kernel_has_tracepoint(kernel, strchr(section, '/') + 1);
}

void source_load(struct source_context *context, const char *beginning)
{
	struct bpf_program *program;
	bool found = false;

	bpf_object__for_each_program(program, context->skel->obj)
	{
		if (!begins(bpf_program__name(program), beginning))
			continue;
		bpf_program__set_autoload(program, can_attach(context->kernel, program));
		found = true;
	}
	if (!found)
		context->unknown = beginning;
}

static void make_maps(struct source_context *context, const char *beginning)
{
	struct bpf_map *map;
	bool found = false;

	bpf_object__for_each_map(map, context->skel->obj)
	{
		if (!begins(bpf_map__name(map), beginning))
			continue;
		source_use_map(map);
		found = true;
	}
	if (!found)
		context->unknown = beginning;
}

struct ebt_error *source_configure(const struct ebrec_source *source,
				   struct source_context *context)
{
	for (const char *const *name = source->programs; name && *name; name++)
		source_load(context, *name);
	for (const char *const *name = source->maps; name && *name; name++)
		make_maps(context, *name);
	if (source->configure)
		source->configure(context);
	if (!context->unknown)
		return NULL;
	return ebt_error_create(EBT_ERR_INVALID,
				"source %s wants BPF programs or maps %s*, and there are none",
				source->name, context->unknown);
}

struct ebt_error *source_join(const struct bpf_map *programs, const struct bpf_program *program)
{
	int fd = bpf_program__fd(program);
	uint32_t zero = 0;

	if (fd >= 0 && bpf_map_update_elem(bpf_map__fd(programs), &zero, &fd, BPF_ANY))
		return ebt_error_errno(errno, "cannot join the BPF programs");
	return NULL;
}

struct ebt_error *source_keep_link(struct source_context *context, struct bpf_link *link)
{
	struct ebt_error *err;

	err = ebt_array_reserve(&context->links, context->n_links, &context->links_capacity);
	if (err)
		bpf_link__destroy(link);
	else
		context->links[context->n_links++] = link;
	return err;
}

struct ebt_error *source_attach_cpu(const struct source_context *context,
				    const struct source_cpu_event *event, int cpu)
{
	struct perf_event_attr attr = event->attr;
	_cleanup_close_ int fd = -1;
	struct bpf_link *link;

	if ((uint32_t)cpu >= context->kernel->n_cpus)
		return NULL;
	attr.size = sizeof(attr);
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return ebt_error_errno(errno, "%s CPU %d", event->not_open, cpu);
	link = bpf_program__attach_perf_event(event->program, fd);
	if (!link)
		return ebt_error_errno(errno, "%s CPU %d", event->not_attach, cpu);
	take_fd(&fd);
	/* Of a CPU that was offline the kernel has ended the event. */
	bpf_link__destroy(event->links[cpu]);
	event->links[cpu] = link;
	return NULL;
}

struct ebt_error *source_attach_cpus(struct source_context *context,
				     const struct source_cpu_event *event)
{
	_cleanup_free_ int *cpus = NULL;
	struct source_cpu_event *to;
	size_t n = 0;
	struct ebt_error *err = ebt_array_reserve(&context->cpu_events, context->n_cpu_events,
						  &context->cpu_events_capacity)
					?: cpus_online(&cpus, &n);

	if (err)
		return err;
	to = &context->cpu_events[context->n_cpu_events];
	*to = *event;
	to->links = calloc(context->kernel->n_cpus, sizeof(struct bpf_link *));
	if (!to->links)
		return &ebt_enomem;
	context->n_cpu_events++;
	for (size_t i = 0; i < n && !err; i++)
		err = source_attach_cpu(context, to, cpus[i]);
	return err;
}

void source_detach_cpus(struct source_context *context)
{
	for (size_t i = 0; i < context->n_cpu_events; i++) {
		struct bpf_link **links = context->cpu_events[i].links;

		for (uint32_t cpu = 0; cpu < context->kernel->n_cpus; cpu++)
			bpf_link__destroy(links[cpu]);
		free(links);
	}
	free(context->cpu_events);
	context->cpu_events = NULL;
	context->n_cpu_events = context->cpu_events_capacity = 0;
}

static struct ebt_error *keep_fd(struct source_fds *fds, int fd)
{
	struct ebt_error *err = ebt_array_reserve(&fds->v, fds->n, &fds->capacity);

	if (err)
		close(fd);
	else
		fds->v[fds->n++] = fd;
	return err;
}

void source_fds_close(struct source_fds *fds)
{
	for (size_t i = 0; i < fds->n; i++)
		close(fds->v[i]);
	free(fds->v);
	*fds = (struct source_fds){ 0 };
}

struct ebt_error *source_keep_program(struct source_context *context, int fd)
{
	return keep_fd(&context->program_fds, fd);
}

struct ebt_error *source_keep_link_fd(struct source_context *context, int fd)
{
	return keep_fd(&context->link_fds, fd);
}

DEFINE_CLEANUP(struct bpf_link *, bpf_link__destroy);

struct ebt_error *iterator_run(const struct bpf_program *program, const char *what)
{
	_cleanup_(bpf_link__destroyp) struct bpf_link *link = NULL;
	_cleanup_close_ int fd = -1;
	char buf[64];
	ssize_t n;

	if (!bpf_program__autoload(program))
		return NULL;
	link = bpf_program__attach_iter(program, NULL);
	if (!link)
		return ebt_error_errno(errno, "cannot go through %s of the machine", what);
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return ebt_error_errno(errno, "cannot go through %s of the machine", what);
	do
		n = read(fd, buf, sizeof(buf));
	/* EAGAIN: after each million the kernel has to be asked again. */
	while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	return n ? ebt_error_errno(errno, "cannot go through all of %s of the machine", what)
		 : NULL;
}
