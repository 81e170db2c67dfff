/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/export/message.h"

#include <stdlib.h>
#include <zlib.h>

#include "format/base/utf8.h"

#define GZIP_WINDOW (15 + 16) /* the largest, with gzip's header */

struct message_writer {
	ProtobufCBuffer buffer; /* what protobuf-c writes to; first, as it gets this only */
	FILE *f;
	bool gzip;
	z_stream z;
	unsigned char packed[1 << 16];
};

static void pack(struct message_writer *writer, int flush)
{
	z_stream *z = &writer->z;

	do {
		z->next_out = writer->packed;
		z->avail_out = sizeof(writer->packed);
		deflate(z, flush);
		fwrite(writer->packed, 1, sizeof(writer->packed) - z->avail_out, writer->f);
	} while (!z->avail_out);
}

static void append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
	struct message_writer *writer = (struct message_writer *)buffer;

	while (writer->gzip && len) {
		const size_t n = len < 1u << 30 ? len : 1u << 30;

		writer->z.next_in = (unsigned char *)data;
		writer->z.avail_in = (unsigned int)n;
		pack(writer, Z_NO_FLUSH);
		data += n;
		len -= n;
	}
	if (len)
		fwrite(data, 1, len, writer->f);
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
	*ret = writer;
	return NULL;
}

void message_writer_destroy(struct message_writer *writer)
{
	if (writer && writer->gzip)
		deflateEnd(&writer->z);
	free(writer);
}

void message_write(struct message_writer *writer, const ProtobufCMessage *message)
{
	protobuf_c_message_pack_to_buffer(message, &writer->buffer);
}

void message_writer_finish(struct message_writer *writer)
{
	if (writer->gzip)
		pack(writer, Z_FINISH);
}

void message_text(struct text *text, struct ebt_str s)
{
	size_t plain = 0, i = 0;

	while (i < s.len) {
		uint32_t c;
		const size_t n = ebt_utf8(s.data + i, s.len - i, &c);

		if (n && c) {
			i += n;
			continue;
		}
		text_add(text, s.data + plain, i - plain);
		text_cstr(text, "\xef\xbf\xbd");
		plain = ++i;
	}
	text_add(text, s.data + plain, s.len - plain);
}
