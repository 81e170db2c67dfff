/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening a trace file, a pipe or standard input, and reading at offsets. */
#include "format/read/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/base/fdio.h"
#include "format/encoding/layout.h"
#include "format/read/unpack.h"

/* Appends to the temporary copy. */
static struct ebt_error *copy_bytes(struct ebt_input *input, int copy, const char *buf, size_t len)
{
	if (!ebt_write(copy, buf, len))
		return ebt_error_errno(errno, "%s: cannot write a temporary copy", input->path);
	input->size += len;
	return NULL;
}

/* Into a temporary file, which takes the place of the compressed one. */
static struct ebt_error *unpack(struct ebt_input *input, struct ebt_packed *packed,
				enum ebt_packing packing)
{
	_cleanup_close_ int copy = -1;
	struct ebt_error *err;

	packed->path = input->path;
	packed->fd = input->fd;
	err = ebt_open_temporary(NULL, &copy) ?: ebt_unpack(packed, packing, copy, &input->size);
	if (err)
		return err;
	close(input->fd);
	input->fd = take_fd(&copy);
	return NULL;
}

static struct ebt_error *begin_file(struct ebt_input *input)
{
	struct ebt_packed packed = { .seeks = true };
	unsigned char head[4];
	enum ebt_packing packing = EBT_NOT_PACKED;

	if (input->size >= sizeof(head) && ebt_pread(input->fd, 0, head, sizeof(head)))
		packing = ebt_packing_of(head, sizeof(head));
	return packing == EBT_NOT_PACKED ? NULL : unpack(input, &packed, packing);
}

/* Copies the beginning of what cannot seek. What does not begin as a trace is refused at once: it
 * may have no end. */
static struct ebt_error *begin_copy(struct ebt_input *input)
{
	struct ebt_packed packed = { 0 };
	_cleanup_close_ int copy = -1;
	struct ebt_error *err;
	enum ebt_packing packing;
	ssize_t n = ebt_read_full(input->fd, packed.head, sizeof(packed.head));

	if (n < 0)
		return ebt_error_errno(errno, "%s", input->path);
	packed.head_len = (size_t)n;
	packing = ebt_packing_of(packed.head, packed.head_len);
	if (packing != EBT_NOT_PACKED)
		return unpack(input, &packed, packing);
	if (n >= EBT_FILE_MAGIC_LEN && memcmp(packed.head, EBT_FILE_MAGIC, EBT_FILE_MAGIC_LEN) != 0)
		return ebt_not_a_trace(input->path, packed.head, packed.head_len);
	err = ebt_open_temporary(NULL, &copy)
		      ?: copy_bytes(input, copy, (const char *)packed.head, (size_t)n);
	if (err)
		return err;
	input->pipe = input->fd;
	input->fd = take_fd(&copy);
	return NULL;
}

/* Does it have something to read within the time, or its end? */
static bool is_ready(int fd, int timeout_ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	return poll(&ready, 1, timeout_ms) != 0;
}

/* What a writer writes together comes together: a pause ends it. */
#define PAUSE_MS   20
#define MORE_BYTES ((uint64_t)8 << 20)

struct ebt_error *ebt_input_more(struct ebt_input *input, bool *ret_end)
{
	const size_t size = 1 << 20;
	uint64_t start = input->size;
	_cleanup_free_ char *buf = NULL;

	if (input->pipe < 0) {
		*ret_end = true;
		return NULL;
	}
	buf = malloc(size);
	if (!buf)
		return &ebt_enomem;
	do {
		ssize_t n = read(input->pipe, buf, size);
		struct ebt_error *err;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return ebt_error_errno(errno, "%s", input->path);
		if (!n) {
			close(input->pipe);
			input->pipe = -1;
			*ret_end = true;
			return NULL;
		}
		err = copy_bytes(input, input->fd, buf, (size_t)n);
		if (err)
			return err;
	} while (input->size - start < MORE_BYTES && is_ready(input->pipe, PAUSE_MS));
	*ret_end = false;
	return NULL;
}

struct ebt_error *ebt_input_open_live(const char *path, struct ebt_input *ret)
{
	bool is_stdin = !strcmp(path, "-");
	struct ebt_input input = { .fd = -1, .pipe = -1 };
	struct ebt_error *err = NULL;
	struct stat st;

	input.path = strdup(is_stdin ? "standard input" : path);
	if (!input.path)
		return &ebt_enomem;
	input.fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
			    : open(path, O_RDONLY | O_CLOEXEC);
	if (input.fd < 0 || fstat(input.fd, &st) < 0)
		err = ebt_error_errno(errno, "%s", input.path);
	else if (S_ISDIR(st.st_mode))
		err = ebt_error_errno(EISDIR, "%s", input.path);
	else if (!S_ISREG(st.st_mode))
		err = begin_copy(&input);
	else
		input.size = (uint64_t)st.st_size;
	if (!err && S_ISREG(st.st_mode))
		err = begin_file(&input);
	if (err) {
		ebt_input_close(&input);
		return err;
	}
	*ret = input;
	return NULL;
}

struct ebt_error *ebt_input_open(const char *path, struct ebt_input *ret)
{
	struct ebt_input input = { .fd = -1, .pipe = -1 };
	struct ebt_error *err = ebt_input_open_live(path, &input);
	bool end = false;

	while (!err && !end)
		err = ebt_input_more(&input, &end);
	if (err) {
		ebt_input_close(&input);
		return err;
	}
	*ret = input;
	return NULL;
}

void ebt_input_close(struct ebt_input *input)
{
	if (input->fd >= 0)
		close(input->fd);
	input->fd = -1;
	if (input->pipe >= 0)
		close(input->pipe);
	input->pipe = -1;
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
