/* SPDX-License-Identifier: GPL-2.0-or-later */
/* proc(5) describes the files. A name in /proc/PID/stat may itself have parentheses. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
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
	size_t len = 0;

	buffer[0] = '\0';
	if (fd < 0)
		return -errno;
	while (len < size - 1) {
		ssize_t n = procfs_read_some(fd, buffer + len, size - 1 - len);

		if (n < 0)
			return n;
		if (!n)
			break;
		len += (size_t)n;
	}
	buffer[len] = '\0';
	return (ssize_t)len;
}

ssize_t procfs_link(int dir, const char *name, char *buffer, size_t size)
{
	ssize_t n = readlinkat(dir, name, buffer, size - 1);

	buffer[n < 0 ? 0 : n] = '\0';
	return n < 0 ? -errno : n;
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

/* The number behind the key, or otherwise. */
static uint64_t number_of(const char *text, const char *key, uint64_t otherwise)
{
	const char *number = line_of(text, key);

	return number ? strtoull(number, NULL, 10) : otherwise;
}

void procfs_parse_io(const char *text, struct procfs_io *ret)
{
	*ret = (struct procfs_io){
		.read_bytes = number_of(text, "read_bytes:", UINT64_MAX),
		.write_bytes = number_of(text, "write_bytes:", UINT64_MAX),
		.rchar = number_of(text, "rchar:", UINT64_MAX),
		.wchar = number_of(text, "wchar:", UINT64_MAX),
	};
}

bool procfs_parse_status(const char *text, struct procfs_status *ret)
{
	const char *ppid = line_of(text, "PPid:"), *uid = line_of(text, "Uid:");
	const char *nspid = line_of(text, "NSpid:");
	size_t len = 0;

	if (!ppid || !uid)
		return false;
	ret->ppid = (uint32_t)strtoul(ppid, NULL, 10);
	ret->uid = (uint32_t)strtoul(uid, NULL, 10);
	for (; nspid && *nspid && *nspid != '\n' && len < sizeof(ret->nspid) - 1; nspid++) {
		if (*nspid != '\t')
			ret->nspid[len++] = *nspid;
		else if (len)
			ret->nspid[len++] = ' ';
	}
	ret->nspid[len] = '\0';
	ret->nvcsw = number_of(text, "voluntary_ctxt_switches:", 0);
	ret->nivcsw = number_of(text, "nonvoluntary_ctxt_switches:", 0);
	ret->max_rss = number_of(text, "VmHWM:", 0) * 1024;
	return true;
}

/* /proc counts priorities from where real-time ends. */
#define MAX_RT_PRIO 100

bool procfs_parse_stat(const char *text, struct procfs_stat *ret)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	struct procfs_stat stat = { 0 };
	unsigned long long start, minor, major;
	int prio;
	size_t len;

	if (!open || !close || close < open)
		return false;
	len = (size_t)(close - open - 1);
	if (len >= sizeof(stat.comm))
		len = sizeof(stat.comm) - 1;
	memcpy(stat.comm, open + 1, len);
	if (sscanf(close + 1,
		   " %c %u %*s %*s %*s %*s %u %llu %*s %llu %*s %*s %*s %*s %*s %d %d %*s %*s "
		   "%llu %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %u %u %u",
		   &stat.state, &stat.ppid, &stat.flags, &minor, &major, &prio, &stat.nice, &start,
		   &stat.cpu, &stat.rt_priority, &stat.policy) != 11)
		return false;
	stat.start_ticks = start;
	stat.minor = minor;
	stat.major = major;
	stat.prio = prio + MAX_RT_PRIO;
	*ret = stat;
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
		n = read(fd, content + len, room <= limit - len ? room : limit + 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ebt_error_errno(errno, "%s", path);
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
