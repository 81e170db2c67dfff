/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Distribution of durations: count, sum and largest exactly, percentiles within 0.8 %. Buckets
 * are 64 to a power of two, made a power of two at a time; the first few values are kept as they
 * are, so that a million keys with a handful of values each cost little.
 */
#ifndef REPORT_BASE_HISTOGRAM_H
#define REPORT_BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"

#define HISTOGRAM_FEW	   8
#define HISTOGRAM_SUB_BITS 6
#define HISTOGRAM_SUB	   (1u << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_OCTAVES  (64 - HISTOGRAM_SUB_BITS + 1)

/* A power of two of buckets. Each counts to four billion and stays there. */
struct histogram_octave {
	uint32_t n[HISTOGRAM_SUB];
};

struct histogram_buckets {
	struct histogram_octave *octaves;
	uint8_t place[HISTOGRAM_OCTAVES]; /* 1 + index in octaves; 0: nothing there */
	uint8_t n_octaves;
};

/* All zero is an empty histogram. */
struct histogram {
	uint64_t count, sum, max, min;
	uint64_t few[HISTOGRAM_FEW];	   /* the values, while count <= HISTOGRAM_FEW */
	struct histogram_buckets *buckets; /* all of them, from then on */
};

void histogram_deinit(struct histogram *h);

struct ebt_error *histogram_add(struct histogram *h, uint64_t value);
/* Adds all of `from`. */
struct ebt_error *histogram_merge(struct histogram *h, const struct histogram *from);

uint64_t histogram_avg(const struct histogram *h); /* 0 where empty */
/* Smallest value that at least percent % of the values do not exceed (nearest rank); 0 where
 * empty. Within 0.8 %; never more than max. */
uint64_t histogram_percentile(const struct histogram *h, double percent);

struct histogram_bucket {
	uint32_t number; /* HISTOGRAM_SUB of an octave, values ascending; see histogram.c */
	uint32_t n;
};
/* The first bucket from ret->number on that has values. False: there is none, as where the values
 * are kept as they are. */
bool histogram_next(const struct histogram *h, struct histogram_bucket *ret);

/* ret[0]: values of 0; ret[n]: 2^(n-1) <= value < 2^n. Exact. */
void histogram_log2(const struct histogram *h, uint64_t ret[65]);

#endif
