// SPDX-License-Identifier: GPL-2.0-or-later
// Traces of a folder that `ebreport serve` was given. What their headers say comes one by one, so
// that the names are there at once.
import { el, fill } from "./dom.js";
import { bytes, count, duration } from "./text.js";

/** @typedef {{number: number, name: string, size: number, changed_ns: number}} Listed */
/** @typedef {(address: string) => Promise<Response>} Ask */

const LISTED_HEADERS = ["Trace", "Size", "Host", "Recorded", "Duration", "Rows", "Command"];

/** @param {number} ns since 1970 */
function listedDate(ns) {
	return ns ? new Date(ns / 1e6).toISOString().slice(0, 19).replace("T", " ") + " UTC" : "";
}

/** @param {Listed} trace */
function listedRow(trace) {
	const cells = LISTED_HEADERS.map((_, i) => el("td", { class: i === 1 || i === 4 || i === 5 ? "number" : null }));

	fill(cells[0], el("a", { href: "t/" + trace.number + "/" }, trace.name));
	cells[1].textContent = bytes(trace.size);
	return cells;
}

/** @param {HTMLElement[]} cells @param {any} facts */
function putListedFacts(cells, facts) {
	cells[2].textContent = facts.host || "";
	cells[3].textContent = listedDate(facts.started_ns);
	cells[4].textContent = duration(facts.duration_ns);
	cells[5].textContent = count(facts.rows);
	cells[6].textContent = (facts.command || "") + (facts.complete ? "" : " (cut off)");
}

/** @param {HTMLElement} body @param {Ask} ask */
export async function createFolder(body, ask) {
	const { folder, traces } = await (await ask("list")).json();
	const rows = traces.map(listedRow);

	document.title = folder + " – ebreport";
	fill(body, el("main", { class: "panels" }, el("div", { class: "panel", tabindex: "0" },
		el("h2", null, folder),
		el("p", { class: "muted" }, traces.length ? "" : "There is no file that ends with .ebt here."),
		el("table", { class: "served-list", hidden: !traces.length },
			el("thead", null, el("tr", null, ...LISTED_HEADERS.map((text) => el("th", { scope: "col" }, text)))),
			el("tbody", null, ...rows.map((/** @type {HTMLElement[]} */ cells) => el("tr", null, ...cells)))))));
	for (const [i, trace] of traces.entries()) {
		try {
			putListedFacts(rows[i], await (await ask("t/" + trace.number + "/facts")).json());
		} catch (error) {
			rows[i][6].textContent = error instanceof Error ? error.message : String(error);
			rows[i][6].classList.add("bad");
		}
	}
}
