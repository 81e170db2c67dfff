/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a call was about: the file, socket, pipe or name that it used. Bytes are a stranger's. */
#ifndef REPORT_CALLS_OBJECT_H
#define REPORT_CALLS_OBJECT_H

#include "report/calls/signature.h"

/* Adds the name that argument i of a call of calls_next() is, behind the folder that it is relative
 * to where that is known; false: it was not recorded. It is as the program said it: what a ".."
 * leads to is not known. */
bool call_path_add(const struct calls *calls, const struct call *call,
		   const struct call_signature *signature, unsigned int i, struct text *text);

/* The first one that the call used, or "[futex]", the call itself, where there is none, or it is
 * not known. Of a call that has not returned, without its texts, too. */
void call_object_add(const struct calls *calls, const struct syscall_machine *machine,
		     const struct call *call, struct text *text);

#endif
