// SPDX-License-Identifier: GPL-2.0-or-later
// Tables of the reports as the page has them: rows below others, those that are wanted, in order, as
// text.
import { bytes, duration, percent, timeText } from "./text.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {{key: string, header: string, type: string, merge: string | null, of?: string, by?: string, percent?: number, time?: "begin" | "end", detail?: boolean, indent?: boolean}} TableColumn */
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
 * @property {{from_ns: number, to_ns: number, rows: any[][]}[]} [slices] see report/page/slices.h
 */
/** @typedef {{values: Values, children: Row[]}} Row */

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

/** Its place, or -1. @param {Table} table @param {string | undefined} key */
export function columnOf(table, key) {
	return table.columns.findIndex((column) => column.key === key);
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
