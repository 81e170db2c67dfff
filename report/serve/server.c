/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server: one thread, which waits for connections, signals and children at once. Forking needs
 * one thread, and nothing here takes long.
 */
#include "report/serve/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "report/out/out.h"
#include "report/serve/browser.h"
#include "report/serve/client.h"
#include "report/serve/list.h"
#include "report/serve/listen.h"
#include "report/serve/reply.h"
#include "report/serve/request.h"
#include "report/serve/worker.h"

#define MOST_CLIENTS  256 /* beyond, new ones wait until others have gone */
#define MOST_WAITING  16
#define IDLE_SECONDS  30 /* a connection on which nothing moves */
#define CLIENT_MEMORY ((size_t)32 << 10)
#define USUAL_MEMORY  (UINT64_C(450) << 20)
#define LEAST_MEMORY  (UINT64_C(64) << 20) /* for the smallest part */
#define MEMORY_OF_ROW 128 /* as measured, and as much again for what follows the part */

struct server {
	struct report *report;
	struct list list;
	struct access access;
	struct MHD_Daemon *daemons[LISTEN_MOST];
	size_t n_daemons;
	struct clients clients;
	struct serve_worker worker; /* answers the first of those that wait */
	uint64_t memory;
	int signals;
	char *opener;	   /* the file that leads a browser here */
	uint64_t asked_ms; /* when somebody who is known asked last */
	bool interrupted;
};

/* --- children --- */

static void start_next(struct server *server)
{
	struct client *client;

	while (!server->worker.pid && (client = TAILQ_FIRST(&server->clients.waiting))) {
		struct ebt_error *err = worker_start(&server->worker, server->report->options,
						     &client->question, server->memory);

		if (err)
			clients_refuse(&server->clients, client, err);
	}
}

static void take_answer(struct server *server, int status)
{
	struct client *client = TAILQ_FIRST(&server->clients.waiting);
	int answer, code;
	struct ebt_error *err = worker_take(&server->worker, status, &answer, &code);

	if (err)
		clients_refuse(&server->clients, client, err);
	else
		clients_answer(&server->clients, client, answer, code);
	server->asked_ms = client_now_ms();
}

/* Those that have ended: the one that answers, and what opened a browser. */
static void reap(struct server *server)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == server->worker.pid)
			take_answer(server, status);
	}
}

/* It has hung up: nobody needs the answer. */
static void give_up(struct server *server, struct client *client)
{
	if (client == TAILQ_FIRST(&server->clients.waiting))
		worker_kill(&server->worker);
	clients_refuse(&server->clients, client, NULL);
}

/* --- requests --- */

static enum MHD_Result enter(struct server *server, struct client *client)
{
	server->access.spent = true;
	browser_forget(server->opener);
	server->opener = NULL;
	return reply_entered(client->connection, &server->access);
}

static enum MHD_Result ask(struct server *server, struct client *client,
			   const struct serve_question *question)
{
	if (server->clients.n_waiting >= MOST_WAITING)
		return reply_words(client->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				   "Too many questions are waiting for their answers.");
	client->question = *question;
	client->question.most_rows = server->memory / MEMORY_OF_ROW;
	clients_wait(&server->clients, client);
	return MHD_YES;
}

static enum MHD_Result list_traces(struct server *server, struct client *client)
{
	struct ebt_error *err = list_refresh(&server->list);
	enum MHD_Result result;

	result = err ? reply_words(client->connection, MHD_HTTP_INTERNAL_SERVER_ERROR, err->message)
		     : reply_list(client->connection, &server->list);
	ebt_error_destroy(err);
	return result;
}

static enum MHD_Result handle(struct server *server, struct client *client, const char *path)
{
	struct MHD_Connection *connection = client->connection;
	const struct serve_request request =
		request_read(connection, path, &server->access, &server->list);

	if (request.known) {
		client_is_known(client);
		server->asked_ms = client_now_ms();
	}
	switch (request.what) {
	case REQUEST_ENTERS:
		return enter(server, client);
	case REQUEST_DOCUMENT:
		return reply_document(connection, "trace");
	case REQUEST_FOLDER:
		return reply_document(connection, "folder");
	case REQUEST_LIST:
		return list_traces(server, client);
	case REQUEST_ASKS:
		return ask(server, client, &request.question);
	case REQUEST_REFUSED:
		break;
	}
	return reply_words(connection, request.status, request.why);
}

/* Called when the headers are there, then when the request is, and again once the client has waited
 * for its answer. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *body,
				  size_t *body_len, void **state)
{
	struct client *client =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
			->socket_context;
	struct server *server = arg;
	unsigned int status;
	const char *why;

	(void)version;
	(void)body;
	(void)body_len;
	if (!client)
		return MHD_NO;
	if (*state)
		return client->state == CLIENT_ANSWERED ? reply_answer(client)
							: handle(server, client, path);
	*state = client;
	why = request_refuse(connection, method, &server->access, &status);
	return why ? reply_words(connection, status, why) : MHD_YES;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct server *server = arg;

	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		*context = clients_add(&server->clients, connection);
	else if (*context)
		clients_remove(&server->clients, *context);
}

/* Names of pages and arguments have nothing to be unescaped. */
static size_t keep_escapes(void *arg, struct MHD_Connection *connection, char *text)
{
	(void)arg;
	(void)connection;
	return strlen(text);
}

/* --- beginning and end --- */

/* Takes the socket over. */
static struct ebt_error *add_daemon(struct server *server, int fd)
{
	struct MHD_Daemon *daemon =
		MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
				 on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
				 MHD_OPTION_CONNECTION_LIMIT, MOST_CLIENTS,
				 MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
				 MHD_OPTION_CONNECTION_MEMORY_LIMIT, CLIENT_MEMORY,
				 MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION,
				 on_connection, server, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes,
				 NULL, MHD_OPTION_END);

	if (!daemon) {
		close(fd);
		return ebt_error_create(EBT_ERR_SYSTEM, "cannot start the server");
	}
	server->daemons[server->n_daemons++] = daemon;
	return NULL;
}

static struct ebt_error *start_daemons(struct server *server)
{
	const uint64_t wanted = options_u64(server->report->options, "port", 0);
	int sockets[LISTEN_MOST];
	uint16_t port = (uint16_t)wanted;
	struct ebt_error *err;
	size_t n;

	if (wanted > UINT16_MAX)
		return ebt_error_create(EBT_ERR_INVALID, "--port: %" PRIu64 " is above %d", wanted,
					UINT16_MAX);
	err = listen_open(&port, sockets, &n) ?: access_create(port, &server->access);
	for (size_t i = 0; !err && i < n; i++)
		err = add_daemon(server, sockets[i]);
	return err;
}

static void block_signals(sigset_t *ret_signals, sigset_t *ret_before)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };

	sigemptyset(ret_signals);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(ret_signals, signals[i]);
	sigprocmask(SIG_BLOCK, ret_signals, ret_before);
}

static struct ebt_error *tell_address(struct server *server)
{
	_cleanup_free_ char *url = NULL;
	FILE *f = out_file(server->report->out);
	struct ebt_error *err = ebt_format(&url, "http://127.0.0.1:%" PRIu16 "/?token=%s",
					   server->access.port, server->access.token);

	if (err)
		return err;
	fprintf(f, "%s\n", url);
	if (fflush(f))
		return ebt_error_errno(errno, "cannot write the address");
	/* Where no browser can be opened, the address has been printed. */
	if (!options_flag(server->report->options, "no-open") && browser_is_there())
		ebt_error_destroy(browser_open(url, &server->opener));
	return NULL;
}

static void stop(struct server *server)
{
	struct client *client;

	worker_kill(&server->worker);
	while ((client = TAILQ_FIRST(&server->clients.waiting)))
		clients_refuse(&server->clients, client, NULL);
	for (size_t i = 0; i < server->n_daemons; i++) {
		MHD_run(server->daemons[i]); /* takes those that have waited */
		MHD_stop_daemon(server->daemons[i]);
	}
	browser_forget(server->opener);
	if (server->signals >= 0)
		close(server->signals);
}

/* --- the loop --- */

/* How long until something is due; -1: nothing is. */
static int time_left(struct server *server, uint64_t until_client_ms, bool *ret_over)
{
	const uint64_t timeout = options_u64(server->report->options, "timeout", 0) / 1000000;
	const uint64_t quiet = client_now_ms() - server->asked_ms;
	uint64_t left = until_client_ms;

	*ret_over = timeout && quiet >= timeout && TAILQ_EMPTY(&server->clients.waiting);
	if (timeout && quiet < timeout && timeout - quiet < left)
		left = timeout - quiet;
	for (size_t i = 0; i < server->n_daemons; i++) {
		unsigned long long ms;

		if (MHD_get_timeout(server->daemons[i], &ms) == MHD_YES && ms < left)
			left = ms;
	}
	if (left == UINT64_MAX)
		return -1;
	return left < 60000 ? (int)left : 60000;
}

static void take_signals(struct server *server)
{
	struct signalfd_siginfo info;

	while (read(server->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(server);
		else
			server->interrupted = true;
	}
}

/* Waits for whatever comes first. Of clients that wait for an answer, only that they hang up. */
static struct ebt_error *wait_for_events(struct server *server, int timeout)
{
	struct pollfd fds[1 + LISTEN_MOST + MOST_WAITING];
	struct client *waiting[MOST_WAITING], *client;
	size_t n = 0, first;

	fds[n++] = (struct pollfd){ .fd = server->signals, .events = POLLIN };
	for (size_t i = 0; i < server->n_daemons; i++) {
		const int fd =
			MHD_get_daemon_info(server->daemons[i], MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;

		fds[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	first = n;
	TAILQ_FOREACH(client, &server->clients.waiting, waiting)
	{
		waiting[n - first] = client;
		fds[n++] = (struct pollfd){ .fd = client->fd, .events = POLLRDHUP };
	}
	if (poll(fds, n, timeout) < 0)
		return errno == EINTR ? NULL : ebt_error_errno(errno, "cannot wait for requests");
	for (size_t i = first; i < n; i++) {
		if (fds[i].revents)
			give_up(server, waiting[i - first]);
	}
	if (fds[0].revents)
		take_signals(server);
	return NULL;
}

static struct ebt_error *loop(struct server *server)
{
	struct ebt_error *err = NULL;
	bool over = false;

	server->asked_ms = client_now_ms();
	while (!err && !over && !server->interrupted) {
		uint64_t until_client;
		int timeout;

		server->clients.moved = false;
		for (size_t i = 0; i < server->n_daemons; i++)
			MHD_run(server->daemons[i]);
		start_next(server);
		clients_expire(&server->clients, &until_client);
		timeout = time_left(server, until_client, &over);
		err = over ? NULL : wait_for_events(server, server->clients.moved ? 0 : timeout);
	}
	return err;
}

/* What is blocked and ignored meanwhile is as before afterwards. */
static struct ebt_error *run(struct server *server)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction pipe_before;
	sigset_t signals, before;
	struct ebt_error *err = NULL;

	block_signals(&signals, &before);
	sigaction(SIGPIPE, &ignore, &pipe_before); /* of files that are sent as they are */
	server->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (server->signals < 0)
		err = ebt_error_errno(errno, "cannot wait for signals");
	err = err ?: start_daemons(server) ?: tell_address(server) ?: loop(server);
	stop(server);
	sigaction(SIGPIPE, &pipe_before, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

struct ebt_error *serve_run(struct report *report)
{
	struct server server = { .report = report, .signals = -1 };
	struct ebt_error *err;

	server.memory = options_u64(report->options, "memory", USUAL_MEMORY);
	if (server.memory < LEAST_MEMORY)
		return ebt_error_create(EBT_ERR_INVALID, "--memory: 64M is the least");
	clients_init(&server.clients);
	err = list_create(report->options->file, &server.list);
	if (!err)
		err = run(&server);
	list_deinit(&server.list);
	return err;
}
