/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses that will be asked for, collected so that many are looked up at once (batch.h). */
#ifndef SYMBOLIZE_COLLECT_H
#define SYMBOLIZE_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/base/map.h"
#include "symbolize/batch.h"
#include "symbolize/files/objects.h"
#include "symbolize/spaces/addrspace.h"

/* An address of a process, for as long as it means the same. */
struct collect_seen {
	uint64_t address, from, to;
	uint32_t incarnation;
	bool caller;
};

/* All zero: empty. */
struct collect {
	struct collect_seen *seen;
	size_t n_seen, seen_capacity;
	struct ebt_map by_address;
	struct batch_address *addresses;
	size_t n_addresses, addresses_capacity;
};

void collect_deinit(struct collect *collect);

/* Where the address was, if it is in a file and was not seen before; else ret->found is false. */
struct ebt_error *collect_see(struct collect *collect, struct addrspace *space,
			      const struct collect_seen *key, uint64_t time_ns,
			      struct addrspace_place *ret);

/* Adds an address of an object that is a file. */
struct ebt_error *collect_add(struct collect *collect, struct objects *objects, uint32_t object,
			      const struct module_address *where);

/* Looks all of them up, and forgets them. */
struct ebt_error *collect_find(struct collect *collect);

#endif
