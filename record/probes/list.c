/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes and their rows; see list.h. */
#include "record/probes/list.h"

#include <linux/types.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "format/write/writer.h"
#include "record/base/clocks.h"
#include "record/bpf/probe.h"
#include "record/bpf/probe_user.h"

void probe_deinit(struct probe *probe)
{
	for (size_t i = 0; i < probe->n_args; i++) {
		free(probe->args[i].name);
		free(probe->args[i].type);
	}
	free(probe->args);
	free(probe->group);
	free(probe->name);
	free(probe->path);
	*probe = (struct probe){ 0 };
}

void probe_list_deinit(struct probe_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		probe_deinit(&list->list[i]);
	free(list->list);
	free(list->places);
	*list = (struct probe_list){ 0 };
}

struct ebt_error *probe_list_add(struct probe_list *list, struct probe *probe, uint32_t *ret_number)
{
	struct ebt_error *err;

	if (list->n == EBREC_MAX_PROBES)
		return ebt_error_create(EBT_ERR_LIMIT, "more than %d probes", EBREC_MAX_PROBES);
	if (probe->n_args > EBREC_PROBE_ARGS)
		return ebt_error_create(EBT_ERR_LIMIT, "probe %s reads more than %d arguments",
					probe->name, EBREC_PROBE_ARGS);
	err = ebt_array_reserve(&list->list, list->n, &list->capacity);
	if (err)
		return err;
	list->list[list->n++] = *probe;
	*probe = (struct probe){ 0 };
	*ret_number = (uint32_t)list->n;
	return NULL;
}

struct ebt_error *probe_list_add_place(struct probe_list *list, const struct probe_place *place,
				       uint32_t *ret)
{
	struct ebt_error *err;

	if (list->n_places == EBREC_PROBE_SITES)
		return ebt_error_create(EBT_ERR_LIMIT, "more than %d places that are probed",
					EBREC_PROBE_SITES);
	err = ebt_array_reserve(&list->places, list->n_places, &list->places_capacity);
	if (err)
		return err;
	*ret = (uint32_t)list->n_places;
	list->places[list->n_places++] = *place;
	return NULL;
}

/* --- rows --- */

static void add_text(struct ebt_record *rec, size_t field, const char *text)
{
	if (text)
		ebt_record_str(rec, field, text);
}

static struct ebt_error *write_args(struct ebt_record *rec, const struct probe *probe,
				    uint32_t number, struct ebt_stream *stream)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < probe->n_args && !err; i++) {
		const struct probe_arg *arg = &probe->args[i];
		struct ebt_wire_probe_arg *row =
			ebt_record_begin(rec, EBT_T_probe_arg, clocks_now());

		row->probe = number;
		row->index = (uint32_t)i;
		row->kind = arg->kind;
		row->size = arg->size;
		row->elements = arg->elements;
		row->position = arg->position;
		add_text(rec, offsetof(struct ebt_wire_probe_arg, name), arg->name);
		add_text(rec, offsetof(struct ebt_wire_probe_arg, type), arg->type);
		err = ebt_record_add(rec, stream);
	}
	return err;
}

static struct ebt_error *write_probe(struct ebt_record *rec, const struct probe *probe,
				     uint32_t number, struct ebt_stream *stream)
{
	struct ebt_wire_probe *row = ebt_record_begin(rec, EBT_T_probe, clocks_now());

	row->probe = number;
	row->kind = probe->kind;
	row->offset = probe->offset;
	row->semaphore = probe->semaphore;
	add_text(rec, offsetof(struct ebt_wire_probe, group), probe->group);
	add_text(rec, offsetof(struct ebt_wire_probe, name), probe->name);
	add_text(rec, offsetof(struct ebt_wire_probe, path), probe->path);
	if (probe->build_id.len)
		ebt_record_bytes(rec, offsetof(struct ebt_wire_probe, build_id),
				 probe->build_id.bytes, probe->build_id.len);
	return ebt_record_add(rec, stream) ?: write_args(rec, probe, number, stream);
}

struct ebt_error *probe_list_write(const struct probe_list *list, struct ebt_stream *stream)
{
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < list->n && !err; i++) {
		if (!list->list[i].refused)
			err = write_probe(&rec, &list->list[i], (uint32_t)i + 1, stream);
	}
	return err;
}
