/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading trees of inlined calls; see inline.h. */
#include "symbolize/dwarf/inline.h"

#include <dwarf.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"

/* Blocks and calls within each other. Template-heavy C++ reaches 60. */
#define MAX_NEST 256

struct dwarf_inlines {
	struct dwarf_inline *calls;
	size_t n, capacity;
	struct sym_spans spans; /* of calls; not sorted */
};

DEFINE_CLEANUP(struct dwarf_inlines *, dwarf_inlines_destroy);

void dwarf_inlines_destroy(struct dwarf_inlines *inlines)
{
	if (!inlines)
		return;
	free(inlines->calls);
	sym_spans_deinit(&inlines->spans);
	free(inlines);
}

static uint32_t number_attr(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, name, &attr), &value) || value > INT32_MAX)
		return 0;
	return value;
}

static struct ebt_error *add_call(struct dwarf_inlines *inlines, Dwarf_Die *die, uint32_t outer,
				  struct dwarf_budget *budget)
{
	struct dwarf_inline *call;
	struct ebt_error *err;
	bool any;

	err = ebt_array_reserve(&inlines->calls, inlines->n, &inlines->capacity);
	if (err)
		return err;
	call = &inlines->calls[inlines->n];
	*call = (struct dwarf_inline){
		.die = *die,
		.outer = outer,
		.depth = outer == UINT32_MAX ? 0 : inlines->calls[outer].depth + 1,
		.file = number_attr(die, DW_AT_call_file),
		.line = number_attr(die, DW_AT_call_line),
	};
	return dwarf_units_add_ranges(NULL, budget, die, &inlines->spans, inlines->n++, &any);
}

static bool holds_calls(int tag)
{
	switch (tag) {
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return true;
	default:
		return false;
	}
}

static struct ebt_error *read_calls(struct dwarf_inlines *inlines, Dwarf_Die *function,
				    struct dwarf_budget *budget)
{
	struct {
		Dwarf_Die die;
		uint32_t outer;
	} stack[MAX_NEST];
	int depth = 0;

	if (dwarf_child(function, &stack[0].die))
		return NULL;
	stack[0].outer = UINT32_MAX;
	while (depth >= 0 && dwarf_budget_spend(budget)) {
		int tag = dwarf_tag(&stack[depth].die);
		uint32_t outer = stack[depth].outer;

		if (tag == DW_TAG_inlined_subroutine) {
			struct ebt_error *err = add_call(inlines, &stack[depth].die, outer, budget);

			if (err)
				return err;
			outer = inlines->n - 1;
		}
		if (holds_calls(tag) && depth + 1 < MAX_NEST &&
		    !dwarf_child(&stack[depth].die, &stack[depth + 1].die)) {
			stack[++depth].outer = outer;
			continue;
		}
		while (depth >= 0 && dwarf_siblingof(&stack[depth].die, &stack[depth].die))
			depth--;
	}
	return NULL;
}

struct ebt_error *dwarf_inlines_read(Dwarf_Die *function, struct dwarf_budget *budget,
				     struct dwarf_inlines **ret)
{
	_cleanup_(dwarf_inlines_destroyp) struct dwarf_inlines *inlines =
		calloc(1, sizeof(*inlines));
	struct ebt_error *err;

	if (!inlines)
		return &ebt_enomem;
	err = read_calls(inlines, function, budget);
	if (err)
		return err;
	*ret = take_ptr(inlines);
	return NULL;
}

const struct dwarf_inline *dwarf_inlines_find(const struct dwarf_inlines *inlines, uint64_t address)
{
	const struct dwarf_inline *best = NULL;

	for (size_t i = 0; i < inlines->spans.n; i++) {
		const struct sym_span *span = &inlines->spans.items[i];
		const struct dwarf_inline *call = &inlines->calls[span->id];

		if (span->low <= address && address < span->high &&
		    (!best || call->depth > best->depth))
			best = call;
	}
	return best;
}

const struct dwarf_inline *dwarf_inline_outer(const struct dwarf_inlines *inlines,
					      const struct dwarf_inline *call)
{
	return call->outer == UINT32_MAX ? NULL : &inlines->calls[call->outer];
}
