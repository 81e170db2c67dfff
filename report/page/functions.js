// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of what is chosen as a table, and for one of them who calls it and what it calls:
// what the flame graph shows, to be read, sorted and heard.
import { commandBox } from "./command.js";
import { baseName, compareFuncs } from "./difference.js";
import { button, el, fill, select } from "./dom.js";
import {
	amountOf, changesProfile, inexactNote, isLoaded, profileCommand, profileOf, sumText, whyEmpty,
} from "./profile.js";
import { count, percent } from "./text.js";
import { KIND_ROOT, matchFuncs, NODE_INLINED, shortName } from "./tree.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {import("./tree.js").CallTree} CallTree */
/** @typedef {{func: number, self: number, total: number, count: number, stacks: number, inlined: boolean}} FuncSums */
/**
 * @typedef {Object} FuncColumn
 * @property {string} key
 * @property {string} label
 * @property {(row: any) => any} value to sort by
 * @property {((row: any) => string) | null} text null: a link to the function
 */

const FIRST_FUNCTIONS = 500;
const FIRST_SEEN = 80; // the others follow when the browser has painted these
const FIRST_CHILDREN = 50;

/**
 * Sums of each function: a stack counts once, however often the function is in it.
 * @param {CallTree} tree @param {import("./weights.js").Weights} weights @returns {FuncSums[]}
 */
export function sumFunctions(tree, weights) {
	const total = tree.totals(weights.self), stacks = tree.totals(weights.count);
	/** @type {(FuncSums | undefined)[]} */
	const sums = new Array(tree.funcs.size);

	for (let i = 1; i < tree.n; i++) {
		const func = tree.func[i];

		if (!total[i])
			continue;

		const sum = sums[func] || (sums[func] = { func, self: 0, total: 0, count: 0, stacks: 0, inlined: true });

		sum.self += weights.self[i];
		sum.count += weights.count[i];
		sum.inlined &&= (tree.flags[i] & NODE_INLINED) !== 0;
		if (tree.outermost[i]) {
			sum.total += total[i];
			sum.stacks += stacks[i];
		}
	}
	return /** @type {FuncSums[]} */ (sums.filter((sum) => sum && tree.funcs.kind(sum.func) !== KIND_ROOT));
}

/** One place of a tree of callers or descendants. @typedef {{func: number, inlined: boolean, total: number, self: number, nodes: number[], starts: number[]}} Branch */

/**
 * Who calls a function, or what it calls, one level at a time.
 * @param {CallTree} tree @param {import("./weights.js").Weights} weights
 */
function branchesOf(tree, weights) {
	const total = tree.totals(weights.self);

	/** @param {number} func @returns {Branch} nodes: where it is outermost */
	function top(func) {
		/** @type {Branch} */
		const branch = { func, inlined: false, total: 0, self: 0, nodes: [], starts: [] };

		for (let i = 1; i < tree.n; i++) {
			if (tree.func[i] !== func || !tree.outermost[i] || !total[i])
				continue;
			branch.nodes.push(i);
			branch.starts.push(i);
			branch.total += total[i];
			branch.self += weights.self[i];
		}
		return branch;
	}

	/** @param {Map<number, Branch>} found @param {number} node @param {number} start @param {number} weight */
	function add(found, node, start, weight) {
		const inlined = (tree.flags[node] & NODE_INLINED) !== 0, key = tree.func[node] * 2 + Number(inlined);
		let branch = found.get(key);

		if (!branch) {
			branch = { func: tree.func[node], inlined, total: 0, self: 0, nodes: [], starts: [] };
			found.set(key, branch);
		}
		branch.nodes.push(node);
		branch.starts.push(start);
		branch.total += weight;
		return branch;
	}

	/** @param {Branch} branch */
	function callers(branch) {
		/** @type {Map<number, Branch>} */
		const found = new Map();

		branch.nodes.forEach((node, i) => {
			const caller = tree.parent[node];

			// Its own part is what came to the function from the start of the stack there.
			if (caller)
				add(found, caller, branch.starts[i], total[branch.starts[i]]).self +=
					tree.parent[caller] ? 0 : total[branch.starts[i]];
		});
		return found;
	}

	/** @param {Branch} branch */
	function callees(branch) {
		/** @type {Map<number, Branch>} */
		const found = new Map();

		for (const node of branch.nodes) {
			for (let i = tree.first[node]; i < tree.first[node + 1]; i++) {
				const child = tree.child[i];

				if (total[child])
					add(found, child, child, total[child]).self += weights.self[child];
			}
		}
		return found;
	}

	const sorted = (/** @type {Map<number, Branch>} */ found) =>
		[...found.values()].sort((a, b) => b.total - a.total || a.func - b.func);

	return {
		top,
		/** @param {Branch} branch */
		callers: (branch) => sorted(callers(branch)),
		/** @param {Branch} branch */
		callees: (branch) => sorted(callees(branch)),
	};
}

/** A share as a bar behind its number. @param {string} text @param {number} share @param {string} key of the column */
function shareCell(text, share, key) {
	const part = el("span", { class: "share", "aria-hidden": "true" });

	part.style.width = Math.min(100, 100 * share) + "%";
	return el("td", { class: "number share-cell is-" + key }, part, el("span", null, text));
}

class FunctionsView {
	/** @param {App} app */
	constructor(app) {
		this.app = app;
		this.said = el("p", { class: "muted" });
		this.choices = el("div", { class: "flame-controls" });
		this.table = el("div", { class: "functions-table" });
		this.trees = el("div", { class: "functions-trees" });
		this.command = el("div");
		this.element = el("section", { class: "functions", "aria-label": "Functions" },
			el("div", { class: "functions-head" }, this.said, this.choices),
			el("div", { class: "functions-panes" }, this.table, this.trees), this.command);
		this.sort = { key: "", down: true };
		this.most = FIRST_FUNCTIONS;
		this.later = 0;
		/** @type {{tree: CallTree, func: number} | null} */
		this.other = null;
		this.byTotal = false;
		/** @type {Profile | null} */
		this.profile = null;
		/** @type {any[]} */
		this.rows = [];
	}

	/** @param {Set<string>} changed */
	update(changed) {
		if (changed.has("frame") && this.app.store.state.frame !== null)
			this.other = null;
		if (changesProfile(changed))
			this.show();
		else if (changed.has("frame"))
			this.showChosen();
	}

	show() {
		if (!isLoaded(this.app, this.said, () => this.show()))
			return;

		const profile = profileOf(this.app);

		if (profile !== this.profile) {
			this.profile = profile;
			this.rows = this.makeRows(profile);
			this.most = FIRST_FUNCTIONS;
		}
		this.showHead(profile);
		this.showTable();
		this.showTrees();
	}

	/** @param {Profile} profile */
	makeRows(profile) {
		return profile.comparison ? compareFuncs(profile.comparison, this.byTotal) :
			sumFunctions(profile.tree, profile.weights);
	}

	/** @param {Profile} profile */
	showHead(profile) {
		const why = whyEmpty(this.app), command = profileCommand(this.app, "callgraph");

		fill(this.choices);
		fill(this.command, command && commandBox(command));
		if (!profile.total && !this.rows.length) {
			fill(this.said, why.text, why.command && " ", why.command && el("code", null, why.command));
			return;
		}
		this.said.textContent = [sumText(this.app, profile), inexactNote(this.app)].filter(Boolean).join("; ");
		if (!profile.comparison)
			return;
		fill(this.choices, select("Time of", [["self", "the function itself"], ["total", "it and what it calls"]],
			this.byTotal ? "total" : "self", (value) => {
				this.byTotal = value === "total";
				this.rows = this.makeRows(profile);
				this.showTable();
			}));
	}

	// --- the table ---

	/** @param {number} func */
	name(func) {
		return shortName(this.profile?.tree.funcs.name(func) || "");
	}

	/** @param {number} func */
	object(func) {
		return shortName(this.profile?.tree.funcs.object(func) || "");
	}

	/** @returns {FuncColumn[]} */
	columns() {
		const amount = (/** @type {number} */ weight) => amountOf(this.app, weight);
		const signed = (/** @type {number} */ weight) => (weight < 0 ? "−" : "+") + amount(Math.abs(weight));
		/** @type {FuncColumn} */
		const name = { key: "name", label: "Function", value: (row) => this.name(row.func), text: null };
		/** @type {FuncColumn} */
		const object = { key: "object", label: "Object", value: (row) => this.object(row.func), text: (row) => baseName(this.object(row.func)) };
		const total = this.profile?.total || 1;

		if (this.profile?.comparison)
			return [
				name,
				{ key: "before", label: "Before", value: (row) => row.before, text: (row) => amount(row.before) },
				{ key: "after", label: "After", value: (row) => row.after, text: (row) => amount(row.after) },
				{ key: "change", label: "Change", value: (row) => Math.abs(row.change), text: (row) => signed(row.change) },
				{ key: "percent", label: "Change-%", value: (row) => row.before ? row.change / row.before : -Infinity,
					text: (row) => row.before ? (100 * row.change / row.before).toFixed(1) + " %" : "–" },
				object,
				{ key: "note", label: "Note", value: (row) => row.note, text: (row) => row.note },
			];
		return [
			name,
			{ key: "self", label: "Self", value: (row) => row.self, text: (row) => amount(row.self) },
			{ key: "self-percent", label: "Self-%", value: (row) => row.self, text: (row) => percent(row.self, total) },
			{ key: "total", label: "Total", value: (row) => row.total, text: (row) => amount(row.total) },
			{ key: "total-percent", label: "Total-%", value: (row) => row.total, text: (row) => percent(row.total, total) },
			{ key: "stacks", label: this.app.store.state.weight === "cpu" ? "Samples" : "Count",
				value: (row) => row.stacks, text: (row) => count(row.stacks) },
			object,
		];
	}

	/** Rows that are searched for, in order. @param {FuncColumn[]} columns */
	sortedRows(columns) {
		const column = columns.find(({ key }) => key === this.sort.key) ||
			/** @type {FuncColumn} */ (columns.find(({ key }) => key === (this.profile?.comparison ? "change" : "self")));
		const sign = this.sort.down || !this.sort.key ? -1 : 1;
		const found = this.profile ? matchFuncs(this.profile.tree.funcs, this.app.store.state) : null;
		const rows = (found ? this.rows.filter((row) => found[row.func]) : this.rows.slice())
			.map((row) => ({ row, value: column.value(row) }));

		rows.sort((a, b) => a.value < b.value ? -sign : a.value > b.value ? sign : a.row.func - b.row.func);
		return { column, rows: rows.map(({ row }) => row) };
	}

	showTable() {
		const columns = this.columns(), { column, rows } = this.sortedRows(columns);
		const focused = document.activeElement?.closest("th")?.dataset.key;

		if (!this.rows.length) {
			fill(this.table);
			return;
		}

		const body = el("tbody"), shown = rows.slice(0, this.most);
		const caption = el("caption", { class: "unseen" }, "Functions, " + count(rows.length));

		fill(this.table,
			el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of functions" },
				el("table", { class: "grid functions-grid" }, caption,
					el("thead", null, el("tr", null, ...columns.map((c) => this.headCell(c, column)))),
					body)),
			!rows.length && el("p", { class: "muted" }, "No function matches the search."),
			rows.length > this.most && button(count(rows.length - this.most) + " more functions", () => {
				this.most += 4 * FIRST_FUNCTIONS;
				this.showTable();
			}));
		body.append(...shown.slice(0, FIRST_SEEN).map((row) => this.row(row, columns)));
		clearTimeout(this.later);
		this.later = setTimeout(() => body.append(...shown.slice(FIRST_SEEN).map((row) => this.row(row, columns))), 50);
		if (focused)
			/** @type {HTMLElement | null} */ (this.table.querySelector("th[data-key='" + focused + "'] button"))?.focus();
	}

	/** @param {FuncColumn} column @param {FuncColumn} sorted */
	headCell(column, sorted) {
		const isSorted = column.key === sorted.key, down = this.sort.down || !this.sort.key;

		return el("th", {
			scope: "col", "data-key": column.key, class: (this.isText(column) ? "" : "number") + " is-" + column.key,
			"aria-sort": isSorted ? down ? "descending" : "ascending" : null,
		}, button(column.label, () => {
			this.sort = { key: column.key, down: isSorted ? !down : !this.isText(column) };
			this.showTable();
		}, { class: "sort" }));
	}

	/** @param {FuncColumn} column */
	isText(column) {
		return ["name", "object", "note"].includes(column.key);
	}

	/** @param {any} row @param {FuncColumn[]} columns */
	row(row, columns) {
		const isChosen = row.func === this.chosenFunc(), total = this.profile?.total || 1;

		return el("tr", { class: isChosen ? "chosen" : null, "data-func": row.func }, ...columns.map((column) => {
			const text = column.text?.(row) ?? "";

			if (!column.text)
				return el("th", { scope: "row", class: "long" }, this.link(row.func, row.inlined, isChosen));
			if (column.key === "self-percent" || column.key === "total-percent")
				return shareCell(text, column.value(row) / total, column.key);
			if (column.key === "change" || column.key === "percent")
				return el("td", { class: "number is-" + column.key + " " + (row.note === "within sampling error" ? "muted" :
					row.change > 0 ? "change-more" : row.change < 0 ? "change-less" : "") }, text);
			return el("td", { class: (this.isText(column) ? "long muted" : "number") + " is-" + column.key, title: column.key === "object" ?
				this.object(row.func) : null }, text);
		}));
	}

	/** @param {number} func @param {boolean} inlined @param {boolean} isChosen */
	link(func, inlined, isChosen) {
		const link = button("", () => this.choose(func), {
			class: "link", "aria-pressed": String(isChosen), title: this.name(func),
		});

		link.append(el("bdi", null, this.name(func)));
		return el("span", { class: "function-link" }, link, inlined && el("span", { class: "muted" }, "inlined"));
	}

	/** The function of the state, or what is none of the trace: a kind of time, one of two traces. */
	chosenFunc() {
		if (this.other && this.other.tree === this.profile?.tree)
			return this.other.func;
		return this.profile?.comparison && this.app.models.length > 1 ? -1 : this.app.store.state.frame ?? -1;
	}

	/** @param {number} func */
	choose(func) {
		const tree = this.profile?.tree, isOfTrace = tree?.funcs.model && func < this.app.model.get("funcs").rows;

		this.other = isOfTrace || !tree ? null : { tree, func };
		this.app.store.set({ frame: isOfTrace ? func : null });
		this.showChosen();
	}

	showChosen() {
		const func = this.chosenFunc();

		for (const row of this.table.querySelectorAll("tbody tr")) {
			const isChosen = Number(/** @type {HTMLElement} */ (row).dataset.func) === func;

			row.classList.toggle("chosen", isChosen);
			row.querySelector("button")?.setAttribute("aria-pressed", String(isChosen));
		}
		this.showTrees();
	}

	// --- callers and descendants ---

	showTrees() {
		const { profile } = this, func = this.chosenFunc();

		if (!profile || !this.rows.length) {
			fill(this.trees);
			return;
		}
		if (func < 0) {
			fill(this.trees, el("p", { class: "muted" }, "Choose a function to see who calls it and what it calls."));
			return;
		}

		const branches = branchesOf(profile.tree, profile.weights), top = branches.top(func);

		fill(this.trees, el("h2", { class: "functions-name" }, el("bdi", null, this.name(func))),
			el("p", { class: "muted functions-object" }, this.object(func)),
			!top.total ? el("p", { class: "muted" }, "It is in no stack of what is chosen.") : null,
			top.total ? this.treeTable("Callers", "from the function outwards", top, branches.callers) : null,
			top.total ? this.treeTable("Descendants", "what it calls", top, branches.callees) : null);
	}

	/** @param {string} title @param {string} more @param {Branch} top @param {(branch: Branch) => Branch[]} expand */
	treeTable(title, more, top, expand) {
		const body = el("tbody");

		this.addBranches(body, null, expand(top), 0, top.total, expand);
		return el("section", { class: "functions-tree" }, el("h3", null, title + ", " + more),
			!body.childElementCount ? el("p", { class: "muted" }, "None.") :
				el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
					el("table", { class: "grid functions-grid" },
						el("thead", null, el("tr", null, el("th", { scope: "col", class: "is-name" }, "Function"),
							...["Total", "%", "Self"].map((label) => el("th", { scope: "col", class: "number is-" + (label === "%" ? "share" : label.toLowerCase()) }, label)))),
						body)));
	}

	/**
	 * Rows of one level, behind the one that they belong to.
	 * @param {HTMLElement} body @param {HTMLElement | null} behind @param {Branch[]} branches
	 * @param {number} depth @param {number} whole @param {(branch: Branch) => Branch[]} expand
	 */
	addBranches(body, behind, branches, depth, whole, expand) {
		const rows = branches.slice(0, FIRST_CHILDREN).map((branch) => this.branchRow(body, branch, depth, whole, expand));

		if (branches.length > FIRST_CHILDREN)
			rows.push(el("tr", { "data-depth": depth }, el("td", { colspan: "4", class: "muted" },
				count(branches.length - FIRST_CHILDREN) + " more, lighter ones")));
		if (behind)
			behind.after(...rows);
		else
			body.append(...rows);
		// An only child is what the next click would show.
		if (branches.length === 1 && depth < 40)
			/** @type {HTMLElement | null} */ (rows[0].querySelector("button[aria-expanded]"))?.click();
	}

	/** @param {HTMLElement} body @param {Branch} branch @param {number} depth @param {number} whole @param {(branch: Branch) => Branch[]} expand */
	branchRow(body, branch, depth, whole, expand) {
		const next = expand(branch), isRoot = this.profile?.tree.funcs.kind(branch.func) === KIND_ROOT;
		const line = el("div", { class: "tree-line" }), cell = el("th", { scope: "row", class: "long" }, line);
		const row = el("tr", { "data-depth": depth }, cell,
			el("td", { class: "number" }, amountOf(this.app, branch.total)),
			shareCell(percent(branch.total, whole), branch.total / (whole || 1), "share"),
			el("td", { class: "number is-self" }, amountOf(this.app, branch.self)));

		line.style.paddingInlineStart = 12 * Math.min(depth, 16) + "px";
		line.append(next.length ? this.expander(body, row, branch, next, depth, whole, expand) : el("span", { class: "expander" }),
			isRoot ? el("bdi", { class: "muted" }, this.name(branch.func)) :
				this.link(branch.func, branch.inlined, false));
		return row;
	}

	/** @param {HTMLElement} body @param {HTMLElement} row @param {Branch} branch @param {Branch[]} next @param {number} depth @param {number} whole @param {(branch: Branch) => Branch[]} expand */
	expander(body, row, branch, next, depth, whole, expand) {
		const toggle = button("▸", () => {
			const open = toggle.getAttribute("aria-expanded") !== "true";

			toggle.setAttribute("aria-expanded", String(open));
			toggle.textContent = open ? "▾" : "▸";
			if (open)
				this.addBranches(body, row, next, depth + 1, whole, expand);
			else
				this.removeBranches(row, depth);
		}, { class: "plain expander", "aria-expanded": "false", "aria-label": "What is below " + this.name(branch.func) });

		return toggle;
	}

	/** @param {HTMLElement} row @param {number} depth */
	removeBranches(row, depth) {
		let next = /** @type {HTMLElement | null} */ (row.nextElementSibling);

		while (next && Number(next.dataset.depth) > depth) {
			const gone = next;

			next = /** @type {HTMLElement | null} */ (next.nextElementSibling);
			gone.remove();
		}
	}
}

/** @param {App} app @returns {import("./state.js").View} */
export function createFunctions(app) {
	const view = new FunctionsView(app);

	view.show();
	return { element: view.element, update: (changed) => view.update(changed) };
}
