/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of hosts as text; see net_text.h. */
#include "report/base/net_text.h"

#include <arpa/inet.h>
#include <inttypes.h>

void net_add_address(struct text *text, const void *address, size_t len)
{
	char buffer[INET6_ADDRSTRLEN];
	const char *s = NULL;

	if (len == 4)
		s = inet_ntop(AF_INET, address, buffer, sizeof(buffer));
	else if (len == 16)
		s = inet_ntop(AF_INET6, address, buffer, sizeof(buffer));
	text_cstr(text, s ? s : "?");
}

void net_add_endpoint(struct text *text, const void *address, size_t len, uint64_t port)
{
	if (len == 16)
		text_addc(text, '[');
	net_add_address(text, address, len);
	if (len == 16)
		text_addc(text, ']');
	text_printf(text, ":%" PRIu64, port);
}
