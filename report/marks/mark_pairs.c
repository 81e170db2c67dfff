/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which begin an end belongs to; see mark_pairs.h. */
#include "report/marks/mark_pairs.h"

#include <stdlib.h>

#include "format/base/array.h"

#define FIRST_HEADS 256u

/* A file that is made for it could make each search as long as the file. */
#define MAX_LOOKS 1024u

struct mark_open_begin {
	struct mark_place place;
	uint32_t mark, next;
};

void mark_pairs_deinit(struct mark_pairs *pairs)
{
	free(pairs->list);
	free(pairs->heads);
}

static uint32_t *head_of(uint32_t *heads, size_t n_heads, const struct mark_place *place)
{
	uint64_t h = place->owner;

	if (place->key)
		h = (h << 32 | place->name) ^ (place->key * UINT64_C(0xff51afd7ed558ccd));
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return &heads[(h >> 32) & (n_heads - 1)];
}

static bool is_same_stack(const struct mark_place *a, const struct mark_place *b)
{
	return a->owner == b->owner && a->key == b->key && (!a->key || a->name == b->name);
}

/* The oldest of each chain are put in first, so that the newest are first again. */
static struct ebt_error *grow_heads(struct mark_pairs *pairs)
{
	size_t n_heads = pairs->n_heads ? pairs->n_heads * 2 : FIRST_HEADS;
	uint32_t *heads = calloc(n_heads, sizeof(*heads));

	if (!heads)
		return &ebt_enomem;
	for (size_t i = 0; i < pairs->n_heads; i++) {
		uint32_t turned = 0;

		for (uint32_t at = pairs->heads[i], next; at; at = next) {
			next = pairs->list[at - 1].next;
			pairs->list[at - 1].next = turned;
			turned = at;
		}
		for (uint32_t at = turned, next; at; at = next) {
			uint32_t *head = head_of(heads, n_heads, &pairs->list[at - 1].place);

			next = pairs->list[at - 1].next;
			pairs->list[at - 1].next = *head;
			*head = at;
		}
	}
	free(pairs->heads);
	pairs->heads = heads;
	pairs->n_heads = n_heads;
	return NULL;
}

static struct ebt_error *find_room(struct mark_pairs *pairs, uint32_t *ret)
{
	struct ebt_error *err;

	if (pairs->free) {
		*ret = pairs->free;
		pairs->free = pairs->list[*ret - 1].next;
		return NULL;
	}
	err = ebt_array_reserve(&pairs->list, pairs->n, &pairs->capacity);
	if (!err)
		*ret = (uint32_t)++pairs->n;
	return err;
}

struct ebt_error *mark_pairs_begin(struct mark_pairs *pairs, const struct mark_place *place,
				   uint32_t mark)
{
	struct ebt_error *err = NULL;
	uint32_t *head, at;

	if (pairs->used >= pairs->n_heads)
		err = grow_heads(pairs);
	if (!err)
		err = find_room(pairs, &at);
	if (err)
		return err;
	head = head_of(pairs->heads, pairs->n_heads, place);
	pairs->list[at - 1] = (struct mark_open_begin){ *place, mark, *head };
	*head = at;
	pairs->used++;
	return NULL;
}

bool mark_pairs_find(const struct mark_pairs *pairs, const struct mark_place *place)
{
	uint32_t at = pairs->used ? *head_of(pairs->heads, pairs->n_heads, place) : 0;

	for (uint32_t looks = 0; at && looks < MAX_LOOKS; looks++) {
		const struct mark_open_begin *begin = &pairs->list[at - 1];

		if (begin->place.name == place->name && is_same_stack(&begin->place, place))
			return true;
		at = begin->next;
	}
	return false;
}

bool mark_pairs_take(struct mark_pairs *pairs, const struct mark_place *place, uint32_t *ret)
{
	uint32_t *link = head_of(pairs->heads, pairs->n_heads, place), at;
	struct mark_open_begin *begin;

	while (!is_same_stack(&pairs->list[*link - 1].place, place))
		link = &pairs->list[*link - 1].next;
	at = *link;
	begin = &pairs->list[at - 1];
	*link = begin->next;
	begin->next = pairs->free;
	pairs->free = at;
	pairs->used--;
	*ret = begin->mark;
	return begin->place.name == place->name;
}
