// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers as text, as `ebreport` prints them.

/** @param {number} value @param {[string, number][]} units the largest first @param {string} rest */
function inUnits(value, units, rest) {
	for (const [name, size] of units)
		if (Math.abs(value) >= size)
			return (value / size).toPrecision(4) + " " + name;
	return value + " " + rest;
}

/** "1.234 ms" @param {number} ns */
export function duration(ns) {
	return inUnits(Math.round(ns), [["s", 1e9], ["ms", 1e6], ["us", 1e3]], "ns");
}

/** "1.200 MiB" @param {number} n */
export function bytes(n) {
	return inUnits(n, [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]], "B");
}

/** Seconds since the start of the trace: "1.234567". @param {number} ns */
export function timeText(ns) {
	return (Math.trunc(ns / 1e3) / 1e6).toFixed(6); // cut, and not rounded
}

/** @param {number} n */
export function count(n) {
	return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, " ");
}

/** @param {number} part @param {number} whole */
export function percent(part, whole) {
	return (whole ? 100 * part / whole : 0).toFixed(2) + " %";
}

/**
 * A time as `--from` and `--to` take it.
 * @param {number} ns
 */
export function timeOption(ns) {
	return Math.round(ns) + "ns";
}

/** Stable over pages, so that a name has its colour in all of them. @param {string} text */
export function hashOf(text) {
	let hash = 2166136261;

	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
	return (hash ^ (hash >>> 15)) >>> 0;
}
