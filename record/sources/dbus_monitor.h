/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listening to all messages of a D-Bus bus, on a thread of its own: whatever the bus does, the
 * recorder does not wait for it. Messages are taken from a queue that is bounded.
 */
#ifndef RECORD_SOURCES_DBUS_MONITOR_H
#define RECORD_SOURCES_DBUS_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"

enum dbus_text {
	DBUS_SENDER,
	DBUS_DESTINATION,
	DBUS_PATH,
	DBUS_INTERFACE,
	DBUS_MEMBER,
	DBUS_SIGNATURE,
	DBUS_ERROR,
	DBUS_N_TEXTS,
};

struct dbus_item {
	struct dbus_item *next;
	uint64_t time;
	uint32_t kind, serial, reply_serial, size;
	bool no_reply;
	const char *texts[DBUS_N_TEXTS]; /* never NULL; they follow the struct */
};

struct dbus_monitor;

/* False: built without the library; nothing else may be called then. */
bool dbus_monitor_is_built(void);

/* Begins to connect, as this user. The address is copied. notify: an eventfd that is written when
 * there is something to take; not owned. */
struct ebt_error *dbus_monitor_create(const char *address, uid_t uid, int notify,
				      struct dbus_monitor **ret);
/* Accepts NULL. */
void dbus_monitor_destroy(struct dbus_monitor *monitor);

/* Is it listening? Waits for the answer at most so long. Else *ret, of `size` bytes, says why. */
bool dbus_monitor_wait(struct dbus_monitor *monitor, int timeout_ms, char *ret, size_t size);

/* All messages so far, in order, and how many had no room. The caller frees each. ret_why, of
 * `size` bytes: why there will be no more, as far as is known; empty: there will. */
struct dbus_item *dbus_monitor_take(struct dbus_monitor *monitor, uint64_t *ret_lost, char *ret_why,
				    size_t size);

/* Takes what has arrived and ends listening. Waits a second at most. */
void dbus_monitor_stop(struct dbus_monitor *monitor);

#endif
