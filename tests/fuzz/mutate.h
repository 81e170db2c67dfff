/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Seeded changes of good inputs: bits, bytes, numbers, swapped and copied ranges, lengths that lie,
 * ends cut off. */
#ifndef TESTS_FUZZ_MUTATE_H
#define TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

uint64_t mutate_random(uint64_t *state);

/* Changes one thing; len is more than 1. Returns the new length. */
size_t mutate_bytes(unsigned char *data, size_t len, uint64_t *random);

#endif
