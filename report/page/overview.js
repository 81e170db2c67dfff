// SPDX-License-Identifier: GPL-2.0-or-later
// The first tab: what was recorded, what is missing from it, and why it took so long.
import { announce, el, fill, put, button, bar } from "./dom.js";
import { duration, count, timeText } from "./text.js";
import { longestSteps, pathVerb, pathClass, pathSums, stepsOfLine } from "./path.js";
import { commandLine, commandBox } from "./command.js";
import { tablesOf } from "./tabledata.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./model.js").Model} Model */

const MOST_STEPS = 12;

/** @param {any} value @returns {any[]} */
function listOf(value) {
	return Array.isArray(value) ? value : [];
}

/** What a large trace has in its page, and what not. @param {any} said head.summarised @param {any[]} kinds of events */
function summaries(said, kinds) {
	const together = [
		[said?.spells_ns, "Intervals"], [said?.samples_ns, "Samples of one stack"],
		...kinds.map((kind) => [said?.events?.[kind.kind], kind.many.charAt(0).toUpperCase() + kind.many.slice(1)]),
		[said?.points_ns, "Points of counters"],
	].filter(([ns]) => ns).map(([ns, what]) => what + " within " + duration(ns) + " are put together; their sums are exact");
	const texts = [
		...together,
		said?.path_ns ? "Steps of the critical path that are shorter than " + duration(said.path_ns) + " are left out" : "",
		said?.details_ns ? "System calls have no arguments unless they failed or took " + duration(said.details_ns) + " or more" : "",
		said?.texts_left_out ? count(said.texts_left_out) + " texts of events are left out" : "",
		said?.shared_tracks ? "Threads are more than there are tracks: events of some are on a common one" : "",
	].filter(Boolean);

	return texts.length ? [...texts, "A page of a part of the time has more: ebreport html --from … --to …"] : [];
}

/** What has to be known before a figure is believed. @param {Model} model */
function createWarnings(model) {
	const { head } = model;
	const warnings = [
		...listOf(head.warnings),
		...listOf(head.losses).map((loss) => count(loss.lost) + " rows of " + loss.table + " were lost, of " +
			count(loss.rows + loss.lost) + "; the time axis shows when"),
		...summaries(head.summarised, listOf(head.event_kinds)),
	].filter(Boolean);

	if (!warnings.length)
		return null;
	return el("section", { class: "warnings", "aria-labelledby": "warnings-title" },
		el("h2", { id: "warnings-title" }, warnings.length > 1 ? "Warnings" : "Warning"),
		el("ul", null, ...warnings.map((text) => el("li", null, el("bdi", null, text)))));
}

// --- why it took so long ---

/** @param {App} app @param {HTMLElement[]} sentences where each stands */
function createWhy(app, sentences) {
	const why = app.model.head.why;

	if (!why)
		return el("section", null, el("h2", null, "Why it took so long"),
			el("p", { class: "muted" }, "Not known: " + (app.model.has("spells") ?
				"no command was recorded. A page that is made with --pid or --tid tells it of a process or a thread." :
				"the trace has no switches of tasks (source sched).")));
	return el("section", { class: "why" },
		el("h2", null, "Why it took " + duration(why.wall_ns)),
		app.model.has("path") && el("p", { class: "muted" }, "Each leads to its steps on the time axis."),
		el("ul", { class: "bars" }, ...listOf(why.lines).map((line, i) => el("li", null,
			el("span", { class: "bars-value" }, line.percent.toFixed(1) + " %"),
			bar(line.percent), sentences[i]))),
		commandBox(commandLine(app, "why", {})));
}

/** Sentences that have steps lead to them. @param {App} app @param {HTMLElement[]} sentences */
function linkSentences(app, sentences) {
	sentences.forEach((sentence, line) => {
		if (stepsOfLine(app.model, line))
			fill(sentence, button(sentence.textContent || "", () => goToLine(app, line), { class: "link" }));
	});
}

/**
 * Shows a part of the time on the axis, and a step of the path in it.
 * @param {App} app @param {number} from @param {number} to @param {number} room on either side
 * @param {number} index of the step @param {number} [line] sentence whose steps stand out
 */
function goToSteps(app, from, to, room, index, line) {
	const { model, store } = app, path = model.get("path");
	const moment = { kind: "path", index, thread: path.thread[index] ? path.thread[index] - 1 : null, time: path.time[index] };

	store.set({
		view: { from: Math.round(Math.max(model.from, from - room)), to: Math.round(Math.min(model.to, to + room)) },
		moment: line === undefined ? moment : { ...moment, line },
	});
}

/** @param {App} app @param {number} i */
function goToStep(app, i) {
	const { model } = app, path = model.get("path"), to = path.time[i] + path.dur[i];

	goToSteps(app, path.time[i], to, Math.max(path.dur[i], (model.to - model.from) / 1e4) / 2, i);
}

/** All that a sentence counts, and the longest of it. @param {App} app @param {number} line */
function goToLine(app, line) {
	const { model } = app, path = model.get("path"), found = stepsOfLine(model, line);

	if (!found)
		return;
	const { steps, longest } = found, last = steps[steps.length - 1];
	const from = path.time[steps[0]], to = path.time[last] + path.dur[last];

	goToSteps(app, from, to, Math.max(to - from, (model.to - model.from) / 1e3) / 20, longest, line);
	announce(count(steps.length) + (steps.length > 1 ? " steps of the critical path; the longest is chosen" : " step of the critical path"));
}

/** @param {App} app @param {number} i */
function createStep(app, i) {
	const { model } = app, path = model.get("path");
	const who = path.thread[i] ? model.threadLabel(path.thread[i] - 1) : "nobody";

	return el("tr", null,
		el("td", { class: "number" }, timeText(path.time[i])),
		el("td", { class: "number" }, duration(path.dur[i])),
		el("td", null, el("span", { class: "swatch " + pathClass(model, path, i), "aria-hidden": "true" }),
			button(who + " " + pathVerb(model, path, i), () => goToStep(app, i), { class: "link" })));
}

/** The longest steps of the path. @param {App} app */
function createSteps(app) {
	const path = app.model.get("path");

	if (!path.rows)
		return null;
	const steps = longestSteps(path, MOST_STEPS);

	return el("section", null,
		el("h2", null, "Longest steps of that time"),
		el("p", { class: "muted" }, steps.length < path.rows ?
			steps.length + " of " + count(path.rows) + " steps, in order of time. Each leads to the time axis." :
			"Each leads to the time axis."),
		el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Longest steps" }, el("table", { class: "grid" },
			el("thead", null, el("tr", null, el("th", { scope: "col", class: "number" }, "At (s)"),
				el("th", { scope: "col", class: "number" }, "For"), el("th", { scope: "col" }, "What"))),
			el("tbody", null, ...steps.map((i) => createStep(app, i))))));
}

// --- where to go from here ---

const OFFCPU = { tab: "flame", weight: "offcpu" };
/** Reasons of the path, what to say of them, and where it leads. */
const HINTS = /** @type {[string[], string, string, any][]} */ ([
	[["cpu"], "on CPUs. Which functions ran:", "Flame graph", { tab: "flame", weight: "cpu" }],
	[["runqueue"], "waiting for a CPU. Who waited how long:", "Table sched", { tab: "tables", table: "sched" }],
	[["disk", "freeze"], "waiting for disks and files. Which code asked for them:", "Off-CPU flame graph", OFFCPU],
	[["lock", "condition", "semaphore", "filelock"], "waiting for what other threads held. Where:", "Off-CPU flame graph", OFFCPU],
	[["network", "poll", "pipe", "queue"], "waiting for others to send something. Where:", "Off-CPU flame graph", OFFCPU],
	[["timer"], "asleep, by its own wish. Where:", "Off-CPU flame graph", OFFCPU],
	[["child", "thread"], "waiting for processes and threads to end. Which ones:", "Processes", { tab: "processes" }],
	[["memory"], "waiting for memory. Where:", "Off-CPU flame graph", OFFCPU],
]);

/** @param {App} app */
function createNext(app) {
	const { model } = app;
	const sums = pathSums(model, model.get("path"));
	const whole = Object.values(sums).reduce((a, b) => a + b, 0);
	const hints = HINTS.map(([names, text, label, patch]) => ({
		ns: names.reduce((ns, name) => ns + (sums[name] || 0), 0), text, label, patch,
	})).filter((hint) => hint.ns > 0.03 * whole).sort((a, b) => b.ns - a.ns);

	if (!hints.length)
		return null;
	return el("section", null, el("h2", null, "What to look at next"),
		el("ul", { class: "next" }, ...hints.map((hint) => el("li", null,
			el("span", { class: "bars-value" }, (100 * hint.ns / whole).toFixed(1) + " %"),
			el("span", null, hint.text + " ", button(hint.label, () => app.store.set(hint.patch), { class: "link" }))))));
}

// --- the recording ---

/** @param {Model} model */
function createFacts(model) {
	const { head } = model;
	const facts = [...listOf(head.facts)];

	if (head.started)
		facts.push(["Recorded at", String(head.started).replace("T", " ").replace(/\.\d+Z$/, " UTC")]);
	if (head.filters)
		facts.push(["Only", head.filters]);
	return el("section", null, el("h2", null, "Recording"),
		el("dl", { class: "facts" }, ...facts.map(([label, text]) =>
			el("div", null, el("dt", null, label), el("dd", null, el("bdi", null, text))))));
}

/** @param {Model} model @param {string} key of a table of `ebreport info` @returns {Record<string, any>[]} its rows by column */
function infoRows(model, key) {
	const table = tablesOf(model).find((one) => one.command === "info" && one.key === key);

	return (table?.rows || []).map((values) => Object.fromEntries(table?.columns.map((column, i) => [column.key, values[i]]) || []));
}

/** What was recorded, and what of it this machine lacked. @param {Model} model */
function createSources(model) {
	const sources = listOf(model.head.sources);
	/** @param {string} status @param {string} label */
	const line = (status, label) => {
		const names = sources.filter((source) => source.status === status)
			.map(({ name, detail }) => name + (detail ? " (" + detail + ")" : ""));

		return names.length ? el("div", null, el("dt", null, label), el("dd", null, el("bdi", null, names.join(", ")))) : null;
	};
	const known = new Set(["on", "partial", "off"]);
	const others = [...new Set(sources.map((source) => String(source.status)))].filter((status) => !known.has(status));

	if (!sources.length)
		return null;
	return el("section", null, el("h2", null, "Sources"), el("dl", { class: "facts" },
		line("on", "On"), line("partial", "In part"), ...others.map((status) => line(status, status)), line("off", "Off")));
}

const QUALITY = /** @type {[string, string][]} */ ([
	["whole", "stacks that reach the first function"], ["named", "frames with the name of a function"],
]);

/** How far stacks and names can be trusted, and what is to be said of figures. @param {App} app @param {HTMLElement} limits */
function createQuality(app, limits) {
	const { head } = app.model, quality = head.quality || {};

	return el("section", null, el("h2", null, "Quality"),
		el("ul", { class: "bars" }, ...QUALITY.filter(([key]) => Number.isFinite(quality[key])).map(([key, text]) => el("li", null,
			el("span", { class: "bars-value" }, quality[key].toFixed(1) + " %"), bar(quality[key]),
			el("span", { class: "bars-text" }, text)))),
		el("p", null, button("Names that are missing, and how to get them", () =>
			app.store.set({ tab: "tables", table: "modules" }), { class: "link" })),
		createRemarks(listOf(head.remarks)), limits);
}

/** @param {string[]} remarks */
function createRemarks(remarks) {
	return el("ul", { class: "remarks" }, ...remarks.map((text) => el("li", null, el("bdi", null, text))));
}

/** What reports have to say of their own rows. @param {App} app */
function createLimits(app) {
	const { model } = app;
	const missing = infoRows(model, "losses").map(({ source, detail, reason, count: rows }) =>
		source + ": " + (rows ? count(rows) + " rows lost, " : "rows may be missing, ") + (detail || reason));
	const remarks = [...tablesOf(model).flatMap((table) => listOf(table.remarks)), ...listOf(model.head.tables_notes)];

	return el("div", null, createRemarks([...remarks, ...missing]), missing.length > 0 && el("p", { class: "related" },
		button("What was lost, and when", () => app.store.set({ tab: "tables", table: "info/losses" }), { class: "link" })));
}

/**
 * What is in sections comes when these are there.
 * @param {App} app @param {Record<string, HTMLElement>} places @param {HTMLElement[]} sentences
 */
async function fillLater(app, places, sentences) {
	const { model } = app;

	await Promise.all(["strings", "threads", "path", "shares"].map((name) => model.load(name)));
	linkSentences(app, sentences);
	fill(places.steps, createSteps(app));
	fill(places.next, createNext(app));
	await model.load("tables");
	fill(places.limits, createLimits(app));
}

/** @param {App} app @returns {import("./state.js").View} */
export function createOverview(app) {
	const { model } = app;
	const places = { steps: el("div"), next: el("div"), limits: el("div") };
	const sentences = listOf(model.head.why?.lines).map((line) => el("bdi", { class: "bars-text" }, line.text));
	const element = el("div", { class: "overview" });

	put(element, createWarnings(model),
		el("div", { class: "columns" },
			el("div", { class: "column" }, createWhy(app, sentences), places.next, places.steps),
			el("div", { class: "column" }, createFacts(model), createQuality(app, places.limits), createSources(model))));
	fillLater(app, places, sentences).catch((error) => put(element, el("p", { class: "message", role: "alert" },
		"A part of this cannot be shown: " + error.message)));
	return { element, update: () => {} };
}
