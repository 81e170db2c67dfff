/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collecting addresses; see collect.h. */
#include "symbolize/collect.h"

#include <stdlib.h>

#include "format/base/array.h"

/* 48 bytes each. With more, all are forgotten: some are then looked at twice. */
#define MAX_SEEN (1u << 17)

void collect_deinit(struct collect *c)
{
	free(c->seen);
	free(c->addresses);
	ebt_map_deinit(&c->by_address);
	*c = (struct collect){ 0 };
}

static uint64_t hash_of(const struct collect_seen *key)
{
	return ebt_hash_u64(ebt_hash_u64(0, key->address),
			    (uint64_t)key->incarnation << 1 | key->caller);
}

static struct collect_seen *find_seen(const struct collect *c, const struct collect_seen *key)
{
	uint32_t found = ebt_map_search(&c->by_address, hash_of(key), i,
					c->seen[i].address == key->address &&
						c->seen[i].incarnation == key->incarnation &&
						c->seen[i].caller == key->caller);

	return found == EBT_MAP_NONE ? NULL : &c->seen[found];
}

static struct ebt_error *add_seen(struct collect *c, const struct collect_seen *seen)
{
	struct ebt_error *err;

	if (c->n_seen == MAX_SEEN) {
		c->n_seen = 0;
		ebt_map_deinit(&c->by_address);
	}
	err = ebt_array_reserve(&c->seen, c->n_seen, &c->seen_capacity);
	if (err)
		return err;
	err = ebt_map_insert(&c->by_address, hash_of(seen), (uint32_t)c->n_seen);
	if (!err)
		c->seen[c->n_seen++] = *seen;
	return err;
}

struct ebt_error *collect_see(struct collect *c, struct addrspace *space,
			      const struct collect_seen *key, uint64_t time_ns,
			      struct addrspace_place *ret)
{
	struct collect_seen *old = find_seen(c, key), seen = *key;
	struct ebt_error *err;

	if (old && old->from <= time_ns && time_ns < old->to) {
		ret->found = false;
		return NULL;
	}
	/* A call can be the last instruction of a mapping. */
	err = addrspace_find(space, key->incarnation, key->address - (key->caller && key->address),
			     time_ns, ret);
	if (err)
		return err;
	seen.from = ret->from;
	seen.to = ret->to;
	if (!old)
		return add_seen(c, &seen);
	*old = seen;
	return NULL;
}

struct ebt_error *collect_add(struct collect *c, struct objects *objects, uint32_t object,
			      const struct module_address *where)
{
	struct ebt_error *err = objects_open(objects, object);
	struct module *module = objects->items[object].module;
	uint64_t address;

	if (err || !module_address(module, where, &address))
		return err;
	err = ebt_array_reserve(&c->addresses, c->n_addresses, &c->addresses_capacity);
	if (err)
		return err;
	c->addresses[c->n_addresses++] = (struct batch_address){ module, address };
	return NULL;
}

struct ebt_error *collect_find(struct collect *c)
{
	struct ebt_error *err = batch_find(c->addresses, c->n_addresses, 0);

	collect_deinit(c);
	return err;
}
