/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which call an answer on a bus belongs to: its sender and the number that the sender gave it. */
#ifndef REPORT_IO_DBUS_PAIRS_H
#define REPORT_IO_DBUS_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/base/map.h"
#include "report/trace/proc_texts.h"

struct dbus_call {
	uint64_t time;
	uint32_t group; /* whatever the caller wants to know again */
	bool answered;
};

/* All zero is empty. */
struct dbus_pairs {
	struct proc_texts texts;
	struct dbus_call *calls;
	size_t n, capacity;
	struct ebt_map by_key; /* name and serial */
};

void dbus_pairs_deinit(struct dbus_pairs *pairs);

/* A number for each distinct text; proc_texts_get() of `texts` has it. */
struct ebt_error *dbus_pairs_text(struct dbus_pairs *pairs, struct ebt_str text, uint32_t *ret);

struct ebt_error *dbus_pairs_call(struct dbus_pairs *pairs, uint32_t bus, struct ebt_str sender,
				  uint32_t serial, const struct dbus_call *call);

/* False: no such call is known, or it has an answer already. */
bool dbus_pairs_answer(struct dbus_pairs *pairs, uint32_t bus, struct ebt_str caller,
		       uint32_t serial, struct dbus_call *ret);

#endif
