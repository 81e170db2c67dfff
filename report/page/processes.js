// SPDX-License-Identifier: GPL-2.0-or-later
// The tree of processes.
import { el, fill, put, button, keepFocus } from "./dom.js";
import { duration, timeText, count } from "./text.js";
import { chosenCommand, commandBox, commandLine } from "./command.js";
import { tableId, tablesOf } from "./tabledata.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./model.js").Model} Model */
/** @typedef {{index: number, depth: number}} Line */

const FIRST_PROCESSES = 200;
const PROCESS_KERNEL = 1, PROCESS_ENDED = 2, PROCESS_STARTED = 4;
const THREAD_STARTED = 4, THREAD_ENDED = 8;
const DEEPEST = 24;
/** Tables that tell more of processes. */
const RELATED_TABLES = /** @type {[string, string][]} */ ([
	["procs", "Processes in detail"], ["procs/programs", "Programs that were run"],
	["procs/mappings", "Memory: what was mapped where"], ["procs/mounts", "Mounts"],
	["files", "Files that are in the trace"], ["modules", "Mapped files: what is missing, and how to get it"],
]);

/** How a process ended, of the status of wait(2). @param {number} status */
function exitText(status) {
	const signal = status & 127;

	return signal ? "signal " + signal + (status & 128 ? ", core" : "") : String(status >> 8 & 255);
}

/** CPU time and number of threads of each process. @param {Model} model */
function sumThreads(model) {
	const threads = model.get("threads"), n = model.get("processes").rows;
	const cpu = new Float64Array(n), number = new Uint32Array(n);

	for (let i = 0; i < threads.rows; i++) {
		const process = threads.process[i] - 1;

		if (process >= 0 && process < n) {
			cpu[process] += threads.cpu_ns[i];
			number[process]++;
		}
	}
	return { cpu, number };
}

/** Children behind their parents. A parent that is among its own descendants ends the walk. @param {Model} model @returns {Line[]} */
function orderTree(model) {
	const processes = model.get("processes");
	/** @type {number[][]} */
	const children = Array.from({ length: processes.rows + 1 }, () => []);
	const seen = new Uint8Array(processes.rows);
	/** @type {Line[]} */
	const lines = [];
	const walk = (/** @type {number} */ root) => {
		const stack = [{ index: root, depth: 0 }];

		for (let line = stack.pop(); line; line = stack.pop()) {
			const { index, depth } = line;

			if (seen[index])
				continue;
			seen[index] = 1;
			lines.push(line);
			for (const child of children[index + 1].toReversed())
				stack.push({ index: child, depth: depth + 1 });
		}
	};

	for (let i = 0; i < processes.rows; i++)
		children[Math.min(processes.parent[i], processes.rows)].push(i);
	children[0].forEach(walk);
	for (let i = 0; i < processes.rows; i++)
		walk(i);
	return lines;
}

/** Those that match what is searched for. @param {App} app @param {Line[]} lines */
function matchingProcesses(app, lines) {
	const { model } = app, processes = model.get("processes"), text = app.store.state.text.toLowerCase();

	return !text ? lines : lines.filter(({ index }) => [model.processLabel(index), model.string(processes.command[index]),
		model.string(processes.container[index]), model.string(processes.cgroup[index])].some((s) => s.toLowerCase().includes(text)));
}

const PROCESS_HEADS = /** @type {[string, boolean][]} */ ([
	["Process", false], ["Command", false], ["Start (s)", true], ["End (s)", true], ["Exit", true],
	["CPU time", true], ["Threads", true],
]);

/** Columns of texts that no process has are left out. @param {Model} model */
function shownTexts(model) {
	const processes = model.get("processes");

	return ["container", "cgroup"].filter((key) => processes[key]?.some((/** @type {number} */ id) => id));
}

/** @param {App} app @param {Line} line @param {{cpu: Float64Array, number: Uint32Array}} sums @param {string[]} texts */
function createProcessRow(app, { index, depth }, sums, texts) {
	const { model, store } = app, processes = model.get("processes"), flags = processes.flags[index];
	const chosen = store.state.process === index;
	const name = button(model.processLabel(index), () => store.set({ process: chosen ? null : index }),
		{ class: "link", "aria-pressed": String(chosen) });
	const cell = el("th", { scope: "row", class: "tree" }, name);
	const command = model.string(processes.command[index]);

	cell.style.paddingInlineStart = 8 + 16 * Math.min(depth, DEEPEST) + "px";
	return el("tr", { class: chosen ? "chosen" : flags & PROCESS_KERNEL ? "weak" : null },
		cell, el("td", { class: "long" }, el("bdi", { title: command }, command)),
		el("td", { class: "number" }, flags & PROCESS_STARTED ? timeText(processes.start[index]) : "before"),
		el("td", { class: "number" }, flags & PROCESS_ENDED ? timeText(processes.end[index]) : "–"),
		el("td", { class: "number" + (flags & PROCESS_ENDED && processes.status[index] ? " bad" : "") },
			flags & PROCESS_ENDED ? exitText(processes.status[index]) : "–"),
		el("td", { class: "number" }, duration(sums.cpu[index])),
		el("td", { class: "number" }, count(sums.number[index])),
		...texts.map((key) => el("td", { class: "long" }, el("bdi", null, model.string(processes[key][index])))));
}

/** The process that is chosen, or that of the chosen thread; -1: none. @param {App} app */
function chosenProcess(app) {
	const { process, thread } = app.store.state;

	return process ?? (thread === null ? -1 : app.model.get("threads").process[thread] - 1);
}

/** @param {App} app @param {number} thread */
function createThreadRow(app, thread) {
	const { model, store } = app, threads = model.get("threads"), flags = threads.flags[thread];
	const chosen = store.state.thread === thread;

	return el("tr", { class: chosen ? "chosen" : null },
		el("th", { scope: "row" }, button(model.threadLabel(thread), () => store.set({ thread: chosen ? null : thread }),
			{ class: "link", "aria-pressed": String(chosen) })),
		el("td", { class: "number" }, flags & THREAD_STARTED ? timeText(threads.start[thread]) : "before"),
		el("td", { class: "number" }, flags & THREAD_ENDED ? timeText(threads.end[thread]) : "–"),
		el("td", { class: "number" }, duration(threads.cpu_ns[thread])));
}

/** The threads of the chosen process, and how to see what it had mapped and mounted. @param {App} app */
function createDetails(app) {
	const { model } = app, threads = model.get("threads"), process = chosenProcess(app);

	if (process < 0)
		return null;
	const own = Array.from({ length: threads.rows }, (_, i) => i).filter((i) => threads.process[i] === process + 1)
		.sort((a, b) => threads.cpu_ns[b] - threads.cpu_ns[a]);
	const label = "Threads of " + model.processLabel(process);

	return el("section", { class: "apart" }, el("h2", null, label),
		el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, el("table", { class: "grid" },
			el("thead", null, el("tr", null, el("th", { scope: "col" }, "Thread"), ...["Start (s)", "End (s)", "CPU time"].map((text) =>
				el("th", { scope: "col", class: "number" }, text)))),
			el("tbody", null, ...own.slice(0, FIRST_PROCESSES).map((thread) => createThreadRow(app, thread))))),
		own.length > FIRST_PROCESSES && el("p", { class: "note" }, count(own.length - FIRST_PROCESSES) + " more ran less."),
		el("p", { class: "note" }, "The programs that it ran, its memory and its mounts:"),
		commandBox(commandLine(app, "procs", { pid: model.get("processes").pid[process] })));
}

/** Links to those tables that the page has. @param {App} app @param {HTMLElement} place */
async function fillRelated(app, place) {
	await app.model.load("tables");
	const known = new Set(tablesOf(app.model).map(tableId));

	fill(place, ...RELATED_TABLES.filter(([id]) => known.has(id)).map(([id, text]) => el("li", null,
		button(text, () => app.store.set({ tab: "tables", table: id }), { class: "link" }))));
}

/** @param {App} app @returns {import("./state.js").View} */
export function createProcesses(app) {
	const { model, store } = app;
	const all = orderTree(model), sums = sumThreads(model), texts = shownTexts(model);
	const body = el("tbody"), more = el("p"), summary = el("p", { class: "muted" });
	const command = el("div"), details = el("div"), related = el("ul", { class: "related" });
	let shown = FIRST_PROCESSES;
	const show = () => {
		const lines = matchingProcesses(app, all);

		if (lines.findIndex(({ index }) => index === store.state.process) >= shown)
			shown = lines.length;
		keepFocus(body, () => fill(body, ...lines.slice(0, shown).map((line) => createProcessRow(app, line, sums, texts))));
		keepFocus(details, () => fill(details, createDetails(app)));
		fill(more, lines.length > shown && button("Show " + count(lines.length - shown) + " more", () => {
			shown = lines.length;
			show();
		}));
		fill(command, commandBox(chosenCommand(app, "procs --tree")));
		summary.textContent = (lines.length < all.length ? count(lines.length) + " of " : "") + count(all.length) +
			" processes. Choose one for all views.";
	};
	const element = el("div", null, el("h2", null, "Processes"), summary,
		el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Processes" }, el("table", { class: "grid" },
			el("thead", null, el("tr", null, ...PROCESS_HEADS.map(([text, isNumber]) =>
				el("th", { scope: "col", class: isNumber ? "number" : null }, text)),
			...texts.map((key) => el("th", { scope: "col" }, key[0].toUpperCase() + key.slice(1))))), body)), more);

	put(element, command, details, el("h2", { class: "apart" }, "More on processes"), related);
	fillRelated(app, related).catch((error) => fill(related, el("li", { role: "alert" }, "The tables cannot be shown: " + error.message)));
	show();
	return {
		element,
		update: (changed) => (changed.has("text") || changed.has("process") || changed.has("range") || changed.has("thread")) && show(),
	};
}
