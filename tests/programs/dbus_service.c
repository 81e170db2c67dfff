/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dbus_service ADDRESS NAME: a service on a bus. Its methods: Sleep(uint32 ms) answers after so
 * long, Fail() answers with an error, Never() does not, Shout(uint32 n) sends n signals Tick.
 * Prints "ready" when it has its name.
 */
#include <dbus/dbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INTERFACE "org.example.Test"

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "dbus_service: %s\n", what);
	exit(1);
}

static void nap(dbus_uint32_t ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

static void shout(DBusConnection *connection, dbus_uint32_t n)
{
	for (dbus_uint32_t i = 0; i < n; i++) {
		DBusMessage *tick = dbus_message_new_signal("/test", INTERFACE, "Tick");

		need(tick && dbus_connection_send(connection, tick, NULL), "cannot send");
		dbus_message_unref(tick);
		if (i % 256 == 0)
			dbus_connection_flush(connection);
	}
	dbus_connection_flush(connection);
}

static void serve(DBusConnection *connection, DBusMessage *call)
{
	DBusMessage *answer = NULL;
	dbus_uint32_t n = 0;

	dbus_message_get_args(call, NULL, DBUS_TYPE_UINT32, &n, DBUS_TYPE_INVALID);
	if (dbus_message_is_method_call(call, INTERFACE, "Never"))
		return;
	if (dbus_message_is_method_call(call, INTERFACE, "Sleep"))
		nap(n);
	if (dbus_message_is_method_call(call, INTERFACE, "Shout"))
		shout(connection, n);
	if (dbus_message_is_method_call(call, INTERFACE, "Fail"))
		answer = dbus_message_new_error(call, INTERFACE ".Failed", "as it was told");
	else
		answer = dbus_message_new_method_return(call);
	need(answer && dbus_connection_send(connection, answer, NULL), "cannot answer");
	dbus_message_unref(answer);
	dbus_connection_flush(connection);
}

int main(int argc, char **argv)
{
	DBusConnection *connection;
	DBusMessage *message;

	need(argc == 3, "usage: dbus_service ADDRESS NAME");
	connection = dbus_connection_open_private(argv[1], NULL);
	need(connection && dbus_bus_register(connection, NULL), "cannot connect");
	need(dbus_bus_request_name(connection, argv[2], 0, NULL) ==
		     DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER,
	     "cannot have the name");
	puts("ready");
	fflush(stdout);
	while (dbus_connection_read_write(connection, -1)) {
		while ((message = dbus_connection_pop_message(connection))) {
			if (dbus_message_get_type(message) == DBUS_MESSAGE_TYPE_METHOD_CALL)
				serve(connection, message);
			dbus_message_unref(message);
		}
	}
	return 0;
}
