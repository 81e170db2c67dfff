/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing what a probe is to fetch; see spec.h. */
#include "record/probes/spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/bpf/probe.h"

#define BAD(...) ebt_error_create(EBT_ERR_INVALID, __VA_ARGS__)

/* Values of ebrec_fetch.later. */
enum { LATER_POINTER = 1, LATER_RESULT = 2 };

#if defined(__x86_64__)
static const char *const argument_registers[] = { "rdi", "rsi", "rdx", "rcx", "r8", "r9" };
#define RESULT_REGISTER "rax"
#else
static const char *const argument_registers[] = { "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7" };
#define RESULT_REGISTER "x0"
#endif

static uint16_t register_named(const char *name)
{
	uint16_t at = EBREC_NO_REGISTER;

	probe_register(name, strlen(name), &at);
	return at;
}

/* A whole number; *text is moved behind it. */
static bool take_number(const char **text, int64_t *ret)
{
	const char *at = *text + (**text == '-');
	char *end;

	if (!isdigit((unsigned char)*at))
		return false;
	errno = 0;
	*ret = strtoll(*text, &end, 0);
	*text = end;
	return !errno;
}

/* "NAME=": to be freed. */
static struct ebt_error *take_name(const char **text, struct probe_spec_arg *arg)
{
	size_t len = strspn(*text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				   "0123456789");

	if ((*text)[len] != '=')
		return NULL;
	if (!len)
		return BAD("'%s' has no name before '='", *text);
	arg->arg.name = strndup(*text, len);
	*text += len + 1;
	return arg->arg.name ? NULL : &ebt_enomem;
}

static struct ebt_error *take_base(const char **text, bool function, struct probe_spec_arg *arg)
{
	const char *begin = *text;
	int64_t number;
	size_t len;

	arg->fetch.index = EBREC_NO_REGISTER;
	arg->fetch.base = EBREC_NO_REGISTER;
	if (*begin == '%') {
		len = strcspn(begin + 1, "@/+");
		*text += 1 + len;
		if (!probe_register(begin + 1, len, &arg->fetch.base))
			return BAD("'%.*s' is no register", (int)len + 1, begin);
		if (!arg->arg.name)
			arg->arg.name = strndup(begin + 1, len);
		return arg->arg.name ? NULL : &ebt_enomem;
	}
	if (function && !strncmp(begin, "ret", 3)) {
		*text += 3;
		arg->fetch.base = register_named(RESULT_REGISTER);
		arg->fetch.later = LATER_RESULT;
		if (!arg->arg.name)
			arg->arg.name = strdup("ret");
		return arg->arg.name ? NULL : &ebt_enomem;
	}
	if (!take_number(text, &number))
		return BAD("'%s' is no argument", begin);
	if (number < 1 || number > (function ? PROBE_REGISTER_ARGS : EBREC_PROBE_FETCHES))
		return BAD("there is no argument %lld that could be fetched", (long long)number);
	arg->position = (uint32_t)number;
	arg->arg.position = arg->position;
	if (function)
		arg->fetch.base = register_named(argument_registers[number - 1]);
	return NULL;
}

static struct ebt_error *take_offsets(const char **text, struct probe_spec_arg *arg)
{
	struct ebrec_fetch *f = &arg->fetch;

	while (**text == '@' && strncmp(*text, "@ret", 4)) {
		int64_t offset;

		(*text)++;
		if (!take_number(text, &offset))
			return BAD("'@%s': an offset in bytes belongs behind '@'", *text);
		if (f->n_derefs == EBREC_PROBE_DEREFS - 1)
			return BAD("more than %d pointers one after the other",
				   EBREC_PROBE_DEREFS - 1);
		if (f->n_derefs)
			f->deref[f->n_derefs - 1] = offset;
		else
			f->add = offset;
		f->n_derefs++;
	}
	/* DWARF names the argument itself, and not what it points to. */
	if (f->n_derefs)
		arg->arg.position = 0;
	return NULL;
}

static struct ebt_error *set_memory(int64_t n, struct probe_spec_arg *arg)
{
	struct ebrec_fetch *f = &arg->fetch;

	if (n < 1 || n > EBREC_PROBE_STRING)
		return BAD("from 1 to %d bytes of memory can be read", EBREC_PROBE_STRING);
	f->what = EBREC_FETCH_BYTES;
	f->len = (uint16_t)n;
	arg->arg.kind = EBT_V_probe_arg_kind_bytes;
	arg->arg.size = 1;
	arg->arg.elements = (uint32_t)n;
	/* The register is the pointer. */
	if (!f->n_derefs)
		f->n_derefs = 1;
	return NULL;
}

static struct ebt_error *take_format(const char **text, struct probe_spec_arg *arg)
{
	static const struct {
		char letter;
		enum ebt_probe_arg_kind kind;
	} kinds[] = {
		{ 'd', EBT_V_probe_arg_kind_signed }, { 'u', EBT_V_probe_arg_kind_unsigned },
		{ 'x', EBT_V_probe_arg_kind_hex },    { 'b', EBT_V_probe_arg_kind_bool },
		{ 's', EBT_V_probe_arg_kind_string }, { 'm', EBT_V_probe_arg_kind_bytes },
	};
	const char *begin = *text;
	int64_t n = 0;
	size_t i = 0;

	if (*begin != '/')
		return NULL;
	while (i < sizeof(kinds) / sizeof(*kinds) && kinds[i].letter != begin[1])
		i++;
	if (i == sizeof(kinds) / sizeof(*kinds))
		return BAD("'%s' is no format; formats are d, u, x, b, s and m", begin);
	*text += 2;
	arg->has_format = true;
	arg->arg.kind = kinds[i].kind;
	if (isdigit((unsigned char)**text) && !take_number(text, &n))
		return BAD("'%s' is no format", begin);
	if (kinds[i].kind == EBT_V_probe_arg_kind_bytes)
		return set_memory(n, arg);
	if (kinds[i].kind == EBT_V_probe_arg_kind_string) {
		arg->fetch.what = EBREC_FETCH_STRING;
		arg->arg.size = 1;
		return n ? BAD("'%s': strings have no size", begin) : NULL;
	}
	if (n && n != 8 && n != 16 && n != 32 && n != 64)
		return BAD("'%s': numbers have 8, 16, 32 or 64 bits", begin);
	arg->fetch.size = kinds[i].kind == EBT_V_probe_arg_kind_bool && !n ? 1
			  : n						   ? (uint8_t)(n / 8)
									   : 8;
	arg->fetch.is_signed = kinds[i].kind == EBT_V_probe_arg_kind_signed;
	return NULL;
}

/* What there is of a number. */
static void complete(struct probe_spec_arg *arg, bool function)
{
	struct ebrec_fetch *f = &arg->fetch;

	if (!arg->has_format) {
		f->size = 8;
		arg->arg.kind = function && !f->n_derefs ? EBT_V_probe_arg_kind_register
							 : EBT_V_probe_arg_kind_hex;
	}
	if (f->what == EBREC_FETCH_NUMBER) {
		arg->arg.size = f->size;
		/* A pointer of a user's may be wrong. */
		if (f->n_derefs) {
			f->what = EBREC_FETCH_WORD;
			arg->arg.elements = 1;
		}
	}
}

static struct ebt_error *take_arg(const char **text, bool function, struct probe_spec_arg *arg)
{
	struct ebt_error *err = take_name(text, arg) ?:
				take_base(text, function, arg) ?:
				take_offsets(text, arg) ?:
				take_format(text, arg);

	if (err)
		return err;
	if (function && !strncmp(*text, "@ret", 4)) {
		*text += 4;
		if (!arg->fetch.later)
			arg->fetch.later = LATER_POINTER;
	}
	if (**text && **text != '+')
		return BAD("'%s' is not understood", *text);
	complete(arg, function);
	return NULL;
}

/* What is fetched later comes last, as its pointers are kept apart. */
static void order(struct probe_spec *spec)
{
	struct probe_spec sorted = { 0 };

	for (int later = 0; later < 2; later++) {
		for (size_t i = 0; i < spec->n; i++) {
			if (!spec->list[i].fetch.later == !later)
				sorted.list[sorted.n++] = spec->list[i];
		}
		if (!later)
			sorted.n_later = spec->n - sorted.n;
	}
	*spec = sorted;
}

struct ebt_error *probe_spec_parse(const char *text, bool function, struct probe_spec *ret)
{
	_cleanup_(probe_spec_deinit) struct probe_spec spec = { 0 };

	for (;; text++) {
		struct ebt_error *err;

		if (spec.n == EBREC_PROBE_FETCHES)
			return BAD("more than %d arguments", EBREC_PROBE_FETCHES);
		err = take_arg(&text, function, &spec.list[spec.n++]);
		if (err)
			return err;
		if (!*text)
			break;
	}
	order(&spec);
	if (spec.n_later > EBREC_PROBE_LATER)
		return BAD("more than %d arguments that are read at the return", EBREC_PROBE_LATER);
	*ret = spec;
	spec = (struct probe_spec){ 0 };
	return NULL;
}

void probe_spec_default(struct probe_spec *ret)
{
	*ret = (struct probe_spec){ .n = PROBE_REGISTER_ARGS };
	for (uint32_t i = 0; i < PROBE_REGISTER_ARGS; i++) {
		struct probe_spec_arg *arg = &ret->list[i];

		arg->position = i + 1;
		arg->fetch.base = register_named(argument_registers[i]);
		arg->fetch.index = EBREC_NO_REGISTER;
		arg->fetch.size = 8;
		arg->arg.kind = EBT_V_probe_arg_kind_register;
		arg->arg.size = 8;
		arg->arg.position = i + 1;
	}
}

void probe_spec_deinit(struct probe_spec *spec)
{
	for (size_t i = 0; i < spec->n; i++)
		free(spec->list[i].arg.name);
	*spec = (struct probe_spec){ 0 };
}
