/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers that look random (xorshift) and are the same in each run, of one test program. */
#ifndef TESTS_TOOLS_NEXT_RANDOM_H
#define TESTS_TOOLS_NEXT_RANDOM_H

#include <stdint.h>

/* Not 0; a test may begin with another one. */
static uint64_t random_state = 88172645463325252;

static inline uint64_t next_random(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

#endif
