/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening a trace file, a pipe or standard input, and reading at offsets. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "layout.h"

static struct ebt_error *open_temporary(int *ret)
{
	const char *dir = getenv("TMPDIR");
	_cleanup_free_ char *name = NULL;
	int fd;

	if (!dir || !*dir)
		dir = "/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
	if (fd < 0) { /* not every file system has O_TMPFILE */
		if (asprintf(&name, "%s/ebt-XXXXXX", dir) < 0) {
			name = NULL;
			return &ebt_enomem;
		}
		fd = mkostemp(name, O_CLOEXEC);
		if (fd < 0)
			return ebt_error_errno(errno, "%s: cannot make a temporary file", dir);
		unlink(name);
	}
	*ret = fd;
	return NULL;
}

static struct ebt_error *write_all(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ebt_error_errno(errno, "cannot write a temporary copy");
		buf += n;
		len -= (size_t)n;
	}
	return NULL;
}

/* Reads up to len bytes; less only at the end. */
static struct ebt_error *read_full(const char *path, int fd, char *buf, size_t len, size_t *ret)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = read(fd, buf + have, len - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ebt_error_errno(errno, "%s", path);
		if (!n)
			break;
		have += (size_t)n;
	}
	*ret = have;
	return NULL;
}

/* Copies what is left of *fd, and puts the copy in its place. What does not begin as a trace is
 * refused at once: it may have no end. */
static struct ebt_error *spool(const char *path, int *fd)
{
	const size_t size = 1 << 20;
	_cleanup_free_ char *buf = malloc(size);
	_cleanup_close_ int copy = -1;
	struct ebt_error *err;
	size_t n = 0;

	if (!buf)
		return &ebt_enomem;
	err = read_full(path, *fd, buf, EBT_FILE_MAGIC_LEN, &n);
	if (!err && n == EBT_FILE_MAGIC_LEN && memcmp(buf, EBT_FILE_MAGIC, EBT_FILE_MAGIC_LEN) != 0)
		err = ebt_error_create(EBT_ERR_CORRUPT, "%s: not an .ebt file", path);
	if (!err)
		err = open_temporary(&copy);
	while (!err && n) {
		err = ebt_error_prefix(write_all(copy, buf, n), "%s", path);
		if (!err)
			err = read_full(path, *fd, buf, size, &n);
	}
	if (err)
		return err;
	close(*fd);
	*fd = take_fd(&copy);
	return NULL;
}

struct ebt_error *ebt_input_open(const char *path, struct ebt_input *ret)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *name = NULL;
	bool is_stdin = !strcmp(path, "-");
	struct ebt_error *err;
	struct stat st;

	name = strdup(is_stdin ? "standard input" : path);
	if (!name)
		return &ebt_enomem;
	fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ebt_error_errno(errno, "%s", name);
	if (fstat(fd, &st) < 0)
		return ebt_error_errno(errno, "%s", name);
	if (S_ISDIR(st.st_mode))
		return ebt_error_errno(EISDIR, "%s", name);
	if (!S_ISREG(st.st_mode)) {
		err = spool(name, &fd);
		if (err)
			return err;
		if (fstat(fd, &st) < 0)
			return ebt_error_errno(errno, "%s", name);
	}
	ret->path = take_ptr(name);
	ret->fd = take_fd(&fd);
	ret->size = (uint64_t)st.st_size;
	return NULL;
}

void ebt_input_close(struct ebt_input *input)
{
	if (input->fd >= 0)
		close(input->fd);
	input->fd = -1;
	free(input->path);
	input->path = NULL;
}

struct ebt_error *ebt_input_read(const struct ebt_input *input, uint64_t offset, void *buf,
				 size_t len)
{
	char *p = buf;

	while (len) {
		ssize_t n = pread(input->fd, p, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ebt_error_errno(errno, "%s: at offset %" PRIu64, input->path,
					       offset);
		if (!n)
			return ebt_error_create(EBT_ERR_CORRUPT, "the file ends at offset %" PRIu64,
						offset);
		p += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return NULL;
}
