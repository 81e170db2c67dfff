/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See utf8.h. */
#include "format/base/utf8.h"

size_t ebt_utf8(const char *str, size_t len, uint32_t *ret_c)
{
	const unsigned char *s = (const unsigned char *)str;
	uint32_t c, min;
	size_t n, i;

	if (!len)
		return 0;
	if (s[0] < 0x80) {
		*ret_c = s[0];
		return 1;
	}
	if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		n = 2;
		min = 0x80;
	} else if (s[0] >= 0xe0 && s[0] <= 0xef) {
		n = 3;
		min = 0x800;
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		n = 4;
		min = 0x10000;
	} else {
		return 0;
	}
	if (len < n)
		return 0;
	c = s[0] & (0x7fu >> n);
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < min || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret_c = c;
	return n;
}

bool ebt_utf8_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f);
}

bool ebt_utf8_is_layout(uint32_t c)
{
	return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}
