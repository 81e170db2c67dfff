/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers as HTTP. All of them forbid keeping them, guessing what they are, and other origins. */
#ifndef REPORT_SERVE_REPLY_H
#define REPORT_SERVE_REPLY_H

#include <microhttpd.h>

#include "report/serve/client.h"
#include "report/serve/request.h"

/* Text for people. */
enum MHD_Result reply_words(struct MHD_Connection *connection, unsigned int status,
			    const char *words);
/* The token was good: sets the cookie, and leads to the session's folder. */
enum MHD_Result reply_entered(struct MHD_Connection *connection, const struct access *access);
/* The page without data; kind: see page_write_served(). */
enum MHD_Result reply_document(struct MHD_Connection *connection, const char *kind);
enum MHD_Result reply_list(struct MHD_Connection *connection, const struct list *list);
/* What a child has answered. The file is closed. */
enum MHD_Result reply_answer(struct client *client);

#endif
