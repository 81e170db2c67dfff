/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of bytes.h that are too long to be inline. */
#include "format/base/bytes.h"

#include <stdlib.h>

bool ebt_bytes_varint_slow(struct ebt_bytes *in, uint64_t *ret)
{
	const unsigned char *p = in->pos;
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64 && p < in->end; shift += 7) {
		unsigned char byte = *p++;

		if (shift == 63 && byte > 1)
			return false;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			in->pos = p;
			*ret = v;
			return true;
		}
	}
	return false;
}

bool ebt_bytes_sleb(struct ebt_bytes *in, int64_t *ret)
{
	struct ebt_bytes copy = *in;
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		if (!ebt_bytes_u8(&copy, &byte))
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && shift + 7 < 64)
			value |= ~UINT64_C(0) << (shift + 7);
		*in = copy;
		*ret = (int64_t)value;
		return true;
	}
	return false;
}

void ebt_buffer_deinit(struct ebt_buffer *buf)
{
	free(buf->data);
	*buf = EBT_BUFFER_INIT;
}

bool ebt_buffer_reserve(struct ebt_buffer *buf, size_t more)
{
	size_t need, capacity;
	unsigned char *data;

	if (buf->capacity - buf->len >= more)
		return true;
	if (__builtin_add_overflow(buf->len, more, &need) || need > SIZE_MAX / 2) {
		buf->failed = true;
		return false;
	}
	capacity = buf->capacity < 128 ? 256 : buf->capacity * 2;
	if (capacity < need)
		capacity = need;
	data = realloc(buf->data, capacity);
	if (!data) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->capacity = capacity;
	return true;
}

void ebt_buffer_put(struct ebt_buffer *buf, const void *data, size_t len)
{
	if (!len || !ebt_buffer_reserve(buf, len))
		return;
	memcpy(buf->data + buf->len, data, len);
	buf->len += len;
}

void ebt_buffer_put_u8(struct ebt_buffer *buf, uint8_t v)
{
	ebt_buffer_put(buf, &v, 1);
}

void ebt_buffer_put_u32(struct ebt_buffer *buf, uint32_t v)
{
	v = htole32(v);
	ebt_buffer_put(buf, &v, sizeof(v));
}

void ebt_buffer_put_u64(struct ebt_buffer *buf, uint64_t v)
{
	v = htole64(v);
	ebt_buffer_put(buf, &v, sizeof(v));
}

void ebt_buffer_put_varint(struct ebt_buffer *buf, uint64_t v)
{
	if (!ebt_buffer_reserve(buf, EBT_VARINT_MAX))
		return;
	buf->len = (size_t)(ebt_store_varint(buf->data + buf->len, v) - buf->data);
}
