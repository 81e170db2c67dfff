// SPDX-License-Identifier: GPL-2.0-or-later
// Command lines of `ebreport` that print what the page shows.
import { button, announce } from "./dom.js";
import { timeOption } from "./text.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./state.js").Range} Range */

/** A word as a shell reads it: nothing of a hostile name acts. @param {string} word */
export function shellWord(word) {
	if (/^[\w@%+=:,./-]+$/.test(word) && !word.startsWith("-"))
		return word;
	if (!/[\0-\x1f\x7f-\x9f]/.test(word))
		return "'" + word.replaceAll("'", "'\\''") + "'";
	return "$'" + word.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replace(
		/[\0-\x1f\x7f-\x9f]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0")) + "'";
}

/** A file that begins as an option does is one of this folder. @param {string} name */
function fileWord(name) {
	return shellWord((name.startsWith("-") ? "./" : "") + name);
}

/** The filters that the page was made with, without these options. @param {string} filters @param {string[]} given */
function filtersWithout(filters, given) {
	const words = filters.split(" ").filter(Boolean);
	const kept = [];

	for (let i = 0; i < words.length; i++) {
		if (given.includes(words[i]))
			i++; // and its value
		else
			kept.push(words[i]);
	}
	return kept;
}

/**
 * @param {App} app @param {string} command with its own options
 * @param {{range?: Range | null, tid?: number | null, pid?: number | null}} choice
 */
export function commandLine(app, command, choice) {
	const options = [];

	if (choice.range)
		options.push("--from", timeOption(choice.range.from), "--to", timeOption(choice.range.to));
	if (choice.tid !== null && choice.tid !== undefined)
		options.push("--tid", String(choice.tid));
	else if (choice.pid !== null && choice.pid !== undefined)
		options.push("--pid", String(choice.pid));
	return ["ebreport", command, ...filtersWithout(app.model.head.filters || "", options),
		...options, fileWord(app.model.head.name)].join(" ");
}

/** For what is chosen. @param {App} app @param {string} command */
export function chosenCommand(app, command) {
	const { range, thread, process } = app.store.state;

	return commandLine(app, command, {
		range,
		tid: thread === null ? null : app.model.get("threads").tid[thread],
		pid: process === null ? null : app.model.get("processes").pid[process],
	});
}

/** A command line to copy. @param {string} text */
export function commandBox(text) {
	const box = document.createElement("div");
	const code = document.createElement("code");
	const copy = button("Copy", () => copyText(text, code), { "aria-label": "Copy the command line" });

	box.className = "command";
	code.textContent = text;
	box.append(code, copy);
	return box;
}

/** Without the right to copy, the text is selected. @param {string} text @param {Element} element */
async function copyText(text, element) {
	try {
		await navigator.clipboard.writeText(text);
		announce("Copied.");
	} catch {
		getSelection()?.selectAllChildren(element);
		announce("Selected: copy it with the keyboard.");
	}
}
