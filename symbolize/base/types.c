/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of stacks that stand for nothing; see types.h. */
#include "symbolize/base/types.h"

bool sym_is_shown_by_next(const struct ebt_stack *stack, uint32_t i)
{
	const uint64_t *entry = stack->addresses + i;

	return stack->attrs & EBT_STACK_USER && i + 1 < stack->n &&
	       !(entry[0] & EBT_ENTRY_INTERP) && entry[1] & EBT_ENTRY_INTERP &&
	       !(entry[1] & EBT_ENTRY_BESIDE);
}
