/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of generated code, by what programs say of theirs: embedded files of the roles perf_map
 * and jitdump. They belong to the address space that a process had when they were read, and to
 * those that were forked from it.
 */
#ifndef SYMBOLIZE_RUNTIMES_JIT_H
#define SYMBOLIZE_RUNTIMES_JIT_H

#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "symbolize/base/func.h"
#include "symbolize/runtimes/jit_files.h"
#include "symbolize/spaces/addrspace.h"

struct jit;

/* Reader and space must outlive it. Files are read when they are needed. */
struct ebt_error *jit_create(struct ebt_reader *reader, const struct addrspace *space,
			     struct jit **ret);
/* Accepts NULL. */
void jit_destroy(struct jit *jit);

/* What is in the hit belongs to the jit. */
struct ebt_error *jit_find(struct jit *jit, uint32_t incarnation, uint64_t address,
			   uint64_t time_ns, struct jit_hit *ret);

/* The frame of a hit with a name, with what programs put into their names taken apart. */
struct ebt_error *jit_name(struct funcs *funcs, const struct jit_hit *hit, struct sym_frame *ret);

#endif
