/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/export/message.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "format/base/utf8.h"
#include "report/out/out.h"

#define GZIP_WINDOW (15 + 16) /* the largest, with gzip's header */

struct message_writer {
	ProtobufCBuffer buffer; /* what protobuf-c writes to; first, as it gets this only */
	FILE *f;
	bool gzip;
	z_stream z;
	gz_header head;
	size_t n; /* of plain, which is to be packed: protobuf-c gives a few bytes at a time */
	unsigned char plain[1 << 16], packed[1 << 16];
};

static void pack(struct message_writer *writer, int flush)
{
	z_stream *z = &writer->z;

	z->next_in = writer->plain;
	z->avail_in = (unsigned int)writer->n;
	do {
		z->next_out = writer->packed;
		z->avail_out = sizeof(writer->packed);
		deflate(z, flush);
		fwrite(writer->packed, 1, sizeof(writer->packed) - z->avail_out, writer->f);
	} while (!z->avail_out);
	writer->n = 0;
}

static void append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
	struct message_writer *writer = (struct message_writer *)buffer;

	if (!writer->gzip) {
		fwrite(data, 1, len, writer->f);
		return;
	}
	while (len) {
		const size_t room = sizeof(writer->plain) - writer->n, n = len < room ? len : room;

		memcpy(writer->plain + writer->n, data, n);
		writer->n += n;
		data += n;
		len -= n;
		if (n == room)
			pack(writer, Z_NO_FLUSH);
	}
}

struct ebt_error *message_writer_create(FILE *f, bool gzip, struct message_writer **ret)
{
	struct message_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return &ebt_enomem;
	writer->buffer.append = append;
	writer->f = f;
	writer->gzip = gzip;
	if (gzip && deflateInit2(&writer->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
				 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(writer);
		return &ebt_enomem;
	}
	writer->head.comment = (unsigned char *)OUT_GZIP_COMMENT;
	writer->head.os = 3; /* Unix */
	if (gzip)
		deflateSetHeader(&writer->z, &writer->head);
	*ret = writer;
	return NULL;
}

void message_writer_destroy(struct message_writer *writer)
{
	if (writer && writer->gzip)
		deflateEnd(&writer->z);
	free(writer);
}

/* Pieces of a few bytes each are slow to write: what fits is put together first. */
void message_write(struct message_writer *writer, const ProtobufCMessage *message)
{
	const size_t size = writer->gzip ? 0 : protobuf_c_message_get_packed_size(message);

	if (writer->gzip || size > sizeof(writer->plain)) {
		protobuf_c_message_pack_to_buffer(message, &writer->buffer);
		return;
	}
	protobuf_c_message_pack(message, writer->plain);
	fwrite(writer->plain, 1, size, writer->f);
}

void message_write_head(struct message_writer *writer, uint32_t field, uint64_t size)
{
	uint64_t numbers[] = { field << 3 | 2, size };
	unsigned char bytes[20];
	size_t n = 0;

	for (size_t i = 0; i < 2; i++) {
		for (; numbers[i] > 127; numbers[i] >>= 7)
			bytes[n++] = (unsigned char)(numbers[i] | 128);
		bytes[n++] = (unsigned char)numbers[i];
	}
	append(&writer->buffer, n, bytes);
}

void message_writer_finish(struct message_writer *writer)
{
	if (writer->gzip)
		pack(writer, Z_FINISH);
}
