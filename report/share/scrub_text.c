/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of paths that can stay, addresses that no host has; see scrub_text.h. */
#include "report/share/scrub_text.h"

#include <string.h>

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
static bool add_special(struct scrub_names *names, struct ebt_str s, struct text *to)
{
	static const char *const prefixes[] = { "/memfd:",     "/SYSV",	  "[anon:", "[anon_shmem:",
						"anon_inode:", "socket:", "pipe:",  NULL };

	for (size_t i = 0; prefixes[i]; i++) {
		size_t len = strlen(prefixes[i]);

		if (!begins_with(s, prefixes[i]))
			continue;
		text_cstr(to, prefixes[i]);
		scrub_alias(names, SCRUB_NAMED_FILE, (struct ebt_str){ s.data + len, s.len - len },
			    to);
		return true;
	}
	return false;
}

/* last: there is no slash behind it. */
typedef void add_part_fn(struct scrub_names *names, struct ebt_str part, bool last,
			 struct text *to);

/* Slashes stay where they are. */
static void each_part(struct scrub_names *names, struct ebt_str s, add_part_fn *add,
		      struct text *to)
{
	for (size_t at = 0; at < s.len;) {
		const char *slash = memchr(s.data + at, '/', s.len - at);
		size_t end = slash ? (size_t)(slash - s.data) : s.len;

		if (end > at)
			add(names, (struct ebt_str){ s.data + at, end - at }, !slash, to);
		if (slash)
			text_addc(to, '/');
		at = end + 1;
	}
}

/* Words that are in every path. */
static void add_path_part(struct scrub_names *names, struct ebt_str part, bool last,
			  struct text *to)
{
	static const char *const known[] = { "home", "root",  "tmp",   "var", "opt", "srv",
					     "run",  "mnt",   "usr",   "lib", "bin", "sbin",
					     "src",  "media", "proc",  "sys", "dev", "self",
					     "shm",  "etc",   "local", ".",   "..",  NULL };

	if (is_one_of(part, known))
		text_add(to, part.data, part.len);
	else
		scrub_alias(names, last ? SCRUB_NAMED_FILE : SCRUB_FOLDER, part, to);
}

static const char deleted[] = " (deleted)";

struct ebt_str scrub_file_name(struct ebt_str path)
{
	const char *slash;

	if (ends_with(path, deleted))
		path.len -= strlen(deleted);
	slash = path.len ? memrchr(path.data, '/', path.len) : NULL;
	if (!slash)
		return path;
	return (struct ebt_str){ slash + 1, path.len - (size_t)(slash + 1 - path.data) };
}

void scrub_path(struct scrub_names *names, struct ebt_str s, bool keep_system, struct text *to)
{
	bool is_deleted;

	if (keep_system && scrub_is_system_path(s)) {
		text_add(to, s.data, s.len);
		return;
	}
	is_deleted = ends_with(s, deleted);
	if (is_deleted)
		s.len -= strlen(deleted);
	if (!add_special(names, s, to))
		each_part(names, s, add_path_part, to);
	if (is_deleted)
		text_cstr(to, deleted);
}

/* --- control groups --- */

/* The kind of a unit of systemd stays: ".slice". */
static void add_cgroup_part(struct scrub_names *names, struct ebt_str part, bool last,
			    struct text *to)
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

	(void)last;
	if (is_one_of(part, known)) {
		text_add(to, part.data, part.len);
		return;
	}
	scrub_alias(names, SCRUB_CONTROL_GROUP, part, to);
	for (size_t i = 0; kinds[i]; i++) {
		if (ends_with(part, kinds[i]))
			text_cstr(to, kinds[i]);
	}
}

/* "0::/path", as /proc/PID/cgroup has it for each hierarchy, or a path. */
static void scrub_cgroup_line(struct scrub_names *names, struct ebt_str s, struct text *to)
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
	each_part(names, s, add_cgroup_part, to);
}

void scrub_cgroup(struct scrub_names *names, struct ebt_str s, struct text *to)
{
	for (size_t at = 0; at < s.len;) {
		const char *newline = memchr(s.data + at, '\n', s.len - at);
		size_t end = newline ? (size_t)(newline - s.data) : s.len;

		scrub_cgroup_line(names, (struct ebt_str){ s.data + at, end - at }, to);
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

void scrub_address(struct scrub_names *names, struct ebt_str address, struct text *to)
{
	unsigned char v[V6] = { 1 };
	uint32_t n;

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
	n = scrub_number_of(names, SCRUB_HOST_ADDRESS, address.data, address.len);
	if (address.len == V4) /* all ones would be a broadcast */
		n = UINT32_C(0xf0000000) | n % UINT32_C(0x0fffffff);
	for (size_t i = 0; i < sizeof(n); i++)
		v[address.len - 1 - i] = (unsigned char)(n >> (8 * i));
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
