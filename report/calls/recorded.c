/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recorded arguments as text; see recorded.h. */
#include "report/calls/recorded.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "report/calls/flags.h"

static bool is_digit(struct ebt_str bytes, size_t i)
{
	return i < bytes.len && bytes.data[i] >= '0' && bytes.data[i] <= '9';
}

/* others: printable ones that are not printed as they are. */
static void add_escaped(struct text *text, struct ebt_str bytes, const char *others)
{
	static const char named[] = "\"\\\n\t\v\f\r", letters[] = "\"\\ntvfr";

	for (size_t i = 0; i < bytes.len; i++) {
		const unsigned char c = (unsigned char)bytes.data[i];
		const char *found = c ? strchr(named, c) : NULL;

		if (found) {
			text_addc(text, '\\');
			text_addc(text, letters[found - named]);
		} else if (c >= ' ' && c < 0x7f && !strchr(others, c)) {
			text_addc(text, (char)c);
		} else {
			/* As short as what follows lets it be. */
			text_printf(text, is_digit(bytes, i + 1) ? "\\%03o" : "\\%o", c);
		}
	}
}

void recorded_add_string(struct text *text, struct ebt_str bytes)
{
	text_addc(text, '"');
	add_escaped(text, bytes, "");
	text_addc(text, '"');
}

void recorded_add_name(struct text *text, struct ebt_str bytes)
{
	add_escaped(text, bytes, "<>");
}

/* --- addresses --- */

static void add_inet(struct text *text, const struct sockaddr_in *address)
{
	char name[INET_ADDRSTRLEN] = "";

	inet_ntop(AF_INET, &address->sin_addr, name, sizeof(name));
	text_printf(text, "sin_port=htons(%u), sin_addr=inet_addr(\"%s\")",
		    ntohs(address->sin_port), name);
}

static void add_inet6(struct text *text, const struct sockaddr_in6 *address)
{
	char name[INET6_ADDRSTRLEN] = "";

	inet_ntop(AF_INET6, &address->sin6_addr, name, sizeof(name));
	text_printf(text,
		    "sin6_port=htons(%u), sin6_flowinfo=htonl(%" PRIu32
		    "), inet_pton(AF_INET6, \"%s\", &sin6_addr), sin6_scope_id=%" PRIu32,
		    ntohs(address->sin6_port), ntohl(address->sin6_flowinfo), name,
		    address->sin6_scope_id);
}

/* path: what stands behind the family. A name that begins with a zero byte is of no file. */
static void add_unix(struct text *text, struct ebt_str path)
{
	bool is_abstract = path.len && !path.data[0];

	if (path.len > sizeof(((struct sockaddr_un *)NULL)->sun_path))
		path.len = sizeof(((struct sockaddr_un *)NULL)->sun_path);
	text_cstr(text, "sun_path=");
	if (is_abstract) {
		text_addc(text, '@');
		path.data++;
		path.len--;
	} else {
		path.len = (uint32_t)strnlen(path.data, path.len);
	}
	recorded_add_string(text, path);
}

static void add_netlink(struct text *text, const struct sockaddr_nl *address)
{
	text_printf(text, "nl_pid=%d, nl_groups=", (int)address->nl_pid);
	text_printf(text, address->nl_groups ? "%#08" PRIx32 : "%08" PRIx32, address->nl_groups);
}

void recorded_add_address(struct text *text, enum syscall_arch arch, struct ebt_str bytes)
{
	const struct ebt_str data = bytes.len > sizeof(sa_family_t)
					    ? (struct ebt_str){ bytes.data + sizeof(sa_family_t),
								bytes.len - sizeof(sa_family_t) }
					    : (struct ebt_str){ bytes.data, 0 };
	union {
		sa_family_t family;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_nl nl;
		char bytes[128];
	} address = { .bytes = "" };

	if (bytes.len < sizeof(address.family)) {
		recorded_add_string(text, bytes);
		return;
	}
	memcpy(address.bytes, bytes.data,
	       bytes.len < sizeof(address.bytes) ? bytes.len : sizeof(address.bytes));
	text_cstr(text, "{sa_family=");
	flag_add(text, FLAGS_family, arch, address.family, "AF_???");
	if (data.len) {
		text_cstr(text, ", ");
		if (address.family == AF_UNIX)
			add_unix(text, data);
		else if (address.family == AF_INET && bytes.len >= sizeof(address.in))
			add_inet(text, &address.in);
		else if (address.family == AF_INET6 && bytes.len >= sizeof(address.in6))
			add_inet6(text, &address.in6);
		else if (address.family == AF_NETLINK && bytes.len >= sizeof(address.nl))
			add_netlink(text, &address.nl);
		else {
			text_cstr(text, "sa_data=");
			recorded_add_string(text, data);
		}
	}
	text_addc(text, '}');
}
