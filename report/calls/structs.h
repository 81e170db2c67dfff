/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recorded structs, of format/calls/structs.def, as strace prints them. Bytes are a stranger's. */
#ifndef REPORT_CALLS_STRUCTS_H
#define REPORT_CALLS_STRUCTS_H

#include "report/calls/signature.h"

/* Those that argument i, which is of this kind, pointed to. False: they were not recorded, or are
 * not whole; nothing is added. */
bool struct_add(const struct call_shown *call, unsigned int i, enum argument_kind kind,
		struct text *text);

/* What the call made of an argument that it was given and changed: behind the result. */
void struct_add_changes(const struct call_shown *call, struct text *text);

#endif
