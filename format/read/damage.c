/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of damaged stretches. */
#include "format/read/damage.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/limits.h"

void ebt_damage_deinit(struct ebt_damage_list *damage)
{
	for (size_t i = 0; i < damage->n; i++)
		free(damage->list[i].what);
	free(damage->list);
	*damage = (struct ebt_damage_list){ 0 };
}

struct ebt_error *ebt_damage_add(struct ebt_damage_list *damage, uint64_t offset, uint64_t length,
				 char *what)
{
	_cleanup_free_ char *owned = what;
	struct ebt_error *err;
	size_t at;

	if (!owned)
		return &ebt_enomem;
	if (damage->n == EBT_MAX_DAMAGE) {
		damage->total++;
		return NULL;
	}
	err = ebt_array_reserve(&damage->list, damage->n, &damage->capacity);
	if (err)
		return err;
	at = damage->n;
	while (at && damage->list[at - 1].offset > offset)
		at--;
	memmove(&damage->list[at + 1], &damage->list[at], (damage->n - at) * sizeof(*damage->list));
	damage->list[at] = (struct ebt_damage){ offset, length, take_ptr(owned) };
	damage->n++;
	damage->total++;
	return NULL;
}

bool ebt_damage_has(const struct ebt_damage_list *damage, uint64_t offset)
{
	for (size_t i = 0; i < damage->n; i++) {
		if (damage->list[i].offset == offset)
			return true;
	}
	return false;
}

void ebt_damage_remove(struct ebt_damage_list *damage, size_t i)
{
	free(damage->list[i].what);
	damage->n--;
	damage->total--;
	memmove(&damage->list[i], &damage->list[i + 1], (damage->n - i) * sizeof(*damage->list));
}

bool ebt_damage_is(const struct ebt_error *err)
{
	return err->code == EBT_ERR_CORRUPT || err->code == EBT_ERR_LIMIT ||
	       err->code == EBT_ERR_UNSUPPORTED;
}

struct ebt_error *ebt_damage_forgive(struct ebt_error *err)
{
	if (err && !ebt_damage_is(err))
		return err;
	ebt_error_destroy(err);
	return NULL;
}

struct ebt_error *ebt_damage_absorb(struct ebt_damage_list *damage, uint64_t offset,
				    uint64_t length, struct ebt_error *err)
{
	_cleanup_error_ struct ebt_error *absorbed = NULL;

	if (!err || !ebt_damage_is(err))
		return err;
	absorbed = err;
	return ebt_damage_add(damage, offset, length, strdup(err->message));
}
