/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deferred unwinding: where the recorder could not walk a stack to its end, the walk continues from
 * the copy of the stack's memory (the dump; docs/FORMAT.md, section 4) and the unwind information
 * of the files that are here. The dump is hostile input, and so are the files.
 */
#ifndef SYMBOLIZE_DEFERRED_H
#define SYMBOLIZE_DEFERRED_H

#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "symbolize/files/objects.h"
#include "symbolize/spaces/addrspace.h"

struct deferred;

/* Both must live longer. */
struct ebt_error *deferred_create(struct addrspace *space, struct objects *objects,
				  struct deferred **ret);
/* Accepts NULL. */
void deferred_destroy(struct deferred *deferred);

/*
 * Walks on from where the recorder stopped. incarnation: of the process. addresses has room for
 * EBT_MAX_FRAMES; *ret is in there, or is the partial stack as it was.
 */
struct ebt_error *deferred_unwind(struct deferred *deferred, uint32_t incarnation, uint64_t time_ns,
				  const struct ebt_stack *partial, struct ebt_str dump,
				  uint64_t *addresses, struct ebt_stack *ret);

#endif
