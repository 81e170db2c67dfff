/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `dbus`: all messages of buses that the user names. No BPF: a bus tells a monitor. */
#include <errno.h>
#include <linux/types.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "format/schema/wire.h"
#include "format/write/writer.h"
#include "record/base/clocks.h"
#include "record/base/rows.h"
#include "record/base/invoker.h"
#include "record/sources/dbus_monitor.h"
#include "record/sources/sources.h"

#define MAX_BUSES     8
#define SYSTEM_SOCKET "/run/dbus/system_bus_socket"
#define CONNECT_MS    3000

struct bus {
	char *name, *address;
	struct dbus_monitor *monitor;
	bool ended; /* and that was said */
};

struct dbus_worker {
	struct bus buses[MAX_BUSES];
	uint32_t n;
	int notify;
	uint64_t last; /* when the queues were emptied */
	struct ebt_record rec;
};

/* libdbus knows addresses that run programs. */
static bool is_socket(const char *address)
{
	for (;;) {
		if (strncmp(address, "unix:path=", 10) && strncmp(address, "unix:abstract=", 14))
			return false;
		address = strchr(address, ';');
		if (!address || !address[1])
			return true;
		address++;
	}
}

static struct ebt_error *check_args(const char *args)
{
	if (!strcmp(args, "session") || !strcmp(args, "system") || is_socket(args))
		return NULL;
	return ebt_error_create(EBT_ERR_INVALID, "'%s' is no bus", args);
}

static void note(struct source_state *state, const char *name, const char *why)
{
	size_t len = strlen(state->detail);

	snprintf(state->detail + len, sizeof(state->detail) - len, "%s%s: %s", len ? "; " : "",
		 name, why);
}

static void probe(const struct kernel *kernel, struct source_state *state)
{
	struct stat st;

	(void)kernel;
	if (!dbus_monitor_is_built()) {
		state->status = EBT_V_source_status_unavailable;
		note(state, "not built", "there was no libdbus");
	} else if (stat(SYSTEM_SOCKET, &st)) {
		state->status = EBT_V_source_status_partial;
		note(state, "system", "there is no such bus here");
	}
}

/* Under sudo it is the bus of who called it. */
static struct ebt_error *session_address(const struct source_context *context, char **ret)
{
	const char *user = context->options->user;
	const char *address = getenv("DBUS_SESSION_BUS_ADDRESS");
	const struct passwd *entry = user ? getpwnam(user) : NULL;
	uid_t uid = geteuid();
	gid_t gid;

	*ret = NULL;
	if (!user && address) {
		*ret = strdup(address);
		return *ret ? NULL : &ebt_enomem;
	}
	if (entry)
		uid = entry->pw_uid;
	else
		invoker_of_sudo(&uid, &gid);
	return asprintf(ret, "unix:path=/run/user/%u/bus", uid) < 0 ? &ebt_enomem : NULL;
}

static struct ebt_error *address_of(const struct source_context *context, const char *name,
				    char **ret)
{
	const char *system = getenv("DBUS_SYSTEM_BUS_ADDRESS");

	if (!strcmp(name, "session"))
		return session_address(context, ret);
	if (strcmp(name, "system"))
		system = name;
	*ret = strdup(system ? system : "unix:path=" SYSTEM_SOCKET);
	return *ret ? NULL : &ebt_enomem;
}

/* Who made the socket; of others, a bus of a session has no ears. */
static uid_t owner_of(const char *address)
{
	_cleanup_free_ char *path = strdup(address);
	struct stat st;

	if (!path || strncmp(path, "unix:path=", 10))
		return geteuid();
	path[strcspn(path, ",;")] = '\0';
	return stat(path + 10, &st) ? geteuid() : st.st_uid;
}

/* The system's bus has no ears for who it runs as, either, but for root. */
static uid_t connect_as(const struct bus *bus)
{
	return geteuid() || !strcmp(bus->name, "system") ? geteuid() : owner_of(bus->address);
}

static struct ebt_error *add_bus(struct dbus_worker *worker, const struct source_context *context,
				 const char *name)
{
	struct bus *bus = &worker->buses[worker->n];
	struct ebt_error *err;

	bus->name = strdup(name);
	if (!bus->name)
		return &ebt_enomem;
	worker->n++;
	err = address_of(context, name, &bus->address);
	if (err || !is_socket(bus->address))
		return err;
	return dbus_monitor_create(bus->address, connect_as(bus), worker->notify, &bus->monitor);
}

/* All of them connect at the same time. */
static struct ebt_error *add_buses(struct dbus_worker *worker, const struct source_context *context)
{
	const char *name = source_nth_args(context, &source_dbus, 0);
	struct ebt_error *err;

	if (!name)
		return add_bus(worker, context, "system");
	err = add_bus(worker, context, name);
	for (size_t i = 1; !err && (name = source_nth_args(context, &source_dbus, i)); i++) {
		if (worker->n == MAX_BUSES)
			return ebt_error_create(EBT_ERR_INVALID,
						"source dbus: %d buses are the most", MAX_BUSES);
		err = add_bus(worker, context, name);
	}
	return err;
}

static void close_worker(void *arg)
{
	struct dbus_worker *worker = arg;

	for (uint32_t i = 0; i < worker->n; i++) {
		dbus_monitor_destroy(worker->buses[i].monitor);
		free(worker->buses[i].name);
		free(worker->buses[i].address);
	}
	ebt_closep(&worker->notify);
	ebt_record_deinit(&worker->rec);
}

/* Which of them listen. */
static void judge(struct dbus_worker *worker, struct source_state *state)
{
	uint32_t listening = 0;
	char why[100];

	state->status = EBT_V_source_status_on;
	*state->detail = '\0';
	for (uint32_t i = 0; i < worker->n; i++) {
		struct bus *bus = &worker->buses[i];

		if (!bus->monitor)
			note(state, bus->name, "not a bus at a socket");
		else if (dbus_monitor_wait(bus->monitor, CONNECT_MS, why, sizeof(why)))
			listening++;
		else
			note(state, bus->name, why);
		bus->ended = !bus->monitor;
	}
	if (listening < worker->n)
		state->status =
			listening ? EBT_V_source_status_partial : EBT_V_source_status_unavailable;
}

static struct ebt_error *open_worker(const struct source_context *context,
				     struct source_state *state, void *arg)
{
	struct dbus_worker *worker = arg;
	struct ebt_error *err;

	worker->last = clocks_now();
	worker->notify = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = worker->notify < 0 ? ebt_error_errno(errno, "cannot listen to D-Bus")
				 : add_buses(worker, context);
	if (!err)
		judge(worker, state);
	return err;
}

/* --- rows --- */

static struct ebt_error *define(struct dbus_worker *worker, uint32_t i, struct ebt_stream *stream)
{
	struct ebt_wire_dbus_bus *row =
		ebt_record_begin(&worker->rec, EBT_T_dbus_bus, clocks_now());

	row->bus = i + 1;
	ebt_record_str(&worker->rec, offsetof(struct ebt_wire_dbus_bus, name),
		       worker->buses[i].name);
	ebt_record_str(&worker->rec, offsetof(struct ebt_wire_dbus_bus, address),
		       worker->buses[i].address);
	return ebt_record_add(&worker->rec, stream);
}

static struct ebt_error *add_message(struct dbus_worker *worker, uint32_t i,
				     const struct dbus_item *item, struct ebt_stream *stream)
{
	static const size_t fields[DBUS_N_TEXTS] = {
		[DBUS_SENDER] = offsetof(struct ebt_wire_dbus_message, sender),
		[DBUS_DESTINATION] = offsetof(struct ebt_wire_dbus_message, destination),
		[DBUS_PATH] = offsetof(struct ebt_wire_dbus_message, path),
		[DBUS_INTERFACE] = offsetof(struct ebt_wire_dbus_message, interface),
		[DBUS_MEMBER] = offsetof(struct ebt_wire_dbus_message, member),
		[DBUS_SIGNATURE] = offsetof(struct ebt_wire_dbus_message, signature),
		[DBUS_ERROR] = offsetof(struct ebt_wire_dbus_message, error_name),
	};
	struct ebt_wire_dbus_message *row =
		ebt_record_begin(&worker->rec, EBT_T_dbus_message, item->time);

	row->bus = i + 1;
	row->kind = item->kind;
	row->serial = item->serial;
	row->reply_serial = item->reply_serial;
	row->no_reply = item->no_reply;
	row->size = item->size;
	for (int n = 0; n < DBUS_N_TEXTS; n++)
		ebt_record_str(&worker->rec, fields[n], item->texts[n]);
	return ebt_record_add(&worker->rec, stream);
}

static struct ebt_error *tell_lost(const struct dbus_worker *worker, struct ebt_stream *stream,
				   uint32_t reason, uint64_t count, const char *detail)
{
	const struct lost_row lost = {
		.from = worker->last,
		.count = count,
		.table_id = EBT_T_dbus_message,
		.reason = reason,
		.source = source_dbus.name,
		.detail = detail,
	};

	return add_lost(stream, clocks_now(), &lost);
}

/* What has arrived before recording began is of no interest. */
static struct ebt_error *drain(struct dbus_worker *worker, uint32_t i, struct ebt_stream *stream,
			       bool forget)
{
	struct bus *bus = &worker->buses[i];
	struct dbus_item *item, *next;
	struct ebt_error *err = NULL;
	char why[100];
	uint64_t lost;

	if (bus->ended)
		return NULL;
	item = dbus_monitor_take(bus->monitor, &lost, why, sizeof(why));
	for (; item; item = next) {
		next = item->next;
		if (!err && !forget)
			err = add_message(worker, i, item, stream);
		free(item);
	}
	if (!err && lost && !forget)
		err = tell_lost(worker, stream, EBT_V_lost_reason_ring_buffer_full, lost,
				"messages came faster than they were taken");
	bus->ended = *why;
	if (!err && *why)
		err = tell_lost(worker, stream, EBT_V_lost_reason_other, 1, why);
	return err;
}

static struct ebt_error *work(void *arg, struct ebt_stream *stream, enum source_moment moment)
{
	struct dbus_worker *worker = arg;
	struct ebt_error *err = NULL;
	uint64_t count;

	for (uint32_t i = 0; i < worker->n && !err; i++) {
		if (moment == SOURCE_BEGIN || moment == SOURCE_EPOCH)
			err = define(worker, i, stream);
		/* Before the end is noted: what a bus has sent by now is inside. */
		if (moment == SOURCE_LAST && worker->buses[i].monitor)
			dbus_monitor_stop(worker->buses[i].monitor);
	}
	if (!err && read(worker->notify, &count, sizeof(count)) < 0 && errno != EAGAIN)
		err = ebt_error_errno(errno, "cannot listen to D-Bus");
	for (uint32_t i = 0; i < worker->n && !err; i++)
		err = drain(worker, i, stream, moment == SOURCE_BEGIN);
	worker->last = clocks_now();
	return err;
}

static const struct source_worker worker_of_dbus = {
	.size = sizeof(struct dbus_worker),
	.fd = SOURCE_WORKER_FD(struct dbus_worker, notify),
	.open = open_worker,
	.work = work,
	.close = close_worker,
};

const struct ebrec_source source_dbus = {
	.name = "dbus",
	.doc = "D-Bus: who calls whom, answers, signals; not their content",
	.cost = "about 10 us of another CPU for each message; the bus copies each once more",
	.args_doc = "session|system|ADDRESS (system)",
	.tables = (const uint16_t[]){ EBT_T_dbus_message, EBT_T_dbus_bus, 0 },
	.check_args = check_args,
	.probe = probe,
	.worker = &worker_of_dbus,
};
