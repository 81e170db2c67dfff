/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unpacking compressed sections; see unpack.h. */
#include "symbolize/elf/unpack.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "format/base/cleanup.h"
#include "format/base/fdio.h"

#define STEP (256u << 10)

/* A section under way: places move on, sizes are what is left. */
struct unpack_job {
	struct unpack *s;
	char *in, *out; /* room for a piece; out: where it goes to a file */
};

/* The next piece of what is packed; false at its end. */
static bool next_in(struct unpack_job *job, const char **ret, size_t *ret_len)
{
	struct unpack *s = job->s;
	ssize_t n = s->in_size < STEP ? (ssize_t)s->in_size : STEP;

	*ret = s->in_fd < 0 ? s->in + s->in_offset : job->in;
	if (n && s->in_fd >= 0)
		n = pread(s->in_fd, job->in, (size_t)n, (off_t)s->in_offset);
	if (n <= 0)
		return false;
	s->in_offset += (uint64_t)n;
	s->in_size -= (uint64_t)n;
	*ret_len = (size_t)n;
	return true;
}

/* Where the next bytes go, and how many may. */
static char *next_out(const struct unpack_job *job, size_t *ret_len)
{
	*ret_len = job->s->out_size < STEP ? (size_t)job->s->out_size : STEP;
	return job->s->out ? job->s->out : job->out;
}

static bool put_out(struct unpack_job *job, size_t len)
{
	struct unpack *s = job->s;

	if (s->out)
		s->out += len;
	else if (!ebt_write(s->out_fd, job->out, len))
		return false;
	s->out_size -= len;
	return true;
}

static void inflate_all(struct unpack_job *job)
{
	z_stream stream = { 0 };
	int status = inflateInit(&stream);
	const char *in;
	size_t len, room;

	while (status == Z_OK && job->s->out_size) {
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
}

static void zstd_all(struct unpack_job *job)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = { 0 };
	const char *data;

	while (stream && job->s->out_size) {
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
}

struct ebt_error *unpack_section(struct unpack *section, bool *ret_good)
{
	_cleanup_free_ char *buffer = malloc(2 * STEP);
	struct unpack_job job = { .s = section, .in = buffer };

	if (!buffer)
		return &ebt_enomem;
	job.out = buffer + STEP;
	if (section->method == UNPACK_ZLIB)
		inflate_all(&job);
	else
		zstd_all(&job);
	*ret_good = !section->out_size;
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
