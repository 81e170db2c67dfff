/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log-linear histogram; see histogram.h. */
#include "report/base/histogram.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/compare.h"

/*
 * Values below HISTOGRAM_SUB are octave 0, a bucket a value. Octave k > 0 holds the values of
 * HISTOGRAM_SUB << (k - 1) up to twice that, in buckets of 1 << (k - 1): a bucket's middle is
 * within 1/128 of each of its values.
 */
static unsigned int octave_of(uint64_t value)
{
	if (value < HISTOGRAM_SUB)
		return 0;
	return 64 - (unsigned int)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
}

static unsigned int bucket_of(uint64_t value, unsigned int octave)
{
	return octave ? (unsigned int)(value >> (octave - 1)) & (HISTOGRAM_SUB - 1)
		      : (unsigned int)value;
}

static uint64_t middle_of(unsigned int octave, unsigned int bucket)
{
	uint64_t low;

	if (!octave)
		return bucket;
	low = (uint64_t)(HISTOGRAM_SUB + bucket) << (octave - 1);
	return low + ((UINT64_C(1) << (octave - 1)) >> 1);
}

void histogram_deinit(struct histogram *h)
{
	if (h->buckets)
		free(h->buckets->octaves);
	free(h->buckets);
	*h = (struct histogram){ 0 };
}

/* NULL where it has no values. */
static const uint32_t *octave_get(const struct histogram *h, unsigned int octave)
{
	uint8_t place = h->buckets->place[octave];

	return place ? h->buckets->octaves[place - 1].n : NULL;
}

static struct ebt_error *add_octave(struct histogram_buckets *b, unsigned int octave)
{
	struct histogram_octave *grown = reallocarray(b->octaves, b->n_octaves + 1, sizeof(*grown));

	if (!grown)
		return &ebt_enomem;
	b->octaves = grown;
	memset(&grown[b->n_octaves], 0, sizeof(*grown));
	b->place[octave] = ++b->n_octaves;
	return NULL;
}

static struct ebt_error *bucket_add(struct histogram_buckets *b, uint64_t value, uint32_t count)
{
	unsigned int octave = octave_of(value);
	struct ebt_error *err;
	uint32_t *n;

	if (!b->place[octave]) {
		err = add_octave(b, octave);
		if (err)
			return err;
	}
	n = &b->octaves[b->place[octave] - 1].n[bucket_of(value, octave)];
	*n = *n > UINT32_MAX - count ? UINT32_MAX : *n + count;
	return NULL;
}

/* From single values to buckets. */
static struct ebt_error *make_buckets(struct histogram *h)
{
	struct ebt_error *err;

	h->buckets = calloc(1, sizeof(*h->buckets));
	if (!h->buckets)
		return &ebt_enomem;
	for (uint64_t i = 0; i < h->count; i++) {
		err = bucket_add(h->buckets, h->few[i], 1);
		if (err)
			return err;
	}
	return NULL;
}

struct ebt_error *histogram_add(struct histogram *h, uint64_t value)
{
	struct ebt_error *err;

	if (!h->buckets && h->count < HISTOGRAM_FEW) {
		h->few[h->count] = value;
	} else {
		err = h->buckets ? NULL : make_buckets(h);
		if (err)
			return err;
		err = bucket_add(h->buckets, value, 1);
		if (err)
			return err;
	}
	if (value > h->max)
		h->max = value;
	if (!h->count || value < h->min)
		h->min = value;
	h->count++;
	h->sum += value;
	return NULL;
}

struct ebt_error *histogram_merge(struct histogram *h, const struct histogram *from)
{
	struct ebt_error *err;

	if (!from->buckets) {
		for (uint64_t i = 0; i < from->count; i++) {
			err = histogram_add(h, from->few[i]);
			if (err)
				return err;
		}
		return NULL;
	}
	err = h->buckets ? NULL : make_buckets(h);
	for (unsigned int o = 0; !err && o < HISTOGRAM_OCTAVES; o++) {
		const uint32_t *n = octave_get(from, o);

		for (unsigned int b = 0; !err && n && b < HISTOGRAM_SUB; b++)
			err = n[b] ? bucket_add(h->buckets, middle_of(o, b), n[b]) : NULL;
	}
	if (err)
		return err;
	if (from->max > h->max)
		h->max = from->max;
	if (!h->count || from->min < h->min)
		h->min = from->min;
	h->count += from->count;
	h->sum += from->sum;
	return NULL;
}

uint64_t histogram_avg(const struct histogram *h)
{
	return h->count ? h->sum / h->count : 0;
}

/* Nearest rank, 1 … count. The small allowance keeps 99.9 % of 1000 at rank 999. */
static uint64_t rank_of(uint64_t count, double percent)
{
	double exact = percent / 100 * (double)count;
	uint64_t rank = (uint64_t)exact;

	if (exact - (double)rank > 1e-6)
		rank++;
	return rank < 1 ? 1 : rank > count ? count : rank;
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
	uint64_t seen = 0, rank, value;

	if (!h->count)
		return 0;
	rank = rank_of(h->count, percent);
	if (rank == h->count)
		return h->max;
	if (!h->buckets) {
		uint64_t sorted[HISTOGRAM_FEW];

		memcpy(sorted, h->few, sizeof(sorted));
		qsort(sorted, h->count, sizeof(sorted[0]), ebt_compare_u64);
		return sorted[rank - 1];
	}
	for (unsigned int o = 0; o < HISTOGRAM_OCTAVES; o++) {
		const uint32_t *n = octave_get(h, o);

		for (unsigned int b = 0; n && b < HISTOGRAM_SUB; b++) {
			seen += n[b];
			if (seen < rank)
				continue;
			value = middle_of(o, b);
			return value > h->max ? h->max : value < h->min ? h->min : value;
		}
	}
	return h->max;
}

bool histogram_next(const struct histogram *h, struct histogram_bucket *ret)
{
	for (uint32_t i = ret->number; h->buckets && i < HISTOGRAM_OCTAVES * HISTOGRAM_SUB; i++) {
		const uint32_t *n = octave_get(h, i / HISTOGRAM_SUB);

		if (!n) {
			i |= HISTOGRAM_SUB - 1;
		} else if (n[i % HISTOGRAM_SUB]) {
			*ret = (struct histogram_bucket){ i, n[i % HISTOGRAM_SUB] };
			return true;
		}
	}
	return false;
}

/* Octave 0 holds several powers of two, the others one each. */
void histogram_log2(const struct histogram *h, uint64_t ret[65])
{
	memset(ret, 0, 65 * sizeof(ret[0]));
	if (!h->buckets) {
		for (uint64_t i = 0; i < h->count; i++)
			ret[h->few[i] ? 64 - __builtin_clzll(h->few[i]) : 0]++;
		return;
	}
	for (unsigned int o = 0; o < HISTOGRAM_OCTAVES; o++) {
		const uint32_t *n = octave_get(h, o);

		for (unsigned int b = 0; n && b < HISTOGRAM_SUB; b++) {
			unsigned int bits = o	? o + HISTOGRAM_SUB_BITS
					    : b ? 32 - (unsigned int)__builtin_clz(b)
						: 0;

			ret[bits] += n[b];
		}
	}
}
