/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading tracepoints from type information; see btf_tracepoint.h. */
#include "record/probes/btf_tracepoint.h"

#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>

#define MAX_ARGS    12 /* of a tracepoint that programs can have */
#define MAX_NAME    128
#define MAX_NESTING 4
#define WORD	    8 /* bytes that each argument takes */

struct argument {
	const char *name;
	uint32_t type;
	bool told; /* as a field of its name */
};

struct tracepoint {
	const struct btf *btf;
	struct tp_event *event;
	struct argument args[MAX_ARGS];
	uint32_t n;
};

static const char *name_at(const struct btf *btf, uint32_t offset)
{
	const char *name = btf__name_by_offset(btf, offset);

	return name ? name : "";
}

/* Without names and qualifiers; NULL: void. */
static const struct btf_type *bare(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t) || btf_is_type_tag(t)))
		t = t->type ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_kind(t) != BTF_KIND_UNKN ? t : NULL;
}

static bool is_char(const struct btf *btf, const struct btf_type *t)
{
	return t && btf_is_int(t) && t->size == 1 && !strcmp(name_at(btf, t->name_off), "char");
}

static bool describe_number(const struct btf_type *t, struct probe_arg *arg,
			    struct ebrec_tp_arg *how)
{
	bool is_signed = btf_is_int(t) ? btf_int_encoding(t) & BTF_INT_SIGNED : btf_kflag(t);

	if (t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8)
		return false;
	arg->kind = is_signed ? EBT_V_probe_arg_kind_signed : EBT_V_probe_arg_kind_unsigned;
	if (btf_is_int(t) && btf_int_encoding(t) & BTF_INT_BOOL)
		arg->kind = EBT_V_probe_arg_kind_bool;
	arg->size = t->size;
	how->kind = is_signed ? EBREC_TP_SIGNED : EBREC_TP_NUMBER;
	how->size = (uint8_t)t->size;
	return true;
}

static bool describe_array(const struct btf *btf, const struct btf_type *t, struct probe_arg *arg,
			   struct ebrec_tp_arg *how)
{
	const struct btf_array *array = btf_array(t);
	const struct btf_type *element = bare(btf, array->type);

	if (!element || !btf_is_int(element) || !describe_number(element, arg, how) ||
	    !array->nelems || array->nelems * arg->size > EBREC_TP_TEXT)
		return false;
	how->kind = EBREC_TP_ARRAY;
	how->len = array->nelems * arg->size;
	arg->elements = array->nelems;
	if (is_char(btf, element)) {
		how->kind = EBREC_TP_STRING;
		arg->kind = EBT_V_probe_arg_kind_string;
		arg->elements = 0;
	}
	return true;
}

/* How a value of this type is read, which `how` says already where to find. False: it is not. */
static bool describe(const struct btf *btf, uint32_t id, struct probe_arg *arg,
		     struct ebrec_tp_arg *how)
{
	const struct btf_type *t = bare(btf, id);

	if (!t)
		return false;
	if (btf_is_int(t) || btf_is_any_enum(t))
		return describe_number(t, arg, how);
	if (btf_is_array(t))
		return describe_array(btf, t, arg, how);
	if (!btf_is_ptr(t))
		return false;
	if (is_char(btf, bare(btf, t->type)) && how->pointers < 2) {
		how->pointers++;
		how->kind = EBREC_TP_STRING;
		how->len = EBREC_TP_TEXT;
		arg->kind = EBT_V_probe_arg_kind_string;
		arg->size = 1;
		return true;
	}
	how->kind = EBREC_TP_NUMBER;
	how->size = WORD;
	arg->kind = EBT_V_probe_arg_kind_hex;
	arg->size = WORD;
	return true;
}

/* The structure that a pointer points to, or NULL. */
static const struct btf_type *pointee(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = bare(btf, id);

	t = t && btf_is_ptr(t) ? bare(btf, t->type) : NULL;
	return t && btf_is_composite(t) ? t : NULL;
}

/* Also within members that have no name. */
static bool find_member(const struct btf *btf, const struct btf_type *in, const char *name,
			uint32_t nesting, uint32_t *ret_type, uint32_t *ret_offset)
{
	for (uint32_t i = 0; nesting < MAX_NESTING && i < btf_vlen(in); i++) {
		const struct btf_member *m = &btf_members(in)[i];
		const char *found = name_at(btf, m->name_off);
		uint32_t offset = btf_member_bit_offset(in, i) / 8;
		const struct btf_type *t;

		if (!strcmp(found, name)) {
			*ret_type = m->type;
			*ret_offset = offset;
			return !btf_member_bitfield_size(in, i);
		}
		t = *found ? NULL : bare(btf, m->type);
		if (t && btf_is_composite(t) &&
		    find_member(btf, t, name, nesting + 1, ret_type, ret_offset)) {
			*ret_offset += offset;
			return true;
		}
	}
	return false;
}

/* --- arguments --- */

/* Where kernels say what the arguments are called: functions that each tracepoint has. */
static const struct btf_type *find_proto(const struct btf *btf, const char *name)
{
	static const char *const functions[] = { "__traceiter_%s", "__probestub_%s",
						 "__bpf_trace_%s" };
	const struct btf_type *t;
	char full[MAX_NAME + 16];
	int id;

	snprintf(full, sizeof(full), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, full, BTF_KIND_TYPEDEF);
	t = id > 0 ? bare(btf, (uint32_t)id) : NULL;
	t = t && btf_is_ptr(t) ? bare(btf, t->type) : NULL;
	if (!t || !btf_is_func_proto(t))
		return NULL;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		const struct btf_type *named;

		snprintf(full, sizeof(full), functions[i], name);
		id = btf__find_by_name_kind(btf, full, BTF_KIND_FUNC);
		if (id <= 0)
			continue;
		named = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type);
		if (named && btf_is_func_proto(named) && btf_vlen(named) == btf_vlen(t))
			return named;
	}
	return t;
}

/* "p->pid", or the type's own name. */
static void spell(const struct btf *btf, uint32_t id, char *ret, size_t size)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	bool pointer = false;

	while (t && (btf_is_mod(t) || btf_is_type_tag(t) || (btf_is_ptr(t) && !pointer))) {
		pointer |= btf_is_ptr(t);
		t = t->type ? btf__type_by_id(btf, t->type) : NULL;
	}
	snprintf(ret, size, "%s%s%s",
		 t && btf_is_composite(t)  ? (btf_is_union(t) ? "union " : "struct ")
		 : t && btf_is_any_enum(t) ? "enum "
					   : "",
		 t ? name_at(btf, t->name_off) : "void", pointer ? " *" : "");
}

static struct ebt_error *add_argument(struct tracepoint *tp, uint32_t i)
{
	struct ebrec_tp_arg how = { .at = WORD * i };
	char type[MAX_NAME];
	struct probe_arg arg = { .name = (char *)tp->args[i].name, .type = type };

	spell(tp->btf, tp->args[i].type, type, sizeof(type));
	if (!describe(tp->btf, tp->args[i].type, &arg, &how)) {
		tp->event->left_out++;
		return NULL;
	}
	return tp_event_add(tp->event, &arg, &how);
}

/* --- fields of the trace event --- */

/* Where the value of a field may be. */
struct btf_place {
	uint32_t arg, type, offset;
	bool member; /* of what the argument points to */
	const char *name;
};

static bool has_prefix(const char *name, const char *prefix, const char **ret_rest)
{
	size_t len = strlen(prefix);

	if (strncmp(name, prefix, len) || name[len] != '_')
		return false;
	*ret_rest = name + len + 1;
	return true;
}

/* The one place that its name may mean: an argument, or a member of what one points to. */
static bool find_place(const struct tracepoint *tp, const char *field, struct btf_place *ret)
{
	struct btf_place place = { .member = true };
	uint32_t found = 0;

	for (uint32_t i = 0; i < tp->n; i++) {
		if (strcmp(tp->args[i].name, field))
			continue;
		*ret = (struct btf_place){ .arg = i, .type = tp->args[i].type };
		return true;
	}
	for (uint32_t i = 0; i < tp->n; i++) {
		const struct btf_type *in = pointee(tp->btf, tp->args[i].type);
		const char *name = field;

		if (!in)
			continue;
		if (!find_member(tp->btf, in, name, 0, &place.type, &place.offset) &&
		    (!has_prefix(field, tp->args[i].name, &name) ||
		     !find_member(tp->btf, in, name, 0, &place.type, &place.offset)))
			continue;
		place.arg = i;
		place.name = name;
		*ret = place;
		found++;
	}
	return found == 1;
}

static struct ebt_error *add_place(struct tracepoint *tp, const char *field, bool text,
				   const struct btf_place *place, bool *ret_added)
{
	struct ebrec_tp_arg how = { .at = WORD * place->arg };
	char type[2 * MAX_NAME];
	struct probe_arg arg = { .name = (char *)field, .type = type };

	*ret_added = false;
	if (place->member) {
		how.pointers = 1;
		how.offsets[0] = place->offset;
		snprintf(type, sizeof(type), "%s->%s", tp->args[place->arg].name, place->name);
	} else {
		spell(tp->btf, place->type, type, sizeof(type));
	}
	if (!describe(tp->btf, place->type, &arg, &how) ||
	    text != (arg.kind == EBT_V_probe_arg_kind_string))
		return NULL;
	*ret_added = true;
	return tp_event_add(tp->event, &arg, &how);
}

static struct ebt_error *add_field(struct tracepoint *tp, const struct btf_member *m)
{
	const char *name = name_at(tp->btf, m->name_off);
	const struct btf_type *t = bare(tp->btf, m->type);
	struct ebt_error *err;
	bool text, added = false;
	struct btf_place place;

	if (!t || !strcmp(name, "ent") || !strcmp(name, "__data"))
		return NULL;
	text = has_prefix(name, "__data_loc", &name) || has_prefix(name, "__rel_loc", &name) ||
	       (btf_is_array(t) && is_char(tp->btf, bare(tp->btf, btf_array(t)->type)));
	err = find_place(tp, name, &place) ? add_place(tp, name, text, &place, &added) : NULL;
	tp->event->left_out += !added;
	if (added && !place.member)
		tp->args[place.arg].told = true;
	return err;
}

/* Of the event that has the tracepoint's name; one that shares the record of another is not found.
 */
static struct ebt_error *add_fields(struct tracepoint *tp)
{
	struct ebt_error *err = NULL;
	const struct btf_type *t;
	char name[MAX_NAME + 16];
	int id;

	snprintf(name, sizeof(name), "trace_event_raw_%s", tp->event->probe.name);
	id = btf__find_by_name_kind(tp->btf, name, BTF_KIND_STRUCT);
	t = id > 0 ? btf__type_by_id(tp->btf, (uint32_t)id) : NULL;
	for (uint32_t i = 0; t && i < btf_vlen(t) && !err; i++)
		err = add_field(tp, &btf_members(t)[i]);
	return err;
}

/* As a field, under whatever name. */
static bool has_member(const struct tp_event *event, const char *member)
{
	for (size_t i = 0; i < event->probe.n_args; i++) {
		if (!strcmp(event->probe.args[i].type, member))
			return true;
	}
	return false;
}

/* Of a task: who it is. */
static struct ebt_error *add_task(struct tracepoint *tp, uint32_t i)
{
	static const char *const members[] = { "pid", "comm" };
	const struct btf_type *in = pointee(tp->btf, tp->args[i].type);
	struct btf_place place = { .arg = i, .member = true };
	char name[MAX_NAME], member[MAX_NAME];
	struct ebt_error *err = NULL;
	bool added;

	if (!in || strcmp(name_at(tp->btf, in->name_off), "task_struct"))
		return NULL;
	for (size_t m = 0; m < 2 && !err; m++) {
		place.name = members[m];
		snprintf(name, sizeof(name), "%s_%s", tp->args[i].name, members[m]);
		snprintf(member, sizeof(member), "%s->%s", tp->args[i].name, members[m]);
		if (!has_member(tp->event, member) &&
		    find_member(tp->btf, in, members[m], 0, &place.type, &place.offset))
			err = add_place(tp, name, m == 1, &place, &added);
	}
	return err;
}

struct ebt_error *btf_tracepoint_parse(const struct btf *btf, struct tp_event *event)
{
	struct tracepoint tp = { .btf = btf, .event = event };
	const struct btf_type *proto = find_proto(btf, event->probe.name);
	char unnamed[MAX_ARGS][8];
	struct ebt_error *err;

	if (!proto)
		return ebt_error_create(EBT_ERR_NOT_FOUND, "there is no tracepoint %s",
					event->probe.name);
	/* The first one is the kernel's own. */
	for (uint32_t i = 1; i < btf_vlen(proto) && tp.n < MAX_ARGS; i++) {
		const struct btf_param *param = &btf_params(proto)[i];
		const char *name = name_at(btf, param->name_off);

		snprintf(unnamed[tp.n], sizeof(unnamed[0]), "arg%u", tp.n + 1);
		tp.args[tp.n] = (struct argument){ *name ? name : unnamed[tp.n], param->type, 0 };
		tp.n++;
	}
	err = add_fields(&tp);
	for (uint32_t i = 0; i < tp.n && !err; i++) {
		err = tp.args[i].told ? NULL : add_argument(&tp, i);
		if (err)
			return err;
		err = add_task(&tp, i);
	}
	return err;
}
