// SPDX-License-Identifier: GPL-2.0-or-later
// The tables of all reports, for what is chosen.
import { el, fill, put, button } from "./dom.js";
import { count, timeText } from "./text.js";
import { chosenCommand, commandBox } from "./command.js";
import { rangeText } from "./header.js";
import { showTime } from "./moment.js";
import {
	flattenRows, isNumber, keepRows, mergeSlices, nestRows, orderColumn, rangeOfSlices, sortRows, tableId, tablesOf, valueText,
} from "./tabledata.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./tabledata.js").Table} Table */
/** @typedef {import("./tabledata.js").Row} Row */
/** @typedef {import("./tabledata.js").Values} Values */

const FIRST_ROWS = 200, MORE_ROWS = 1000;

/** @param {Table} table @param {string} key */
function columnOf(table, key) {
	return table.columns.findIndex((column) => column.key === key);
}

/** The thread of a tid; ids are used again, so the process counts, and the one that ran most. @param {App} app @param {number} tid @param {number | null} pid */
function findThread(app, tid, pid) {
	const threads = app.model.get("threads"), processes = app.model.get("processes");
	let found = -1;

	for (let i = 0; i < threads.rows; i++) {
		const isOf = pid === null || !threads.process[i] || processes.pid[threads.process[i] - 1] === pid;

		if (threads.tid[i] === tid && isOf && (found < 0 || threads.cpu_ns[i] > threads.cpu_ns[found]))
			found = i;
	}
	return found;
}

/** What a row's ids choose; null: nothing. @param {App} app @param {Table} table @param {Values} values */
function choiceOf(app, table, values) {
	const processes = app.model.get("processes");
	const tid = values[columnOf(table, "tid")], pid = values[columnOf(table, "pid")];
	const thread = Number.isInteger(tid) ? findThread(app, tid, Number.isInteger(pid) ? pid : null) : -1;

	if (thread >= 0)
		return { thread };
	const process = Number.isInteger(pid) ? processes.pid?.lastIndexOf(pid) ?? -1 : -1;

	return process < 0 ? null : { process };
}

/** Is a row of the process and thread that are chosen? @param {App} app @param {Table} table @returns {(values: Values) => boolean} */
function isOfChoice(app, table) {
	const { state } = app.store, threads = app.model.get("threads"), processes = app.model.get("processes");
	const tidAt = columnOf(table, "tid"), pidAt = columnOf(table, "pid");
	const process = state.process ?? (state.thread === null ? null : threads.process[state.thread] - 1);
	const tid = state.thread === null || tidAt < 0 ? null : threads.tid[state.thread];
	const pid = process === null || process < 0 || pidAt < 0 ? null : processes.pid[process];

	return (values) => (tid === null || values[tidAt] === tid) && (pid === null || values[pidAt] === pid);
}

/** @param {Table} table @param {string} text @returns {(values: Values) => boolean} */
function isMatch(table, text) {
	const wanted = text.toLowerCase();

	return (values) => !wanted || table.columns.some((column, i) =>
		values[i] !== null && valueText(column, values[i]).toLowerCase().includes(wanted));
}

class TableView {
	/** @param {App} app @param {Table} table */
	constructor(app, table) {
		this.app = app;
		this.table = table;
		this.sort = -1;
		this.down = true;
		this.shown = FIRST_ROWS;
		this.notes = el("div", { class: "notes" });
		this.body = el("tbody");
		this.more = el("p");
		this.command = el("div");
		this.heads = table.columns.map((column, i) => el("th", { scope: "col", class: isNumber(column) ? "number" : null },
			button(column.header || column.key, () => this.sortBy(i), { class: "sort" })));
		this.element = el("div", { class: "table-view" },
			el("h2", { id: "table-title" }, table.title || tableTitle(table)),
			table.summary ? el("p", { class: "muted" }, el("bdi", null, table.summary)) : null, this.notes,
			el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "table-title" },
				el("table", { class: "grid" }, el("thead", null, el("tr", null, ...this.heads)), this.body)),
			this.more, this.command);
		this.show();
	}

	/** @param {number} column */
	sortBy(column) {
		this.down = this.sort === column ? !this.down : isNumber(this.table.columns[column]);
		this.sort = column;
		this.show();
	}

	/** Rows for the range, and what has to be said of them. @returns {{rows: Row[], notes: (Node | string)[]}} */
	rowsOfRange() {
		const { table } = this, { range } = this.app.store.state;

		if (!range)
			return { rows: nestRows(table, table.rows), notes: [] };
		if (!table.slices)
			return { rows: nestRows(table, table.rows), notes: ["These rows are of the whole recording: this table cannot be added up " +
				"from parts. The command line below prints it for the range."] };
		const merged = mergeSlices(table, range), exact = rangeOfSlices(table, range);
		const snap = button("Choose " + rangeText(exact), () => this.app.store.set({ range: exact }), { class: "link" });

		if (!merged)
			return { rows: [], notes: [el("span", null, "The range is shorter than the parts that this table has. ", snap)] };
		const column = orderColumn(table);

		return { rows: column < 0 ? merged.rows : sortRows(merged.rows, column, true), notes: this.rangeNotes(merged, snap) };
	}

	/** @param {NonNullable<import("./tabledata.js").Merged>} merged @param {HTMLElement} snap */
	rangeNotes(merged, snap) {
		const range = /** @type {import("./state.js").Range} */ (this.app.store.state.range);
		const isWhole = Math.abs(merged.from - range.from) <= 1 && Math.abs(merged.to - range.to) <= 1;
		const unknown = this.table.columns.filter((column) => !column.merge).map((column) => column.header || column.key);
		/** @type {(Node | string)[]} */
		const notes = [isWhole ? "Rows of the range." : el("span", null, "Rows of " + timeText(merged.from) + "–" + timeText(merged.to) +
			" s: " + merged.slices + " of " + merged.of + " parts lie wholly in the range. ", snap)];

		if (unknown.length)
			notes.push("Not known for a range: " + unknown.join(", ") + ". The command line below prints them.");
		return notes;
	}

	show() {
		const { app, table } = this, { state } = app.store;
		const { rows, notes } = this.rowsOfRange();
		const kept = keepRows(keepRows(rows, isOfChoice(app, table)), isMatch(table, state.text));
		const sorted = flattenRows(this.sort < 0 ? kept : sortRows(kept, this.sort, this.down));
		const all = flattenRows(rows).length;

		if (sorted.length < all)
			notes.push(count(sorted.length) + " of " + count(all) + " rows are of what is chosen.");
		if (table.left_out)
			notes.push(count(table.left_out) + " more rows are not in the page.");
		this.heads.forEach((head, i) => i === this.sort ?
			head.setAttribute("aria-sort", this.down ? "descending" : "ascending") : head.removeAttribute("aria-sort"));
		fill(this.notes, ...notes.map((note) => el("p", { class: "note" }, note)));
		fill(this.body, ...sorted.slice(0, this.shown).map(({ values, depth }) => this.createRow(values, depth)));
		if (!sorted.length)
			fill(this.body, el("tr", null, el("td", { colspan: table.columns.length, class: "muted" }, "No rows.")));
		fill(this.more, sorted.length > this.shown && button("Show " + count(Math.min(MORE_ROWS, sorted.length - this.shown)) +
			" more of " + count(sorted.length - this.shown), () => {
			this.shown += MORE_ROWS;
			this.show();
		}));
		fill(this.command, commandBox(chosenCommand(app, table.command)));
	}

	/** @param {Values} values @param {number} depth */
	createRow(values, depth) {
		const { app, table } = this, choice = choiceOf(app, table, values);
		const cells = table.columns.map((column, i) => this.createCell(column, values, i, i ? 0 : depth, choice));

		return el("tr", choice && { class: "choosable", onclick: (/** @type {MouseEvent} */ event) => {
			if (!(event.target instanceof Element && event.target.closest("button")) && getSelection()?.isCollapsed !== false)
				app.store.set(choice);
		} }, ...cells);
	}

	/** @param {import("./tabledata.js").TableColumn} column @param {Values} values @param {number} i @param {number} depth @param {any} choice */
	createCell(column, values, i, depth, choice) {
		const { app } = this, value = values[i], text = valueText(column, value);
		/** @type {Node} */
		let content = el("bdi", { title: text.length > 60 ? text : null }, text);

		if (column.type === "time" && typeof value === "number")
			content = button(text, () => goToTime(app, value), { class: "link" });
		else if (choice && (column.key === "tid" || (column.key === "pid" && "process" in choice)))
			content = button(text, () => app.store.set(choice), { class: "link" });
		const cell = el(i ? "td" : "th", { scope: i ? null : "row", class: (isNumber(column) ? "number" : "") + (text.length > 40 ? " long" : "") }, content);

		if (depth)
			cell.style.paddingInlineStart = 8 + 16 * Math.min(depth, 24) + "px";
		return cell;
	}
}

/** Has a time in view with a hundredth of the recording around it. @param {App} app @param {number} time */
function goToTime(app, time) {
	const { model, store } = app, room = (model.to - model.from) / 200;

	if (store.state.view.to - store.state.view.from > 4 * room)
		store.set({ view: { from: Math.max(model.from, time - room), to: Math.min(model.to, time + room) } });
	else
		showTime(app, time);
}

/** @param {Table} table */
function tableTitle(table) {
	return table.command + (table.key === "rows" ? "" : ": " + table.key.replaceAll("_", " "));
}

/** The tables to choose from, by command. @param {App} app @param {Table[]} tables @param {Table} current @param {string} wanted */
function createChoices(app, tables, current, wanted) {
	const found = tables.filter((table) => (tableTitle(table) + " " + (table.title || "") + " " + (table.summary || ""))
		.toLowerCase().includes(wanted.toLowerCase()));

	return el("ul", null, ...found.map((table) => el("li", null, button(tableTitle(table),
		() => app.store.set({ table: tableId(table) }),
		{ class: "choice", "aria-current": table === current ? "true" : null, title: table.title || table.summary || null }),
		el("span", { class: "muted number" }, count(table.rows.length)))));
}

/** @param {App} app @returns {import("./state.js").View} */
export function createTables(app) {
	const tables = tablesOf(app.model);
	const list = el("div", { class: "choices" }), place = el("div", { class: "table-place" });
	const find = el("input", { type: "search", placeholder: "Find a table", "aria-label": "Find a table", oninput: () => showList() });
	const element = el("div", { class: "tables" }, el("nav", { "aria-label": "Tables" }, find, list), place);
	/** @type {TableView | null} */
	let view = null;
	const current = () => {
		const { table } = app.store.state;

		return tables.find((t) => tableId(t) === table) || tables.find((t) => t.command.split(" ")[0] === table) || tables[0];
	};
	const showList = () => fill(list, createChoices(app, tables, current(), find.value));
	const showTable = () => {
		view = new TableView(app, current());
		fill(place, view.element);
		showList();
	};

	if (!tables.length) {
		const none = el("div", null, el("h2", null, "Tables"), el("p", { class: "muted" }, "This page has no tables."));

		put(none, commandBox(chosenCommand(app, "overview")));
		return { element: none, update: () => {} };
	}
	showTable();
	return {
		element,
		update: (changed) => {
			if (changed.has("table"))
				showTable();
			else if (["text", "range", "process", "thread"].some((key) => changed.has(key)))
				view?.show();
		},
	};
}
