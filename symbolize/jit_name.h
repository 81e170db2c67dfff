/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frame of a piece of generated code, with what programs put into their names taken apart. */
#ifndef SYM_JIT_NAME_H
#define SYM_JIT_NAME_H

#include "error.h"
#include "func.h"
#include "jit.h"

/* hit->name is not NULL. */
struct ebt_error *jit_name(struct funcs *funcs, const struct jit_hit *hit, struct sym_frame *ret);

#endif
