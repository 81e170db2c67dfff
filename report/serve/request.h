/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a request is, and whether it is let in. The first address has a token, which is good for one
 * request; that one's answer leads to a folder whose name is as secret, and sets a cookie for this
 * folder alone. Cookies know hosts and no ports: without such a folder, a browser would show the
 * cookie to every other server of this machine.
 */
#ifndef REPORT_SERVE_REQUEST_H
#define REPORT_SERVE_REQUEST_H

#include <microhttpd.h>

#include "report/serve/answer.h"
#include "report/serve/list.h"

#define ACCESS_SECRET_LEN 32 /* hexadecimal digits of 128 bits */

struct access {
	uint16_t port;
	char token[ACCESS_SECRET_LEN + 1];
	char session[ACCESS_SECRET_LEN + 1]; /* the folder */
	char cookie[ACCESS_SECRET_LEN + 1];
	bool spent; /* the token is */
};

struct ebt_error *access_create(uint16_t port, struct access *ret);

enum request_what {
	REQUEST_ENTERS,	  /* has the token, which was good */
	REQUEST_DOCUMENT, /* of a trace */
	REQUEST_FOLDER,	  /* the document of a folder */
	REQUEST_LIST,	  /* the traces of a folder */
	REQUEST_ASKS,	  /* .question */
	REQUEST_REFUSED,  /* .status, .why */
};

struct serve_request {
	enum request_what what;
	struct serve_question question;
	unsigned int status;
	const char *why;
	bool known; /* has the cookie */
};

/* All but what read_request() needs a path for: who asks, and how. NULL: nothing against it. */
const char *request_refuse(struct MHD_Connection *connection, const char *method,
			   const struct access *access, unsigned int *ret_status);
/* After that. */
struct serve_request request_read(struct MHD_Connection *connection, const char *path,
				  const struct access *access, const struct list *list);

#endif
