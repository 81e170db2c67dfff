/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is let in; see request.h. */
#include "report/serve/request.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static struct ebt_error *make_secret(char ret[ACCESS_SECRET_LEN + 1])
{
	unsigned char bytes[ACCESS_SECRET_LEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return ebt_error_errno(errno, "cannot get random numbers");
	for (size_t i = 0; i < sizeof(bytes); i++)
		sprintf(ret + 2 * i, "%02x", bytes[i]);
	return NULL;
}

struct ebt_error *access_create(uint16_t port, struct access *ret)
{
	*ret = (struct access){ .port = port };
	return make_secret(ret->token) ?: make_secret(ret->session) ?: make_secret(ret->cookie);
}

/* In a time that does not tell how much of it was right. */
static bool is_secret(const char *secret, const char *given, size_t len)
{
	unsigned char differs = 0;

	if (len != ACCESS_SECRET_LEN)
		return false;
	for (size_t i = 0; i < ACCESS_SECRET_LEN; i++)
		differs |= (unsigned char)(secret[i] ^ given[i]);
	return !differs;
}

/* --- who asks --- */

/* Headers that count here. */
struct headers {
	const char *host, *origin, *site, *mode;
	size_t n_hosts;
	bool has_body, is_ahead;
};

static enum MHD_Result take_header(void *arg, enum MHD_ValueKind kind, const char *name,
				   const char *value)
{
	struct headers *headers = arg;

	(void)kind;
	value = value ? value : "";
	if (!strcasecmp(name, "Host")) {
		headers->host = value;
		headers->n_hosts++;
	} else if (!strcasecmp(name, "Origin")) {
		headers->origin = value;
	} else if (!strcasecmp(name, "Sec-Fetch-Site")) {
		headers->site = value;
	} else if (!strcasecmp(name, "Sec-Fetch-Mode")) {
		headers->mode = value;
	} else if (!strcasecmp(name, "Transfer-Encoding") ||
		   (!strcasecmp(name, "Content-Length") && strcmp(value, "0") != 0)) {
		headers->has_body = true;
	} else if (!strcasecmp(name, "Sec-Purpose") || !strcasecmp(name, "Purpose") ||
		   !strcasecmp(name, "X-Moz")) {
		headers->is_ahead = true;
	}
	return MHD_YES;
}

static struct headers read_headers(struct MHD_Connection *connection)
{
	struct headers headers = { 0 };

	MHD_get_connection_values(connection, MHD_HEADER_KIND, take_header, &headers);
	return headers;
}

/* A page of another name that leads here by DNS asks with that name. */
static bool is_host(const struct access *access, const char *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	char text[32];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text), "%s:%" PRIu16, names[i], access->port);
		if (!strcasecmp(host, text))
			return true;
		/* The port of the scheme is left out. */
		if (access->port == 80 && !strcasecmp(host, names[i]))
			return true;
	}
	return false;
}

static bool is_own_origin(const struct headers *headers)
{
	static const char scheme[] = "http://";

	return !headers->origin || (!strncmp(headers->origin, scheme, strlen(scheme)) &&
				    !strcasecmp(headers->origin + strlen(scheme), headers->host));
}

const char *request_refuse(struct MHD_Connection *connection, const char *method,
			   const struct access *access, unsigned int *ret_status)
{
	const struct headers headers = read_headers(connection);

	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0) {
		*ret_status = MHD_HTTP_METHOD_NOT_ALLOWED;
		return "Only GET is answered here.";
	}
	if (headers.has_body) {
		*ret_status = MHD_HTTP_CONTENT_TOO_LARGE;
		return "A request has no body here.";
	}
	*ret_status = MHD_HTTP_FORBIDDEN;
	if (headers.n_hosts != 1 || !is_host(access, headers.host))
		return "This server answers to the names of this machine only.";
	if (!is_own_origin(&headers))
		return "Pages of other origins are not answered.";
	/* A prefetch would use the token up. */
	if (headers.is_ahead) {
		*ret_status = MHD_HTTP_SERVICE_UNAVAILABLE;
		return "Nothing is answered ahead of time.";
	}
	return NULL;
}

/* --- what is asked for --- */

static struct serve_request refused(unsigned int status, const char *why)
{
	return (struct serve_request){ .what = REQUEST_REFUSED, .status = status, .why = why };
}

static struct serve_request enter(struct MHD_Connection *connection, const struct access *access)
{
	const struct headers headers = read_headers(connection);
	const char *token = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");

	if (!token || !is_secret(access->token, token, strlen(token)))
		return refused(MHD_HTTP_FORBIDDEN,
			       "This is the server of ebreport. It opens with the address that "
			       "it printed when it was started.");
	if (access->spent)
		return refused(MHD_HTTP_FORBIDDEN,
			       "This address works once, and has been opened. The page that it "
			       "was opened in goes on working. To open it elsewhere, end "
			       "`ebreport serve` with Ctrl-C and start it again. If it was not you "
			       "who opened it, end it now.");
	/* The address may come from anywhere, but not into the script of another page. */
	if (headers.mode && strcmp(headers.mode, "navigate") != 0)
		return refused(MHD_HTTP_FORBIDDEN, "This address is to be opened, not fetched.");
	return (struct serve_request){ .what = REQUEST_ENTERS };
}

/* Decimal digits, and nothing else, up to the end or a character of `ends`; NULL: there are none,
 * or too many. */
static const char *read_number(const char *text, const char *ends, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return NULL;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return !errno && (!*end || strchr(ends, *end)) ? end : NULL;
}

static bool read_time(struct MHD_Connection *connection, const char *name, uint64_t *ret)
{
	const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);

	return !text || read_number(text, "", ret);
}

static bool read_pids(struct MHD_Connection *connection, struct serve_question *question)
{
	const char *at = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "pid");

	while (at && *at) {
		uint64_t pid;

		at = read_number(at + (*at == ','), ",", &pid);
		if (!at || pid > UINT32_MAX || question->n_pids == SERVE_MOST_PIDS)
			return false;
		question->pids[question->n_pids++] = (uint32_t)pid;
	}
	return true;
}

static bool read_version(struct MHD_Connection *connection, struct serve_question *question)
{
	const char *text =
		MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "version");

	if (!text)
		return true;
	if (strlen(text) != SERVE_VERSION_LEN ||
	    strspn(text, "0123456789abcdef") != SERVE_VERSION_LEN)
		return false;
	memcpy(question->version, text, SERVE_VERSION_LEN);
	return true;
}

static struct serve_request read_question(struct MHD_Connection *connection, const char *word,
					  const char *file)
{
	static const char *const words[] = {
		[SERVE_FACTS] = "facts",
		[SERVE_OVERVIEW] = "overview",
		[SERVE_DATA] = "data",
	};
	struct serve_request request = { .what = REQUEST_ASKS,
					 .question = { .file = file, .to_ns = UINT64_MAX } };
	struct serve_question *question = &request.question;
	size_t i = 0;

	while (i < sizeof(words) / sizeof(words[0]) && strcmp(words[i], word))
		i++;
	if (i == sizeof(words) / sizeof(words[0]))
		return refused(MHD_HTTP_NOT_FOUND, "There is no such page.");
	question->what = (enum serve_what)i;
	if (!read_time(connection, "from", &question->from_ns) ||
	    !read_time(connection, "to", &question->to_ns) ||
	    question->from_ns >= question->to_ns || !read_pids(connection, question) ||
	    !read_version(connection, question))
		return refused(MHD_HTTP_BAD_REQUEST,
			       "from and to are nanoseconds since the start, pid is a list of "
			       "process ids.");
	return request;
}

/* Behind the session's folder: what is of the folder, or of one of its traces. */
static struct serve_request read_path(struct MHD_Connection *connection, const char *path,
				      const struct list *list)
{
	uint64_t number = 0;
	const char *file;

	if (list->folder && !*path)
		return (struct serve_request){ .what = REQUEST_FOLDER };
	if (list->folder && !strcmp(path, "list"))
		return (struct serve_request){ .what = REQUEST_LIST };
	if (list->folder) {
		path = !strncmp(path, "t/", 2) ? read_number(path + 2, "/", &number) : NULL;
		if (!path || *path != '/')
			return refused(MHD_HTTP_NOT_FOUND, "There is no such page.");
		path++;
	}
	file = list_path(list, number);
	if (!file)
		return refused(MHD_HTTP_NOT_FOUND, "The trace is not there, or not any more.");
	if (!*path)
		return (struct serve_request){ .what = REQUEST_DOCUMENT };
	return read_question(connection, path, file);
}

/* The path behind the folder, if that is the session's; NULL: it is not. */
static const char *enter_session(const char *path, const struct access *access)
{
	if (strlen(path) < ACCESS_SECRET_LEN + 2 || path[0] != '/' ||
	    path[ACCESS_SECRET_LEN + 1] != '/' ||
	    !is_secret(access->session, path + 1, ACCESS_SECRET_LEN))
		return NULL;
	return path + ACCESS_SECRET_LEN + 2;
}

struct serve_request request_read(struct MHD_Connection *connection, const char *path,
				  const struct access *access, const struct list *list)
{
	const char *site =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site");
	const char *rest = enter_session(path, access), *cookie;
	struct serve_request request;

	if (!strcmp(path, "/"))
		return enter(connection, access);
	if (!rest)
		return refused(MHD_HTTP_FORBIDDEN, "This address is not of this server's page.");
	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return refused(MHD_HTTP_FORBIDDEN, "Links from other pages are not answered.");
	cookie = MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, "ebreport");
	if (!cookie || !is_secret(access->cookie, cookie, strlen(cookie)))
		return refused(MHD_HTTP_FORBIDDEN,
			       "This page is open in another browser, or its server was started "
			       "again. Open the address that `ebreport serve` printed.");
	request = read_path(connection, rest, list);
	request.known = true;
	return request;
}
