/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choosing an encoding for a column, writing and reading it. */
#include "format/encoding/column.h"

static uint64_t varying_bits(const uint64_t *values, uint32_t n)
{
	uint64_t first = values[0], a = 0, b = 0, c = 0, d = 0;
	uint32_t i = 0;

	for (; n - i >= 4; i += 4) {
		a |= values[i] ^ first;
		b |= values[i + 1] ^ first;
		c |= values[i + 2] ^ first;
		d |= values[i + 3] ^ first;
	}
	for (; i < n; i++)
		a |= values[i] ^ first;
	return a | b | c | d;
}

static unsigned int fixed_width(uint64_t bits)
{
	if (bits <= UINT8_MAX)
		return 1;
	if (bits <= UINT16_MAX)
		return 2;
	return bits <= UINT32_MAX ? 4 : 8;
}

struct ebt_column_plan ebt_column_plan(const uint64_t *values, uint32_t n)
{
	struct ebt_column_plan plan = { EBT_ENC_CONST, 0, values[0], 8 };
	size_t varint = 0, zigzag = 0, delta = 0, fixed;
	uint64_t bits = 0, before = 0;

	if (!varying_bits(values, n))
		return plan;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t v = values[i];

		varint += ebt_varint_len(v);
		zigzag += ebt_varint_len(ebt_zigzag(v));
		delta += ebt_varint_len(ebt_zigzag(v - before));
		bits |= v;
		before = v;
	}
	plan.width = fixed_width(bits);
	fixed = 1 + (size_t)plan.width * n;

	/* Fixed may be a byte larger than varint: it is the fastest to read. */
	plan.encoding = EBT_ENC_FIXED;
	plan.size = fixed;
	if (varint + 1 < plan.size) {
		plan.encoding = EBT_ENC_VARINT;
		plan.size = varint;
	}
	if (zigzag + 1 < plan.size) {
		plan.encoding = EBT_ENC_ZIGZAG;
		plan.size = zigzag;
	}
	if (delta + 1 < plan.size) {
		plan.encoding = EBT_ENC_DELTA;
		plan.size = delta;
	}
	return plan;
}

static unsigned char *encode_fixed(unsigned int width, const uint64_t *values, uint32_t n,
				   unsigned char *p)
{
	*p++ = (unsigned char)width;
	switch (width) {
	case 1:
		for (uint32_t i = 0; i < n; i++)
			p[i] = (unsigned char)values[i];
		break;
	case 2:
		for (uint32_t i = 0; i < n; i++)
			ebt_store_u16(p + 2 * (size_t)i, (uint16_t)values[i]);
		break;
	case 4:
		for (uint32_t i = 0; i < n; i++)
			ebt_store_u32(p + 4 * (size_t)i, (uint32_t)values[i]);
		break;
	default:
		for (uint32_t i = 0; i < n; i++)
			ebt_store_u64(p + 8 * (size_t)i, values[i]);
		break;
	}
	return p + (size_t)width * n;
}

void ebt_column_encode(const struct ebt_column_plan *plan, const uint64_t *values, uint32_t n,
		       struct ebt_buffer *buf)
{
	uint64_t before = 0;
	unsigned char *p;

	if (!ebt_buffer_reserve(buf, plan->size))
		return;
	p = buf->data + buf->len;
	buf->len += plan->size;
	switch (plan->encoding) {
	case EBT_ENC_CONST:
		ebt_store_u64(p, plan->first);
		break;
	case EBT_ENC_VARINT:
		for (uint32_t i = 0; i < n; i++)
			p = ebt_store_varint(p, values[i]);
		break;
	case EBT_ENC_ZIGZAG:
		for (uint32_t i = 0; i < n; i++)
			p = ebt_store_varint(p, ebt_zigzag(values[i]));
		break;
	case EBT_ENC_DELTA:
		for (uint32_t i = 0; i < n; i++) {
			p = ebt_store_varint(p, ebt_zigzag(values[i] - before));
			before = values[i];
		}
		break;
	default:
		encode_fixed(plan->width, values, n, p);
		break;
	}
}

static struct ebt_error *bad_length(size_t len, uint32_t n)
{
	return ebt_error_create(EBT_ERR_CORRUPT, "%zu bytes do not hold exactly %u rows", len, n);
}

static struct ebt_error *decode_fixed(struct ebt_bytes in, uint32_t n, uint64_t *ret)
{
	size_t len = ebt_bytes_left(&in);
	uint8_t width;

	if (!ebt_bytes_u8(&in, &width) || (width != 1 && width != 2 && width != 4 && width != 8))
		return ebt_error_create(EBT_ERR_CORRUPT, "fixed width is not 1, 2, 4 or 8");
	if (ebt_bytes_left(&in) != (size_t)width * n)
		return bad_length(len, n);
	switch (width) {
	case 1:
		for (uint32_t i = 0; i < n; i++)
			ret[i] = in.pos[i];
		break;
	case 2:
		for (uint32_t i = 0; i < n; i++)
			ret[i] = ebt_load_u16(in.pos + 2 * (size_t)i);
		break;
	case 4:
		for (uint32_t i = 0; i < n; i++)
			ret[i] = ebt_load_u32(in.pos + 4 * (size_t)i);
		break;
	default:
		for (uint32_t i = 0; i < n; i++)
			ret[i] = ebt_load_u64(in.pos + 8 * (size_t)i);
		break;
	}
	return NULL;
}

static struct ebt_error *decode_varints(struct ebt_bytes in, uint32_t n, uint64_t *ret)
{
	size_t len = ebt_bytes_left(&in);

	for (uint32_t i = 0; i < n; i++) {
		if (!ebt_bytes_varint(&in, &ret[i]))
			return ebt_error_create(EBT_ERR_CORRUPT, "no whole varint for row %u of %u",
						i, n);
	}
	return ebt_bytes_left(&in) ? bad_length(len, n) : NULL;
}

struct ebt_error *ebt_column_decode(uint8_t encoding, struct ebt_bytes contents, uint32_t n,
				    uint64_t *ret)
{
	struct ebt_error *err = NULL;
	uint64_t value = 0;

	switch (encoding) {
	case EBT_ENC_CONST:
		if (ebt_bytes_left(&contents) != 8)
			return bad_length(ebt_bytes_left(&contents), n);
		value = ebt_load_u64(contents.pos);
		for (uint32_t i = 0; i < n; i++)
			ret[i] = value;
		return NULL;
	case EBT_ENC_VARINT:
		return decode_varints(contents, n, ret);
	case EBT_ENC_ZIGZAG:
		err = decode_varints(contents, n, ret);
		for (uint32_t i = 0; !err && i < n; i++)
			ret[i] = ebt_unzigzag(ret[i]);
		return err;
	case EBT_ENC_DELTA:
		err = decode_varints(contents, n, ret);
		for (uint32_t i = 0; !err && i < n; i++)
			ret[i] = value += ebt_unzigzag(ret[i]);
		return err;
	case EBT_ENC_FIXED:
		return decode_fixed(contents, n, ret);
	default:
		return ebt_error_create(EBT_ERR_CORRUPT, "encoding %u is not one of a column",
					encoding);
	}
}
