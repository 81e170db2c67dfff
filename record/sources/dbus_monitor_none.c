/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of dbus_monitor.c where there is no libdbus. */
#include "record/sources/dbus_monitor.h"

bool dbus_monitor_is_built(void)
{
	return false;
}

struct ebt_error *dbus_monitor_create(const char *address, uid_t uid, int notify,
				      struct dbus_monitor **ret)
{
	(void)address;
	(void)uid;
	(void)notify;
	(void)ret;
	return ebt_error_create(EBT_ERR_UNSUPPORTED, "built without libdbus");
}

void dbus_monitor_destroy(struct dbus_monitor *monitor)
{
	(void)monitor;
}

bool dbus_monitor_wait(struct dbus_monitor *monitor, int timeout_ms, char *ret, size_t size)
{
	(void)monitor;
	(void)timeout_ms;
	(void)ret;
	(void)size;
	return false;
}

struct dbus_item *dbus_monitor_take(struct dbus_monitor *monitor, uint64_t *ret_lost, char *ret_why,
				    size_t size)
{
	(void)monitor;
	(void)ret_lost;
	(void)ret_why;
	(void)size;
	return NULL;
}

void dbus_monitor_stop(struct dbus_monitor *monitor)
{
	(void)monitor;
}
