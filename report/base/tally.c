/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What weighs most; see tally.h. */
#include "report/base/tally.h"

#include <stdlib.h>

#include "format/base/array.h"

void tally_deinit(struct tally *tally)
{
	free(tally->entries);
	ebt_map_deinit(&tally->at);
}

struct ebt_error *tally_add(struct tally *tally, uint32_t owner, uint64_t what, uint64_t weight)
{
	struct tally_entry *entry;
	struct ebt_error *err;
	uint32_t i;

	err = ebt_map_element(&tally->at, (uint64_t)owner << 40 | what, &tally->entries, &tally->n,
			      &tally->capacity, &i);
	if (err)
		return err;
	entry = &tally->entries[i];
	*entry = (struct tally_entry){ owner, what, entry->weight + weight };
	return NULL;
}

void tally_heaviest(const struct tally *tally, struct tally_entry *ret, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ret[i] = (struct tally_entry){ .owner = i };
	for (size_t i = 0; i < tally->n; i++) {
		const struct tally_entry *entry = &tally->entries[i];

		if (entry->owner < n && entry->weight > ret[entry->owner].weight)
			ret[entry->owner] = *entry;
	}
}
