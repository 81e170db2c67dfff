// SPDX-License-Identifier: GPL-2.0-or-later
// Tables of the reports as the page has them: rows of a range out of the rows of its slices, those
// of a process or thread, those that match, in order.
import { bytes, duration, percent, timeText } from "./text.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./state.js").Range} Range */
/** @typedef {{key: string, header: string, type: string, merge: string | null, detail?: boolean, indent?: boolean}} TableColumn */
/** @typedef {any[]} Values one a column; behind them the row's depth, where that is not 0 */
/**
 * @typedef {Object} Table
 * @property {string} command
 * @property {string} key
 * @property {string} [title]
 * @property {string} [summary]
 * @property {string} [sort] column by which rows come, the largest first
 * @property {number} [left_out] rows that the page has not
 * @property {number} [kernel_threads_left_out]
 * @property {string[]} [remarks]
 * @property {number} [slice_ns] length of a slice
 * @property {TableColumn[]} columns
 * @property {Values[]} rows
 * @property {{from_ns: number, to_ns: number, rows: Values[]}[]} [slices]
 */
/** @typedef {{values: Values, children: Row[]}} Row */
/** @typedef {{rows: Row[], range: Range}} Merged */

const tablesOfModel = /** @type {WeakMap<Model, Table[]>} */ (new WeakMap());

/** After load("tables"). @param {Model} model @returns {Table[]} */
export function tablesOf(model) {
	let tables = tablesOfModel.get(model);

	if (!tables) {
		const section = model.get("tables");

		tables = /** @type {Table[]} */ (section.text ? JSON.parse(new TextDecoder().decode(section.text)) : []);
		orderTables(tables);
		tablesOfModel.set(model, tables);
	}
	return tables;
}

/** Of each command the main table first; commands stay as they come. @param {Table[]} tables */
function orderTables(tables) {
	const place = new Map();

	for (const { command } of tables)
		place.set(command, place.get(command) ?? place.size);
	tables.sort((a, b) => place.get(a.command) - place.get(b.command) ||
		Number(b.key === "rows") - Number(a.key === "rows"));
}

/** @param {Table} table */
export function tableId(table) {
	return table.command + (table.key === "rows" ? "" : "/" + table.key);
}

/** Rows below the rows that they belong to. @param {Table} table @param {Values[]} rows @returns {Row[]} */
export function nestRows(table, rows) {
	/** @type {Row[]} */
	const top = [];
	/** @type {Row[]} */
	const path = [];

	for (const values of rows) {
		const depth = Math.min(Number(values[table.columns.length]) || 0, path.length);
		const row = { values, children: [] };

		(depth ? path[depth - 1].children : top).push(row);
		path.length = depth;
		path.push(row);
	}
	return top;
}

// --- a range ---

/** @type {Record<string, (a: number, b: number) => number>} */
const MERGES = { sum: (a, b) => a + b, max: Math.max, min: Math.min };

/** Puts values into those of a row of the same key. @param {Table} table @param {Values} into @param {Values} values */
function mergeValues(table, into, values) {
	table.columns.forEach(({ merge }, i) => {
		if (merge && merge !== "key" && values[i] !== null && values[i] !== undefined)
			into[i] = into[i] === null || into[i] === undefined ? values[i] : MERGES[merge]?.(into[i], values[i]) ?? null;
	});
}

/** Adds rows to those with the same key. @param {Table} table @param {Row[]} into @param {Row[]} rows */
function mergeRows(table, into, rows) {
	const keyOf = (/** @type {Row} */ row) =>
		JSON.stringify(row.values.filter((_, i) => table.columns[i]?.merge === "key"));
	const byKey = new Map(into.map((row) => [keyOf(row), row]));

	for (const row of rows) {
		const key = keyOf(row);
		let same = byKey.get(key);

		if (same) {
			mergeValues(table, same.values, row.values);
		} else {
			same = { values: table.columns.map(({ merge }, i) => merge ? row.values[i] : null), children: [] };
			byKey.set(key, same);
			into.push(same);
		}
		mergeRows(table, same.children, row.children);
	}
}

/** What the slices that lie wholly in a range add up to; null: there are none. @param {Table} table @param {Range} range @returns {Merged | null} */
export function mergeSlices(table, range) {
	// The address has whole ns.
	const slices = (table.slices || []).filter(({ from_ns, to_ns }) => from_ns >= range.from - 1 && to_ns <= range.to + 1);
	/** @type {Row[]} */
	const rows = [];

	if (!slices.length)
		return null;
	for (const slice of slices)
		mergeRows(table, rows, nestRows(table, slice.rows));
	const column = table.columns.findIndex(({ key }) => key === table.sort);

	return {
		rows: column < 0 ? rows : sortRows(rows, column, isNumber(table.columns[column])),
		range: { from: slices[0].from_ns, to: slices[slices.length - 1].to_ns },
	};
}

/** The range as slices have it: the nearest borders. @param {Table} table @param {Range} range @returns {Range} */
export function rangeOfSlices(table, range) {
	const slices = (table.slices || []).filter(({ from_ns, to_ns }) => to_ns > range.from && from_ns < range.to);

	return slices.length ? { from: slices[0].from_ns, to: slices[slices.length - 1].to_ns } : range;
}

// --- some of the rows ---

/**
 * Rows that are wanted, with those above them.
 * @param {Row[]} rows @param {(values: Values) => boolean} isWanted @returns {Row[]}
 */
export function keepRows(rows, isWanted) {
	/** @type {Row[]} */
	const kept = [];

	for (const row of rows) {
		const children = keepRows(row.children, isWanted);

		if (isWanted(row.values))
			kept.push(row);
		else if (children.length)
			kept.push({ values: row.values, children });
	}
	return kept;
}

/** @param {any} a @param {any} b */
function compareValues(a, b) {
	if (a === null || a === undefined || b === null || b === undefined)
		return Number(a === null || a === undefined) - Number(b === null || b === undefined);
	if (typeof a === "number" && typeof b === "number")
		return a - b;
	return String(a).localeCompare(String(b), "en", { numeric: true });
}

/** Those without a value stay last. @param {Row[]} rows @param {number} column @param {boolean} down @returns {Row[]} */
export function sortRows(rows, column, down) {
	const sign = down ? -1 : 1;
	const isNone = (/** @type {Row} */ row) => row.values[column] === null || row.values[column] === undefined;

	return rows.map(({ values, children }) => ({ values, children: sortRows(children, column, down) })).sort((a, b) =>
		compareValues(a.values[column], b.values[column]) * (isNone(a) || isNone(b) ? 1 : sign));
}

/** Rows one behind the other, each with its depth. @param {Row[]} rows @param {number} [depth] @returns {{values: Values, depth: number}[]} */
export function flattenRows(rows, depth = 0) {
	return rows.flatMap(({ values, children }) => [{ values, depth }, ...flattenRows(children, depth + 1)]);
}

// --- a value as text ---

const TEXTS = /** @type {Record<string, (value: any) => string>} */ ({
	duration, bytes,
	u64: String, i64: String,
	time: timeText,
	percent: (value) => percent(value, 100),
	float: (value) => value.toFixed(2),
	number: (value) => String(Number(value.toPrecision(6))),
	bool: (value) => value ? "yes" : "no",
	list: (value) => Array.isArray(value) ? value.join(" ") : String(value),
	series: (value) => Array.isArray(value) ? value.length + " points" : "",
});

/** @param {TableColumn} column @param {any} value */
export function valueText(column, value) {
	if (value === null || value === undefined)
		return "–";
	// Numbers beyond 2^53 are strings.
	if (typeof value !== "number" && !["bool", "list", "series"].includes(column.type))
		return String(value);
	return Object.hasOwn(TEXTS, column.type) ? TEXTS[column.type](value) : String(value);
}

const NUMBERS = new Set(["u64", "i64", "hex", "id", "signed_id", "duration", "time", "bytes", "percent", "float", "number"]);

/** Is it set to the right? @param {TableColumn} column */
export function isNumber(column) {
	return NUMBERS.has(column.type);
}
