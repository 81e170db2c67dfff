/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text from strangers, a character at a time, for who shows it on a terminal. */
#ifndef FORMAT_BASE_UTF8_H
#define FORMAT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the UTF-8 sequence at s (1 to 4), 0 if it is none; *ret_c is its character. */
size_t ebt_utf8(const char *s, size_t len, uint32_t *ret_c);

/* What a terminal would do instead of showing it. */
bool ebt_utf8_is_control(uint32_t c);

/* Marks that change the direction of, or break, the text around them. */
bool ebt_utf8_is_layout(uint32_t c);

#endif
