/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `usdt`: probes that programs have by <sys/sdt.h>. The compiler says in a note where each
 * copy of a probe is, and in which registers or where in memory its arguments are there.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "record/base/identity.h"
#include "record/probes/path.h"
#include "record/probes/spec.h"
#include "record/probes/usdt_notes.h"
#include "record/probes/user.h"
#include "record/sources/sources.h"

/* Probes that are told where none fits. */
#define MAX_TOLD 8

/* PATH:PROVIDER:NAME[:ARGS], owned. */
struct usdt_request {
	char *path, *provider, *name;
	struct probe_spec spec; /* none: what the note says */
};

static void request_deinit(struct usdt_request *request)
{
	free(request->path);
	free(request->provider);
	free(request->name);
	probe_spec_deinit(&request->spec);
}

/* What is before the next colon, to be freed; *text is moved behind it, or to the end. */
static char *take_part(const char **text)
{
	size_t len = strcspn(*text, ":");
	char *part = strndup(*text, len);

	*text += len + ((*text)[len] == ':');
	return part;
}

static struct ebt_error *parse(const char *text, struct usdt_request *ret)
{
	const char *at = text;

	*ret = (struct usdt_request){ 0 };
	ret->path = take_part(&at);
	ret->provider = take_part(&at);
	ret->name = take_part(&at);
	if (!ret->path || !ret->provider || !ret->name)
		return &ebt_enomem;
	if (!*ret->path || !*ret->provider || !*ret->name)
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not PATH:PROVIDER:NAME", text);
	return *at ? probe_spec_parse(at, false, &ret->spec) : NULL;
}

static struct ebt_error *check_args(const char *args)
{
	_cleanup_(request_deinit) struct usdt_request request = { 0 };

	return parse(args, &request);
}

/* --- arguments --- */

/* Operands of a note; those that cannot be fetched have no size. */
struct operands {
	struct ebrec_fetch list[EBREC_PROBE_FETCHES];
	uint32_t n;
};

static void parse_operands(const char *text, struct operands *ret)
{
	*ret = (struct operands){ 0 };
	while (ret->n < EBREC_PROBE_FETCHES) {
		size_t len;

		text += strspn(text, " ");
		if (!*text)
			return;
		len = strcspn(text, " [");
		if (text[len] == '[')
			len += strcspn(text + len, "]") + 1;
		if (len > strlen(text))
			return;
		if (!probe_operand_parse(text, len, &ret->list[ret->n]))
			ret->list[ret->n].size = 0;
		ret->n++;
		text += len;
	}
}

/* What is always unreadable: at address 0. */
static struct ebrec_fetch fetch_nothing(void)
{
	return (struct ebrec_fetch){ .base = EBREC_NO_REGISTER,
				     .index = EBREC_NO_REGISTER,
				     .n_derefs = 1,
				     .what = EBREC_FETCH_BYTES,
				     .len = 1 };
}

/* An operand, read as the user says. */
static struct ebrec_fetch combine(const struct ebrec_fetch *operand,
				  const struct probe_spec_arg *wanted)
{
	struct ebrec_fetch fetch = *operand;
	const struct ebrec_fetch *w = &wanted->fetch;

	fetch.what = w->what;
	fetch.len = w->len;
	if (w->what != EBREC_FETCH_NUMBER || w->size < operand->size)
		fetch.size = w->size;
	if (wanted->has_format)
		fetch.is_signed = w->is_signed;
	if (!w->n_derefs)
		return fetch;
	if (operand->n_derefs) {
		fetch.deref[0] = w->add;
		fetch.deref[1] = w->deref[0];
	} else {
		fetch.add += w->add;
		fetch.deref[0] = w->deref[0];
	}
	fetch.n_derefs = (uint8_t)(operand->n_derefs + w->n_derefs);
	return fetch;
}

static void fill_site(const struct usdt_request *request, const char *args,
		      struct ebrec_probe_site *ret)
{
	const struct probe_spec *spec = &request->spec;
	struct operands operands;

	parse_operands(args, &operands);
	ret->n = spec->n ? (uint32_t)spec->n : operands.n;
	for (uint32_t i = 0; i < ret->n; i++) {
		const struct ebrec_fetch *operand;
		uint32_t position = spec->n ? spec->list[i].position : i + 1;

		if (!position) { /* a register by name */
			ret->fetch[i] = spec->list[i].fetch;
			continue;
		}
		operand = position <= operands.n ? &operands.list[position - 1] : NULL;
		if (!operand || !operand->size)
			ret->fetch[i] = fetch_nothing();
		else
			ret->fetch[i] = spec->n ? combine(operand, &spec->list[i]) : *operand;
	}
}

/* --- rows --- */

static struct ebt_error *fill_arg(const struct usdt_request *request,
				  const struct ebrec_fetch *fetch, uint32_t number,
				  struct probe_arg *ret)
{
	const struct probe_spec_arg *wanted = &request->spec.list[number];
	char name[16];

	if (request->spec.n)
		*ret = wanted->arg;
	if (!request->spec.n || !wanted->has_format) {
		ret->kind = fetch->is_signed ? EBT_V_probe_arg_kind_signed
					     : EBT_V_probe_arg_kind_unsigned;
		ret->size = fetch->size;
	}
	if (ret->kind != EBT_V_probe_arg_kind_string && fetch->what == EBREC_FETCH_NUMBER)
		ret->size = fetch->size;
	if (!fetch->size && fetch->what == EBREC_FETCH_BYTES && !ret->elements) {
		ret->kind = EBT_V_probe_arg_kind_bytes;
		ret->size = 1;
		ret->elements = 1;
	}
	snprintf(name, sizeof(name), "arg%u", ret->position ? ret->position : number + 1);
	ret->position = 0; /* notes have no names that debug information could know */
	ret->name = strdup(ret->name ? ret->name : name);
	return ret->name ? NULL : &ebt_enomem;
}

static struct ebt_error *fill_probe(const struct usdt_request *request, const char *path,
				    const struct buildid *build_id, const struct usdt_note *note,
				    const struct ebrec_probe_site *site, struct probe *ret)
{
	struct ebt_error *err = NULL;

	ret->kind = EBT_V_probe_kind_usdt;
	ret->semaphore = note->semaphore;
	ret->path = strdup(path);
	ret->group = strdup(note->provider);
	ret->name = strdup(note->name);
	ret->build_id = *build_id;
	ret->args = calloc(site->n + 1, sizeof(*ret->args));
	if (!ret->path || !ret->group || !ret->name || !ret->args)
		return &ebt_enomem;
	for (uint32_t i = 0; i < site->n && !err; i++) {
		err = fill_arg(request, &site->fetch[i], i, &ret->args[i]);
		ret->n_args += !err;
	}
	return err;
}

/* --- finding what was named --- */

struct usdt_search {
	const struct source_context *context;
	bool only_look; /* is there such a probe? */
	const struct usdt_request *request;
	const char *path;
	struct buildid build_id;
	size_t first; /* of the probes of this request */
	bool found;
	char told[400]; /* what the file has */
	size_t n_told;
};

static void tell(struct usdt_search *search, const struct usdt_note *note)
{
	size_t len = strlen(search->told);
	char text[100];

	snprintf(text, sizeof(text), "%s:%s", note->provider, note->name);
	if (search->n_told == MAX_TOLD || strstr(search->told, text))
		return;
	snprintf(search->told + len, sizeof(search->told) - len, "%s%s", len ? ", " : "", text);
	search->n_told++;
}

/* The probe that the note is a place of, from 1; 0: it is the first. */
static uint32_t find_probe(const struct usdt_search *search, const struct usdt_note *note)
{
	const struct probe_list *list = search->context->probes;

	for (size_t i = 0; i < list->n; i++) {
		const struct probe *probe = &list->list[i];

		if (probe->kind == EBT_V_probe_kind_usdt && !strcmp(probe->path, search->path) &&
		    !strcmp(probe->group, note->provider) && !strcmp(probe->name, note->name))
			return (uint32_t)i + 1;
	}
	return 0;
}

static struct ebt_error *add_note(void *arg, const struct usdt_note *note)
{
	struct usdt_search *search = arg;
	const struct usdt_request *request = search->request;
	struct probe_place place = { .offset = note->offset, .semaphore = note->semaphore };
	struct ebrec_probe_site site = { 0 };
	struct ebt_error *err = NULL;
	struct probe probe = { 0 };

	tell(search, note);
	if (fnmatch(request->provider, note->provider, 0) || fnmatch(request->name, note->name, 0))
		return NULL;
	search->found = true;
	if (search->only_look)
		return NULL;
	fill_site(request, note->args, &site);
	site.probe = find_probe(search, note);
	if (site.probe && site.probe <= search->first)
		return NULL; /* as it was named before */
	if (!site.probe) {
		err = fill_probe(request, search->path, &search->build_id, note, &site, &probe)
			      ?: probe_list_add(search->context->probes, &probe, &site.probe);
		probe_deinit(&probe);
	}
	place.probe = site.probe;
	return err ? err : probe_user_add_place(search->context, &place, &site);
}

static struct ebt_error *search_file(struct usdt_search *search)
{
	_cleanup_close_ int fd = open(search->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct elfparts parts;
	struct ebt_error *err;

	if (fd < 0)
		return ebt_error_errno(errno, "cannot open %s", search->path);
	if (!elfparts_read(fd, &parts))
		return ebt_error_create(EBT_ERR_INVALID, "%s is not an ELF file", search->path);
	buildid_of_fd(fd, &search->build_id);
	err = usdt_notes_each(fd, &parts, add_note, search);
	if (err || search->found)
		return err;
	return ebt_error_create(EBT_ERR_NOT_FOUND, "%s has no USDT probe '%s:%s'%s%s%s",
				search->path, search->request->provider, search->request->name,
				search->n_told ? "; it has " : ", nor any other", search->told,
				search->n_told == MAX_TOLD ? " and perhaps others" : "");
}

static struct ebt_error *find(const struct source_context *context, const char *text,
			      bool only_look)
{
	struct usdt_search search = { .context = context,
				      .only_look = only_look,
				      .first = context->probes->n };
	_cleanup_(request_deinit) struct usdt_request request = { 0 };
	_cleanup_free_ char *path = NULL;
	struct ebt_error *err =
		parse(text, &request) ?: probe_path_find(context->options, request.path, &path);

	if (!err) {
		search.path = path;
		search.request = &request;
		err = search_file(&search);
	}
	return ebt_error_prefix(err, "source usdt");
}

static struct ebt_error *find_all(const struct source_context *context, bool only_look)
{
	struct ebt_error *err = NULL;
	const char *text;

	for (size_t i = 0; !err && (text = source_nth_args(context, &source_usdt, i)); i++)
		err = find(context, text, only_look);
	return err;
}

/* What is wrong with the user's words is said before anything is made. */
static struct ebt_error *prepare(struct source_context *context, struct source_state *state)
{
	(void)state;
	return find_all(context, true);
}

static struct ebt_error *open_worker(const struct source_context *context,
				     struct source_state *state, void *worker)
{
	(void)state;
	(void)worker;
	return find_all(context, false);
}

/* The probes are added when the maps are there. */
static const struct source_worker worker = { .open = open_worker };

const struct ebrec_source source_usdt = {
	.name = "usdt",
	.doc = "probes of <sys/sdt.h> in programs: arguments, user stack",
	.cost = "about 1.6 us for each, 0.5 us of processes that are not recorded",
	.args_doc = "PATH:PROVIDER:NAME[:ARGS], as python3:python:function__return:1/s+2/s+3/d",
	.args_needed = true,
	.tables = (const uint16_t[]){ EBT_T_probe_hit, EBT_T_probe, EBT_T_probe_arg, 0 },
	.check_args = check_args,
	.stacks = true,
	.programs = (const char *const[]){ "ebrec_probe_here", NULL },
	.maps = (const char *const[]){ "probe_sites", "probe_scratches", "probe_programs", NULL },
	.probe = probe_user_probe,
	.prepare = prepare,
	.configure = probe_user_configure,
	.attach = probe_user_attach,
	.worker = &worker,
};
