// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `ebreport serve`: it has no data, and asks its server for those of a part of the
// time. What is asked for stands in the address, so that another part is another page.
import { embeddedProvider, sentProvider } from "./provider.js";
import { announce, el, fill } from "./dom.js";
import { count, duration } from "./text.js";
import { createChooser, rowsWithin } from "./served_chooser.js";
import { createFolder } from "./served_folder.js";

/** @typedef {import("./provider.js").Provider} Provider */
/** @typedef {{from: number, to: number, pids: string}} Part */
/** @typedef {{name: string, rows: number, lost: number, bins: number[]}} Density */
/** @typedef {{version: string, name: string, from_ns: number, to_ns: number, rows: number, most_rows: number, tables: Density[]}} Overview */

/** @param {string} address relative @returns {Promise<Response>} */
export async function askServer(address) {
	let response;

	try {
		response = await fetch(address);
	} catch {
		throw new Error("the server has ended. Start `ebreport serve` again, and open the address that it prints");
	}
	if (!response.ok)
		throw new Error((await response.text()).trim() || "the server answered " + response.status);
	return response;
}

/** The part that the address names; null: it names none. @param {Overview} overview @returns {Part | null} */
function chosenPart(overview) {
	const query = new URLSearchParams(location.search);
	const from = Number(query.get("from") || NaN), to = Number(query.get("to") || NaN);
	const pids = query.get("pid") || "";

	if (from < to)
		return { from: Math.max(from, overview.from_ns), to: Math.min(to, overview.to_ns), pids };
	return pids || overview.rows <= overview.most_rows ? { from: overview.from_ns, to: overview.to_ns, pids } : null;
}

/** @param {Part} part @param {Overview} overview */
function isWholePart(part, overview) {
	return !part.pids && part.from <= overview.from_ns && part.to >= overview.to_ns;
}

/** @param {Part} part */
function goToPart(part) {
	const query = new URLSearchParams({ from: String(Math.round(part.from)), to: String(Math.round(part.to)) });

	if (part.pids)
		query.set("pid", part.pids);
	location.search = "?" + query; // without the hash, which is of the part before
}

/** @param {Overview} overview @param {Part} part */
async function fetchPart(overview, part) {
	const query = new URLSearchParams({ version: overview.version });

	if (!isWholePart(part, overview)) {
		query.set("from", String(Math.round(part.from)));
		query.set("to", String(Math.round(part.to)));
	}
	if (part.pids)
		query.set("pid", part.pids);
	return new Uint8Array(await (await askServer("data?" + query)).arrayBuffer());
}

/** Says in the place of the page what is going on. @param {string} text @param {string} role */
function sayServed(text, role) {
	const body = document.getElementById("body");

	if (body)
		fill(body, el("p", { class: "message", role }, text));
}

/** The way back from a trace to its folder. */
function folderLink() {
	return /\/t\/\d+\/$/.test(location.pathname) ? el("a", { href: "../../" }, "All traces") : null;
}

/** @returns {Promise<Provider | null>} */
async function openTrace() {
	sayServed("Reading the index of the trace …", "status");
	const overview = /** @type {Overview} */ (await (await askServer("overview")).json());
	const part = chosenPart(overview);
	const link = folderLink();
	const top = document.getElementById("top");
	const bar = el("section", { class: "served", "aria-label": "Part of the trace" });

	document.title = overview.name + " – ebreport";
	top?.querySelector("h1")?.replaceChildren(overview.name);
	if (link)
		bar.appendChild(link);
	if (!part || !isWholePart(part, overview))
		bar.appendChild(createChooser(overview, part, goToPart));
	if (bar.firstChild)
		top?.after(bar);
	if (!part) {
		sayServed("The trace has " + count(overview.rows) + " rows in " + duration(overview.to_ns - overview.from_ns) +
			", more than the " + count(overview.most_rows) + " that the page shows at a time. Choose a part of the time above.", "status");
		return null;
	}
	sayServed("Reading " + duration(part.to - part.from) + ", about " + count(rowsWithin(overview, part.from, part.to)) + " rows …", "status");
	announce("Reading the trace");
	return sentProvider(await fetchPart(overview, part));
}

/** Where the data come from; null: the page shows something else. @returns {Promise<Provider | null>} */
export async function openProvider() {
	const embedded = embeddedProvider();
	const { server } = await embedded.head();

	if (!server)
		return embedded;
	try {
		if (server === "trace")
			return await openTrace();
		await createFolder(/** @type {HTMLElement} */ (document.getElementById("body")), askServer);
	} catch (error) {
		sayServed("There is nothing to show: " + (error instanceof Error ? error.message : error), "alert");
	}
	return null;
}
