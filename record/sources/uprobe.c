/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `uprobe`: calls of functions that the user names, with their arguments and results. */
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "record/bpf/probe.h"
#include "record/config/skeleton.h"
#include "record/probes/attach.h"
#include "record/probes/function.h"
#include "record/probes/glob.h"
#include "record/probes/path.h"
#include "record/probes/spec.h"
#include "record/probes/user.h"
#include "record/sources/sources.h"

/* PATH:FUNC[:ARGS], owned. */
struct uprobe_request {
	char *path, *function;
	struct probe_spec spec;
};

static void request_deinit(struct uprobe_request *request)
{
	free(request->path);
	free(request->function);
	probe_spec_deinit(&request->spec);
}

/* The colon that ends a name; those of C++ are double. */
static const char *end_of_name(const char *name)
{
	const char *colon = strchr(name, ':');

	while (colon && colon[1] == ':')
		colon = strchr(colon + 2, ':');
	return colon;
}

static struct ebt_error *parse(const char *text, struct uprobe_request *ret)
{
	const char *colon = strchr(text, ':'), *end;

	*ret = (struct uprobe_request){ 0 };
	if (!colon || colon == text || !colon[1])
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not PATH:FUNCTION", text);
	end = end_of_name(colon + 1);
	ret->path = strndup(text, (size_t)(colon - text));
	ret->function = end ? strndup(colon + 1, (size_t)(end - colon - 1)) : strdup(colon + 1);
	if (!ret->path || !ret->function)
		return &ebt_enomem;
	if (end)
		return probe_spec_parse(end + 1, true, &ret->spec);
	probe_spec_default(&ret->spec);
	return NULL;
}

static struct ebt_error *check_args(const char *args)
{
	_cleanup_(request_deinit) struct uprobe_request request = { 0 };

	return parse(args, &request);
}

static void configure(struct source_context *context)
{
	context->skel->rodata->config.returns = 1;
	probe_user_configure(context);
}

/* --- finding what was named --- */

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static struct ebt_error *fill_probe(const char *path, const struct uprobe_request *request,
				    const struct probe_elf *elf, const struct probe_match *match,
				    struct probe *ret)
{
	const char *slash = strrchr(path, '/');

	ret->kind = EBT_V_probe_kind_uprobe;
	ret->offset = match->offset;
	ret->path = strdup(path);
	ret->group = strdup(slash ? slash + 1 : path);
	ret->name = strdup(match->name);
	ret->build_id = *probe_elf_build_id(elf);
	ret->args = calloc(request->spec.n + 1, sizeof(*ret->args));
	if (!ret->path || !ret->group || !ret->name || !ret->args)
		return &ebt_enomem;
	ret->n_args = request->spec.n;
	for (size_t i = 0; i < ret->n_args; i++) {
		ret->args[i] = request->spec.list[i].arg;
		ret->args[i].name = copy(ret->args[i].name);
	}
	return NULL;
}

static struct ebt_error *add_place(const struct source_context *context,
				   const struct uprobe_request *request, bool span, uint64_t offset,
				   uint32_t number)
{
	struct probe_place place = { .probe = number, .offset = offset, .span = span };
	struct ebrec_probe_site site = {
		.probe = number,
		.n = (uint32_t)request->spec.n,
		.n_later = (uint32_t)request->spec.n_later,
	};

	for (size_t i = 0; i < request->spec.n; i++)
		site.fetch[i] = request->spec.list[i].fetch;
	return probe_user_add_place(context, &place, &site);
}

/* What was named, and where it is; owned. */
struct found {
	struct uprobe_request request;
	char *path;
	struct probe_elf *elf;
	struct probe_matches matches; /* of a name: one */
	bool pattern;
};

/* As many as the source has arguments. A zeroed one is empty. */
struct found_list {
	struct found *list;
	size_t n;
};

static void found_list_deinit(struct found_list *found)
{
	for (size_t i = 0; i < found->n; i++) {
		request_deinit(&found->list[i].request);
		free(found->list[i].path);
		probe_elf_closep(&found->list[i].elf);
		probe_matches_deinit(&found->list[i].matches);
	}
	free(found->list);
}

static struct ebt_error *find_one(struct found *found)
{
	const char *name = found->request.function;
	struct probe_matches *matches = &found->matches;
	struct probe_function function;
	struct ebt_error *err;

	err = probe_function_find(found->elf, found->path, name, &function);
	if (err)
		return err;
	matches->list = calloc(1, sizeof(*matches->list));
	if (!matches->list)
		return &ebt_enomem;
	matches->n = 1;
	matches->list[0] = (struct probe_match){
		.name = strdup(name),
		.offset = function.offset,
		.begins = function.begins,
	};
	return matches->list[0].name ? NULL : &ebt_enomem;
}

/* Names may have wildcards of their own, as those of Go do: a function of this name comes first. */
static struct ebt_error *find_functions(struct found *found)
{
	struct ebt_error *err = find_one(found);

	if (!err || err->code != EBT_ERR_NOT_FOUND || !probe_glob_is(found->request.function))
		return err;
	ebt_error_destroy(err);
	found->pattern = true;
	return probe_glob_find(found->elf, found->path, found->request.function, &found->matches);
}

static struct ebt_error *check_returns(const struct found *found)
{
	for (size_t i = 0; found->request.spec.n_later && i < found->matches.n; i++) {
		if (!found->matches.list[i].begins)
			return ebt_error_create(EBT_ERR_INVALID,
						"'%s' of %s is an address, which does not return",
						found->matches.list[i].name, found->path);
	}
	return NULL;
}

static struct ebt_error *find(const struct source_context *context, const char *text,
			      struct found *ret)
{
	return parse(text, &ret->request) ?:
	       probe_path_find(context->options, ret->request.path, &ret->path) ?:
	       probe_elf_open(ret->path, &ret->elf) ?:
	       find_functions(ret) ?:
	       check_returns(ret);
}

static const struct found *other_with(const struct found_list *found, size_t i, uint64_t offset)
{
	for (size_t j = 0; j < found->n; j++) {
		const struct found *other = &found->list[j];

		/* What is named comes before what a pattern stands for. */
		if (j == i || (other->pattern == found->list[i].pattern ? j > i : other->pattern) ||
		    strcmp(other->path, found->list[i].path) != 0)
			continue;
		for (size_t k = 0; k < other->matches.n; k++) {
			if (other->matches.list[k].offset == offset)
				return other;
		}
	}
	return NULL;
}

/* One call would be two on the stack of calls: of patterns it is left out. */
static struct ebt_error *check_twice(struct found_list *found, size_t i)
{
	struct probe_matches *matches = &found->list[i].matches;
	size_t n = 0;

	for (size_t k = 0; k < matches->n; k++) {
		const struct found *other = other_with(found, i, matches->list[k].offset);

		if (other && !found->list[i].pattern)
			return ebt_error_create(EBT_ERR_INVALID,
						"%s and %s are the same function of %s",
						other->request.function,
						found->list[i].request.function, other->path);
		if (other)
			free(matches->list[k].name);
		else
			matches->list[n++] = matches->list[k];
	}
	matches->n = n;
	return NULL;
}

static struct ebt_error *find_all(const struct source_context *context, struct found_list *ret)
{
	struct ebt_error *err = NULL;
	size_t n = 0, total = 0;

	while (source_nth_args(context, &source_uprobe, n))
		n++;
	ret->list = calloc(n + 1, sizeof(*ret->list));
	if (!ret->list)
		return &ebt_enomem;
	for (size_t i = 0; i < n && !err; i++)
		err = find(context, source_nth_args(context, &source_uprobe, i),
			   &ret->list[ret->n++]);
	for (size_t i = 0; i < n && !err; i++)
		err = check_twice(ret, i);
	for (size_t i = 0; i < n && !err; i++)
		total += ret->list[i].matches.n;
	if (!err && total > EBREC_MAX_PROBES)
		err = ebt_error_create(EBT_ERR_LIMIT,
				       "these are %zu functions; %d probes are the most", total,
				       EBREC_MAX_PROBES);
	return ebt_error_prefix(err, "source uprobe");
}

/* Behind what is said already. There may be more names than fit. */
static void tell_left_out(const struct found_list *found, struct source_state *state)
{
	size_t n = 0, len = strlen(state->detail);
	const char *between = ": ";

	for (size_t i = 0; i < found->n; i++)
		n += found->list[i].matches.n_left_out;
	if (!n)
		return;
	state->status = EBT_V_source_status_partial;
	len += (size_t)snprintf(state->detail + len, sizeof(state->detail) - len,
				"%s%zu left out (IFUNC, or an instruction that cannot be probed)",
				len ? "; " : "", n);
	for (size_t i = 0; i < found->n && len < sizeof(state->detail); i++) {
		if (!found->list[i].matches.left_out)
			continue;
		len += (size_t)snprintf(state->detail + len, sizeof(state->detail) - len, "%s%s",
					between, found->list[i].matches.left_out);
		between = ", ";
	}
}

/* What is wrong with the user's words is said before anything is made. */
static struct ebt_error *prepare(struct source_context *context, struct source_state *state)
{
	_cleanup_(found_list_deinit) struct found_list found = { 0 };
	struct ebt_error *err = find_all(context, &found);

	if (err)
		return err;
	tell_left_out(&found, state);
	return NULL;
}

/* pattern: as in struct probe. */
static struct ebt_error *add_match(const struct source_context *context, const struct found *found,
				   const struct probe_match *match, uint32_t pattern)
{
	const struct uprobe_request *request = &found->request;
	_cleanup_(probe_deinit) struct probe probe = { .pattern = pattern };
	uint32_t number;

	return fill_probe(found->path, request, found->elf, match, &probe) ?:
	       probe_list_add(context->probes, &probe, &number) ?:
	       add_place(context, request, match->begins, match->offset, number);
}

static struct ebt_error *open_worker(const struct source_context *context,
				     struct source_state *state, void *worker)
{
	_cleanup_(found_list_deinit) struct found_list found = { 0 };
	struct ebt_error *err = find_all(context, &found);

	(void)state;
	*(const struct ebrec_bpf **)worker = context->skel;
	for (size_t i = 0; i < found.n && !err; i++) {
		const struct found *one = &found.list[i];
		const uint32_t pattern = one->pattern ? (uint32_t)i + 1 : 0;

		for (size_t k = 0; k < one->matches.n && !err; k++)
			err = ebt_error_prefix(add_match(context, one, &one->matches.list[k],
							 pattern),
					       "source uprobe");
	}
	return err;
}

/* Before what is said already, which may have no end. */
static void tell_refused(const struct probe_list *probes, struct source_state *state)
{
	const struct probe *first = NULL;
	_cleanup_free_ char *said = NULL;
	size_t n = 0;

	for (size_t i = 0; i < probes->n; i++) {
		const struct probe *probe = &probes->list[i];

		if (probe->refused && !n++)
			first = probe;
	}
	if (!first)
		return;
	state->status = EBT_V_source_status_partial;
	said = strdup(state->detail);
	snprintf(state->detail, sizeof(state->detail), "%zu refused (%s): %s%s%s", n,
		 probe_attach_strerror(first->refused), first->name, said && *said ? "; " : "",
		 said ? said : "");
}

static struct ebt_error *attach(struct source_context *context, struct source_state *state)
{
	struct ebt_error *err = probe_user_attach(context, state);

	if (err)
		return err;
	tell_refused(context->probes, state);
	return NULL;
}

/* Calls that have not returned become rows in the rings, which are read once more after this. */
static struct ebt_error *work(void *worker, struct ebt_stream *stream, enum source_moment moment)
{
	const struct ebrec_bpf *skel = *(const struct ebrec_bpf **)worker;

	(void)stream;
	return moment == SOURCE_LAST ? iterator_run(skel->progs.ebrec_probe_rest, "the tasks")
				     : NULL;
}

static const struct source_worker worker = {
	.size = sizeof(struct ebrec_bpf *),
	.open = open_worker,
	.work = work,
};

const struct ebrec_source source_uprobe = {
	.name = "uprobe",
	.doc = "calls of functions: arguments, result, duration, user stack",
	.elsewhere = "function functions probe",
	.cost = "about 12 us for each call, 5 us of processes that are not recorded",
	.args_doc = "PATH:FUNC[:ARGS], as libc.so.6:fopen:path=1/s+ret; * and ? match several",
	.args_needed = true,
	.tables = (const uint16_t[]){ EBT_T_probe_hit, EBT_T_probe, EBT_T_probe_arg, 0 },
	.check_args = check_args,
	.stacks = true,
	/* An offset in the middle of a function is a place, too: here. */
	.programs = (const char *const[]){ "ebrec_probe_entry", "ebrec_probe_return",
					   "ebrec_probe_exit", "ebrec_probe_exec",
					   "ebrec_probe_rest", "ebrec_probe_here", NULL },
	.maps = (const char *const[]){ "probe_", NULL },
	.probe = probe_user_probe,
	.prepare = prepare,
	.configure = configure,
	.attach = attach,
	.worker = &worker,
};
