/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses that no host has in the place of those that hosts have; see scrub_net.h. */
#include "report/share/scrub_net.h"

#include <string.h>

#define V4 4
#define V6 16

/* ::ffff:0:0/96, IPv4 on a socket of IPv6. */
static const unsigned char mapped[V6 - V4] = { [10] = 0xff, [11] = 0xff };

static bool is_mapped(struct ebt_str address)
{
	return address.len == V6 && !memcmp(address.data, mapped, sizeof(mapped));
}

static struct ebt_str of_mapped(struct ebt_str address)
{
	return (struct ebt_str){ address.data + sizeof(mapped), V4 };
}

bool scrub_is_local_address(struct ebt_str address)
{
	static const unsigned char none[V6], loopback[V6] = { [15] = 1 };

	if (is_mapped(address))
		address = of_mapped(address);
	if (address.len == V4)
		return address.data[0] == 127 || !memcmp(address.data, none, V4);
	return address.len == V6 &&
	       (!memcmp(address.data, none, V6) || !memcmp(address.data, loopback, V6));
}

void scrub_address(const struct scrub_key *key, struct ebt_str address, struct text *to)
{
	unsigned char v[V6] = { 1 };
	uint64_t hash;

	if (scrub_is_local_address(address)) {
		text_add(to, address.data, address.len);
		return;
	}
	if (is_mapped(address)) {
		text_add(to, (const char *)mapped, sizeof(mapped));
		address = of_mapped(address);
	}
	if (address.len != V4 && address.len != V6)
		return;
	hash = scrub_hash(key, address.data, address.len);
	if (address.len == V4) {
		memcpy(v, &hash, V4);
		v[0] |= 0xf0;
		/* All ones would be a broadcast. */
		if (v[0] == 0xff)
			v[0] = 0xfe;
	} else {
		memcpy(v + V6 / 2, &hash, sizeof(hash));
	}
	text_add(to, (const char *)v, address.len);
}

bool scrub_is_system_device(struct ebt_str name)
{
	static const char *const prefixes[] = { "lo",	"eth",	  "eno", "ens",	 "enp",	   "wlan",
						"wlp",	"wlo",	  "wls", "veth", "docker", "br-",
						"bond", "virbr",  "tun", "tap",	 "vnet",   "ifb",
						"team", "dummy",  "wg",	 "sit",	 "ip6tnl", "ib",
						"cni",	"podman", NULL };
	static const char rest[] = "0123456789abcdefps"; /* numbers, and what stands between them */

	for (size_t i = 0; prefixes[i]; i++) {
		size_t len = strlen(prefixes[i]), at = len;

		if (name.len < len || memcmp(name.data, prefixes[i], len))
			continue;
		while (at < name.len && name.data[at] && strchr(rest, name.data[at]))
			at++;
		if (at == name.len)
			return true;
	}
	return false;
}
