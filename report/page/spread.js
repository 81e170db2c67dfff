// SPDX-License-Identifier: GPL-2.0-or-later
// Distributions in slices of tables, and percentiles of what some slices have together: those that
// the command prints for the same time, see report/base/histogram.c.

/** As slices have it: few values as they are; or -1, min, max, sum, and of each bucket a step and a count. @typedef {number[]} Packed */
/**
 * @typedef {Object} Spread
 * @property {number} count
 * @property {number} sum
 * @property {number} min
 * @property {number} max
 * @property {number[] | null} few the values; null: there are more, in buckets
 * @property {Map<number, number>} buckets counts
 */

const FEW = 8, OF_OCTAVE = 64;

/** Octave 0 has a bucket a value, octave k > 0 buckets of 2^(k-1). @param {number} value */
function bucketOf(value) {
	let octave = 0;

	for (; value >= 2 * OF_OCTAVE; octave++)
		value = Math.floor(value / 2);
	return value < OF_OCTAVE ? value : (octave + 1) * OF_OCTAVE + value - OF_OCTAVE;
}

/** @param {number} bucket */
function middleOf(bucket) {
	const octave = Math.floor(bucket / OF_OCTAVE), width = 2 ** (octave - 1);

	return octave ? (OF_OCTAVE + bucket % OF_OCTAVE) * width + Math.floor(width / 2) : bucket;
}

/** @param {Spread} spread @param {number} bucket @param {number} n */
function addToBucket(spread, bucket, n) {
	spread.buckets.set(bucket, (spread.buckets.get(bucket) || 0) + n);
}

/** @returns {Spread} */
function emptySpread() {
	return { count: 0, sum: 0, min: Infinity, max: 0, few: [], buckets: new Map() };
}

/** @param {Spread} spread */
function fillBuckets(spread) {
	for (const value of spread.few || [])
		addToBucket(spread, bucketOf(value), 1);
	spread.few = null;
}

/** @param {Spread} spread @param {Packed} values */
function addFew(spread, values) {
	for (const value of values) {
		spread.count++;
		spread.sum += value;
		spread.min = Math.min(spread.min, value);
		spread.max = Math.max(spread.max, value);
		if (spread.few)
			spread.few.push(value);
		else
			addToBucket(spread, bucketOf(value), 1);
	}
	if (spread.few && spread.few.length > FEW)
		fillBuckets(spread);
}

/** @param {Spread | null} into @param {Packed} packed @returns {Spread} */
export function addSpread(into, packed) {
	const spread = into || emptySpread();

	if (packed[0] !== -1) {
		addFew(spread, packed);
		return spread;
	}
	fillBuckets(spread);
	spread.min = Math.min(spread.min, packed[1]);
	spread.max = Math.max(spread.max, packed[2]);
	spread.sum += packed[3];
	for (let i = 4, bucket = 0; i + 1 < packed.length; i += 2) {
		bucket += packed[i];
		addToBucket(spread, bucket, packed[i + 1]);
		spread.count += packed[i + 1];
	}
	return spread;
}

/** The nearest rank. @param {Spread} spread @param {number} percent @returns {number | null} */
export function percentileOf(spread, percent) {
	// As in C, a little is allowed to the division.
	const exact = percent / 100 * spread.count, rank = Math.max(1, Math.ceil(exact - 1e-6));

	if (!spread.count)
		return null;
	if (rank >= spread.count)
		return spread.max;
	if (spread.few)
		return [...spread.few].sort((a, b) => a - b)[rank - 1];
	let seen = 0;

	for (const bucket of [...spread.buckets.keys()].sort((a, b) => a - b)) {
		seen += spread.buckets.get(bucket) || 0;
		if (seen >= rank)
			return Math.min(spread.max, Math.max(spread.min, middleOf(bucket)));
	}
	return spread.max;
}

/** @param {Spread} spread @returns {number | null} */
export function averageOf(spread) {
	return spread.count ? Math.floor(spread.sum / spread.count) : null;
}
