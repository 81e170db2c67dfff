/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What probes read, as text, and what functions call it; see probe_args.h. */
#include "report/trace/probe_args.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "report/trace/proc_texts.h"
#include "report/trace/trace.h"
#include "symbolize/symbolize.h"

/* Of a file that means no good. */
#define MAX_PROBES 65536u
#define MAX_ARGS   64u
#define UNREADABLE 65535u

struct probe_args {
	struct probe *list;
	size_t n, capacity;
	struct ebt_map by_number;
	struct proc_texts texts;
};

void probe_args_destroy(struct probe_args *probes)
{
	if (!probes)
		return;
	for (size_t i = 0; i < probes->n; i++)
		free(probes->list[i].args);
	free(probes->list);
	ebt_map_deinit(&probes->by_number);
	proc_texts_deinit(&probes->texts);
	free(probes);
}

const struct probe *probe_args_find(const struct probe_args *probes, uint32_t number)
{
	uint32_t i;

	return ebt_map_find(&probes->by_number, number, &i) ? &probes->list[i] : NULL;
}

struct probe *probe_args_all(struct probe_args *probes, size_t *ret_n)
{
	*ret_n = probes->n;
	return probes->list;
}

/* --- reading --- */

/* A copy that lives as long as the probes: cut where it is long, empty where there are too many. */
static struct ebt_error *keep(struct probe_args *probes, struct ebt_str text, struct ebt_str *ret)
{
	uint32_t number;
	struct ebt_error *err = proc_texts_add(&probes->texts, text, &number);

	if (!err)
		*ret = proc_texts_get(&probes->texts, number);
	return err;
}

static struct ebt_error *keep_field(struct probe_args *probes, struct ebt_str field,
				    const char **ret)
{
	struct ebt_str text;
	struct ebt_error *err = keep(probes, field, &text);

	if (!err)
		*ret = text.data;
	return err;
}

/* Probes are written again at each epoch: the first time counts. */
static struct ebt_error *take_probe(void *arg, const struct ebt_row *row)
{
	struct probe_args *probes = arg;
	uint32_t number = (uint32_t)ebt_probe_probe(row), i;
	struct ebt_error *err;
	struct probe *probe;

	if (probes->n == MAX_PROBES || probe_args_find(probes, number))
		return NULL;
	err = ebt_array_reserve(&probes->list, probes->n, &probes->capacity);
	if (err)
		return err;
	err = ebt_map_add(&probes->by_number, number, (uint32_t)probes->n, &i);
	if (err)
		return err;
	probe = &probes->list[probes->n++];
	*probe = (struct probe){
		.number = number,
		.kind = (uint32_t)ebt_probe_kind(row),
		.offset = ebt_probe_offset(row),
		.result = { .kind = EBT_V_probe_arg_kind_register, .size = 8 },
	};
	err = keep_field(probes, ebt_probe_group(row), &probe->group);
	if (err)
		return err;
	err = keep_field(probes, ebt_probe_name(row), &probe->name);
	if (err)
		return err;
	err = keep_field(probes, ebt_probe_path(row), &probe->path);
	return err ? err : keep(probes, ebt_probe_build_id(row), &probe->build_id);
}

static struct ebt_error *take_arg(void *to, const struct ebt_row *row)
{
	struct probe_args *probes = to;
	uint32_t index = (uint32_t)ebt_probe_arg_index(row), i;
	struct ebt_error *err;
	struct probe *probe;
	struct probe_arg *arg;

	if (!ebt_map_find(&probes->by_number, ebt_probe_arg_probe(row), &i))
		return NULL;
	/* Of those of one time each is the next. */
	probe = &probes->list[i];
	if (index != probe->n_args || index >= MAX_ARGS)
		return NULL;
	err = ebt_array_reserve(&probe->args, probe->n_args, &probe->capacity);
	if (err)
		return err;
	arg = &probe->args[probe->n_args++];
	*arg = (struct probe_arg){
		.index = index,
		.kind = (uint32_t)ebt_probe_arg_kind(row),
		.size = (uint32_t)ebt_probe_arg_size(row),
		.elements = (uint32_t)ebt_probe_arg_elements(row),
		.position = (uint32_t)ebt_probe_arg_position(row),
	};
	err = keep_field(probes, ebt_probe_arg_name(row), &arg->name);
	return err ? err : keep_field(probes, ebt_probe_arg_type(row), &arg->type);
}

struct ebt_error *probe_args_create(struct trace *trace, struct probe_args **ret)
{
	_cleanup_(probe_args_destroyp) struct probe_args *probes = calloc(1, sizeof(*probes));
	struct ebt_error *err;

	if (!probes)
		return &ebt_enomem;
	err = trace_read_table(trace, EBT_T_probe, TRACE_UNFILTERED, take_probe, probes);
	if (err)
		return err;
	err = trace_read_table(trace, EBT_T_probe_arg, TRACE_UNFILTERED, take_arg, probes);
	if (err)
		return err;
	*ret = take_ptr(probes);
	return NULL;
}

/* --- text --- */

/* Bytes that are left of a row's. */
struct cursor {
	const unsigned char *at;
	size_t left;
};

static bool take_number(struct cursor *c, size_t size, uint64_t *ret)
{
	if (c->left < size)
		return false;
	*ret = 0;
	for (size_t i = 0; i < size; i++)
		*ret |= (uint64_t)c->at[i] << 8 * i;
	c->at += size;
	c->left -= size;
	return true;
}

static size_t element_size(const struct probe_arg *arg)
{
	return arg->size == 1 || arg->size == 2 || arg->size == 4 ? arg->size : 8;
}

/* A register does not say how wide its value is, nor whether it has a sign: numbers up to 2^31, and
 * small negative ones, as errors are, are most likely meant as such. */
static void add_register(uint64_t v, struct text *text)
{
	if (v <= INT32_MAX || v >= (uint64_t)-4095)
		text_printf(text, "%" PRId64, (int64_t)v);
	else
		text_printf(text, "%#" PRIx64, v);
}

static void add_number(const struct probe_arg *arg, uint64_t v, struct text *text)
{
	unsigned int unused = 64 - 8 * (unsigned int)element_size(arg);

	switch (arg->kind) {
	case EBT_V_probe_arg_kind_signed:
		text_printf(text, "%" PRId64, (int64_t)(v << unused) >> unused);
		break;
	case EBT_V_probe_arg_kind_unsigned:
		text_u64(text, v << unused >> unused);
		break;
	case EBT_V_probe_arg_kind_bool:
		text_cstr(text, v << unused ? "true" : "false");
		break;
	case EBT_V_probe_arg_kind_register:
		add_register(v, text);
		break;
	default:
		text_printf(text, "%#" PRIx64, v << unused >> unused);
	}
}

static void add_array(const struct probe_arg *arg, struct cursor bytes, struct text *text)
{
	uint64_t v;

	text_addc(text, '{');
	for (size_t i = 0; take_number(&bytes, element_size(arg), &v); i++) {
		if (i)
			text_addc(text, ',');
		add_number(arg, v, text);
	}
	text_addc(text, '}');
}

/* What has a length before it. False: the row ends before it does. */
static bool add_sized(const struct probe_arg *arg, struct cursor *c, struct text *text)
{
	struct cursor bytes;
	uint64_t size;

	if (!take_number(c, 2, &size))
		return false;
	if (size == UNREADABLE) {
		text_addc(text, '?');
		return true;
	}
	if (size > c->left)
		return false;
	bytes = (struct cursor){ c->at, size };
	c->at += size;
	c->left -= size;
	if (arg->kind == EBT_V_probe_arg_kind_string) {
		text_addc(text, '"');
		text_add(text, (const char *)bytes.at, bytes.left);
		text_addc(text, '"');
	} else if (arg->kind == EBT_V_probe_arg_kind_bytes) {
		for (size_t i = 0; i < size; i++)
			text_printf(text, "%02x", bytes.at[i]);
	} else {
		add_array(arg, bytes, text);
	}
	return true;
}

static bool add_value(const struct probe_arg *arg, struct cursor *c, struct text *text)
{
	uint64_t v;

	if (arg->kind == EBT_V_probe_arg_kind_string || arg->kind == EBT_V_probe_arg_kind_bytes ||
	    arg->elements)
		return add_sized(arg, c, text);
	if (!take_number(c, 8, &v))
		return false;
	add_number(arg, v, text);
	return true;
}

static void add_name(const struct probe_arg *arg, struct text *text)
{
	if (*arg->name)
		text_cstr(text, arg->name);
	else
		text_printf(text, "arg%" PRIu32, arg->position ? arg->position : arg->index + 1);
}

void probe_args_text(const struct probe *probe, struct ebt_str args, struct text *text)
{
	struct cursor c = { (const unsigned char *)args.data, args.len };
	bool whole = true;

	for (size_t i = 0; i < probe->n_args; i++) {
		const struct probe_arg *arg = &probe->args[i];

		if (text->len)
			text_addc(text, ' ');
		add_name(arg, text);
		text_addc(text, '=');
		/* Where the rest lies is not known behind one that is not whole. */
		whole = whole && add_value(arg, &c, text);
		if (!whole)
			text_addc(text, '?');
	}
}

void probe_result_text(const struct probe *probe, uint64_t result, struct text *text)
{
	if (probe && probe->no_result)
		return;
	if (text->len)
		text_addc(text, ' ');
	text_cstr(text, "-> ");
	if (probe)
		add_number(&probe->result, result, text);
	else
		add_register(result, text);
}

/* --- names --- */

static uint32_t kind_of(enum sym_value value)
{
	switch (value) {
	case SYM_VALUE_SIGNED:
		return EBT_V_probe_arg_kind_signed;
	case SYM_VALUE_UNSIGNED:
		return EBT_V_probe_arg_kind_unsigned;
	case SYM_VALUE_BOOL:
		return EBT_V_probe_arg_kind_bool;
	case SYM_VALUE_HEX:
		break;
	}
	return EBT_V_probe_arg_kind_hex;
}

/* What the user named or formatted stays as it is. */
static struct ebt_error *name_arg(struct probe_args *probes, struct probe_arg *arg,
				  const struct sym_parameter *parameter)
{
	struct ebt_error *err = NULL;

	if (!*arg->name)
		err = keep_field(probes, ebt_str_of(parameter->name), &arg->name);
	if (!err && !*arg->type)
		err = keep_field(probes, ebt_str_of(parameter->type), &arg->type);
	if (arg->kind == EBT_V_probe_arg_kind_register) {
		arg->kind = kind_of(parameter->value);
		arg->size = parameter->size;
	}
	return err;
}

static const struct sym_parameter *parameter_at(const struct sym_parameters *parameters,
						uint32_t position)
{
	for (size_t i = 0; position && i < parameters->n; i++) {
		if (parameters->list[i].position == position)
			return &parameters->list[i];
	}
	return NULL;
}

/* A register that nobody asked for, of a function that has fewer arguments. */
static bool is_spare(const struct probe_arg *arg)
{
	return arg->kind == EBT_V_probe_arg_kind_register && !*arg->name;
}

static struct ebt_error *name_args(struct probe_args *probes, struct probe *probe,
				   const struct sym_parameters *parameters)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < probe->n_args && !err; i++) {
		const struct sym_parameter *parameter =
			parameter_at(parameters, probe->args[i].position);

		if (parameter)
			err = name_arg(probes, &probe->args[i], parameter);
	}
	while (parameters->whole && probe->n_args && is_spare(&probe->args[probe->n_args - 1]))
		probe->n_args--;
	probe->result.kind = kind_of(parameters->result.value);
	probe->result.size = parameters->result.size;
	probe->no_result = !parameters->returns;
	return err;
}

/* What compilers make of a function for one of its callers may have other parameters. */
static bool is_variant(const char *name)
{
	return strchr(name, '.');
}

struct ebt_error *probe_names_find(struct trace *trace, struct probe_args *probes)
{
	struct sym *sym = NULL;
	struct ebt_error *err = NULL;
	struct probe *list = probes->list;

	for (size_t i = 0; i < probes->n && !err; i++) {
		struct sym_parameters parameters;

		if (list[i].kind != EBT_V_probe_kind_uprobe || is_variant(list[i].name))
			continue;
		if (!sym)
			err = trace_sym(trace, &sym);
		if (!err)
			err = sym_parameters(sym, list[i].path, list[i].build_id, list[i].offset,
					     &parameters);
		if (!err && parameters.known)
			err = name_args(probes, &list[i], &parameters);
	}
	return err;
}
