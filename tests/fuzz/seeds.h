/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Good inputs of the fuzz targets, taken from a trace. */
#ifndef TESTS_FUZZ_SEEDS_H
#define TESTS_FUZZ_SEEDS_H

#include <stdbool.h>
#include <stddef.h>

/* target: "reader", "chunk", "column" or "schema". */
typedef void seed_fn(void *arg, const char *target, const void *data, size_t len);

/* Calls fn for each input that the trace gives. False where the trace cannot be read. */
bool each_seed(const char *path, seed_fn *fn, void *arg);

#endif
