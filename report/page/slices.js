// SPDX-License-Identifier: GPL-2.0-or-later
// Rows of a range out of the rows of the slices of a table, column by column as the table says: see
// enum out_column_flags in report/out/out.h.
import { addSpread, averageOf, percentileOf } from "./spread.js";
import { columnOf, isNumber, nestRows, sortRows } from "./tabledata.js";

/** @typedef {import("./state.js").Range} Range */
/** @typedef {import("./tabledata.js").Table} Table */
/** @typedef {import("./tabledata.js").TableColumn} TableColumn */
/** @typedef {import("./tabledata.js").Row} Row */
/** @typedef {import("./tabledata.js").Values} Values */
/** @typedef {{rows: Row[], range: Range}} Merged */
/** @typedef {{ns: number, totals: (number | null)[]}} Ranged the time, and by column what shares of it are of */

/** What two slices have together; the later one second. @type {Record<string, (a: any, b: any) => any>} */
const MERGES = { sum: (a, b) => a + b, max: Math.max, min: Math.min, last: (_, b) => b };

/** @param {any} value */
function isNone(value) {
	return value === null || value === undefined;
}

/** Merges of columns that slices have values of, in the order of the columns. */
const VALUED = new Set(["at", "last_at", "spread", ...Object.keys(MERGES)]);

/** Values of the time of a peak, where that is in the later slice. @param {Table} table @param {Values} into @param {Values} values */
function mergeMoments(table, into, values) {
	table.columns.forEach(({ merge, of }, i) => {
		const last = merge === "last_at", peak = last || merge === "at" ? columnOf(table, of) : -1;

		if (peak < 0 || isNone(values[peak]))
			return;
		if (isNone(into[peak]) || values[peak] > into[peak] || (last && values[peak] === into[peak]))
			into[i] = values[i];
	});
}

/** Puts values into those of a row of the same key. @param {Table} table @param {Values} into @param {Values} values */
function mergeValues(table, into, values) {
	mergeMoments(table, into, values);
	table.columns.forEach(({ merge }, i) => {
		if (!merge || isNone(values[i]))
			return;
		if (merge === "spread")
			into[i] = addSpread(into[i], values[i]);
		else if (Object.hasOwn(MERGES, merge))
			into[i] = isNone(into[i]) ? values[i] : MERGES[merge](into[i], values[i]);
	});
}

/** The rows of slices, by that of the whole which they are of. @param {Table} table @param {{rows: any[][]}[]} slices @returns {Row[]} */
function mergeRows(table, slices) {
	const places = table.columns.map((_, i) => i).filter((i) => VALUED.has(table.columns[i].merge || ""));
	/** @type {Map<number, Values>} */
	const merged = new Map();

	for (const [number, ...figures] of slices.flatMap(({ rows }) => rows)) {
		const whole = table.rows[number], values = table.columns.map(() => /** @type {any} */ (null));
		// Behind the columns stands the depth.
		const into = merged.get(number) || whole.map((value, i) => table.columns[i] && table.columns[i].merge !== "key" ? null : value);

		places.forEach((place, i) => { values[place] = figures[i]; });
		mergeValues(table, into, values);
		merged.set(number, into);
	}
	return nestRows(table, [...merged].sort(([a], [b]) => a - b).map(([, values]) => values));
}

/** The sum of columns of a row: "reads writes"; null: one is not known. @param {Table} table @param {string | undefined} keys @param {Values} values @returns {number | null} */
function sumOfColumns(table, keys, values) {
	/** @type {number | null} */
	let sum = 0;

	for (const key of (keys || "").split(" ")) {
		const value = values[columnOf(table, key)];

		sum = sum === null || isNone(value) ? null : sum + value;
	}
	return sum;
}

/** As the type has it: in percent, or whole. @param {TableColumn} column @param {number} ratio */
function typed(column, ratio) {
	return column.type === "percent" ? 100 * ratio : column.type === "float" ? ratio : Math.floor(ratio);
}

/** @param {TableColumn} column @param {number | null} of @param {number | null} by */
function ratioOf(column, of, by) {
	return of === null || by === null ? null : by > 0 ? typed(column, of / by) : null;
}

/** Columns that are made of others, which are whole by now. @type {Record<string, (table: Table, column: TableColumn, values: Values, all: Ranged, i: number) => any>} */
const MADE = {
	mean: (table, column, values) => column.by ?
		ratioOf(column, sumOfColumns(table, column.of, values), sumOfColumns(table, column.by, values)) :
		isNone(values[columnOf(table, column.of)]) ? null : averageOf(values[columnOf(table, column.of)]),
	rate: (table, column, values, { ns }) =>
		ratioOf(column, sumOfColumns(table, column.of, values), column.type === "percent" ? ns : ns / 1e9),
	share: (table, column, values, { totals }, i) => ratioOf(column, sumOfColumns(table, column.of, values), totals[i]),
	percentile: (table, column, values) => {
		const spread = values[columnOf(table, column.of)];

		return isNone(spread) ? null : percentileOf(spread, column.percent || 0);
	},
};

/** By column, what shares are of; null: it is none, or rows are missing. @param {Table} table @param {Row[]} rows */
function totalsOf(table, rows) {
	return table.columns.map(({ merge, of }) => merge !== "share" || table.left_out ? null :
		rows.reduce((sum, { values }) => sum + (sumOfColumns(table, of, values) || 0), 0));
}

/** @param {Table} table @param {Row[]} rows @param {Ranged} all */
function makeColumns(table, rows, all) {
	for (const { values, children } of rows) {
		const made = table.columns.map((column, i) => column.merge && Object.hasOwn(MADE, column.merge) ?
			MADE[column.merge](table, column, values, all, i) : null);

		table.columns.forEach(({ merge, percent }, i) => {
			if (merge && Object.hasOwn(MADE, merge))
				values[i] = made[i];
			else if (merge === "spread" && !isNone(values[i]))
				values[i] = percentileOf(values[i], percent || 0);
		});
		makeColumns(table, children, all);
	}
}

/** What the slices that lie wholly in a range have together; null: there are none. @param {Table} table @param {Range} range @returns {Merged | null} */
export function mergeSlices(table, range) {
	// The address has whole ns.
	const slices = (table.slices || []).filter(({ from_ns, to_ns }) => from_ns >= range.from - 1 && to_ns <= range.to + 1);

	if (!slices.length)
		return null;
	const rows = mergeRows(table, slices);
	const column = columnOf(table, table.sort), from = slices[0].from_ns, to = slices[slices.length - 1].to_ns;

	makeColumns(table, rows, { ns: to - from, totals: totalsOf(table, rows) });
	return {
		rows: column < 0 ? rows : sortRows(rows, column, isNumber(table.columns[column])),
		range: { from, to },
	};
}

/**
 * Rows of which each is of one thing, as commands have those of a range; null: the table has no such
 * rows. What is at the very end of the recording belongs to it.
 * @param {Table} table @param {Range} range @param {number} last its end @returns {Row[] | null}
 */
export function rowsOfTime(table, range, last) {
	const begin = table.columns.findIndex(({ time }) => time === "begin"), end = table.columns.findIndex(({ time }) => time === "end");
	const to = range.to >= last ? Infinity : range.to, isTime = table.columns[end]?.type === "time";
	const isIn = (/** @type {Values} */ values) => {
		const from = values[begin] ?? -Infinity;

		if (from >= to || from >= range.from)
			return from < to;
		if (end < 0 || isNone(values[end]))
			return isTime;
		return isTime ? values[end] >= range.from : from + values[end] > range.from;
	};

	return begin < 0 ? null : nestRows(table, table.rows.filter(isIn));
}

/** The range as slices have it: the nearest borders. @param {Table} table @param {Range} range @returns {Range} */
export function rangeOfSlices(table, range) {
	const slices = (table.slices || []).filter(({ from_ns, to_ns }) => to_ns > range.from && from_ns < range.to);

	return slices.length ? { from: slices[0].from_ns, to: slices[slices.length - 1].to_ns } : range;
}
