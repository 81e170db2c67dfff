/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damage; see mutate.h. */
#include "tests/fuzz/mutate.h"

#include <stdbool.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/encoding/layout.h"

uint64_t mutate_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

static const uint64_t numbers[] = {
	0,
	1,
	2,
	7,
	8,
	63,
	64,
	65,
	96,
	127,
	128,
	255,
	256,
	0x7fff,
	0xffff,
	0x10000,
	(1 << 20) - 1,
	1 << 20,
	(1 << 20) + 1,
	(16 << 20) - 1,
	16 << 20,
	(16 << 20) + 1,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	UINT64_C(0x100000000),
	INT64_MAX,
	UINT64_C(1) << 63,
	UINT64_MAX - 95,
	UINT64_MAX - 7,
	UINT64_MAX,
};

/* A number that somebody forgot about, over 1 to 8 bytes. */
static void put_number(unsigned char *data, size_t len, size_t at, uint64_t *random)
{
	uint64_t number = numbers[mutate_random(random) % (sizeof(numbers) / sizeof(numbers[0]))];
	size_t width = (size_t)1 << mutate_random(random) % 4;

	if (mutate_random(random) % 4 == 0)
		number = ebt_load_u16(data + at % (len - 1)) + mutate_random(random) % 9 - 4;
	for (size_t i = 0; i < width && at + i < len; i++)
		data[at + i] = (unsigned char)(number >> 8 * i);
}

/* A field of a header: files and index are full of them, and they matter most. */
static void change_header(unsigned char *data, size_t len, uint64_t *random)
{
	size_t places = len / EBT_ALIGN, from = mutate_random(random) % len / EBT_ALIGN;

	for (size_t i = 0; i < places; i++) {
		size_t at = (from + i) % places * EBT_ALIGN;

		if (at + EBT_CHUNK_HEADER_LEN <= len &&
		    ebt_load_u32(data + at) == EBT_CHUNK_MAGIC) {
			put_number(data, len, at + mutate_random(random) % EBT_CHUNK_HEADER_LEN,
				   random);
			return;
		}
	}
}

static void move_range(unsigned char *data, size_t len, bool swap, uint64_t *random)
{
	size_t n = 1 + mutate_random(random) % (len / 4 < 512 ? len / 4 + 1 : 512);
	size_t a = mutate_random(random) % (len - n + 1), b = mutate_random(random) % (len - n + 1);

	for (size_t i = 0; i < n; i++) {
		unsigned char old = data[a + i];

		data[a + i] = data[b + i];
		if (swap)
			data[b + i] = old;
	}
}

size_t mutate_bytes(unsigned char *data, size_t len, uint64_t *random)
{
	size_t at = mutate_random(random) % len, n;

	switch (mutate_random(random) % 16) {
	case 0 ... 3:
		data[at] ^= (unsigned char)(1 << mutate_random(random) % 8);
		return len;
	case 4 ... 5:
		data[at] = (unsigned char)mutate_random(random);
		return len;
	case 6 ... 8:
		put_number(data, len, at, random);
		return len;
	case 9 ... 11:
		change_header(data, len, random);
		return len;
	case 12 ... 13:
		move_range(data, len, mutate_random(random) & 1, random);
		return len;
	case 14:
		n = mutate_random(random) % 64;
		memset(data + at, mutate_random(random) & 1 ? 0xff : 0,
		       n < len - at ? n : len - at);
		return len;
	default:
		return mutate_random(random) % 4 ? len : at + 1;
	}
}
