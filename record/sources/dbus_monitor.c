/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listening to a bus by libdbus; see dbus_monitor.h. */
#include "record/sources/dbus_monitor.h"

#include <dbus/dbus.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/base/clocks.h"

/* A path may be as long as a message, which is up to 128 MiB. */
#define MAX_TEXT 1024u
/* What waits for the session's thread, which comes several times a second. */
#define MAX_QUEUED 65536u
/* What libdbus holds of messages that have not been looked at. Beyond, the bus has to wait. */
#define MAX_RECEIVED (16L << 20)

#define ANSWER_MS    5000
#define LAST_WORDS   500000000u /* ns */
#define STOP_SECONDS 1

enum fate { CONNECTING, LISTENING, ENDED };

struct dbus_monitor {
	char *address;
	uid_t uid;
	int notify, stop; /* eventfds; the first not owned */
	pthread_t thread;
	bool joined, leaked;

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	enum fate fate;
	char why[120];
	struct dbus_item *first, **last;
	size_t n;
	uint64_t lost;
};

bool dbus_monitor_is_built(void)
{
	return true;
}

static void set_fate(struct dbus_monitor *m, enum fate fate, const char *why)
{
	pthread_mutex_lock(&m->lock);
	m->fate = fate;
	snprintf(m->why, sizeof(m->why), "%s", why ? why : "no memory");
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

static void notify(const struct dbus_monitor *m)
{
	uint64_t one = 1;

	/* Full, it says so already. */
	if (write(m->notify, &one, sizeof(one)) < 0)
		return;
}

/* --- messages --- */

static uint32_t size_of(DBusMessage *message)
{
	char *bytes;
	int len;

	if (!dbus_message_marshal(message, &bytes, &len))
		return 0;
	dbus_free(bytes);
	return (uint32_t)len;
}

static struct dbus_item *make_item(DBusMessage *message)
{
	const char *texts[DBUS_N_TEXTS] = {
		[DBUS_SENDER] = dbus_message_get_sender(message),
		[DBUS_DESTINATION] = dbus_message_get_destination(message),
		[DBUS_PATH] = dbus_message_get_path(message),
		[DBUS_INTERFACE] = dbus_message_get_interface(message),
		[DBUS_MEMBER] = dbus_message_get_member(message),
		[DBUS_SIGNATURE] = dbus_message_get_signature(message),
		[DBUS_ERROR] = dbus_message_get_error_name(message),
	};
	size_t lengths[DBUS_N_TEXTS], size = 0;
	struct dbus_item *item;
	char *to;

	for (int i = 0; i < DBUS_N_TEXTS; i++) {
		lengths[i] = texts[i] ? strnlen(texts[i], MAX_TEXT) : 0;
		size += lengths[i] + 1;
	}
	item = malloc(sizeof(*item) + size);
	if (!item)
		return NULL;
	*item = (struct dbus_item){
		.time = clocks_now(),
		.kind = (uint32_t)dbus_message_get_type(message),
		.serial = dbus_message_get_serial(message),
		.reply_serial = dbus_message_get_reply_serial(message),
		.size = size_of(message),
		.no_reply = dbus_message_get_type(message) == DBUS_MESSAGE_TYPE_METHOD_CALL &&
			    dbus_message_get_no_reply(message),
	};
	to = (char *)(item + 1);
	for (int i = 0; i < DBUS_N_TEXTS; i++) {
		item->texts[i] = to;
		if (lengths[i])
			memcpy(to, texts[i], lengths[i]);
		to[lengths[i]] = '\0';
		to += lengths[i] + 1;
	}
	return item;
}

static void queue_message(struct dbus_monitor *m, DBusMessage *message)
{
	struct dbus_item *item = NULL;
	bool room, first = false;

	pthread_mutex_lock(&m->lock);
	room = m->n < MAX_QUEUED;
	pthread_mutex_unlock(&m->lock);
	/* Nobody else adds, so the room stays. */
	if (room)
		item = make_item(message);
	pthread_mutex_lock(&m->lock);
	if (item) {
		first = !m->first;
		*m->last = item;
		m->last = &item->next;
		m->n++;
	} else {
		m->lost++;
	}
	pthread_mutex_unlock(&m->lock);
	if (first)
		notify(m);
}

/* What the bus tells this connection about itself. */
static bool is_own(DBusConnection *connection, DBusMessage *message)
{
	const char *name = dbus_bus_get_unique_name(connection);
	const char *destination = dbus_message_get_destination(message);

	return name && destination && !strcmp(name, destination);
}

/* Whatever has arrived. False: there will be no more. */
static bool read_messages(struct dbus_monitor *m, DBusConnection *connection)
{
	bool open = dbus_connection_read_write(connection, 0);
	DBusMessage *message;

	while ((message = dbus_connection_pop_message(connection))) {
		if (dbus_message_is_signal(message, DBUS_INTERFACE_LOCAL, "Disconnected"))
			open = false;
		else if (!is_own(connection, message))
			queue_message(m, message);
		dbus_message_unref(message);
	}
	return open;
}

/* --- the connection --- */

/* Of this thread alone; glibc's function would change all of them. A bus of a user's session has
 * no ears for others, root included. */
static void become(uid_t uid)
{
	syscall(SYS_setresuid, -1, uid, -1);
}

static bool become_monitor(DBusConnection *connection, DBusError *error)
{
	DBusMessage *call = dbus_message_new_method_call(DBUS_SERVICE_DBUS, DBUS_PATH_DBUS,
							 DBUS_INTERFACE_MONITORING,
							 "BecomeMonitor"),
		    *reply = NULL;
	DBusMessageIter args, rules;
	dbus_uint32_t flags = 0;

	if (!call)
		return false;
	dbus_message_iter_init_append(call, &args);
	if (dbus_message_iter_open_container(&args, DBUS_TYPE_ARRAY, "s", &rules) &&
	    dbus_message_iter_close_container(&args, &rules) &&
	    dbus_message_iter_append_basic(&args, DBUS_TYPE_UINT32, &flags))
		reply = dbus_connection_send_with_reply_and_block(connection, call, ANSWER_MS,
								  error);
	dbus_message_unref(call);
	if (reply)
		dbus_message_unref(reply);
	return reply;
}

static DBusConnection *connect_bus(struct dbus_monitor *m)
{
	DBusConnection *connection;
	uid_t self = geteuid();
	DBusError error;
	bool listening;

	dbus_error_init(&error);
	become(m->uid);
	connection = dbus_connection_open_private(m->address, &error);
	if (connection)
		dbus_connection_set_exit_on_disconnect(connection, false);
	listening = connection && dbus_bus_register(connection, &error) &&
		    become_monitor(connection, &error);
	become(self);
	if (listening) {
		dbus_connection_set_max_received_size(connection, MAX_RECEIVED);
		set_fate(m, LISTENING, "");
		return connection;
	}
	set_fate(m, ENDED, error.message);
	dbus_error_free(&error);
	if (connection) {
		dbus_connection_close(connection);
		dbus_connection_unref(connection);
	}
	return NULL;
}

static void *run(void *arg)
{
	struct dbus_monitor *m = arg;
	DBusConnection *connection = connect_bus(m);
	struct pollfd polls[2] = { { .fd = m->stop, .events = POLLIN }, { .events = POLLIN } };
	bool open = true;
	uint64_t end;

	if (!connection)
		return NULL;
	if (!dbus_connection_get_unix_fd(connection, &polls[1].fd))
		open = false;
	while (open && !(polls[0].revents & POLLIN)) {
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			break;
		open = read_messages(m, connection);
	}
	/* libdbus reads little at a time. */
	for (end = clocks_now() + LAST_WORDS;
	     open && clocks_now() < end && poll(&polls[1], 1, 0) > 0;)
		open = read_messages(m, connection);
	set_fate(m, ENDED, open ? "" : "the bus has closed the connection");
	notify(m);
	dbus_connection_close(connection);
	dbus_connection_unref(connection);
	return NULL;
}

/* --- from the session's thread --- */

/* Signals are for the session's thread. */
static int start(struct dbus_monitor *m)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&m->thread, NULL, run, m);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

struct ebt_error *dbus_monitor_create(const char *address, uid_t uid, int notify,
				      struct dbus_monitor **ret)
{
	struct dbus_monitor *m = calloc(1, sizeof(*m));
	pthread_condattr_t attr;
	int r;

	if (!m || !dbus_threads_init_default()) {
		free(m);
		return &ebt_enomem;
	}
	m->address = strdup(address);
	m->uid = uid;
	m->notify = notify;
	m->last = &m->first;
	m->joined = true;
	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&m->changed, &attr);
	pthread_condattr_destroy(&attr);
	m->stop = eventfd(0, EFD_CLOEXEC);
	r = !m->address ? ENOMEM : m->stop < 0 ? errno : start(m);
	if (r) {
		dbus_monitor_destroy(m);
		return ebt_error_errno(r, "cannot listen to D-Bus");
	}
	m->joined = false;
	*ret = m;
	return NULL;
}

static struct timespec after(clockid_t clock, int ms)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += ms % 1000 * 1000000L;
	if (ts.tv_nsec >= 1000000000L) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000L;
	}
	return ts;
}

bool dbus_monitor_wait(struct dbus_monitor *m, int timeout_ms, char *ret, size_t size)
{
	struct timespec until = after(CLOCK_MONOTONIC, timeout_ms);
	bool listening;

	pthread_mutex_lock(&m->lock);
	while (m->fate == CONNECTING && !pthread_cond_timedwait(&m->changed, &m->lock, &until))
		;
	listening = m->fate == LISTENING;
	if (!listening)
		snprintf(ret, size, "%s", m->fate == CONNECTING ? "no answer yet" : m->why);
	pthread_mutex_unlock(&m->lock);
	return listening;
}

struct dbus_item *dbus_monitor_take(struct dbus_monitor *m, uint64_t *ret_lost, char *ret_why,
				    size_t size)
{
	struct dbus_item *first;

	pthread_mutex_lock(&m->lock);
	first = m->first;
	*ret_lost = m->lost;
	snprintf(ret_why, size, "%s", m->fate == ENDED ? m->why : "");
	m->first = NULL;
	m->last = &m->first;
	m->n = 0;
	m->lost = 0;
	pthread_mutex_unlock(&m->lock);
	return first;
}

void dbus_monitor_stop(struct dbus_monitor *m)
{
	struct timespec until = after(CLOCK_REALTIME, STOP_SECONDS * 1000);
	uint64_t one = 1;

	if (m->joined || m->leaked)
		return;
	if (write(m->stop, &one, sizeof(one)) == sizeof(one) &&
	    !pthread_timedjoin_np(m->thread, NULL, &until))
		m->joined = true;
	else
		m->leaked = true;
}

void dbus_monitor_destroy(struct dbus_monitor *m)
{
	struct dbus_item *item, *next;
	uint64_t lost;
	char why[1];

	if (!m)
		return;
	dbus_monitor_stop(m);
	/* The thread may still run, and add to the queue. */
	for (item = dbus_monitor_take(m, &lost, why, sizeof(why)); item; item = next) {
		next = item->next;
		free(item);
	}
	/* The thread is stuck with a bus that does not answer: it goes with the process. */
	if (m->leaked) {
		pthread_detach(m->thread);
		return;
	}
	pthread_mutex_destroy(&m->lock);
	pthread_cond_destroy(&m->changed);
	ebt_closep(&m->stop);
	free(m->address);
	free(m);
}
