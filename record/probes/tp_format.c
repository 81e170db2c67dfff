/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading `format` files of tracefs; see tp_format.h. */
#include "record/probes/tp_format.h"

#include <string.h>

/* Arguments of a system call, in what the kernel hands to BPF programs. */
#define CALL_ARGS_AT 16
#define CALL_ARGS    6

struct c_type {
	const char *name;
	uint32_t size;
	bool is_signed;
};

/* What elements of arrays and arguments of system calls are. */
static const struct c_type types[] = {
	{ "char", 1, true },
	{ "signed char", 1, true },
	{ "s8", 1, true },
	{ "__s8", 1, true },
	{ "int8_t", 1, true },
	{ "short", 2, true },
	{ "s16", 2, true },
	{ "__s16", 2, true },
	{ "int", 4, true },
	{ "s32", 4, true },
	{ "__s32", 4, true },
	{ "pid_t", 4, true },
	{ "key_t", 4, true },
	{ "key_serial_t", 4, true },
	{ "clockid_t", 4, true },
	{ "timer_t", 4, true },
	{ "mqd_t", 4, true },
	{ "rwf_t", 4, true },
	{ "long", 8, true },
	{ "long long", 8, true },
	{ "s64", 8, true },
	{ "__s64", 8, true },
	{ "off_t", 8, true },
	{ "loff_t", 8, true },
	{ "ssize_t", 8, true },
	{ "bool", 1, false },
	{ "unsigned char", 1, false },
	{ "u8", 1, false },
	{ "__u8", 1, false },
	{ "uint8_t", 1, false },
	{ "unsigned short", 2, false },
	{ "u16", 2, false },
	{ "__u16", 2, false },
	{ "__be16", 2, false },
	{ "umode_t", 2, false },
	{ "unsigned int", 4, false },
	{ "unsigned", 4, false },
	{ "u32", 4, false },
	{ "__u32", 4, false },
	{ "__be32", 4, false },
	{ "uid_t", 4, false },
	{ "gid_t", 4, false },
	{ "qid_t", 4, false },
	{ "unsigned long", 8, false },
	{ "unsigned long long", 8, false },
	{ "u64", 8, false },
	{ "__u64", 8, false },
	{ "size_t", 8, false },
	{ "aio_context_t", 8, false },
	/* Bits in words. */
	{ "cpumask_t", 8, false },
};

static const struct c_type *type_by_name(const char *name)
{
	if (!strncmp(name, "const ", 6))
		name += 6;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!strcmp(types[i].name, name))
			return &types[i];
	}
	return NULL;
}

/* A line of the file. */
struct tp_field {
	char *type, *name, *count; /* what stands in brackets, or NULL */
	uint32_t offset, size;
	bool is_signed;
	int where;
};

static bool take_word(char **text, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*text, word, len))
		return false;
	*text += len;
	return true;
}

/* Cuts "__data_loc char[] name", "char name[16]" or "const void * name" up. */
static bool split_declaration(char *text, struct tp_field *field)
{
	char *end, *name;

	field->where = take_word(&text, "__data_loc ")	? EBREC_TP_LOC
		       : take_word(&text, "__rel_loc ") ? EBREC_TP_REL
							: EBREC_TP_HERE;
	name = strrchr(text, ' ');
	if (!name || name == text)
		return false;
	for (end = name; end > text && end[-1] == ' '; end--)
		;
	*end = '\0';
	field->type = text;
	field->name = name + 1;
	field->count = strchr(field->name, '[');
	if (field->count)
		*field->count++ = '\0';
	else if (end - text > 2 && !strcmp(end - 2, "[]"))
		end[-2] = '\0';
	return *field->name;
}

/* "\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;" */
static bool parse_field(char *line, struct tp_field *ret)
{
	struct tp_field field = { 0 };
	unsigned int is_signed;
	char *end;

	if (!take_word(&line, "\tfield:"))
		return false;
	end = strchr(line, ';');
	if (!end || sscanf(end, "; offset:%u; size:%u; signed:%u", &field.offset, &field.size,
			   &is_signed) != 3)
		return false;
	field.is_signed = is_signed;
	*end = '\0';
	if (!split_declaration(line, &field))
		return false;
	*ret = field;
	return true;
}

static bool fits_number(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static void describe_array(const struct tp_field *field, struct probe_arg *arg,
			   struct ebrec_tp_arg *how)
{
	const struct c_type *type = type_by_name(field->type);
	uint32_t count = field->count ? (uint32_t)strtoul(field->count, NULL, 0) : 0;

	how->kind = EBREC_TP_ARRAY;
	arg->size = type ? type->size : 1;
	if (count && fits_number(field->size / count))
		arg->size = field->size / count;
	arg->elements = field->where == EBREC_TP_HERE ? field->size / arg->size : TP_ELEMENTS_VARY;
	if (!type && !(count && fits_number(field->size / count)))
		arg->kind = EBT_V_probe_arg_kind_bytes;
	else if (!strcmp(field->type, "cpumask_t") || strchr(field->type, '*'))
		arg->kind = EBT_V_probe_arg_kind_hex;
	else
		arg->kind = type && type->is_signed ? EBT_V_probe_arg_kind_signed
						    : EBT_V_probe_arg_kind_unsigned;
	if (arg->kind == EBT_V_probe_arg_kind_bytes)
		arg->size = 1;
	if (!strcmp(field->type, "char")) {
		how->kind = EBREC_TP_STRING;
		arg->kind = EBT_V_probe_arg_kind_string;
		arg->elements = 0;
	}
}

/* Arguments of system calls are longs that were something else. */
static void describe_call(struct tp_field *field)
{
	const struct c_type *type = type_by_name(field->type);

	if (field->offset < CALL_ARGS_AT || field->size != 8 || !type)
		return;
	field->size = type->size;
	field->is_signed = type->is_signed;
}

static void describe(const struct tp_field *field, bool hex, struct probe_arg *arg,
		     struct ebrec_tp_arg *how)
{
	how->where = (uint8_t)field->where;
	how->at = field->offset;
	how->len = field->where == EBREC_TP_HERE ? field->size : EBREC_TP_TEXT;
	if (field->where != EBREC_TP_HERE || field->count || !fits_number(field->size)) {
		describe_array(field, arg, how);
		return;
	}
	arg->size = field->size;
	how->size = (uint8_t)field->size;
	how->kind = field->is_signed ? EBREC_TP_SIGNED : EBREC_TP_NUMBER;
	if (strchr(field->type, '*') || hex)
		arg->kind = EBT_V_probe_arg_kind_hex;
	else if (!strcmp(field->type, "bool"))
		arg->kind = EBT_V_probe_arg_kind_bool;
	else
		arg->kind = field->is_signed ? EBT_V_probe_arg_kind_signed
					     : EBT_V_probe_arg_kind_unsigned;
}

static struct ebt_error *add(struct tp_field *field, const char *print, struct tp_event *event)
{
	bool call = !strcmp(event->probe.group, "syscalls");
	struct probe_arg arg = { .name = field->name, .type = field->type };
	struct ebrec_tp_arg how = { 0 };
	char type[80];
	bool hex;

	if (!strncmp(field->name, "common_", 7))
		return NULL;
	if (call && (field->where != EBREC_TP_HERE ||
		     field->offset + field->size > CALL_ARGS_AT + 8 * CALL_ARGS)) {
		event->left_out++; /* of perf's record, which a program does not get here */
		return NULL;
	}
	/* All of those are printed in hexadecimal, whatever they are. */
	hex = call ? strstr(field->name, "flags") != NULL
		   : tp_format_prints_hex(print, field->name);
	if (call)
		describe_call(field);
	describe(field, hex, &arg, &how);
	if (field->count || field->where != EBREC_TP_HERE) {
		snprintf(type, sizeof(type), "%s[%s", field->type,
			 field->count ? field->count : "]");
		arg.type = type;
	}
	return tp_event_add(event, &arg, &how);
}

struct ebt_error *tp_format_parse(char *text, struct tp_event *event)
{
	char *print = strstr(text, "\nprint fmt:"), *line, *rest = text;
	struct ebt_error *err = NULL;
	struct tp_field field;

	if (print)
		*print++ = '\0';
	while (!err && (line = strsep(&rest, "\n"))) {
		if (parse_field(line, &field))
			err = add(&field, print ? print : "", event);
	}
	return err;
}
