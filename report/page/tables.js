// SPDX-License-Identifier: GPL-2.0-or-later
// The tables of all reports, for what is chosen.
import { el, fill, put, button, keepFocus } from "./dom.js";
import { count, duration, timeText } from "./text.js";
import { chosenCommand, commandBox } from "./command.js";
import { rangeText } from "./header.js";
import { goToTime } from "./places.js";
import { mergeSlices, rangeOfSlices, rowsOfTime } from "./slices.js";
import { columnOf, flattenRows, isNumber, keepRows, nestRows, sortRows, tableId, tablesOf, valueText } from "./tabledata.js";
import { addWaits, waitRows } from "./waits.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./tabledata.js").Table} Table */
/** @typedef {import("./tabledata.js").Row} Row */
/** @typedef {import("./tabledata.js").Values} Values */
/** @typedef {import("./state.js").Range} Range */
/** @typedef {{range: Range, waits: Row[] | null, within: Row[] | null, merged: import("./slices.js").Merged | null, added: string[]}} InRange */

const FIRST_ROWS = 200, MORE_ROWS = 1000;

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
		this.details = false;
		/** @type {{column: import("./tabledata.js").TableColumn, i: number}[]} that are shown */
		this.columns = [];
		/** @type {HTMLElement[]} */
		this.heads = [];
		this.indented = 0;
		/** @type {InRange | null} of the range that was shown last */
		this.ranged = null;
		this.notes = el("div", { class: "notes" });
		this.body = el("tbody");
		this.more = el("p");
		this.command = el("div");
		this.head = el("tr");
		this.element = el("div", { class: "table-view" },
			el("h2", { id: "table-title" }, table.title || tableTitle(table)),
			table.summary ? el("p", { class: "muted" }, table.summary) : null, this.notes, this.detailSwitch(),
			el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "table-title" },
				el("table", { class: "grid" }, el("thead", null, this.head), this.body)),
			this.more, this.command);
		this.showColumns();
	}

	/** Shows columns that a terminal has no room for. */
	detailSwitch() {
		const n = this.table.columns.filter((column) => column.detail).length;
		const box = el("input", { type: "checkbox", onchange: () => {
			this.details = box.checked;
			this.showColumns();
		} });

		return n ? el("label", { class: "check" }, box, "All columns (" + n + " more)") : null;
	}

	showColumns() {
		this.columns = this.table.columns.map((column, i) => ({ column, i })).filter(({ column }) => this.details || !column.detail);
		this.indented = (this.columns.find(({ column }) => column.indent) || this.columns[0] || { i: 0 }).i;
		this.heads = this.columns.map(({ column, i }) => el("th", { scope: "col", class: isNumber(column) ? "number" : null },
			button(column.header || column.key, () => this.sortBy(i), { class: "sort" })));
		fill(this.head, ...this.heads);
		this.show();
	}

	/** @param {number} column */
	sortBy(column) {
		this.down = this.sort === column ? !this.down : isNumber(this.table.columns[column]);
		this.sort = column;
		this.show();
	}

	/** Rows of a range, from where the table has them. They stay while rows are searched and sorted. @param {Range} range @returns {InRange} */
	rowsIn(range) {
		const { table } = this, { model } = this.app;

		if (this.ranged?.range === range)
			return this.ranged;
		const waits = waitRows(model, table, range), within = waits ? null : rowsOfTime(table, range, model.to);
		const merged = waits || within ? null : mergeSlices(table, range);
		const added = merged ? addWaits(model, table, merged.rows, merged.range) : [];

		this.ranged = { range, waits, within, merged, added };
		return this.ranged;
	}

	/** Rows for the range, and what has to be said of them. @returns {{rows: Row[], notes: (Node | string)[]}} */
	rowsOfRange() {
		const { table } = this, { store } = this.app, { range } = store.state;

		if (!range)
			return { rows: nestRows(table, table.rows), notes: [] };
		const { waits, within, merged, added } = this.rowsIn(range);

		if (waits)
			return { rows: waits, notes: ["Rows of the range."] };
		if (within)
			return { rows: within, notes: [table.left_out ?
				"Rows of the range, of the " + count(table.rows.length) + " that the page has." : "Rows of the range."] };
		if (!table.slices)
			return { rows: nestRows(table, table.rows), notes: ["These rows are of the whole recording: this table cannot be added up " +
				"from parts. The command line below prints it for the range."] };
		const exact = rangeOfSlices(table, range);
		const snap = button("Choose " + rangeText(exact), () => store.set({ range: exact }), { class: "link" });

		if (!merged)
			return { rows: [], notes: [el("span", null, "The range is shorter than the parts that this table has, of " +
				duration(table.slice_ns || 0) + " each. ", snap)] };
		return { rows: merged.rows, notes: this.rangeNotes(merged.range, range, snap, added) };
	}

	/**
	 * @param {Range} covered @param {Range} range
	 * @param {HTMLElement} snap @param {string[]} added columns that slices do not have
	 */
	rangeNotes(covered, range, snap, added) {
		const isWhole = Math.abs(covered.from - range.from) <= 1 && Math.abs(covered.to - range.to) <= 1;
		const unknown = this.columns.filter(({ column }) => !column.merge && !added.includes(column.key))
			.map(({ column }) => column.header || column.key);
		/** @type {(Node | string)[]} */
		const notes = [isWhole ? "Rows of the range." : el("span", null, "Rows of " + timeText(covered.from) + "–" +
			timeText(covered.to) + " s: the parts of " + duration(this.table.slice_ns || 0) +
			" each that lie wholly in the range. ", snap)];

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
		this.heads.forEach((head, k) => this.columns[k].i === this.sort ?
			head.setAttribute("aria-sort", this.down ? "descending" : "ascending") : head.removeAttribute("aria-sort"));
		fill(this.notes, ...[...notes, ...this.remarks()].map((note) => el("p", { class: "note" }, note)));
		keepFocus(this.body, () =>
			fill(this.body, ...sorted.slice(0, this.shown).map(({ values, depth }) => this.createRow(values, depth))));
		if (!sorted.length)
			fill(this.body, el("tr", null, el("td", { colspan: this.columns.length, class: "muted" }, "No rows.")));
		fill(this.more, sorted.length > this.shown && button("Show " + count(Math.min(MORE_ROWS, sorted.length - this.shown)) +
			" more of " + count(sorted.length - this.shown), () => {
			this.shown += MORE_ROWS;
			this.show();
		}));
		fill(this.command, commandBox(chosenCommand(app, table.command)));
	}

	/** What is to be said of the table, whatever is chosen. @returns {string[]} */
	remarks() {
		const { left_out, kernel_threads_left_out, remarks } = this.table;
		const list = Array.isArray(remarks) ? [...remarks] : [];

		if (left_out)
			list.push(count(left_out) + " more rows are not in the page. The command line below prints them.");
		if (kernel_threads_left_out)
			list.push("Without " + count(kernel_threads_left_out) + " threads of the kernel (--kernel-threads).");
		return list;
	}

	/** @param {Values} values @param {number} depth */
	createRow(values, depth) {
		const { app, table } = this, choice = choiceOf(app, table, values);
		const cells = this.columns.map(({ column, i }) => this.createCell(column, values, i, i === this.indented ? depth : 0, choice));

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
		const isFirst = i === this.columns[0]?.i;
		const cell = el(isFirst ? "th" : "td", { scope: isFirst ? "row" : null, class: (isNumber(column) ? "number" : "") + (text.length > 40 ? " long" : "") }, content);

		if (depth)
			cell.style.paddingInlineStart = 8 + 16 * Math.min(depth, 24) + "px";
		return cell;
	}
}

/** @param {Table} table */
function tableTitle(table) {
	return table.command + (table.key === "rows" ? "" : ": " + table.key.replaceAll("_", " "));
}

/** The tables to choose from, by command. @param {App} app @param {Table[]} tables @param {Table | null} current @param {string} wanted */
function createChoices(app, tables, current, wanted) {
	const found = tables.filter((table) => (tableTitle(table) + " " + (table.title || "") + " " + (table.summary || ""))
		.toLowerCase().includes(wanted.toLowerCase()));

	return el("ul", null, ...found.map((table) => el("li", { class: table.key === "rows" ? null : "sub" },
		button(table.key === "rows" ? table.command : table.key.replaceAll("_", " "),
			() => app.store.set({ table: tableId(table) }), {
				class: "choice", "aria-current": table === current ? "true" : null, title: table.title || table.summary || null,
				"aria-label": tableTitle(table),
			}),
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

		return table ? tables.find((one) => tableId(one) === table) || null : tables[0];
	};
	const showList = () => {
		keepFocus(list, () => fill(list, createChoices(app, tables, current(), find.value)));
		const chosen = list.querySelector("[aria-current]")?.parentElement;

		if (chosen && (chosen.offsetTop < list.scrollTop || chosen.offsetTop + chosen.offsetHeight > list.scrollTop + list.clientHeight))
			list.scrollTop = chosen.offsetTop - list.clientHeight / 2;
	};
	const showTable = () => {
		const table = current();

		view = table && new TableView(app, table);
		fill(place, view ? view.element : el("p", { class: "muted" }, "There is no such table in this page: " + app.store.state.table));
		showList();
	};

	if (!tables.length) {
		const none = el("div", null, el("h2", null, "Tables"), el("p", { class: "muted" }, "This page has no tables."));

		put(none, commandBox(chosenCommand(app, "overview")));
		return { element: none, update: () => {} };
	}
	showTable();
	requestAnimationFrame(showList); // where the chosen one is, is known when it is in the page
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
