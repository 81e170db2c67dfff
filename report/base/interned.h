/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts, each once, by number from 0 on in the order in which they came. Bytes of any kind. */
#ifndef REPORT_BASE_INTERNED_H
#define REPORT_BASE_INTERNED_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/base/map.h"
#include "report/base/text.h"

#define INTERNED_MAX  (1u << 22) /* texts; of more */
#define INTERNED_NONE UINT32_MAX /* is the number */

/* All zero: empty. */
struct interned {
	struct interned_place {
		size_t at, len;
	} * places;
	size_t n, capacity;
	struct ebt_map by_text;
	struct text texts;
};

/* ret: the number of a text; INTERNED_NONE: there was no room for it. */
struct ebt_error *interned_add(struct interned *interned, struct ebt_str s, uint32_t *ret);
/* Until the next one is added. */
struct ebt_str interned_get(const struct interned *interned, uint32_t number);
void interned_deinit(struct interned *interned);

#endif
