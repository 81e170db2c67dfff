/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gzip(1) packed. Include cmocka.h before; who includes it links zlib. */
#ifndef TESTS_TOOLS_INFLATED_H
#define TESTS_TOOLS_INFLATED_H

#include <stdlib.h>
#include <zlib.h>

/* 4 MiB at the most, with a NUL behind. Free it with free(). */
static inline unsigned char *inflated(const unsigned char *packed, size_t len, size_t *ret_len)
{
	const size_t room = 1 << 22;
	unsigned char *raw = calloc(1, room + 1);
	z_stream z = { .next_in = (unsigned char *)packed,
		       .avail_in = (unsigned int)len,
		       .next_out = raw,
		       .avail_out = (unsigned int)room };

	assert_non_null(raw);
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	*ret_len = z.total_out;
	inflateEnd(&z);
	return raw;
}

#endif
