/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers; see reply.h. */
#include "report/serve/reply.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/base/cleanup.h"
#include "report/page/page.h"

/* Of what is not the page. */
static const char nothing_else[] = "default-src 'none'; frame-ancestors 'none'";

static const char html[] = "text/html; charset=utf-8";

/* Takes the response over. */
static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned int status,
				     struct MHD_Response *response, const char *type,
				     const char *policy)
{
	const char *const headers[][2] = {
		{ MHD_HTTP_HEADER_CONTENT_TYPE, type },
		{ "Content-Security-Policy", policy },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "Cross-Origin-Embedder-Policy", "require-corp" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
		{ MHD_HTTP_HEADER_CONNECTION, "close" },
	};
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_GET);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* What was written to a stream in memory, which it takes over. */
static struct MHD_Response *response_of(FILE *f, char **data, size_t *len)
{
	const int failed = ferror(f);

	if (fclose(f) || failed) {
		free(*data);
		return NULL;
	}
	return MHD_create_response_from_buffer(*len, *data, MHD_RESPMEM_MUST_FREE);
}

enum MHD_Result reply_words(struct MHD_Connection *connection, unsigned int status,
			    const char *words)
{
	char *data = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&data, &len);

	if (!f)
		return MHD_NO;
	fprintf(f, "%s\n", words);
	return send_response(connection, status, response_of(f, &data, &len),
			     "text/plain; charset=utf-8", nothing_else);
}

/* Not by a redirection: of a browser that was led here by another page's link, the next request
 * would be that page's, and have no cookie that is for this site only. */
enum MHD_Result reply_entered(struct MHD_Connection *connection, const struct access *access)
{
	struct MHD_Response *response;
	char *data = NULL, cookie[160];
	size_t len = 0;
	FILE *f = open_memstream(&data, &len);

	if (!f)
		return MHD_NO;
	fprintf(f,
		"<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
		"<title>ebreport</title>\n"
		"<meta http-equiv=\"refresh\" content=\"0; url=/%s/\">\n"
		"<p><a href=\"/%s/\">To the page</a></p>\n</html>\n",
		access->session, access->session);
	response = response_of(f, &data, &len);
	snprintf(cookie, sizeof(cookie), "ebreport=%s; Path=/%s/; HttpOnly; SameSite=Strict",
		 access->cookie, access->session);
	if (response)
		MHD_add_response_header(response, MHD_HTTP_HEADER_SET_COOKIE, cookie);
	return send_response(connection, MHD_HTTP_OK, response, html, nothing_else);
}

enum MHD_Result reply_document(struct MHD_Connection *connection, const char *kind)
{
	char *data = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&data, &len);

	if (!f)
		return MHD_NO;
	page_write_served(f, kind);
	return send_response(connection, MHD_HTTP_OK, response_of(f, &data, &len), html,
			     page_served_policy);
}

enum MHD_Result reply_list(struct MHD_Connection *connection, const struct list *list)
{
	char *data = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&data, &len);

	if (!f)
		return MHD_NO;
	list_write(list, f);
	return send_response(connection, MHD_HTTP_OK, response_of(f, &data, &len),
			     "application/json", nothing_else);
}

static unsigned int status_of(int code)
{
	switch ((enum ebt_error_code)code) {
	case EBT_ERR_NOMEM:
		return MHD_HTTP_INSUFFICIENT_STORAGE;
	case EBT_ERR_NOT_FOUND:
		return MHD_HTTP_NOT_FOUND;
	case EBT_ERR_CORRUPT:
	case EBT_ERR_UNSUPPORTED:
	case EBT_ERR_LIMIT:
	case EBT_ERR_INVALID:
		return MHD_HTTP_UNPROCESSABLE_CONTENT;
	case EBT_ERR_SYSTEM:
	case EBT_ERR_CANCELLED:
		break;
	}
	return MHD_HTTP_INTERNAL_SERVER_ERROR;
}

enum MHD_Result reply_answer(struct client *client)
{
	const char *type = client->code				 ? "text/plain; charset=utf-8"
			   : client->question.what == SERVE_DATA ? "application/octet-stream"
								 : "application/json";
	struct stat st;

	if (client->answer < 0 || fstat(client->answer, &st))
		return reply_words(client->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				   client->why ? client->why->message : "There is no answer.");
	if (client->code == EBT_ERR_NOMEM)
		return reply_words(client->connection, MHD_HTTP_INSUFFICIENT_STORAGE,
				   "This takes more memory than --memory allows: choose a shorter "
				   "part of the time.");
	return send_response(client->connection,
			     client->code ? status_of(client->code) : MHD_HTTP_OK,
			     MHD_create_response_from_fd64((uint64_t)st.st_size,
							   take_fd(&client->answer)),
			     type, nothing_else);
}
