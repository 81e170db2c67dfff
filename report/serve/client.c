/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections; see client.h. */
#include "report/serve/client.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Beyond so many, strangers make room. */
#define MANY_CLIENTS 64

#define STRANGER_MS  10000
#define KNOWN_MS     600000 /* a page through a slow tunnel takes minutes */

uint64_t client_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void clients_init(struct clients *clients)
{
	TAILQ_INIT(&clients->all);
	TAILQ_INIT(&clients->waiting);
}

/* The library sees that, and closes it. */
static void hang_up(struct client *client)
{
	shutdown(client->fd, SHUT_RDWR);
	client->until_ms = UINT64_MAX;
}

/* The oldest that is a stranger, and is not on its way out. */
static void make_room(struct clients *clients)
{
	struct client *client;

	TAILQ_FOREACH(client, &clients->all, link)
	{
		if (!client->known && client->until_ms != UINT64_MAX) {
			hang_up(client);
			return;
		}
	}
}

struct client *clients_add(struct clients *clients, struct MHD_Connection *connection)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	if (clients->n >= MANY_CLIENTS)
		make_room(clients);
	client->connection = connection;
	client->fd =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	client->until_ms = client_now_ms() + STRANGER_MS;
	client->answer = -1;
	TAILQ_INSERT_TAIL(&clients->all, client, link);
	clients->n++;
	return client;
}

void clients_remove(struct clients *clients, struct client *client)
{
	TAILQ_REMOVE(&clients->all, client, link);
	clients->n--;
	clients->moved = true;
	if (client->answer >= 0)
		close(client->answer);
	ebt_error_destroy(client->why);
	free(client);
}

void client_is_known(struct client *client)
{
	client->known = true;
	client->until_ms = client_now_ms() + KNOWN_MS;
}

void clients_expire(struct clients *clients, uint64_t *ret_ms)
{
	const uint64_t now = client_now_ms();
	struct client *client;

	*ret_ms = UINT64_MAX;
	TAILQ_FOREACH(client, &clients->all, link)
	{
		if (client->state == CLIENT_WAITS || client->until_ms == UINT64_MAX)
			continue;
		if (client->until_ms <= now)
			hang_up(client);
		else if (client->until_ms - now < *ret_ms)
			*ret_ms = client->until_ms - now;
	}
}

void clients_wait(struct clients *clients, struct client *client)
{
	client->state = CLIENT_WAITS;
	TAILQ_INSERT_TAIL(&clients->waiting, client, waiting);
	clients->n_waiting++;
	MHD_suspend_connection(client->connection);
}

static void wait_no_more(struct clients *clients, struct client *client)
{
	client->state = CLIENT_ANSWERED;
	TAILQ_REMOVE(&clients->waiting, client, waiting);
	clients->n_waiting--;
	clients->moved = true;
	client_is_known(client); /* its minutes begin now */
	MHD_resume_connection(client->connection);
}

void clients_answer(struct clients *clients, struct client *client, int answer, int code)
{
	client->answer = answer;
	client->code = code;
	wait_no_more(clients, client);
}

void clients_refuse(struct clients *clients, struct client *client, struct ebt_error *why)
{
	client->why = why;
	wait_no_more(clients, client);
}
