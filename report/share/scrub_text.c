/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens, the parts of paths that can stay, addresses that no host has; see scrub_text.h. */
#include "report/share/scrub_text.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define TOKEN_BITS 48

struct ebt_error *scrub_key_make(struct scrub_key *ret)
{
	struct scrub_key key;

	if (getrandom(&key, sizeof(key), 0) != sizeof(key))
		return ebt_error_errno(errno, "no random bytes");
	*ret = key;
	return NULL;
}

/* --- SipHash --- */

static uint64_t rotate(uint64_t v, int bits)
{
	return v << bits | v >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], int n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

uint64_t scrub_hash(const struct scrub_key *key, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t v[4] = {
		key->k[0] ^ UINT64_C(0x736f6d6570736575),
		key->k[1] ^ UINT64_C(0x646f72616e646f6d),
		key->k[0] ^ UINT64_C(0x6c7967656e657261),
		key->k[1] ^ UINT64_C(0x7465646279746573),
	};

	for (size_t left = len;; p += 8, left -= 8) {
		size_t n = left < 8 ? left : 8;
		uint64_t word = 0;

		for (size_t i = 0; i < n; i++)
			word |= (uint64_t)p[i] << (8 * i);
		if (n < 8)
			word |= (uint64_t)len << 56;
		v[3] ^= word;
		sip_rounds(v, 2);
		v[0] ^= word;
		if (n < 8)
			break;
	}
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void scrub_token(const struct scrub_key *key, struct ebt_str s, struct text *to)
{
	uint64_t hash;

	if (!s.len)
		return;
	hash = scrub_hash(key, s.data, s.len) >> (64 - TOKEN_BITS);
	text_printf(to, "~%012llx", (unsigned long long)hash);
}

/* --- paths --- */

static bool is_one_of(struct ebt_str s, const char *const *words)
{
	for (; *words; words++) {
		if (strlen(*words) == s.len && !memcmp(*words, s.data, s.len))
			return true;
	}
	return false;
}

static bool begins_with(struct ebt_str s, const char *prefix)
{
	return s.len >= strlen(prefix) && !memcmp(s.data, prefix, strlen(prefix));
}

static bool ends_with(struct ebt_str s, const char *suffix)
{
	size_t len = strlen(suffix);

	return s.len >= len && !memcmp(s.data + s.len - len, suffix, len);
}

bool scrub_is_system_path(struct ebt_str s)
{
	static const char *const folders[] = { "/usr/",	   "/lib/", "/lib32/", "/lib64/",
					       "/libx32/", "/bin/", "/sbin/",  NULL };
	static const char *const users[] = { "/usr/local/", "/usr/src/", "/usr/home/", NULL };
	static const char *const whole[] = { "/",
					     "[vdso]",
					     "[vvar]",
					     "[vsyscall]",
					     "[heap]",
					     "[stack]",
					     "[uprobes]",
					     "//anon",
					     "/dev/zero",
					     "/dev/zero (deleted)",
					     "/dev/shm",
					     "/etc/os-release",
					     "/proc/kallsyms",
					     "/proc/modules",
					     "/proc/cpuinfo",
					     "/sys/kernel/notes",
					     NULL };
	bool is_system = false;

	if (is_one_of(s, whole))
		return true;
	for (size_t i = 0; folders[i]; i++)
		is_system |= begins_with(s, folders[i]);
	for (size_t i = 0; users[i]; i++)
		is_system &= !begins_with(s, users[i]);
	return is_system && !memmem(s.data, s.len, "/../", 4);
}

/* What the kernel puts before a name that a program chose. */
static bool add_special(const struct scrub_key *key, struct ebt_str s, struct text *to)
{
	static const char *const prefixes[] = { "/memfd:",     "/SYSV",	  "[anon:", "[anon_shmem:",
						"anon_inode:", "socket:", "pipe:",  NULL };

	for (size_t i = 0; prefixes[i]; i++) {
		size_t len = strlen(prefixes[i]);

		if (!begins_with(s, prefixes[i]))
			continue;
		text_cstr(to, prefixes[i]);
		scrub_token(key, (struct ebt_str){ s.data + len, s.len - len }, to);
		return true;
	}
	return false;
}

typedef void add_part_fn(const struct scrub_key *key, struct ebt_str part, struct text *to);

/* Slashes stay where they are. */
static void each_part(const struct scrub_key *key, struct ebt_str s, add_part_fn *add,
		      struct text *to)
{
	for (size_t at = 0; at < s.len;) {
		const char *slash = memchr(s.data + at, '/', s.len - at);
		size_t end = slash ? (size_t)(slash - s.data) : s.len;

		if (end > at)
			add(key, (struct ebt_str){ s.data + at, end - at }, to);
		if (slash)
			text_addc(to, '/');
		at = end + 1;
	}
}

/* Words that are in every path. */
static void add_path_part(const struct scrub_key *key, struct ebt_str part, struct text *to)
{
	static const char *const known[] = { "home", "root",  "tmp",   "var", "opt", "srv",
					     "run",  "mnt",   "usr",   "lib", "bin", "sbin",
					     "src",  "media", "proc",  "sys", "dev", "self",
					     "shm",  "etc",   "local", ".",   "..",  NULL };

	if (is_one_of(part, known))
		text_add(to, part.data, part.len);
	else
		scrub_token(key, part, to);
}

void scrub_path(const struct scrub_key *key, struct ebt_str s, bool keep_system, struct text *to)
{
	static const char deleted[] = " (deleted)";
	bool is_deleted;

	if (keep_system && scrub_is_system_path(s)) {
		text_add(to, s.data, s.len);
		return;
	}
	is_deleted = ends_with(s, deleted);
	if (is_deleted)
		s.len -= strlen(deleted);
	if (!add_special(key, s, to))
		each_part(key, s, add_path_part, to);
	if (is_deleted)
		text_cstr(to, deleted);
}

/* --- control groups --- */

/* The kind of a unit of systemd stays: ".slice". */
static void add_cgroup_part(const struct scrub_key *key, struct ebt_str part, struct text *to)
{
	static const char *const known[] = { "sys",
					     "fs",
					     "cgroup",
					     "init.scope",
					     "system.slice",
					     "user.slice",
					     "app.slice",
					     "session.slice",
					     "machine.slice",
					     "docker",
					     "kubepods",
					     "kubepods.slice",
					     NULL };
	static const char *const kinds[] = { ".slice", ".service", ".scope", NULL };

	if (is_one_of(part, known)) {
		text_add(to, part.data, part.len);
		return;
	}
	scrub_token(key, part, to);
	for (size_t i = 0; kinds[i]; i++) {
		if (ends_with(part, kinds[i]))
			text_cstr(to, kinds[i]);
	}
}

/* "0::/path", as /proc/PID/cgroup has it for each hierarchy, or a path. */
static void scrub_cgroup_line(const struct scrub_key *key, struct ebt_str s, struct text *to)
{
	size_t digits = 0;
	const char *colon = NULL;

	while (digits < s.len && s.data[digits] >= '0' && s.data[digits] <= '9')
		digits++;
	if (digits && digits < s.len && s.data[digits] == ':')
		colon = memchr(s.data + digits + 1, ':', s.len - digits - 1);
	if (colon) {
		size_t len = (size_t)(colon - s.data) + 1;

		/* Controllers; a name is somebody's choice. */
		if (memchr(s.data, '=', len))
			text_cstr(to, "0::");
		else
			text_add(to, s.data, len);
		s.data += len;
		s.len -= len;
	}
	each_part(key, s, add_cgroup_part, to);
}

void scrub_cgroup(const struct scrub_key *key, struct ebt_str s, struct text *to)
{
	for (size_t at = 0; at < s.len;) {
		const char *newline = memchr(s.data + at, '\n', s.len - at);
		size_t end = newline ? (size_t)(newline - s.data) : s.len;

		scrub_cgroup_line(key, (struct ebt_str){ s.data + at, end - at }, to);
		if (newline)
			text_addc(to, '\n');
		at = end + 1;
	}
}

/* --- addresses and devices --- */

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
