/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the arguments and the result of a system call are as text, as strace prints them: by the
 * recorded machine, and by what format/calls/arguments.def says of the call.
 */
#ifndef REPORT_CALLS_ARGUMENTS_H
#define REPORT_CALLS_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/text.h"
#include "report/calls/calls.h"
#include "report/calls/names.h"

/* One call with all that is known of it. */
struct call_view {
	const struct syscall_machine *machine; /* NULL: not known */
	bool compat;
	uint64_t nr;
	int64_t result;
	const uint64_t *args; /* SYSCALL_MAX_ARGS, as they were in registers */
	bool as_strace;	      /* nothing that strace does not say: buffers are addresses */
	/* What was recorded besides: the call that calls_next() gave last, and of whom; or NULL. */
	struct calls *calls;
	const struct call *call;
};

/* Calls are looked at once, all their arguments are then printed from this. */
struct call_shown {
	const struct call_view *view;
	const struct syscall_desc *desc;	/* NULL: a call of which nothing is known */
	const struct call_signature *signature; /* NULL with desc */
	const struct syscall_abi *abi;
};

void call_show(const struct call_view *view, struct call_shown *ret);

/* How many arguments it may have. */
unsigned int call_n_args(const struct call_shown *call);

/* Is this argument (register) a descriptor, permissions, a place in a file, or one of a set of
 * names? It says nothing of what a program works on. */
bool call_arg_is_plain(const struct call_shown *call, unsigned int i);

/* The argument at this place of strace's order, which is that of registers but for clone(). False,
 * and nothing is added: others say that it is not there, as O_CREAT does not of open()'s mode. */
bool call_add_arg(const struct call_shown *call, unsigned int place, struct text *text);

/* What stands behind the = of strace. */
void call_add_result(const struct call_shown *call, struct text *text);

#endif
