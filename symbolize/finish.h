/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks that the recorder could not walk whole, walked on by their dumps (docs/FORMAT.md, section
 * 4) and the unwind information of the files that are here. The dump is hostile input, and so are
 * the files.
 */
#ifndef SYM_FINISH_H
#define SYM_FINISH_H

#include <stdint.h>

#include "addrspace.h"
#include "error.h"
#include "objects.h"
#include "reader.h"

struct finish;

/* Both must live longer. */
struct ebt_error *finish_create(struct addrspace *space, struct objects *objects,
				struct finish **ret);
/* Accepts NULL. */
void finish_destroy(struct finish *finish);

/*
 * Goes on with a stack of the process `life`. addresses has room for EBT_MAX_FRAMES; *ret is in
 * there, or is the partial stack as it was.
 */
struct ebt_error *finish_stack(struct finish *finish, uint32_t life, uint64_t time_ns,
			       const struct ebt_stack *partial, struct ebt_str dump,
			       uint64_t *addresses, struct ebt_stack *ret);

#endif
