/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read(2), pread(2) and write(2), as often as it takes. */
#include "format/base/fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/base/cleanup.h"

/* offset NULL: from where the file is read next. */
static ssize_t read_all(int fd, const uint64_t *offset, char *ret, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = offset ? pread(fd, ret + done, len - done, (off_t)(*offset + done))
				   : read(fd, ret + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t ebt_read_full(int fd, void *ret, size_t len)
{
	return read_all(fd, NULL, ret, len);
}

bool ebt_pread(int fd, uint64_t offset, void *ret, size_t len)
{
	return offset <= INT64_MAX && len <= INT64_MAX - offset &&
	       read_all(fd, &offset, ret, len) == (ssize_t)len;
}

bool ebt_write(int fd, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, (const char *)data + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		/* What takes nothing would be asked for ever. */
		if (!n)
			errno = EIO;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

struct ebt_error *ebt_open_temporary(const char *folder, int *ret)
{
	const char *dir = folder ? folder : getenv("TMPDIR");
	_cleanup_free_ char *name = NULL;
	struct ebt_error *err;
	int fd;

	if (!dir || !*dir)
		dir = "/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
	if (fd < 0) { /* not every file system has O_TMPFILE */
		err = ebt_format(&name, "%s/ebt-XXXXXX", dir);
		if (err)
			return err;
		fd = mkostemp(name, O_CLOEXEC);
		if (fd < 0)
			return ebt_error_errno(errno, "%s: cannot make a temporary file", dir);
		unlink(name);
	}
	*ret = fd;
	return NULL;
}
