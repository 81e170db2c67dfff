/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frame of a piece of generated code, with what programs put into their names taken apart. */
#ifndef SYMBOLIZE_RUNTIMES_JIT_NAME_H
#define SYMBOLIZE_RUNTIMES_JIT_NAME_H

#include "format/base/error.h"
#include "symbolize/base/func.h"
#include "symbolize/runtimes/jit.h"

/* hit->name is not NULL. */
struct ebt_error *jit_name(struct funcs *funcs, const struct jit_hit *hit, struct sym_frame *ret);

#endif
