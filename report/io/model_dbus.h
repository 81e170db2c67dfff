/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of D-Bus: which call an answer belongs to (its sender and the number that the sender
 * gave it), calls by what was called, with the time until their answer, and signals by what they
 * say. A call counts in the window in which it was sent, whenever its answer came.
 */
#ifndef REPORT_IO_MODEL_DBUS_H
#define REPORT_IO_MODEL_DBUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/base/map.h"
#include "report/base/histogram.h"
#include "report/trace/proc_texts.h"
#include "report/trace/trace.h"

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

struct ebt_error *dbus_pairs_call(struct dbus_pairs *pairs, uint32_t bus, struct ebt_str sender,
				  uint32_t serial, const struct dbus_call *call);

/* False: no such call is known, or it has an answer already. */
bool dbus_pairs_answer(struct dbus_pairs *pairs, uint32_t bus, struct ebt_str caller,
		       uint32_t serial, struct dbus_call *ret);

struct dbus_group {
	uint32_t bus;
	const char *peer; /* destination of calls, sender of signals */
	const char *interface, *member;
	uint64_t count, errors;
	uint64_t unanswered; /* calls that wanted an answer, and have none in the trace */
	uint64_t bytes;	     /* of calls or signals, not of answers */
	struct histogram time;
	uint64_t max_at_ns; /* when the longest was sent */
};

struct dbus_model {
	struct trace *trace;
	struct dbus_pairs pairs;
	struct dbus_groups {
		struct dbus_group *list;
		size_t n, capacity;
		struct ebt_map by_text;
	} calls, signals;
};

struct ebt_error *dbus_model_create(struct trace *trace, struct dbus_model **ret);
/* Accepts NULL. */
void dbus_model_destroy(struct dbus_model *model);
DEFINE_CLEANUP(struct dbus_model *, dbus_model_destroy);

/* Names of buses by number, as the trace has them. */
struct dbus_buses {
	struct dbus_bus_name {
		uint32_t bus;
		char *name;
	} * list;
	size_t n, capacity;
};

struct ebt_error *dbus_buses_read(struct trace *trace, struct dbus_buses *ret);
void dbus_buses_deinit(struct dbus_buses *buses);
/* "?" where the trace does not say. */
const char *dbus_buses_name(const struct dbus_buses *buses, uint32_t bus);

#endif
