/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening the output; see output.h. A recorder often runs as root in directories that others can
 * write to, so a file is never truncated in place: the old one is unlinked and a new one made.
 */
#include "record/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "format/base/cleanup.h"
#include "format/encoding/layout.h"

/* May what is at path be replaced? */
static struct ebt_error *check_old(const char *path, bool force)
{
	/* Not blocking: it may be a FIFO. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char magic[EBT_FILE_MAGIC_LEN];
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0 && errno == ELOOP)
		return ebt_error_create(EBT_ERR_INVALID, "%s is a symbolic link", path);
	if (fd < 0 || fstat(fd, &st))
		return ebt_error_errno(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return ebt_error_create(EBT_ERR_INVALID,
					"%s is not a regular file; `-o - > FILE` writes anywhere",
					path);
	if (st.st_nlink > 1)
		return ebt_error_create(EBT_ERR_INVALID, "%s has other names (hard links)", path);
	if (force)
		return NULL;
	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, EBT_FILE_MAGIC, sizeof(magic)))
		return ebt_error_create(EBT_ERR_INVALID,
					"%s is there and is not a trace; -f replaces it", path);
	return NULL;
}

static struct ebt_error *open_stdout(int *ret)
{
	int fd;

	if (isatty(STDOUT_FILENO))
		return ebt_error_create(
			EBT_ERR_INVALID,
			"a trace is not text: send standard output to a file or a pipe");
	fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return ebt_error_errno(errno, "standard output");
	*ret = fd;
	return NULL;
}

struct ebt_error *output_open(const char *path, bool force, int *ret)
{
	struct ebt_error *err;
	int fd;

	if (!strcmp(path, "-"))
		return open_stdout(ret);
	err = check_old(path, force);
	if (err)
		return err;
	if (unlink(path) && errno != ENOENT)
		return ebt_error_errno(errno, "cannot replace %s", path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return ebt_error_errno(errno, "cannot make %s", path);
	*ret = fd;
	return NULL;
}
