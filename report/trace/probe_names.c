/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of probes' arguments; see probe_names.h. */
#include "report/trace/probe_names.h"

#include <string.h>

#include "symbolize/symbolize.h"

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

static struct ebt_error *replace(struct probe_args *probes, const char **text, const char *by)
{
	struct ebt_str kept;
	struct ebt_error *err = probe_args_keep(probes, (struct ebt_str){ by, strlen(by) }, &kept);

	if (!err)
		*text = kept.data;
	return err;
}

/* What the user named or formatted stays as it is. */
static struct ebt_error *name_arg(struct probe_args *probes, struct probe_arg *arg,
				  const struct sym_parameter *parameter)
{
	struct ebt_error *err = NULL;

	if (!*arg->name)
		err = replace(probes, &arg->name, parameter->name);
	if (!err && !*arg->type)
		err = replace(probes, &arg->type, parameter->type);
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
	struct probe *list;
	size_t n;

	list = probe_args_all(probes, &n);
	for (size_t i = 0; i < n && !err; i++) {
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
