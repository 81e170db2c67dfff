/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which call an answer on a bus belongs to: its sender and the number that the sender gave it. */
#ifndef REPORT_IO_DBUS_PAIRS_H
#define REPORT_IO_DBUS_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/read/reader.h"

struct dbus_pairs;

struct dbus_call {
	uint64_t time;
	uint32_t group; /* whatever the caller wants to know again */
};

struct ebt_error *dbus_pairs_create(struct dbus_pairs **ret);
/* Accepts NULL. */
void dbus_pairs_destroy(struct dbus_pairs *pairs);
DEFINE_CLEANUP(struct dbus_pairs *, dbus_pairs_destroy);

/* A number for each distinct text, from 0, and its copy, which lives as long as the pairs. */
struct ebt_error *dbus_pairs_text(struct dbus_pairs *pairs, struct ebt_str text, uint32_t *ret);
const char *dbus_pairs_get(const struct dbus_pairs *pairs, uint32_t text);

struct ebt_error *dbus_pairs_call(struct dbus_pairs *pairs, uint32_t bus, struct ebt_str sender,
				  uint32_t serial, const struct dbus_call *call);

/* False: no such call is known, or it has an answer already. */
bool dbus_pairs_answer(struct dbus_pairs *pairs, uint32_t bus, struct ebt_str caller,
		       uint32_t serial, struct dbus_call *ret);

#endif
