/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Appending until all is written: short writes, signals, and pipes that do not block. */
#include "format/write/sink.h"

#include <errno.h>
#include <poll.h>

static void advance(struct iovec **parts, int *n, size_t written)
{
	while (*n && written >= (*parts)->iov_len) {
		written -= (*parts)->iov_len;
		++*parts;
		--*n;
	}
	if (*n) {
		(*parts)->iov_base = (char *)(*parts)->iov_base + written;
		(*parts)->iov_len -= written;
	}
}

struct ebt_error *ebt_sink_write(struct ebt_sink *sink, struct iovec *parts, int n)
{
	advance(&parts, &n, 0);
	while (n) {
		ssize_t written = writev(sink->fd, parts, n);

		if (written >= 0) {
			sink->offset += (uint64_t)written;
			advance(&parts, &n, (size_t)written);
		} else if (errno == EAGAIN) {
			poll(&(struct pollfd){ .fd = sink->fd, .events = POLLOUT }, 1, -1);
		} else if (errno != EINTR) {
			return ebt_error_errno(errno, "cannot write %s", sink->name);
		}
	}
	return NULL;
}
