/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of a list of numbers, exact, where all of them fit into memory; histogram.h is for where
 * they do not. All are whole numbers: mean and, of an even count, median are rounded down.
 */
#ifndef REPORT_BASE_FIGURES_H
#define REPORT_BASE_FIGURES_H

#include <stddef.h>
#include <stdint.h>

struct figures {
	uint64_t n;
	uint64_t sum; /* 2^64 - 1: that or more */
	uint64_t min, max, mean;
	uint64_t median;   /* the middle one; of an even count the mean of the two */
	uint64_t p90, p99; /* nearest rank: the smallest that so many percent do not exceed */
};

/* Sorts the list. Empty: all zero. */
struct figures figures_of(uint64_t *list, size_t n);

#endif
