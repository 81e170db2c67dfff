// SPDX-License-Identifier: GPL-2.0-or-later
// The panel of a moment: what was clicked on, with its stack, who ended it, its system call, and
// the command line that prints the same.
import { el, fill, put, bar, button, isTyping } from "./dom.js";
import { duration, timeText, count, percent } from "./text.js";
import { commandLine, commandBox } from "./command.js";
import { reasonText, pathVerb, stepsOfLine } from "./path.js";
import { goToTime, showTime } from "./places.js";
import { lowerBound } from "./model.js";
import { spansOf, stateAt } from "./spans.js";
import { KIND_ROOT, NODE_INLINED } from "./tree.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./model.js").Columns} Columns */
/**
 * @typedef {Object} Interval a row of spells
 * @property {number} row
 * @property {number} from
 * @property {number} ready when it became runnable
 * @property {number} runs when it came onto a CPU
 * @property {number} to
 */

const MOST_FRAMES = 64;
const WAKES = ["", "by a thread", "by an interrupt", "by a soft interrupt"];
const EVENT_FAILED = 1, EVENT_OPEN = 2, EVENT_TOGETHER = 4;
const SPELL_LASTS = 1;
/** What prints the rows of a kind of track. */
const TRACK_COMMANDS = /** @type {Record<string, string>} */ ({
	syscall: "syscalls --trace", mark: "marks --waterfall", block: "block --trace", net: "net --trace",
	dbus: "dbus --trace", log: "logs", irq: "sched --irq", fault: "faults", lock: "locks --threads",
});
const TRACK_NAMES = /** @type {Record<string, string>} */ ({
	syscall: "System call", mark: "Mark", block: "Disk request", net: "Network", dbus: "D-Bus",
	log: "Log", irq: "Interrupt", fault: "Page fault", lock: "Lock",
});

/** @param {Model} model @param {number} row @returns {Interval} */
function intervalOf(model, row) {
	const spans = spansOf(model);

	return { row, from: spans.stop[row], ready: spans.ready[row], runs: spans.start[row], to: spans.end[row] };
}

/** The row of a thread at a time; -1: it has none. @param {Model} model @param {number} thread @param {number} time */
function spellAt(model, thread, time) {
	return stateAt(model, thread, time).row;
}

// --- parts of the panel ---

/** @param {...([string, Node | string | null] | null)} rows */
function factList(...rows) {
	return el("dl", { class: "facts" }, ...rows.map((row) => row && row[1] ?
		el("div", null, el("dt", null, row[0]), el("dd", null, row[1])) : null));
}

/** A time that leads there. @param {App} app @param {number} time */
function timeLink(app, time) {
	return button(timeText(time) + " s", () => goToTime(app, time), { class: "link" });
}

/** A thread that leads to what it did then. @param {App} app @param {number} thread @param {number} time */
function threadLink(app, thread, time) {
	return button(app.model.threadLabel(thread), () => {
		const row = spellAt(app.model, thread, time);

		app.store.set(row < 0 ? { thread } :
			{ thread, moment: { kind: "spell", index: row, thread, time } });
		showTime(app, time);
	}, { class: "link" });
}

/** "file.c:12", where it is known. @param {Model} model @param {number} node */
function lineText(model, node) {
	const nodes = model.get("nodes"), file = model.string(nodes.file?.[node] || 0);

	return nodes.line[node] ? (file ? file + ":" : "line ") + nodes.line[node] : file;
}

/** Functions, the innermost first; each can be chosen for all views. @param {App} app @param {number} node */
function createStack(app, node) {
	const { model, store } = app, nodes = model.get("nodes"), funcs = model.get("funcs");
	const list = el("ol", { class: "stack" });
	let left = MOST_FRAMES;

	if (!node || node >= nodes.rows)
		return el("p", { class: "muted" }, "No stack was recorded.");
	// The outermost is the name of the process.
	for (let at = node; at && left && funcs.kind[nodes.func[at]] !== KIND_ROOT; at = nodes.parent[at], left--) {
		const func = nodes.func[at];
		const where = [model.string(funcs.object[nodes.func[at]]), lineText(model, at),
			nodes.flags[at] & NODE_INLINED ? "inlined" : ""].filter(Boolean).join(", ");

		list.append(el("li", null, el("bdi", null, button(model.nodeName(at) || "?", () => store.set({ frame: func }), { class: "link frame-name" })),
			where ? el("bdi", { class: "frame-where" }, where) : null));
	}
	return left ? list : el("div", null, list, el("p", { class: "muted" }, "… and more"));
}

/** @param {string} title @param {Node | null} content */
function titledPart(title, content) {
	return content && el("section", null, el("h3", null, title), content);
}

// --- an interval of a thread ---

/** @param {string} name of its colour @param {string} text @param {number} ns @param {number} whole @param {boolean} isIt */
function createPhase(name, text, ns, whole, isIt) {
	const length = el("span", { class: "bar-part is-" + name });

	if (!ns)
		return null;
	length.style.width = (whole ? 100 * ns / whole : 0) + "%";
	return el("li", { class: isIt ? "here" : null, "aria-current": isIt ? "true" : null },
		el("span", { class: "bars-value" }, duration(ns)), el("span", { class: "bar", "aria-hidden": "true" }, length),
		el("bdi", { class: "bars-text" }, text));
}

/** What a thread was waiting for. @param {Model} model @param {number} row */
function waitText(model, row) {
	const spells = model.get("spells"), object = model.string(spells.object[row]);
	const why = model.head.whys?.[spells.why[row]];

	if (why === "runnable")
		return "off the CPU, though it could run";
	return "waited for " + reasonText(model, spells.reason[row]) + (object ? ": " + object : "");
}

/** Whom a thread waited for to leave its CPU. @param {Model} model @param {Interval} it */
function queueText(model, it) {
	const behind = spansOf(model).behind(it.row, it.ready);

	return "runnable, waited for a CPU" + (behind === null ? "" : " that " + model.threadLabel(behind) + " had");
}

/** Off the CPUs, runnable, on one. @param {Model} model @param {Interval} it @param {number} time */
function createPhases(model, it, time) {
	const spells = model.get("spells"), { row } = it, whole = it.to - it.from;
	const exact = spells.count[row] <= 1;
	const cpu = spells.cpu[row] ? " on CPU " + (spells.cpu[row] - 1) : "";

	return el("ul", { class: "bars phases" },
		createPhase("blocked", waitText(model, row), spells.off_ns[row], whole, exact && time >= it.from && time < it.ready),
		createPhase("runnable", queueText(model, it), spells.queue_ns[row], whole, exact && time >= it.ready && time < it.runs),
		createPhase("running", "ran" + cpu, spells.run_ns[row], whole, exact && time >= it.runs));
}

/** Who ended the wait. @param {App} app @param {Interval} it */
function createWaker(app, it) {
	const spells = app.model.get("spells"), { row } = it;

	if (!spells.off_ns[row])
		return null;
	if (spells.waker[row])
		return el("span", null, threadLink(app, spells.waker[row] - 1, it.ready),
			spells.wake[row] > 1 ? ", " + (WAKES[spells.wake[row]] || "") : "", " at ", timeLink(app, it.ready));
	return el("span", null, WAKES[spells.wake[row]] || "not seen");
}

/** The calls of a thread that overlap a time. @param {Model} model @param {number} thread @param {number} from @param {number} to */
function callsAt(model, thread, from, to) {
	const events = model.get("events"), tracks = Array.isArray(model.head.tracks) ? model.head.tracks : [];
	/** @type {number[]} */
	const found = [];

	tracks.forEach((/** @type {any} */ track, /** @type {number} */ i) => {
		if (track.kind !== "syscall" || track.thread !== thread || !events.rows)
			return;
		const first = lowerBound(events.track, i, 0, events.rows);
		const end = lowerBound(events.track, i + 1, first, events.rows);
		let at = lowerBound(events.time, from, first, end);

		if (at > first && events.time[at - 1] + events.dur[at - 1] > from)
			at--;
		for (; at < end && events.time[at] < to && found.length < 5; at++)
			found.push(at);
	});
	return found;
}

/** @param {App} app @param {number} thread @param {number} from @param {number} to */
function createCalls(app, thread, from, to) {
	const { model } = app, events = model.get("events");
	const calls = callsAt(model, thread, from, to);

	if (!calls.length)
		return null;
	return el("ul", { class: "calls" }, ...calls.map((row) => el("li", null,
		button(callText(model, row), () => app.store.set({ moment: { kind: "event", index: row, thread, time: events.time[row] } }),
			{ class: "link code" }),
		" ", el("span", { class: "muted" }, duration(events.dur[row]) + " at " + timeText(events.time[row]) + " s"))));
}

/** "read(3</etc/passwd>) = 17". @param {Model} model @param {number} row */
function callText(model, row) {
	const events = model.get("events");
	const name = model.string(events.name[row]), detail = model.string(events.detail[row]);

	return name + (detail && !detail.startsWith("(") ? " " : "") + detail;
}

/**
 * The functions in which a thread was seen within a time, those with most samples first.
 * @param {App} app @param {number} thread @param {number} from @param {number} to
 */
function createRan(app, thread, from, to) {
	const { model } = app, samples = model.get("samples"), nodes = model.get("nodes");
	/** @type {Map<number, number>} */
	const weights = new Map();
	let all = 0;

	for (let i = samples.rows ? lowerBound(samples.time, from, 0, samples.rows) : 0; i < samples.rows && samples.time[i] < to; i++) {
		if (samples.thread[i] !== thread + 1)
			continue;
		const func = nodes.func[samples.node[i]];

		weights.set(func, (weights.get(func) || 0) + samples.weight[i]);
		all += samples.weight[i];
	}
	const most = [...weights].sort((a, b) => b[1] - a[1]).slice(0, 5);

	return most.length ? el("ul", { class: "bars phases" }, ...most.map(([func, weight]) => el("li", null,
		el("span", { class: "bars-value" }, percent(weight, all)), bar(100 * weight / all),
		button(model.string(model.get("funcs").name[func]) || "?", () => app.store.set({ frame: func }), { class: "link" })))) : null;
}

/** @param {App} app @param {any} moment @param {number} row */
function createSpell(app, moment, row) {
	const { model } = app, spells = model.get("spells"), it = intervalOf(model, row);
	const thread = spells.thread[row], tid = model.get("threads").tid[thread];
	const many = spells.count[row] > 1;

	return el("div", null,
		factList(["Thread", threadLink(app, thread, it.from)], ["From", timeLink(app, it.from)],
			["For", duration(it.to - it.from) + (spells.flags[row] & SPELL_LASTS ? ", still lasts at the end" : "")],
			["Woken", createWaker(app, it)]),
		many ? el("p", { class: "note" }, count(spells.count[row]) + " short intervals together: the times are sums, " +
			"the rest is of the longest one.") : null,
		createPhases(model, it, moment.time ?? it.from),
		titledPart("System calls meanwhile", createCalls(app, thread, it.from, it.to)),
		titledPart("What ran", createRan(app, thread, it.runs, it.to)),
		titledPart(spells.off_ns[row] ? "Where it waited" : "Where it stopped", createStack(app, spells.node[row])),
		titledPart("The same on a terminal", commandBox(commandLine(app, "wall", { range: it, tid }))));
}

/** Where a thread waited within a time, if it did in the middle of it. @param {App} app @param {number} thread @param {number} from @param {number} to */
function createWaits(app, thread, from, to) {
	const { model } = app, row = spellAt(model, thread, (from + to) / 2), spells = model.get("spells");

	if (row < 0 || !spells.off_ns[row] || intervalOf(model, row).from < from)
		return null;
	return el("div", null, titledPart("In the middle of it, the thread", createPhases(model, intervalOf(model, row), -1)),
		titledPart("Where it waited", createStack(app, spells.node[row])));
}

/** @param {App} app @param {number} row */
function createEvent(app, row) {
	const { model } = app, events = model.get("events"), track = model.head.tracks?.[events.track[row]] || {};
	const from = events.time[row], flags = events.flags[row];
	const to = from + events.dur[row] + 1; // the row of an event may be of its end, which --to leaves out
	const thread = Number.isInteger(track.thread) ? track.thread : null;
	const tid = thread === null ? null : model.get("threads").tid[thread];

	return el("div", null,
		el("p", { class: "call" }, el("code", null, callText(model, row))),
		factList(["Thread", thread === null ? null : threadLink(app, thread, from)],
			["Track", String(track.name || "")], ["At", timeLink(app, from)],
			["For", events.dur[row] ? duration(events.dur[row]) : null],
			["End", flags & EVENT_OPEN ? "not known" : null],
			["Result", flags & EVENT_FAILED ? "failed" : null],
			["With", events.other[row] ? threadLink(app, events.other[row] - 1, from) : null],
			["Rows", flags & EVENT_TOGETHER ? count(events.count[row]) + " short ones together" : null]),
		events.node[row] ? titledPart("Called from", createStack(app, events.node[row])) :
			thread === null ? null : createWaits(app, thread, from, to),
		titledPart("The same on a terminal", commandBox(commandLine(app, TRACK_COMMANDS[track.kind] || "dump", { range: { from, to }, tid }))));
}

/** The sentence that led to a step, and which of its steps that is. @param {Model} model @param {any} moment */
function createSentence(model, moment) {
	const steps = moment.line === undefined ? null : stepsOfLine(model, moment.line)?.steps;

	return steps ? el("span", null, el("bdi", null, model.head.why.lines[moment.line].text), "; step " +
		count(lowerBound(steps, moment.index, 0, steps.length) + 1) + " of " + count(steps.length)) : null;
}

/** @param {App} app @param {any} moment @param {number} row */
function createPathStep(app, moment, row) {
	const { model } = app, path = model.get("path"), from = path.time[row], to = from + path.dur[row];
	const thread = path.thread[row] ? path.thread[row] - 1 : null;
	const spell = thread === null ? -1 : spellAt(model, thread, from + path.dur[row] / 2);
	const tid = thread === null ? null : model.get("threads").tid[thread];
	const node = spell < 0 ? 0 : model.get("spells").node[spell];

	return el("div", null,
		factList(["Sentence", createSentence(model, moment)], ["Thread", thread === null ? "not known" : threadLink(app, thread, from)],
			["From", timeLink(app, from)], ["For", duration(to - from)],
			["Did", pathVerb(model, path, row)],
			["Woken", spell < 0 ? null : createWaker(app, intervalOf(model, spell))]),
		thread === null ? null : titledPart("System calls meanwhile", createCalls(app, thread, from, to)),
		thread === null ? null : titledPart("What ran", createRan(app, thread, from, to)),
		titledPart("Where it stopped", spell < 0 ? null : createStack(app, node)),
		titledPart("The same on a terminal", commandBox(commandLine(app, "why --path", {}))),
		tid === null ? null : commandBox(commandLine(app, "wall", { range: { from, to }, tid })));
}

/** @param {App} app @param {number} row */
function createSample(app, row) {
	const { model } = app, samples = model.get("samples"), time = samples.time[row];
	const thread = samples.thread[row] ? samples.thread[row] - 1 : null;
	const half = 500000; // a sample has no length: what is around it

	return el("div", null,
		factList(["Thread", thread === null ? "none" : threadLink(app, thread, time)], ["At", timeLink(app, time)],
			["Stands for", duration(samples.weight[row])],
			["Samples", samples.count[row] > 1 ? count(samples.count[row]) : null]),
		thread === null ? null : titledPart("System calls meanwhile", createCalls(app, thread, time, time + 1)),
		titledPart("Stack", createStack(app, samples.node[row])),
		titledPart("The same on a terminal", commandBox(commandLine(app, "dump --table sample", {
			range: { from: Math.max(0, time - half), to: time + half },
			tid: thread === null ? null : model.get("threads").tid[thread],
		}))));
}

/** @param {App} app @param {number} row */
function createLoss(app, row) {
	const { model } = app, losses = model.get("losses");

	return el("div", null,
		factList(["Table", model.string(losses.table[row])], ["From", timeLink(app, losses.from[row])],
			["To", timeLink(app, losses.to[row])]),
		el("p", null, "Rows of this table were lost within this time: the buffers were full. What is shown of it is less than what happened."),
		titledPart("The same on a terminal", commandBox(commandLine(app, "info", { range: null }))));
}

// --- the panel ---

/** Row beside a moment; of those of a sentence, if that led to it; -1: none. @param {Model} model @param {any} moment @param {number} step */
function indexBeside(model, moment, step) {
	const steps = moment.line === undefined ? null : stepsOfLine(model, moment.line)?.steps;

	if (!steps)
		return moment.index + step;
	return steps[step < 0 ? lowerBound(steps, moment.index, 0, steps.length) - 1 :
		lowerBound(steps, moment.index + 1, 0, steps.length)] ?? -1;
}

/** Its neighbour: of the same thread, or of the same track. @param {Model} model @param {any} moment @param {number} step */
function neighbourOf(model, moment, step) {
	const index = indexBeside(model, moment, step);
	const is = (/** @type {string} */ section, /** @type {string | null} */ column) => {
		const rows = model.get(section);

		return index >= 0 && index < rows.rows && (!column || rows[column][index] === rows[column][moment.index]);
	};

	switch (moment.kind) {
	case "spell":
		return is("spells", "thread") ? { ...moment, index, time: intervalOf(model, index).from } : null;
	case "event":
		return is("events", "track") ? { ...moment, index, time: model.get("events").time[index] } : null;
	case "path": {
		const path = model.get("path");

		return is("path", null) ? { ...moment, index, thread: path.thread[index] ? path.thread[index] - 1 : null,
			time: path.time[index] } : null;
	}
	default:
		return null;
	}
}

/** @param {App} app @param {number} step */
function goToNeighbour(app, step) {
	const { moment } = app.store.state;
	const next = moment && neighbourOf(app.model, moment, step);

	if (next) {
		app.store.set({ moment: next });
		showTime(app, next.time);
	}
}

/** @param {Model} model @param {any} moment */
function titleOf(model, moment) {
	if (moment.kind === "event")
		return TRACK_NAMES[model.head.tracks?.[model.get("events").track[moment.index]]?.kind] || "Event";
	return { spell: "Interval of a thread", path: "Step of the critical path", loss: "Lost rows", sample: "Sample" }[
		/** @type {"spell" | "path" | "loss" | "sample"} */ (moment.kind)];
}

/** @param {App} app @param {any} moment */
function createBody(app, moment) {
	switch (moment.kind) {
	case "spell":
		return createSpell(app, moment, moment.index);
	case "event":
		return createEvent(app, moment.index);
	case "path":
		return createPathStep(app, moment, moment.index);
	case "sample":
		return createSample(app, moment.index);
	default:
		return createLoss(app, moment.index);
	}
}

/** @param {App} app @returns {import("./state.js").View} */
export function createMoment(app) {
	const element = el("div", { class: "moment-inner" });
	const title = el("h2"), body = el("div", { class: "moment-body" });
	const before = button("‹", () => goToNeighbour(app, -1), { class: "icon", "aria-label": "The one before", title: "The one before ([)" });
	const behind = button("›", () => goToNeighbour(app, 1), { class: "icon", "aria-label": "The one behind", title: "The one behind (])" });
	const show = () => {
		const { moment } = app.store.state;

		if (!moment)
			return;
		title.textContent = titleOf(app.model, moment);
		before.disabled = !neighbourOf(app.model, moment, -1);
		behind.disabled = !neighbourOf(app.model, moment, 1);
		fill(body, createBody(app, moment));
	};

	put(element, el("div", { class: "panel-head" }, title, before, behind,
		button("×", () => app.store.set({ moment: null }), { class: "icon", "aria-label": "Close", title: "Close (Escape)" })), body);
	document.addEventListener("keydown", (event) => {
		if ((event.key === "[" || event.key === "]") && !isTyping(event) && !event.ctrlKey && !event.metaKey)
			goToNeighbour(app, event.key === "[" ? -1 : 1);
	});
	show();
	return { element, update: (changed) => changed.has("moment") && show() };
}
