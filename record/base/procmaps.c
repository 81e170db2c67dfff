/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line is `start-end perms offset major:minor inode   path`. The kernel escapes newlines, and
 * nothing else, as \012. A read of maps never ends within a line, but for one that is too long.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "format/base/cleanup.h"
#include "record/base/procfs.h"
#include "record/base/procmaps.h"

/* A path of PATH_MAX, all of it newlines, and the rest of the line. */
#define BUFFER_LEN (32u << 10)

/* Moves *at beyond a number; hexadecimal, or decimal where base is 10. */
static bool number(const char **at, const char *end, unsigned int base, uint64_t *ret)
{
	const char *p = *at;
	uint64_t value = 0;

	for (; p < end; p++) {
		unsigned int digit;

		if (*p >= '0' && *p <= '9')
			digit = (unsigned int)(*p - '0');
		else if (base == 16 && *p >= 'a' && *p <= 'f')
			digit = (unsigned int)(*p - 'a') + 10;
		else
			break;
		if (value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (p == *at)
		return false;
	*at = p;
	*ret = value;
	return true;
}

static bool skip(const char **at, const char *end, char c)
{
	if (*at == end || **at != c)
		return false;
	++*at;
	return true;
}

static bool permissions(const char **at, const char *end, struct mapping *entry)
{
	const char *p = *at;

	if (end - p < 4)
		return false;
	entry->prot = (p[0] == 'r' ? PROT_READ : 0) | (p[1] == 'w' ? PROT_WRITE : 0) |
		      (p[2] == 'x' ? PROT_EXEC : 0);
	entry->flags = p[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	*at = p + 4;
	return true;
}

static size_t unescape(char *path, size_t len)
{
	size_t to = 0;

	for (size_t from = 0; from < len; to++) {
		if (len - from >= 4 && !memcmp(path + from, "\\012", 4)) {
			path[to] = '\n';
			from += 4;
		} else {
			path[to] = path[from++];
		}
	}
	path[to] = '\0';
	return to;
}

bool procmaps_parse(char *line, size_t len, struct mapping *ret)
{
	struct mapping entry = { 0 };
	const char *at = line, *stop = line + len;
	uint64_t end, major, minor;

	if (!number(&at, stop, 16, &entry.start) || !skip(&at, stop, '-') ||
	    !number(&at, stop, 16, &end) || !skip(&at, stop, ' ') ||
	    !permissions(&at, stop, &entry) || !skip(&at, stop, ' ') ||
	    !number(&at, stop, 16, &entry.pgoff) || !skip(&at, stop, ' ') ||
	    !number(&at, stop, 16, &major) || !skip(&at, stop, ':') ||
	    !number(&at, stop, 16, &minor) || !skip(&at, stop, ' ') ||
	    !number(&at, stop, 10, &entry.inode))
		return false;
	if (end < entry.start || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	if (at < stop && *at != ' ')
		return false;
	while (at < stop && *at == ' ')
		at++;
	entry.length = end - entry.start;
	entry.dev_major = (uint32_t)major;
	entry.dev_minor = (uint32_t)minor;
	entry.path = at;
	entry.path_len = unescape(line + (at - line), (size_t)(stop - at));
	*ret = entry;
	return true;
}

/* Hands on the complete lines of the buffer. Returns how much of it they took. */
static size_t lines(char *buffer, size_t len, uint32_t prot, procmaps_fn *fn, void *arg, bool *stop)
{
	size_t done = 0;

	while (!*stop) {
		char *line = buffer + done, *newline = memchr(line, '\n', len - done);
		struct mapping entry;

		if (!newline)
			break;
		done = (size_t)(newline - buffer) + 1;
		if (procmaps_parse(line, (size_t)(newline - line), &entry) &&
		    (entry.prot & prot) == prot)
			*stop = !fn(arg, &entry);
	}
	return done;
}

int procmaps_each(int maps, uint32_t prot, procmaps_fn *fn, void *arg)
{
	_cleanup_close_ int fd = maps;
	_cleanup_free_ char *buffer = NULL;
	bool stop = false;
	size_t len = 0;

	if (fd < 0)
		return -errno;
	buffer = malloc(BUFFER_LEN);
	if (!buffer)
		return -ENOMEM;
	while (!stop) {
		ssize_t n = procfs_read_some(fd, buffer + len, BUFFER_LEN - len);
		size_t done;

		if (n < 0)
			return (int)n;
		if (!n)
			break;
		len += (size_t)n;
		done = lines(buffer, len, prot, fn, arg, &stop);
		if (!done && len == BUFFER_LEN)
			return -EOVERFLOW;
		memmove(buffer, buffer + done, len - done);
		len -= done;
	}
	return 0;
}

struct vdso_search {
	uint64_t start;
	size_t len;
};

static bool is_vdso(void *arg, const struct mapping *mapping)
{
	struct vdso_search *search = arg;

	if (mapping->start == search->start)
		search->len = (size_t)mapping->length;
	return !search->len;
}

/* The auxiliary vector has the address of the image, /proc/self/maps its length. */
bool vdso_image(const void **ret, size_t *ret_len)
{
	struct vdso_search search = { .start = getauxval(AT_SYSINFO_EHDR) };

	if (!search.start ||
	    procmaps_each(open("/proc/self/maps", O_RDONLY | O_CLOEXEC), PROT_EXEC, is_vdso,
			  &search) ||
	    !search.len)
		return false;
	*ret = (const void *)(uintptr_t)search.start;
	*ret_len = search.len;
	return true;
}
