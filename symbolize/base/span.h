/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranges of addresses that may overlap, each with a number. */
#ifndef SYMBOLIZE_BASE_SPAN_H
#define SYMBOLIZE_BASE_SPAN_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

struct sym_span {
	uint64_t low, high; /* high is the first address behind */
	uint64_t reach;	    /* largest high of this span and those before it, once sorted */
	uint32_t id;
};

struct sym_spans {
	struct sym_span *items;
	size_t n, capacity;
};

void sym_spans_deinit(struct sym_spans *spans);

/* A span without addresses is not added. */
struct ebt_error *sym_spans_add(struct sym_spans *spans, uint64_t low, uint64_t high, uint32_t id);

/* To be called between the last addition and the first look-up. */
void sym_spans_sort(struct sym_spans *spans);

/* Of those that have the address, the one that begins last; NULL: none. */
const struct sym_span *sym_spans_find(const struct sym_spans *spans, uint64_t address);

#endif
