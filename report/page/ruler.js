// SPDX-License-Identifier: GPL-2.0-or-later
// Where the ruler has its ticks, how their times are written, and how a time is read.

const UNITS = /** @type {[string, number][]} */ ([["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]]);

/** The least of 1, 2, 5, 10, 20, … ns that is not below `least`. @param {number} least */
export function tickStep(least) {
	const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));

	for (const factor of [1, 2, 5])
		if (power * factor >= least)
			return power * factor;
	return power * 10;
}

/** A time with the digits that tell ticks apart: "1.25 s". @param {number} ns @param {number} step */
export function tickText(ns, step) {
	const digits = Math.max(0, 9 - Math.floor(Math.log10(step)));

	return (ns / 1e9).toFixed(Math.min(9, digits)) + " s";
}

/** "1.5s", "250ms", "-3us", "17": ns, or null where it is no time. @param {string} text @returns {number | null} */
export function parseTime(text) {
	const match = /^\s*([-+]?\d+(?:[.,]\d+)?)\s*(ns|us|µs|ms|s|)\s*$/.exec(text);
	const unit = match && UNITS.find(([name]) => name === match[2].replace("µ", "u"));

	if (!match)
		return null;
	return Number(match[1].replace(",", ".")) * (unit ? unit[1] : 1);
}

/** The range, moved and cut so that it lies within another and is not too short.
 * @param {number} from @param {number} to @param {number} low @param {number} high */
export function clampRange(from, to, low, high) {
	const length = Math.min(high - low, Math.max(to - from, 100));
	const start = Math.min(Math.max(from, low), high - length);

	return { from: start, to: start + length };
}
