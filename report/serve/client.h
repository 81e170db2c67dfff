/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections: one request each. A client that has not shown its cookie is worth little: it has
 * seconds for its request, and makes room for others where there are many. So whoever opens
 * connections, or sends or reads a byte now and then, holds up nobody.
 */
#ifndef REPORT_SERVE_CLIENT_H
#define REPORT_SERVE_CLIENT_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "report/serve/answer.h"

enum client_state {
	CLIENT_TALKS,	 /* has not sent its request yet, or is being answered */
	CLIENT_WAITS,	 /* for a child's answer: the library does not look at it meanwhile */
	CLIENT_ANSWERED, /* there is one, to be sent */
};

struct client {
	TAILQ_ENTRY(client) link;    /* among all, the oldest first */
	TAILQ_ENTRY(client) waiting; /* among those that wait, in order */
	struct MHD_Connection *connection;
	int fd;
	uint64_t until_ms; /* is closed then */
	bool known;	   /* has shown the cookie */
	enum client_state state;
	struct serve_question question;
	int answer;	       /* a file; -1: none */
	int code;	       /* enum ebt_error_code, of the answer; 0: it is none */
	struct ebt_error *why; /* there is no answer; or NULL */
};

TAILQ_HEAD(client_list, client);

struct clients {
	struct client_list all, waiting;
	size_t n, n_waiting;
	/* One has gone, or waits no more. The daemons have to run again: only then they accept the
	 * next where there was no room, and answer. */
	bool moved;
};

uint64_t client_now_ms(void);

void clients_init(struct clients *clients);
/* A new connection. NULL: no memory. */
struct client *clients_add(struct clients *clients, struct MHD_Connection *connection);
/* It is closed. */
void clients_remove(struct clients *clients, struct client *client);
/* It has shown the cookie, and has minutes. */
void client_is_known(struct client *client);
/* Closes those whose time is over. *ret_ms: until the next one's; UINT64_MAX: there is none. */
void clients_expire(struct clients *clients, uint64_t *ret_ms);

/* Puts it last in the line. */
void clients_wait(struct clients *clients, struct client *client);
/* Its answer is there, which it takes over. */
void clients_answer(struct clients *clients, struct client *client, int answer, int code);
/* There will be none. Takes the error over; NULL: nobody asks why. */
void clients_refuse(struct clients *clients, struct client *client, struct ebt_error *why);

#endif
