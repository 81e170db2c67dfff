/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places in code and the BPF programs that are run there; see user.h. */
#include "record/probes/user.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "record/config/skeleton.h"
#include "record/probes/attach.h"
#include "record/unwind/unwinder.h"

#define UPROBE_PMU "/sys/bus/event_source/devices/uprobe/type"

void probe_user_probe(const struct kernel *kernel, struct source_state *state)
{
	if (!kernel_has_loops(kernel)) {
		state->status = EBT_V_source_status_unavailable;
		snprintf(state->detail, sizeof(state->detail),
			 "this kernel's BPF programs have no loops (before Linux 5.17)");
	} else if (access(UPROBE_PMU, R_OK)) {
		state->status = EBT_V_source_status_unavailable;
		snprintf(state->detail, sizeof(state->detail),
			 "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)");
	}
}

/* What a program does at a place, in the order in which they are attached: what is called when a
 * function returns comes first, as a call that is seen to begin can end then. The kernel runs
 * programs of one place in the reverse order. */
enum role { ROLE_RETURN, ROLE_ENTRY, ROLE_HERE, ROLE_TOUCH, N_ROLES };

static struct bpf_program *program_of(const struct ebrec_bpf *skel, enum role role)
{
	struct bpf_program *const programs[N_ROLES] = {
		[ROLE_RETURN] = skel->progs.ebrec_probe_return,
		[ROLE_ENTRY] = skel->progs.ebrec_probe_entry,
		[ROLE_HERE] = skel->progs.ebrec_probe_here,
		[ROLE_TOUCH] = skel->progs.ebrec_probe_touch,
	};

	return programs[role];
}

void probe_user_configure(struct source_context *context)
{
	const bool multi = probe_attach_can_multi(context->kernel);
	struct ebrec_bpf *skel = context->skel;

	for (enum role role = 0; role < N_ROLES; role++)
		probe_attach_prepare(program_of(skel, role), multi);
	probe_attach_prepare(skel->progs.ebrec_probe_stacks, multi);
	skel->rodata->config.event_bytes = 1;
	bpf_program__set_autoload(skel->progs.ebrec_probe_touch, probe_attach_can_load(true));
	if (!context->options->call_graph)
		return;
	skel->rodata->config.event_stacks = 1;
	source_use_chains(context);
	bpf_program__set_autoload(skel->progs.ebrec_probe_stacks, true);
}

struct ebt_error *probe_user_add_place(const struct source_context *context,
				       const struct probe_place *place,
				       const struct ebrec_probe_site *site)
{
	int map = bpf_map__fd(context->skel->maps.probe_sites);
	struct probe_place added = *place;
	struct ebt_error *err;
	uint32_t number;

	for (uint32_t i = 0; i < site->n; i++)
		added.memory |= site->fetch[i].what != EBREC_FETCH_NUMBER && !site->fetch[i].later;
	err = probe_list_add_place(context->probes, &added, &number);
	if (err)
		return err;
	if (bpf_map_update_elem(map, &number, site, BPF_ANY))
		return ebt_error_errno(errno, "cannot tell the BPF programs what to fetch");
	return NULL;
}

/* --- attaching --- */

static struct probe *probe_of(const struct probe_list *probes, size_t place)
{
	return &probes->list[probes->places[place].probe - 1];
}

static enum role first_role(const struct probe_place *place)
{
	return place->span ? ROLE_RETURN : ROLE_HERE;
}

static bool has_role(const struct probe_list *probes, size_t i, enum role role)
{
	const struct probe_place *place = &probes->places[i];
	const bool roles[N_ROLES] = {
		[ROLE_RETURN] = place->span,
		[ROLE_ENTRY] = place->span,
		[ROLE_HERE] = !place->span,
		[ROLE_TOUCH] = place->memory,
	};

	return roles[role] && !probe_of(probes, i)->refused;
}

static bool is_of(const struct probe_list *probes, size_t place, enum role role, const char *path)
{
	return has_role(probes, place, role) && !strcmp(probe_of(probes, place)->path, path);
}

static struct ebt_error *refused(const struct probe_list *probes, size_t place, int error, size_t n)
{
	const struct probe *probe = probe_of(probes, place);
	char others[40] = "";

	if (n > 1)
		snprintf(others, sizeof(others), " and %zu other places", n - 1);
	return ebt_error_create(EBT_ERR_UNSUPPORTED, "cannot probe %s at %s (0x%jx)%s: %s",
				probe->name, probe->path, (uintmax_t)probes->places[place].offset,
				others, probe_attach_strerror(error));
}

/* A place that was taken before lacks something else than an instruction that can be probed: that
 * is an error also of a pattern's. */
static struct ebt_error *leave_out(const struct probe_list *probes, enum role role,
				   const struct probe_sites *sites, const int *errors)
{
	size_t n = 0, first = 0;

	for (size_t i = 0; i < sites->n; i++) {
		struct probe *probe = probe_of(probes, sites->cookies[i]);

		if (!errors[i])
			continue;
		if (probe->pattern && role == first_role(&probes->places[sites->cookies[i]]))
			probe->refused = errors[i];
		else if (!n++)
			first = i;
	}
	return n ? refused(probes, sites->cookies[first], errors[first], n) : NULL;
}

/* A pattern of which nothing is left is as wrong as a name would be. */
static struct ebt_error *check_left(const struct probe_list *probes)
{
	for (size_t i = 0; i < probes->n_places; i++) {
		const struct probe *probe = probe_of(probes, i);
		size_t n = 0, n_refused = 0;

		for (size_t k = 0; k < probes->n && probe->refused; k++) {
			n += probes->list[k].pattern == probe->pattern;
			n_refused += probes->list[k].pattern == probe->pattern &&
				     probes->list[k].refused;
		}
		if (n && n == n_refused)
			return refused(probes, i, probe->refused, n);
	}
	return NULL;
}

/* The context owns what the links have. */
static struct ebt_error *keep(struct source_context *context, struct probe_links *links)
{
	struct ebt_error *err = NULL;

	while (links->n_fds && !err)
		err = source_keep_link_fd(context, links->fds[--links->n_fds]);
	while (links->n_links && !err)
		err = source_keep_link(context, links->links[--links->n_links]);
	return err;
}

/* To all places of a file where the program has something to do. */
static struct ebt_error *attach_file(struct source_context *context, enum role role,
				     const char *path)
{
	_cleanup_(probe_sites_deinit) struct probe_sites sites = { 0 };
	_cleanup_(probe_links_deinit) struct probe_links links = { 0 };
	const struct probe_list *probes = context->probes;
	_cleanup_free_ int *errors = calloc(probes->n_places, sizeof(*errors));
	const struct probe_attach how = {
		.program = program_of(context->skel, role),
		.path = path,
		.at_return = role == ROLE_RETURN,
		.errors = errors,
	};

	if (!errors)
		return &ebt_enomem;
	for (size_t i = 0; i < probes->n_places; i++) {
		const struct probe_place *place = &probes->places[i];

		if (is_of(probes, i, role, path) &&
		    !probe_sites_add(&sites, place->offset, place->semaphore, i))
			return &ebt_enomem;
	}
	probe_attach(&how, &sites, &links);
	return leave_out(probes, role, &sites, errors) ?: keep(context, &links);
}

static bool is_first_of_file(const struct probe_list *probes, size_t place, enum role role)
{
	if (!has_role(probes, place, role))
		return false;
	for (size_t i = 0; i < place; i++) {
		if (is_of(probes, i, role, probe_of(probes, place)->path))
			return false;
	}
	return true;
}

static struct ebt_error *attach_role(struct source_context *context, enum role role)
{
	const struct probe_list *probes = context->probes;
	struct ebt_error *err = NULL;

	if (bpf_program__fd(program_of(context->skel, role)) < 0)
		return NULL;
	for (size_t i = 0; i < probes->n_places && !err; i++) {
		if (is_first_of_file(probes, i, role))
			err = attach_file(context, role, probe_of(probes, i)->path);
	}
	return err;
}

struct ebt_error *probe_user_attach(struct source_context *context, struct source_state *state)
{
	struct ebt_error *err = NULL;

	(void)state;
	if (context->probes->attached)
		return NULL;
	context->probes->attached = true;
	err = source_join(context->skel->maps.probe_programs,
			  context->skel->progs.ebrec_probe_stacks);
	for (enum role role = 0; role < N_ROLES && !err; role++)
		err = attach_role(context, role);
	return err ? err : check_left(context->probes);
}
