/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pread(2) and write(2), as often as it takes. */
#include "format/base/pread.h"

#include <errno.h>
#include <unistd.h>

bool ebt_pread(int fd, uint64_t offset, void *ret, size_t len)
{
	size_t done = 0;

	if (offset > INT64_MAX || len > INT64_MAX - offset)
		return false;
	while (done < len) {
		ssize_t n = pread(fd, (char *)ret + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

bool ebt_write(int fd, const void *data, size_t len)
{
	const char *at = data, *end = at + len;

	while (at < end) {
		ssize_t n = write(fd, at, (size_t)(end - at));

		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? n : 0;
	}
	return true;
}
