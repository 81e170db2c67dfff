/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans of system calls; see call_plans.h. */
#include "record/sources/call_plans.h"

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* Of which calls, and what of them. */
struct wanted {
	const char *machine;
	bool compat, structs;
};

/* What is to be done for a kind of argument. */
static void add_argument(struct ebrec_call_plan *plan, const char *kind, unsigned int arg,
			 bool *dirfd)
{
	int how = -1;
	unsigned int i = 0;

	if (!strcmp(kind, "fd") || !strcmp(kind, "dirfd")) {
		/* A second one is of two files; but of dup2() it is the result. */
		if (!plan->fds[0] || plan->result != EBREC_RESULT_FD)
			plan->fds[!!plan->fds[0]] = (__u8)(arg + 1);
		*dirfd |= kind[0] == 'd';
	} else if (!strcmp(kind, "path")) {
		how = EBREC_READ_TEXT;
		if (!*dirfd && !plan->fds[0])
			plan->fds[0] = EBREC_FD_CWD;
	} else if (!strcmp(kind, "string")) {
		how = EBREC_READ_TEXT;
	} else if (!strcmp(kind, "path_out")) {
		how = EBREC_READ_RESULT;
	} else if (!strcmp(kind, "fds_out")) {
		how = EBREC_READ_DESCRIPTORS;
		plan->result = EBREC_RESULT_PAIR;
	} else if (!strcmp(kind, "sockaddr_in") || !strcmp(kind, "sockaddr_out")) {
		how = strcmp(kind, "sockaddr_in") ? EBREC_READ_ADDRESS_OUT : EBREC_READ_ADDRESS;
		plan->lengths |= (__u8)(arg + 1);
	}
	if (how < 0)
		return;
	while (i < N(plan->texts) && plan->texts[i])
		i++;
	if (i < N(plan->texts))
		plan->texts[i] = (__u8)(how << 4 | (arg + 1));
}

/* Of this machine, and of its 32-bit calls. */
static const struct part {
	const char *kind;
	bool always;
	struct ebrec_call_struct native, compat;
} parts[] = {
#define ALWAYS true
#define ASKED  false
#define STRUCT(kind, always, when, many, offset, size, offset32, size32, ...) \
	{ #kind,                                                              \
	  always,                                                             \
	  { 0, EBREC_WHEN_##when, EBREC_MANY_##many, offset, size },          \
	  { 0, EBREC_WHEN_##when, EBREC_MANY_##many, offset32, size32 } },
#include "format/calls/structs.def"
};

static void add_struct(const struct wanted *wanted, const char *kind, unsigned int arg,
		       struct ebrec_call_plan *plan, struct ebrec_call_structs *structs)
{
	unsigned int i = 0;

	while (i < EBREC_CALL_STRUCTS && structs->parts[i].arg)
		i++;
	for (size_t k = 0; k < N(parts) && i < EBREC_CALL_STRUCTS; k++) {
		struct ebrec_call_struct part = wanted->compat ? parts[k].compat : parts[k].native;

		if (strcmp(parts[k].kind, kind) != 0 || !part.size ||
		    !(parts[k].always || wanted->structs))
			continue;
		part.arg = (__u8)(arg + 1);
		structs->parts[i] = part;
		plan->lengths |= EBREC_PLAN_STRUCTS;
	}
}

static const struct {
	const char *name;
	unsigned int effect;
} effects[] = {
#define EFFECT(name, effect) { #name, EBREC_EFFECT_##effect },
#include "format/calls/effects.def"
};

/* machine: NULL: of all that have no row of their own. */
static const struct signature {
	const char *name, *machine, *result, *kinds[6];
} signatures[] = {
#define CALL_OF(machine, name, ...) { #name, #machine, CALL_KINDS(__VA_ARGS__) },
#define CALL(name, ...)		    { #name, NULL, CALL_KINDS(__VA_ARGS__) },
#define CALL_KINDS(...)		    CALL_KINDS_(__VA_ARGS__, , , , , , , )
#define CALL_KINDS_(result, a, b, c, d, e, f, ...) \
#result,                                   \
	{                                          \
#a, #b, #c, #d, #e, #f             \
	}
#include "format/calls/arguments.def"
};

static const struct signature *find_signature(const char *name, const char *machine)
{
	const struct signature *found = NULL;

	for (size_t i = 0; i < N(signatures); i++) {
		const struct signature *s = &signatures[i];

		if (strcmp(s->name, name) != 0)
			continue;
		if (s->machine && !strcmp(s->machine, machine))
			return s;
		if (!s->machine)
			found = s;
	}
	return found;
}

static struct ebrec_call_plan make_plan(const struct wanted *wanted, const char *name,
					struct ebrec_call_structs *structs)
{
	const struct signature *signature = find_signature(name, wanted->machine);
	struct ebrec_call_plan plan = { 0 };
	bool dirfd = false;

	for (size_t i = 0; i < N(effects); i++) {
		if (!strcmp(effects[i].name, name))
			plan.effect = (__u8)effects[i].effect;
	}
	if (signature && !strcmp(signature->result, "fd"))
		plan.result = EBREC_RESULT_FD;
	for (unsigned int arg = 0; signature && arg < 6; arg++) {
		add_argument(&plan, signature->kinds[arg], arg, &dirfd);
		add_struct(wanted, signature->kinds[arg], arg, &plan, structs);
	}
	if (!strcmp(name, "fcntl") || !strcmp(name, "fcntl64"))
		plan.result = EBREC_RESULT_FCNTL;
	/* What it was is not there any more. */
	if (plan.effect == EBREC_EFFECT_CLOSE ||
	    (plan.effect == EBREC_EFFECT_CWD && plan.fds[0] == EBREC_FD_CWD))
		plan.fds[0] = 0;
	return plan;
}

static void fill_one(const struct wanted *wanted, const char *name, int nr,
		     struct ebrec_call_plan *plans, struct ebrec_call_structs *structs,
		     __u8 *closes)
{
	if (nr < 0 || nr >= EBREC_CALLS)
		return;
	plans[nr] = make_plan(wanted, name, &structs[nr]);
	closes[nr] |=
		plans[nr].effect == EBREC_EFFECT_CLOSE || plans[nr].effect == EBREC_EFFECT_REPLACE;
}

#define NO (-1)

void call_plans_fill(bool structs, const struct call_tables *tables)
{
	static const struct {
		const char *name;
		int x86_64, i386, arm64;
	} calls[] = {
#define SYSCALL(name, class, n_args, x86_64, i386, arm64) { #name, x86_64, i386, arm64 },
#include "format/calls/calls.def"
	};
	const struct wanted native = { "x86_64", false, structs };
	const struct wanted compat = { "i386", true, structs };

	for (size_t i = 0; i < N(calls); i++) {
		fill_one(&native, calls[i].name, calls[i].x86_64, tables->native,
			 tables->native_structs, tables->closes);
		fill_one(&compat, calls[i].name, calls[i].i386, tables->compat,
			 tables->compat_structs, tables->closes);
	}
}
