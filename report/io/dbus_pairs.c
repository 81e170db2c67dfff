/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that wait for their answer; see dbus_pairs.h. */
#include "report/io/dbus_pairs.h"

#include <stdlib.h>
#include <string.h>

/* A reader does not let a file grow this without end. */
#define MAX_TEXTS (1u << 22)
#define MAX_CALLS (1u << 26)

void dbus_pairs_deinit(struct dbus_pairs *pairs)
{
	proc_texts_deinit(&pairs->texts);
	ebt_map_deinit(&pairs->by_key);
	free(pairs->calls);
}

static struct ebt_error *too_many(void)
{
	return ebt_error_create(EBT_ERR_LIMIT, "too many messages of D-Bus at once: take less of "
					       "the trace with --from and --to");
}

struct ebt_error *dbus_pairs_text(struct dbus_pairs *pairs, struct ebt_str text, uint32_t *ret)
{
	struct ebt_error *err = proc_texts_add(&pairs->texts, text, ret);

	if (err)
		return err;
	return pairs->texts.left_out || pairs->texts.numbers.n > MAX_TEXTS ? too_many() : NULL;
}

/* Names are unique on a bus. */
static struct ebt_str on_bus(uint32_t bus, struct ebt_str name, char *buffer, size_t size)
{
	size_t len = name.len < size - sizeof(bus) ? name.len : size - sizeof(bus);

	memcpy(buffer, &bus, sizeof(bus));
	memcpy(buffer + sizeof(bus), name.data, len);
	return (struct ebt_str){ buffer, sizeof(bus) + len };
}

struct ebt_error *dbus_pairs_call(struct dbus_pairs *pairs, uint32_t bus, struct ebt_str sender,
				  uint32_t serial, const struct dbus_call *call)
{
	struct ebt_error *err;
	uint32_t name, i;
	char buffer[300];

	if (pairs->n == MAX_CALLS)
		return too_many();
	err = dbus_pairs_text(pairs, on_bus(bus, sender, buffer, sizeof(buffer)), &name);
	if (err)
		return err;
	err = ebt_map_element(&pairs->by_key, (uint64_t)name << 32 | serial, &pairs->calls,
			      &pairs->n, &pairs->capacity, &i);
	if (!err)
		pairs->calls[i] = *call;
	return err;
}

bool dbus_pairs_answer(struct dbus_pairs *pairs, uint32_t bus, struct ebt_str caller,
		       uint32_t serial, struct dbus_call *ret)
{
	char buffer[300];
	uint64_t name = proc_texts_find(&pairs->texts, on_bus(bus, caller, buffer, sizeof(buffer)));
	uint32_t i;

	if (!name || !ebt_map_find(&pairs->by_key, name << 32 | serial, &i) ||
	    pairs->calls[i].answered)
		return false;
	pairs->calls[i].answered = true;
	*ret = pairs->calls[i];
	return true;
}
