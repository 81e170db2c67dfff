/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/base/interned.h"

#include <stdlib.h>

#include "format/base/array.h"

struct ebt_str interned_get(const struct interned *interned, uint32_t number)
{
	const struct interned_place *place = &interned->places[number];

	return (struct ebt_str){ text_get(&interned->texts) + place->at, (uint32_t)place->len };
}

struct ebt_error *interned_add(struct interned *interned, struct ebt_str s, uint32_t *ret)
{
	const uint64_t hash = ebt_hash_bytes(0, s.data, s.len);
	struct ebt_error *err;
	size_t at = 0;

	while ((*ret = ebt_map_next(&interned->by_text, hash, &at)) != EBT_MAP_NONE) {
		if (ebt_str_equal(interned_get(interned, *ret), s))
			return NULL;
	}
	*ret = INTERNED_NONE;
	if (interned->n == INTERNED_MAX)
		return NULL;
	err = ebt_array_reserve(&interned->places, interned->n, &interned->capacity)
		      ?: ebt_map_insert(&interned->by_text, hash, (uint32_t)interned->n);
	if (err)
		return err;
	*ret = (uint32_t)interned->n;
	interned->places[interned->n++] = (struct interned_place){ interned->texts.len, s.len };
	text_add(&interned->texts, s.data, s.len);
	return text_error(&interned->texts);
}

void interned_deinit(struct interned *interned)
{
	free(interned->places);
	ebt_map_deinit(&interned->by_text);
	text_deinit(&interned->texts);
	*interned = (struct interned){ 0 };
}
