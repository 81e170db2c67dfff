// SPDX-License-Identifier: GPL-2.0-or-later
// The top of the page: which trace it is, what is searched for, and what is chosen.
import { el, fill, button, select, announce } from "./dom.js";
import { duration, timeText } from "./text.js";
import { openHelp } from "./help.js";
import { isHeldBack } from "./tree.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./state.js").Range} Range */

/** A fact of the head by its label. @param {import("./model.js").Model} model @param {string} label @returns {string} */
export function factOf(model, label) {
	const facts = Array.isArray(model.head.facts) ? model.head.facts : [];

	return facts.find((/** @type {[string, string]} */ fact) => fact[0] === label)?.[1] || "";
}

/** The command that was recorded: what follows "--" of the recorder's. @param {import("./model.js").Model} model */
export function recordedCommand(model) {
	const line = factOf(model, "Recorded with");
	const at = line.indexOf(" -- ");

	return at < 0 ? line : line.slice(at + 4);
}

/** @param {Range} r */
export function rangeText(r) {
	return timeText(r.from) + "–" + timeText(r.to) + " s (" + duration(r.to - r.from) + ")";
}

/** Text is searched for when typing pauses. @param {App} app */
function createSearch(app) {
	const input = el("input", {
		type: "search", id: "search", placeholder: "Search", "aria-label": "Search for functions, threads and rows",
		"aria-keyshortcuts": "/", autocomplete: "off", spellcheck: "false", maxlength: "500",
	});
	const search = () => app.store.set({ text: input.value, typed: true });
	let timer = 0;

	input.addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(search, 150);
	});
	input.addEventListener("keydown", (event) => {
		if (event.key === "Enter")
			search();
	});
	return {
		element: input,
		update: () => {
			if (document.activeElement !== input)
				input.value = app.store.state.text;
		},
	};
}

/** @param {import("./model.js").Model} model @param {number} func */
function functionName(model, func) {
	const funcs = model.get("funcs");

	return funcs.rows ? model.string(funcs.name[func]) || "?" : "…";
}

const CHOSEN = ["range", "range2", "process", "thread", "frame", "text", "typed"];

/** What is chosen, as [name, text, patch that undoes it]. @param {App} app @returns {[string, string, any][]} */
function chosen(app) {
	const { state } = app.store;
	const { model } = app;
	/** @type {[string, string, any][]} */
	const list = [];

	if (state.range)
		list.push(["Range", rangeText(state.range), { range: null }]);
	if (state.range2)
		list.push(["Compared with", rangeText(state.range2), { range2: null }]);
	if (state.process !== null)
		list.push(["Process", model.processLabel(state.process), { process: null }]);
	if (state.thread !== null)
		list.push(["Thread", model.threadLabel(state.thread), { thread: null }]);
	if (state.frame !== null)
		list.push(["Function", functionName(model, state.frame), { frame: null }]);
	if (state.text)
		list.push(["Search", state.text, { text: "" }]);
	return list;
}

/** @param {App} app */
function createChips(app) {
	const element = el("ul", { class: "chips", "aria-label": "Chosen" });
	const show = () => {
		const list = chosen(app);

		if (app.store.state.frame !== null && !app.model.get("funcs").rows)
			app.model.load("funcs").then(show, () => {}); // the view that needs it tells of damage

		fill(element, ...list.map(([name, text, undo]) => el("li", { class: "chip" },
			el("span", { class: "chip-name" }, name), el("bdi", { class: "chip-text", title: text }, text),
			button("×", () => undoChoice(app, name, undo), { class: "chip-x", "aria-label": "No " + name.toLowerCase() + " " + text.slice(0, 80) }))));
		if (list.length > 1)
			element.append(el("li", null, button("Clear all", () => undoChoice(app, "choice",
				Object.assign({}, ...list.map((item) => item[2]))), { class: "plain" })));
		if (isHeldBack(app.store.state))
			element.append(el("li", { class: "muted" }, "This expression came with the address, and may take for ever: it does not run by itself. ",
				button("Run it", () => runSearch(app), { class: "plain" })));
		element.hidden = !list.length;
	};

	return { element, show };
}

/** @param {App} app */
function runSearch(app) {
	document.getElementById("search")?.focus(); // the button is gone then
	app.store.set({ typed: true });
}

/** The button that was used is gone then, so that focus needs a place. @param {App} app @param {string} name @param {any} patch */
function undoChoice(app, name, patch) {
	app.store.set(patch);
	announce(name + " removed.");
	(/** @type {HTMLElement | null} */ (document.querySelector(".chip-x, #search")))?.focus();
}

/** @param {App} app @returns {HTMLElement | null} */
function createTraceSwitch(app) {
	if (app.models.length < 2)
		return null;
	return select("Trace", app.models.map((model, i) => [String(i), (i ? "B: " : "A: ") + model.head.name]),
		String(app.model.number), (value) => app.store.set({
			...app.store.initial, tab: app.store.state.tab, theme: app.store.state.theme, trace: Number(value),
		})); // numbers of threads and times are of one trace
}

/** @param {App} app */
function showTheme(app) {
	const { theme } = app.store.state;

	if (theme === "auto")
		delete document.documentElement.dataset.theme;
	else
		document.documentElement.dataset.theme = theme;
}

/**
 * Fills the header. `keys` gives what the dialog of keys lists.
 * @param {App} app @param {() => [string, [string, string][]][]} keys
 */
export function createHeader(app, keys) {
	const { model } = app;
	const command = recordedCommand(model);
	const search = createSearch(app);
	const chips = createChips(app);
	const theme = select("Theme", [["auto", "Auto"], ["light", "Light"], ["dark", "Dark"]],
		app.store.state.theme, (value) => app.store.set({ theme: value }));
	const facts = [factOf(model, "Host"), duration(model.to - model.from)].filter(Boolean).join(" · ");
	const top = /** @type {HTMLElement} */ (document.getElementById("top"));

	document.title = model.head.name.slice(0, 100) + " – ebreport";
	fill(top,
		el("div", { class: "top-row" },
			el("h1", { id: "title" }, el("bdi", { title: model.head.name }, model.head.name)),
			el("p", { class: "top-facts" }, facts),
			el("code", { class: "top-command", title: command }, command),
			el("div", { class: "tools" }, createTraceSwitch(app), search.element, theme,
				button("?", () => openHelp(keys()), { class: "icon", "aria-label": "Keys and help", title: "Keys and help (?)" }))),
		chips.element);
	return {
		/** @param {Set<string>} changed */
		update: (changed) => {
			if (changed.has("theme")) {
				showTheme(app);
				/** @type {HTMLSelectElement} */ (theme.querySelector("select")).value = app.store.state.theme;
			}
			if (changed.has("text"))
				search.update();
			if (CHOSEN.some((key) => changed.has(key)))
				chips.show();
		},
	};
}
