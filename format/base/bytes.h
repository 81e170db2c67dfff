/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes in and out. `struct ebt_bytes` is a cursor over bytes of a file: every read checks what
 * is left, and one that fails does not move. `struct ebt_buffer` grows by appending; a failure to
 * allocate is kept in it, so that a caller checks once at the end.
 */
#ifndef FORMAT_BASE_BYTES_H
#define FORMAT_BASE_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A varint of 64 bits has at most this many bytes. */
#define EBT_VARINT_MAX 10

/* --- little-endian loads and stores, at any alignment; the caller checked the length --- */

static inline uint16_t ebt_load_u16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t ebt_load_u32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t ebt_load_u64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline void ebt_store_u16(void *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void ebt_store_u32(void *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void ebt_store_u64(void *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint64_t ebt_zigzag(uint64_t v)
{
	return v << 1 ^ (uint64_t)((int64_t)v >> 63);
}

static inline uint64_t ebt_unzigzag(uint64_t v)
{
	return v >> 1 ^ (0 - (v & 1));
}

/* Bytes that v takes as a varint. */
static inline unsigned int ebt_varint_len(uint64_t v)
{
	unsigned int top = 63 ^ (unsigned int)__builtin_clzll(v | 1);

	return (top * 9 + 73) / 64;
}

/* Writes v at p, where EBT_VARINT_MAX bytes are free; returns the byte behind. */
static inline unsigned char *ebt_store_varint(unsigned char *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (unsigned char)(v | 0x80);
		v >>= 7;
	}
	*p++ = (unsigned char)v;
	return p;
}

/* --- reading --- */

struct ebt_bytes {
	const unsigned char *pos, *end;
};

static inline struct ebt_bytes ebt_bytes(const void *data, size_t len)
{
	const unsigned char *p = data;

	return (struct ebt_bytes){ p, p + len };
}

static inline size_t ebt_bytes_left(const struct ebt_bytes *in)
{
	return (size_t)(in->end - in->pos);
}

/* Takes the next len bytes as a cursor of their own. */
static inline bool ebt_bytes_take(struct ebt_bytes *in, uint64_t len, struct ebt_bytes *ret)
{
	if (len > ebt_bytes_left(in))
		return false;
	*ret = ebt_bytes(in->pos, (size_t)len);
	in->pos += len;
	return true;
}

static inline bool ebt_bytes_skip(struct ebt_bytes *in, uint64_t len)
{
	if (len > ebt_bytes_left(in))
		return false;
	in->pos += len;
	return true;
}

static inline bool ebt_bytes_u8(struct ebt_bytes *in, uint8_t *ret)
{
	if (in->pos == in->end)
		return false;
	*ret = *in->pos++;
	return true;
}

static inline bool ebt_bytes_u16(struct ebt_bytes *in, uint16_t *ret)
{
	if (ebt_bytes_left(in) < 2)
		return false;
	*ret = ebt_load_u16(in->pos);
	in->pos += 2;
	return true;
}

static inline bool ebt_bytes_u32(struct ebt_bytes *in, uint32_t *ret)
{
	if (ebt_bytes_left(in) < 4)
		return false;
	*ret = ebt_load_u32(in->pos);
	in->pos += 4;
	return true;
}

static inline bool ebt_bytes_u64(struct ebt_bytes *in, uint64_t *ret)
{
	if (ebt_bytes_left(in) < 8)
		return false;
	*ret = ebt_load_u64(in->pos);
	in->pos += 8;
	return true;
}

/* The long form of ebt_bytes_varint(). */
bool ebt_bytes_varint_slow(struct ebt_bytes *in, uint64_t *ret);

/* False where the bytes end first, or where the number does not fit 64 bits. */
static inline bool ebt_bytes_varint(struct ebt_bytes *in, uint64_t *ret)
{
	if (in->pos != in->end && *in->pos < 0x80) {
		*ret = *in->pos++;
		return true;
	}
	return ebt_bytes_varint_slow(in, ret);
}

static inline bool ebt_bytes_zigzag(struct ebt_bytes *in, uint64_t *ret)
{
	uint64_t v;

	if (!ebt_bytes_varint(in, &v))
		return false;
	*ret = ebt_unzigzag(v);
	return true;
}

/* Signed LEB128; of more than 64 bits: false. */
bool ebt_bytes_sleb(struct ebt_bytes *in, int64_t *ret);

/* --- writing --- */

struct ebt_buffer {
	unsigned char *data;
	size_t len, capacity;
	bool failed; /* memory ran out: what was to be appended then is missing */
};
#define EBT_BUFFER_INIT ((struct ebt_buffer){ 0 })

/* Frees the bytes and makes the buffer empty. */
void ebt_buffer_deinit(struct ebt_buffer *buf);

/* Makes room for more bytes behind len. */
bool ebt_buffer_reserve(struct ebt_buffer *buf, size_t more);

/* Empties it and keeps its memory. */
static inline void ebt_buffer_clear(struct ebt_buffer *buf)
{
	buf->len = 0;
	buf->failed = false;
}

void ebt_buffer_put(struct ebt_buffer *buf, const void *data, size_t len);
void ebt_buffer_put_u8(struct ebt_buffer *buf, uint8_t v);
void ebt_buffer_put_u32(struct ebt_buffer *buf, uint32_t v);
void ebt_buffer_put_u64(struct ebt_buffer *buf, uint64_t v);
void ebt_buffer_put_varint(struct ebt_buffer *buf, uint64_t v);

#endif
