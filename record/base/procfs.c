/* SPDX-License-Identifier: GPL-2.0-or-later */
/* proc(5) describes the files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/fdio.h"
#include "record/base/procfs.h"

/* Most files end before. */
#define FIRST_READ 65535u

int procfs_open(uint32_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

ssize_t procfs_read_some(int fd, char *buffer, size_t size)
{
	ssize_t n;

	do
		n = read(fd, buffer, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t procfs_read(int dir, const char *name, char *buffer, size_t size)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	buffer[0] = '\0';
	if (fd < 0)
		return -errno;
	len = ebt_read_full(fd, buffer, size - 1);
	if (len < 0)
		return -errno;
	buffer[len] = '\0';
	return len;
}

ssize_t procfs_link(int dir, const char *name, char *buffer, size_t size)
{
	ssize_t n = readlinkat(dir, name, buffer, size - 1);

	buffer[n < 0 ? 0 : n] = '\0';
	return n < 0 ? -errno : n;
}

int procfs_reopen(int handle)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

const char *procfs_map_file(uint32_t pid, uint64_t start, uint64_t end, char path[static 96])
{
	snprintf(path, 96, "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)start,
		 (unsigned long long)end);
	return path;
}

uint64_t procfs_ns(int dir, const char *name)
{
	char link[64];
	const char *number;

	if (procfs_link(dir, name, link, sizeof(link)) < 0)
		return 0;
	number = strchr(link, '[');
	return number ? strtoull(number + 1, NULL, 10) : 0;
}

bool procfs_gone(int r)
{
	return r == -ENOENT || r == -ESRCH;
}

static const char *line_of(const char *text, const char *key)
{
	const size_t len = strlen(key);

	while (text && strncmp(text, key, len)) {
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return text ? text + len : NULL;
}

uint64_t procfs_number(const char *text, const char *key, uint64_t otherwise)
{
	const char *number = line_of(text, key);

	return number ? strtoull(number, NULL, 10) : otherwise;
}

bool procfs_status(int dir, const char *name, struct procfs_status *ret)
{
	const char *ppid, *uids, *nspid;
	char text[4096];
	size_t len = 0;

	if (procfs_read(dir, name, text, sizeof(text)) < 0)
		return false;
	ppid = line_of(text, "PPid:");
	uids = line_of(text, "Uid:");
	nspid = line_of(text, "NSpid:");
	if (!ppid || !uids ||
	    sscanf(uids, "%u %u %u %u", &ret->uids[0], &ret->uids[1], &ret->uids[2],
		   &ret->uids[3]) != 4)
		return false;
	ret->ppid = (uint32_t)strtoul(ppid, NULL, 10);
	for (; nspid && *nspid && *nspid != '\n' && len < sizeof(ret->nspid) - 1; nspid++) {
		if (*nspid != '\t')
			ret->nspid[len++] = *nspid;
		else if (len)
			ret->nspid[len++] = ' ';
	}
	ret->nspid[len] = '\0';
	ret->nvcsw = procfs_number(text, "voluntary_ctxt_switches:", 0);
	ret->nivcsw = procfs_number(text, "nonvoluntary_ctxt_switches:", 0);
	ret->max_rss = procfs_number(text, "VmHWM:", 0) * 1024;
	return true;
}

struct ebt_error *procfs_slurp_at(int dir, const char *path, size_t limit, char **ret,
				  size_t *ret_len, bool *ret_truncated)
{
	_cleanup_close_ int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	_cleanup_free_ char *content = NULL;
	size_t len = 0, capacity = 0;

	if (fd < 0)
		return ebt_error_errno(errno, "%s", path);
	/* One byte beyond the limit tells whether there is more. */
	while (len <= limit) {
		struct ebt_error *err =
			ebt_array_reserve(&content, len ? len + 1 : FIRST_READ, &capacity);
		size_t room;
		ssize_t n;

		if (err)
			return err;
		room = capacity - 1 - len;
		n = procfs_read_some(fd, content + len,
				     room <= limit - len ? room : limit + 1 - len);
		if (n < 0)
			return ebt_error_errno((int)-n, "%s", path);
		if (!n)
			break;
		len += (size_t)n;
	}
	*ret_truncated = len > limit;
	*ret_len = len > limit ? limit : len;
	content[*ret_len] = '\0';
	*ret = take_ptr(content);
	return NULL;
}

struct ebt_error *procfs_slurp(const char *path, size_t limit, char **ret, size_t *ret_len,
			       bool *ret_truncated)
{
	return procfs_slurp_at(AT_FDCWD, path, limit, ret, ret_len, ret_truncated);
}
