/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nothing is opened for reading here, so that a pipe or a device in the place of such a file is
 * never touched; see perfmap_file.h. */
#include "record/sideband/perfmap_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "record/base/procfs.h"

/* First word of a jitdump file, in the byte order of whoever wrote it. */
#define DUMP_MAGIC 0x4a695444u

static int open_path(int dir, const char *name, uint64_t flags, uint64_t resolve)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = resolve | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

bool perfmap_owner(int dir, struct perfmap_owner *ret)
{
	struct procfs_status status;
	const char *inner;

	if (!procfs_status(dir, "status", &status) || !*status.nspid)
		return false;
	inner = strrchr(status.nspid, ' ');
	ret->inner = (uint32_t)strtoul(inner ? inner : status.nspid, NULL, 10);
	memcpy(ret->uids, status.uids, sizeof(ret->uids));
	return true;
}

int perfmap_tmp(int dir)
{
	_cleanup_close_ int root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return -errno;
	return open_path(root, "tmp", O_DIRECTORY, RESOLVE_IN_ROOT);
}

/* Takes a handle, or a negative errno, and returns the like. A file with another name could be
 * anyone's, put here for a reader with more rights. */
static int checked(int handle, const struct perfmap_owner *owner, struct stat *ret)
{
	_cleanup_close_ int fd = handle;
	bool own;

	if (fd < 0)
		return fd;
	if (fstat(fd, ret))
		return -errno;
	own = !ret->st_uid;
	for (int i = 0; i < 4; i++)
		own |= ret->st_uid == owner->uids[i];
	return own && S_ISREG(ret->st_mode) && ret->st_nlink <= 1 ? take_fd(&fd) : -EPERM;
}

int perfmap_open(int tmp, const struct perfmap_owner *owner, struct stat *ret)
{
	char name[32];

	snprintf(name, sizeof(name), "perf-%" PRIu32 ".map", owner->inner);
	/* Nor may another file be mounted there. */
	return checked(open_path(tmp, name, O_NOFOLLOW,
				 RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS),
		       owner, ret);
}

int perfmap_open_dump(int dir, const struct perfmap_owner *owner, const struct mapping *mapping,
		      struct stat *ret)
{
	_cleanup_close_ int root = -1;
	char name[PATH_MAX];
	int fd;

	/* The mapped file itself, whatever happened to its name. */
	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, mapping->start,
		 mapping->start + mapping->length);
	fd = openat(dir, name, O_PATH | O_CLOEXEC);
	if (fd >= 0 || mapping->path_len >= sizeof(name))
		return checked(fd, owner, ret);
	memcpy(name, mapping->path, mapping->path_len);
	name[mapping->path_len] = '\0';
	root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = checked(open_path(root, name, O_NOFOLLOW, RESOLVE_IN_ROOT), owner, ret);
	if (fd >= 0 && mapping->inode && mapping->inode != ret->st_ino) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

bool perfmap_is_dump(const struct mapping *mapping)
{
	static const char prefix[] = "/jit-", suffix[] = ".dump";
	const char *end = mapping->path + mapping->path_len, *p = end;
	const size_t least = strlen(prefix) + 1 + strlen(suffix);

	if (mapping->path_len < least || mapping->path[0] != '/' ||
	    memcmp(end - strlen(suffix), suffix, strlen(suffix)))
		return false;
	p -= strlen(suffix);
	while (p > mapping->path && p[-1] >= '0' && p[-1] <= '9')
		p--;
	return p[0] != '.' && (size_t)(p - mapping->path) >= strlen(prefix) &&
	       !memcmp(p - strlen(prefix), prefix, strlen(prefix));
}

bool perfmap_is_generated(const struct mapping *mapping)
{
	static const char *const prefixes[] = {
		"//anon", "[anon", "[heap]", "[stack", "/memfd:", "/dev/zero", "/SYSV",
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		const size_t len = strlen(prefixes[i]);

		if (mapping->path_len >= len && !memcmp(mapping->path, prefixes[i], len))
			return true;
	}
	return !mapping->path_len;
}

/* "ADDRESS SIZE NAME", in hexadecimal; some write 0x before it. */
static bool skip_number(const char **p, const char *end)
{
	const char *begin = *p;

	if (end - begin > 2 && begin[0] == '0' && begin[1] == 'x')
		*p = begin += 2;
	while (*p < end && **p && strchr("0123456789abcdefABCDEF", **p))
		(*p)++;
	if (*p == begin || *p == end || **p != ' ')
		return false;
	(*p)++;
	return true;
}

bool perfmap_looks_right(bool dump, const char *content, size_t len)
{
	const char *p = content, *end = content + len;
	uint32_t magic;

	if (!dump)
		return skip_number(&p, end) && skip_number(&p, end);
	if (len < sizeof(magic))
		return false;
	memcpy(&magic, content, sizeof(magic));
	return magic == DUMP_MAGIC;
}
