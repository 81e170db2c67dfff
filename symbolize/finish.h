/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks that the recorder could not walk whole, walked on by their dumps (docs/FORMAT.md, section
 * 4) and the unwind information of the files that are here. The dump is hostile input, and so are
 * the files.
 */
#ifndef SYMBOLIZE_FINISH_H
#define SYMBOLIZE_FINISH_H

#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "symbolize/files/objects.h"
#include "symbolize/spaces/addrspace.h"

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
