/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unpacking compressed sections; see unpack.h. */
#include "symbolize/elf/unpack.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "format/base/cleanup.h"

#define STEP (256u << 10)

/* One section under way. */
struct unpack_job {
	const struct unpack_from *from;
	const struct unpack_to *to;
	uint64_t read, written;
	char *in, *out; /* out: only where it goes to a file */
};

/* The next piece of what is packed; false at its end. */
static bool next_in(struct unpack_job *job, const char **ret, size_t *ret_len)
{
	uint64_t left = job->from->size - job->read, at = job->from->offset + job->read;
	ssize_t n = left < STEP ? (ssize_t)left : STEP;

	if (!left)
		return false;
	if (job->from->fd < 0) {
		*ret = job->from->memory + at;
	} else {
		n = pread(job->from->fd, job->in, (size_t)n, (off_t)at);
		*ret = job->in;
	}
	if (n <= 0)
		return false;
	job->read += (uint64_t)n;
	*ret_len = (size_t)n;
	return true;
}

/* Where the next bytes go, and how many may. */
static char *next_out(const struct unpack_job *job, size_t *ret_len)
{
	uint64_t left = job->to->size - job->written;

	*ret_len = left < STEP ? (size_t)left : STEP;
	return job->to->memory ? job->to->memory + job->to->offset + job->written : job->out;
}

static bool put_out(struct unpack_job *job, size_t len)
{
	const char *p = job->out;
	uint64_t at = job->to->offset + job->written;

	job->written += len;
	while (!job->to->memory && len) {
		ssize_t n = pwrite(job->to->fd, p, len, (off_t)at);

		if (n <= 0)
			return false;
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

static bool inflate_all(struct unpack_job *job)
{
	z_stream stream = { 0 };
	int status = inflateInit(&stream);
	const char *in;
	size_t len, room;

	while (status == Z_OK && job->written < job->to->size) {
		if (!stream.avail_in) {
			if (!next_in(job, &in, &len))
				break;
			stream.next_in = (Bytef *)(uintptr_t)in;
			stream.avail_in = (uInt)len;
		}
		stream.next_out = (Bytef *)next_out(job, &room);
		stream.avail_out = (uInt)room;
		status = inflate(&stream, Z_NO_FLUSH);
		if (!put_out(job, room - stream.avail_out))
			break;
	}
	inflateEnd(&stream);
	return job->written == job->to->size;
}

static bool zstd_all(struct unpack_job *job)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = { 0 };
	const char *data;

	while (stream && job->written < job->to->size) {
		ZSTD_outBuffer out = { 0 };
		size_t status;

		if (in.pos == in.size) {
			in = (ZSTD_inBuffer){ 0 };
			if (!next_in(job, &data, &in.size))
				break;
			in.src = data;
		}
		out.dst = next_out(job, &out.size);
		status = ZSTD_decompressStream(stream, &out, &in);
		if (ZSTD_isError(status) || !put_out(job, out.pos))
			break;
	}
	ZSTD_freeDStream(stream);
	return job->written == job->to->size;
}

struct ebt_error *unpack_section(const struct unpack_from *from, const struct unpack_to *to,
				 bool *ret_good)
{
	_cleanup_free_ char *buffer = malloc(2 * STEP);
	struct unpack_job job = { .from = from, .to = to, .in = buffer };

	if (!buffer)
		return &ebt_enomem;
	job.out = buffer + STEP;
	*ret_good = from->method == UNPACK_ZLIB ? inflate_all(&job) : zstd_all(&job);
	return NULL;
}

int unpack_file(void)
{
	const char *dirs[] = { getenv("TMPDIR"), "/var/tmp", "/tmp" };
	int fd = -1;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]) && fd < 0; i++) {
		if (dirs[i])
			fd = open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	}
	return fd;
}
