/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unpacking zstd and gzip streams; see unpack.h. */
#include "format/read/unpack.h"

#include <errno.h>
#include <poll.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "format/base/cleanup.h"
#include "format/base/fdio.h"
#include "format/encoding/layout.h"

#define BLOCK ((size_t)128 << 10)

/* Chunks are compressed already, and what is not is text: no trace grows like this. */
#define MOST_TIMES 100
#define MOST_MORE  ((uint64_t)64 << 20)

enum ebt_packing ebt_packing_of(const unsigned char *head, size_t len)
{
	if (len >= 4 && !memcmp(head, "\x28\xb5\x2f\xfd", 4))
		return EBT_PACKED_ZSTD;
	if (len >= 2 && !memcmp(head, "\x1f\x8b", 2))
		return EBT_PACKED_GZIP;
	return EBT_NOT_PACKED;
}

/* --- what goes in --- */

static ssize_t read_some(struct ebt_packed *packed, void *buf, size_t size)
{
	size_t left = packed->head_len - packed->head_taken;
	ssize_t n;

	if (left) {
		n = (ssize_t)(left < size ? left : size);
		memcpy(buf, packed->head + packed->head_taken, (size_t)n);
		packed->head_taken += (size_t)n;
		return n;
	}
	for (;;) {
		n = packed->seeks ? pread(packed->fd, buf, size, (off_t)packed->offset)
				  : read(packed->fd, buf, size);
		if (n >= 0 || (errno != EINTR && errno != EAGAIN))
			break;
		/* Somebody else has made the pipe one that does not wait. */
		if (errno == EAGAIN)
			poll(&(struct pollfd){ .fd = packed->fd, .events = POLLIN }, 1, -1);
	}
	if (n > 0)
		packed->offset += (uint64_t)n;
	return n;
}

/* --- what comes out --- */

struct sink {
	const struct ebt_packed *packed;
	int to;
	uint64_t in, out;
	unsigned char head[EBT_HEAD];
	bool known; /* it begins as a trace */
	unsigned char block[BLOCK];
};

static struct ebt_error *check_head(struct sink *sink, bool end)
{
	size_t len = sink->out < EBT_HEAD ? (size_t)sink->out : EBT_HEAD;
	size_t magic = len < EBT_FILE_MAGIC_LEN ? len : EBT_FILE_MAGIC_LEN;
	_cleanup_free_ char *path = NULL;
	struct ebt_error *err;

	if (sink->known || (len < EBT_HEAD && !end))
		return NULL;
	sink->known = true;
	if (!memcmp(sink->head, EBT_FILE_MAGIC, magic))
		return NULL;
	err = ebt_format(&path, "%s (unpacked)", sink->packed->path);
	return err ? err : ebt_not_a_trace(path, sink->head, len);
}

static struct ebt_error *put(struct sink *sink, size_t len)
{
	struct ebt_error *err;

	if (sink->out < EBT_HEAD) {
		size_t room = EBT_HEAD - (size_t)sink->out;

		memcpy(sink->head + sink->out, sink->block, len < room ? len : room);
	}
	sink->out += len;
	err = check_head(sink, false);
	if (err)
		return err;
	if (sink->out > MOST_MORE && (sink->out - MOST_MORE) / MOST_TIMES > sink->in)
		return ebt_error_create(EBT_ERR_LIMIT,
					"%s: %" PRIu64 " compressed bytes have become %" PRIu64
					": no trace grows like that",
					sink->packed->path, sink->in, sink->out);
	if (!ebt_write(sink->to, sink->block, len))
		return ebt_error_errno(errno, "%s: cannot write a temporary copy",
				       sink->packed->path);
	return NULL;
}

/* --- zstd --- */

DEFINE_CLEANUP(ZSTD_DCtx *, ZSTD_freeDCtx);

static struct ebt_error *take_zstd(ZSTD_DCtx *zstd, struct sink *sink, ZSTD_inBuffer *in)
{
	ZSTD_outBuffer out = { .dst = sink->block, .size = BLOCK };
	struct ebt_error *err = NULL;

	/* A full block of output may not be all that there is. */
	while (!err && (in->pos < in->size || out.pos == out.size)) {
		size_t left;

		out.pos = 0;
		left = ZSTD_decompressStream(zstd, &out, in);
		if (ZSTD_isError(left))
			return ebt_error_create(EBT_ERR_CORRUPT, "%s: zstd: %s", sink->packed->path,
						ZSTD_getErrorName(left));
		err = put(sink, out.pos);
	}
	return err;
}

static struct ebt_error *unpack_zstd(struct ebt_packed *packed, struct sink *sink, void *buf)
{
	_cleanup_(ZSTD_freeDCtxp) ZSTD_DCtx *zstd = ZSTD_createDCtx();
	struct ebt_error *err = zstd ? NULL : &ebt_enomem;

	while (!err) {
		ssize_t n = read_some(packed, buf, BLOCK);
		ZSTD_inBuffer in = { .src = buf, .size = n > 0 ? (size_t)n : 0 };

		if (n < 0)
			return ebt_error_errno(errno, "%s", packed->path);
		if (!n)
			break;
		sink->in += in.size;
		err = take_zstd(zstd, sink, &in);
	}
	return err;
}

/* --- gzip --- */

static void inflate_end(z_stream *z)
{
	inflateEnd(z);
}

/* One member may follow the other. */
static struct ebt_error *take_gzip(z_stream *z, struct sink *sink)
{
	struct ebt_error *err = NULL;

	do {
		int status;

		z->next_out = sink->block;
		z->avail_out = (uInt)BLOCK;
		status = inflate(z, Z_NO_FLUSH);
		if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
			return status == Z_MEM_ERROR
				       ? &ebt_enomem
				       : ebt_error_create(EBT_ERR_CORRUPT, "%s: gzip: %s",
							  sink->packed->path,
							  z->msg ? z->msg : "damaged");
		err = put(sink, BLOCK - z->avail_out);
		if (status == Z_STREAM_END && z->avail_in && inflateReset(z) != Z_OK)
			return &ebt_enomem;
		if (status == Z_BUF_ERROR)
			break;
	} while (!err && (z->avail_in || !z->avail_out));
	return err;
}

static struct ebt_error *unpack_gzip(struct ebt_packed *packed, struct sink *sink, void *buf)
{
	__attribute__((cleanup(inflate_end))) z_stream z = { 0 };
	struct ebt_error *err = inflateInit2(&z, MAX_WBITS + 16) == Z_OK ? NULL : &ebt_enomem;

	while (!err) {
		ssize_t n = read_some(packed, buf, BLOCK);

		if (n < 0)
			return ebt_error_errno(errno, "%s", packed->path);
		if (!n)
			break;
		sink->in += (size_t)n;
		z.next_in = buf;
		z.avail_in = (uInt)n;
		err = take_gzip(&z, sink);
	}
	return err;
}

struct ebt_error *ebt_unpack(struct ebt_packed *packed, enum ebt_packing packing, int to,
			     uint64_t *ret_size)
{
	_cleanup_free_ struct sink *sink = calloc(1, sizeof(*sink));
	_cleanup_free_ void *buf = malloc(BLOCK);
	struct ebt_error *err;

	if (!sink || !buf)
		return &ebt_enomem;
	sink->packed = packed;
	sink->to = to;
	err = packing == EBT_PACKED_ZSTD ? unpack_zstd(packed, sink, buf)
					 : unpack_gzip(packed, sink, buf);
	if (!err)
		err = check_head(sink, true);
	if (!err)
		*ret_size = sink->out;
	return err;
}

/* --- what is no trace --- */

struct other {
	const char *magic;
	size_t len;
	const char *what; /* and what reads it */
};
#define OTHER(magic, what)                     \
	{                                      \
		magic, sizeof(magic) - 1, what \
	}

static const struct other others[] = {
	OTHER("PERFILE2", "perf.data: `perf report -i` reads it"),
	OTHER("2ELIFREP", "perf.data of the other byte order: `perf report -i` reads it"),
	OTHER("\x17\x08\x44tracing", "a trace.dat: `trace-cmd report -i` reads it"),
	OTHER("\x5e\x97\xca\xfd", "a capture of Sysprof: `sysprof` reads it"),
	OTHER("\xd4\xc3\xb2\xa1", "a pcap: `tcpdump -r` and Wireshark read it"),
	OTHER("\xa1\xb2\xc3\xd4", "a pcap: `tcpdump -r` and Wireshark read it"),
	OTHER("\x4d\x3c\xb2\xa1", "a pcap: `tcpdump -r` and Wireshark read it"),
	OTHER("\xa1\xb2\x3c\x4d", "a pcap: `tcpdump -r` and Wireshark read it"),
	OTHER("\x0a\x0d\x0d\x0a", "a pcapng: `tcpdump -r` and Wireshark read it"),
	OTHER("SQLite format 3", "a database of SQLite: `sqlite3` reads it"),
	OTHER("\xfd\x37zXZ", "compressed by xz: `xz -dc FILE | ebreport info -`"),
	OTHER("BZh", "compressed by bzip2: `bzip2 -dc FILE | ebreport info -`"),
	OTHER("\x04\x22\x4d\x18", "compressed by lz4: `lz4 -dc FILE | ebreport info -`"),
	OTHER("PK\x03\x04", "a zip archive: unpack it first"),
	OTHER("<?xml", "XML, maybe a flame graph: a browser shows it"),
	OTHER("<svg", "an SVG, as of `ebreport flame`: a browser shows it"),
	OTHER("<!DOCTYPE html", "HTML: a browser shows it"),
	OTHER("#!", "a script: `ebrec -- FILE` records what it does"),
};

#define ELF_TYPE 16 /* of the header; where its byte order is ours or its type is below 256 */

static const char *kind_of_elf(const unsigned char *head)
{
	switch (head[ELF_TYPE] | head[ELF_TYPE + 1]) {
	case 1:
		return "an ELF object file";
	case 2:
	case 3:
		return "an ELF program or library: `ebrec -- FILE` records what it does";
	case 4:
		return "a core dump: `gdb PROGRAM FILE` reads it";
	default:
		return "an ELF file";
	}
}

static const char *kind_of(const unsigned char *head, size_t len)
{
	size_t blank = 0;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (len >= others[i].len && !memcmp(head, others[i].magic, others[i].len))
			return others[i].what;
	}
	if (len >= ELF_TYPE + 2 && !memcmp(head,
					   "\x7f"
					   "ELF",
					   4))
		return kind_of_elf(head);
	while (blank < len && strchr(" \t\r\n", head[blank]) && head[blank])
		blank++;
	if (blank < len && (head[blank] == '{' || head[blank] == '['))
		return "JSON, maybe of a report or `ebreport export`: `jq`, ui.perfetto.dev or "
		       "profiler.firefox.com read it";
	return NULL;
}

struct ebt_error *ebt_not_a_trace(const char *path, const unsigned char *head, size_t len)
{
	const char *what = kind_of(head, len);

	return ebt_error_create(EBT_ERR_CORRUPT, "%s: not an .ebt file%s%s", path,
				what ? "; this is " : "", what ? what : "");
}
