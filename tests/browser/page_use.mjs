// SPDX-License-Identifier: GPL-2.0-or-later
// The page is used as a person would: search, the flame graph turned over, differences, keys, links,
// moments, and the command lines that it gives.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { duration, percent } from "../../report/page/text.js";
import { check, eventually, open, openFile, ready, report, run, same, set, setting, settle, showTab, someMoments, state, tabs } from "./page.mjs";

const [NAME] = Object.keys(setting.pages);
const [TRACE] = setting.pages[NAME].traces;
const { duration_ns: WHOLE } = report(TRACE, "info");
const PART = { from: Math.round(0.2 * WHOLE), to: Math.round(0.7 * WHOLE) };
const OTHER_PART = { from: Math.round(0.7 * WHOLE), to: Math.round(0.9 * WHOLE) };

/** Functions with their own time, the most first. */
function functionsOf(trace, ...options) {
	return report(trace, "callgraph", ...options).rows;
}

function ebreport(...words) {
	return execFileSync(setting.ebreport, words, { encoding: "utf8", maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "ignore"] });
}

/** Weights by stack. */
function stacksOf(trace) {
	return ebreport("folded", "--no-symbol-cache", trace).trim().split("\n").map((line) => {
		const at = line.lastIndexOf(" ");

		return { frames: line.slice(0, at).split(";"), ns: Number(line.slice(at + 1)) };
	});
}

/** A name that is in some stacks, and not in all. */
function wordOf(trace) {
	const stacks = stacksOf(trace), all = stacks.reduce((sum, { ns }) => sum + ns, 0);
	// Processes are the first frames: their names are no functions.
	const names = [...new Set(stacks.flatMap(({ frames }) => frames.slice(1)))].filter((name) => /^[a-z_]{4,}$/.test(name) &&
		!stacks.some(({ frames }) => frames[0].includes(name)));
	const matched = (name) => stacks.filter(({ frames }) => frames.some((frame) => frame.toLowerCase().includes(name)))
		.reduce((sum, { ns }) => sum + ns, 0);

	for (const name of names)
		if (matched(name) > all / 20 && matched(name) < all * 0.95)
			return { name, matched: matched(name), all };
	throw new Error("no function is in some of the stacks");
}

// --- search ---

async function search() {
	const page = await open(NAME, "tab=flame");
	const { name, matched, all } = wordOf(TRACE);

	await page.locator("body").click({ position: { x: 1, y: 1 } });
	await page.keyboard.press("/");
	same(await page.evaluate(() => document.activeElement.id), "search", "/ goes to the search");
	await page.keyboard.type(name);
	await page.keyboard.press("Enter");
	await eventually(page, "the search is in the state", (text) => globalThis.ebreportPage.store.state.text === text, name);
	same(await page.textContent(".flame-matched"), "matched " + percent(matched, all), "how much matches " + name);
	await page.getByLabel("Only matches").check();
	await settle(page);
	check((await page.textContent(".flame-said")).startsWith(duration(matched) + " in "), "only what matches: " + await page.textContent(".flame-said"));
	await showTab(page, "functions");
	const shown = await page.locator(".functions-grid tbody tr th").allTextContents();
	check(shown.length > 0 && shown.every((text) => text.toLowerCase().includes(name)), "functions that match: " + shown);
	await page.context().close();
}

/** An expression that is typed is run; one that an address holds waits for a click. */
async function expressions() {
	const { name, matched, all } = wordOf(TRACE);
	const page = await open(NAME, "tab=flame"), wanted = "matched " + percent(matched, all);
	const found = () => page.textContent(".flame-matched");
	const held = page.getByRole("button", { name: "Run it" });

	await page.fill("#search", "/" + name.replace(/.$/, "[^0-9]") + "/");
	await page.keyboard.press("Enter");
	await settle(page);
	same(await found(), wanted, "how much an expression matches");
	same(await held.count(), 0, "buttons to run what was typed");
	await page.reload();
	await ready(page);
	same(await found(), "", "what an expression of an address matches before it is run");
	await held.click();
	await settle(page);
	same(await found(), wanted, "how much it matches when it was run");
	same(await held.count(), 0, "buttons to run what is run");
	await page.context().close();
}

// --- the flame graph ---

async function tooltip(page) {
	return page.evaluate(() => [...document.querySelectorAll(".flame-tooltip > *")].map((line) => line.textContent));
}

/** The heaviest frame next to the root, by keys. */
async function heaviest(page) {
	await page.focus(".flame-scroller");
	await page.keyboard.press("ArrowDown");
	same((await tooltip(page))[0], "all", "the first frame");
	await page.keyboard.press("ArrowDown");
	return tooltip(page);
}

/** A frame is zoomed to and something is searched for: turned over, the graph has other frames. */
async function turnedZoom() {
	const { name, matched, all } = wordOf(TRACE);
	const page = await open(NAME, "tab=flame&text=" + name);

	await heaviest(page);
	for (let i = 0; i < 3; i++)
		await page.keyboard.press("ArrowDown");
	await page.keyboard.press("Enter");
	check((await page.textContent(".flame-matched")).endsWith(" of the zoom"), "a zoom within a search: " + await page.textContent(".flame-matched"));
	await page.getByLabel("Innermost first").check();
	await settle(page);
	const turned = await page.textContent(".flame-matched");
	check(turned.startsWith("matched " + percent(matched, all)), "how much matches " + name + ", turned over: " + turned);
	await page.context().close();
}

/** Turned over, the first row of all merged has functions by their own time. */
async function inverted() {
	const page = await open(NAME, "tab=flame");
	const [most] = functionsOf(TRACE);
	const [first] = await heaviest(page);

	check(first !== most.function, "a process is the first frame: " + first);
	await page.getByLabel("Innermost first").check();
	await page.getByLabel("First frame").selectOption("none");
	await settle(page);
	const [name, ...lines] = await heaviest(page);
	same(name, most.function, "the first frame, turned over");
	check(lines.some((line) => line.startsWith(duration(most.self_ns) + " total")), "its time is " + duration(most.self_ns) + ": " + lines);
	same(await state(page, "inverted"), true, "the state");
	await page.context().close();
}

/** A frame that is chosen and zoomed to, by keys and by the mouse; Escape comes back. */
async function frames() {
	const page = await open(NAME, "tab=flame");
	const said = () => page.textContent(".flame-said");

	await heaviest(page);
	await page.keyboard.press("ArrowDown");
	const [name] = await tooltip(page);
	await page.keyboard.press("Enter");
	check((await said()).includes("zoomed to " + name), "Enter zooms to " + name + ": " + await said());
	const { frame, text } = await page.evaluate(() => {
		const { model, store } = globalThis.ebreportPage;

		return { frame: store.state.frame, text: model.string(model.get("funcs").name[store.state.frame]) };
	});
	same(text, name, "the chosen function, " + frame);
	await page.keyboard.press("Escape");
	check(!(await said()).includes("zoomed"), "Escape shows all: " + await said());
	same(await state(page, "frame"), null, "no function is chosen then");
	const box = await page.locator(".flame-canvas").boundingBox();
	await page.mouse.click(box.x + box.width / 3, box.y + 50);
	check((await said()).includes("zoomed to "), "a click zooms: " + await said());
	await page.context().close();
}

/** Where stacks are damaged, views of them say so. */
async function damaged() {
	const { html } = setting.pages[NAME], path = html.replace(/\.html$/, "_damaged.html");

	writeFileSync(path, readFileSync(html, "utf8").replace(/(<script [^>]*id="s-0-nodes">)[^<]{8}/, "$1AAAAAAAA"));
	for (const tab of ["flame", "functions"]) {
		const page = await openFile(path, "damaged", "tab=" + tab);

		await eventually(page, tab + " says that stacks are damaged", (id) => document.getElementById("panel-" + id).innerText
			.includes("Stacks cannot be shown. The page's data may be damaged"), tab);
		await page.context().close();
	}
}

// --- differences ---

/** The table of functions of a difference: before and after. */
async function shownDifference(page) {
	return page.evaluate(() => Object.fromEntries([...document.querySelectorAll(".functions-grid tbody tr")].map((row) =>
		[row.querySelector("th button").textContent, [row.querySelector(".is-before").textContent, row.querySelector(".is-after").textContent]])));
}

/** Of each function the time of its own, on both sides. Those of one name are left out. */
function differenceOf(before, after) {
	const found = {}, seen = {};

	for (const [side, rows] of [before, after].entries())
		for (const row of rows) {
			const key = row.function;

			seen[side + key] = (seen[side + key] || 0) + 1;
			found[key] ||= [0, 0];
			found[key][side] += row.self_ns;
		}
	return Object.fromEntries(Object.entries(found).filter(([key, ns]) => (ns[0] || ns[1]) && !(seen["0" + key] > 1) && !(seen["1" + key] > 1))
		.map(([key, ns]) => [key, ns.map(duration)]));
}

async function compareDifference(page, wanted, what) {
	await eventually(page, what + " is there", () => document.querySelector(".functions-grid .is-before"));
	for (let more = page.locator(".functions-table > button"); await more.count();)
		await more.click();
	const shown = await shownDifference(page);

	check(Object.keys(wanted).length >= 3, what + ": functions: " + Object.keys(wanted).length);
	for (const [name, sides] of Object.entries(wanted))
		same(shown[name], sides, what + ": " + name + " before and after");
}

async function ranges() {
	const page = await open(NAME, "tab=functions");
	const options = ({ from, to }) => ["--from", from + "ns", "--to", to + "ns"];

	await set(page, { range: PART, range2: OTHER_PART });
	await compareDifference(page, differenceOf(functionsOf(TRACE, ...options(PART)), functionsOf(TRACE, ...options(OTHER_PART))), "two ranges");
	await showTab(page, "flame");
	check((await page.textContent(".flame-said")).startsWith("Before: "), "the flame graph compares them: " + await page.textContent(".flame-said"));
	await page.context().close();
}

async function files() {
	const pair = Object.keys(setting.pages).find((name) => name.includes("+"));
	const page = await open(pair, "tab=functions");
	const [before, after] = setting.pages[pair].traces;

	await compareDifference(page, differenceOf(functionsOf(before), functionsOf(after)), "two files");
	await showTab(page, "flame");
	await page.getByLabel("Compare the traces").uncheck();
	await settle(page);
	const ns = functionsOf(before).reduce((sum, row) => sum + row.self_ns, 0);
	check((await page.textContent(".flame-said")).startsWith(duration(ns) + " in "), "the first alone: " + await page.textContent(".flame-said"));
	await page.context().close();
}

// --- keys ---

async function keys() {
	const page = await open(NAME);
	const names = await tabs(page);

	for (const [i, tab] of names.entries()) {
		await page.keyboard.press(String(i + 1));
		same(await state(page, "tab"), tab, "key " + (i + 1));
	}
	await page.focus("#tab-" + names[names.length - 1]);
	await page.keyboard.press("ArrowRight");
	same(await state(page, "tab"), names[0], "an arrow goes to the next tab");
	await page.keyboard.press("End");
	same(await state(page, "tab"), names[names.length - 1], "End goes to the last tab");
	await page.locator("body").click({ position: { x: 1, y: 1 } });
	await page.keyboard.press("?");
	check(await page.locator("dialog[open]").count() === 1, "? lists keys");
	await page.keyboard.press("Escape");
	check(await page.locator("dialog[open]").count() === 0, "Escape closes the list");
	await set(page, { range: PART, moment: (await someMoments(page))[0] });
	await page.keyboard.press("Escape");
	same([await state(page, "moment"), await state(page, "range")], [null, PART], "Escape closes the moment first");
	await page.keyboard.press("Escape");
	same(await state(page, "range"), null, "and then leaves the range");
	await page.context().close();
}

// --- links ---

/** All that is chosen, and what is seen of it. */
async function seen(page) {
	const found = {};

	for (const tab of ["flame", "functions", "tables"]) {
		await showTab(page, tab);
		found[tab] = await page.evaluate((id) => document.getElementById("panel-" + id).innerText, tab);
	}
	await showTab(page, "flame");
	found.state = await page.evaluate(() => globalThis.ebreportPage.store.state);
	found.chips = await page.locator(".chips").allInnerTexts();
	found.moment = await page.locator("#moment").innerText();
	return found;
}

function sameSeen(got, wanted, what) {
	for (const key of Object.keys(wanted))
		same(got[key], wanted[key], what + ", " + key);
}

/** A page that is opened with the address of another one is as that one. */
async function links() {
	const page = await open(NAME);
	const { name } = wordOf(TRACE);

	await set(page, {
		range: PART, view: OTHER_PART, thread: 1, text: name, weight: "wall", inverted: true, by: "thread", theme: "dark",
		pins: [1, 0], table: "wall", moment: (await someMoments(page))[1],
	});
	const before = await seen(page);
	const hash = await page.evaluate(() => location.hash);
	const other = await open(NAME, hash);

	sameSeen(await seen(other), before, "what the address shows");
	// In the page that is open, too.
	const third = await open(NAME);

	await third.evaluate((to) => {
		location.hash = to;
	}, hash);
	await eventually(third, "an address that is typed in is taken", (text) => globalThis.ebreportPage.store.state.text === text, name);
	sameSeen(await seen(third), before, "what the typed address shows");
	for (const one of [page, other, third])
		await one.context().close();
}

// --- moments ---

/** Where somebody waited, for what, who ended it: as the rows of the trace have it. */
async function moments() {
	const page = await open(NAME);
	const spells = await page.evaluate(async () => {
		const { model } = globalThis.ebreportPage;
		const rows = await model.load("spells");

		return [...rows.waker.keys()].filter((i) => rows.waker[i] && rows.off_ns[i] > 1e6).slice(0, 3).map((i) => ({
			index: i, who: model.threadLabel(rows.thread[i]), waker: model.threadLabel(rows.waker[i] - 1),
			reason: model.head.reasons[rows.reason[i]].text,
		}));
	});

	check(spells.length > 0, "waits that threads ended");
	for (const { index, who, waker, reason } of spells) {
		await set(page, { moment: { kind: "spell", index } });
		const text = await page.innerText("#moment");

		for (const word of [who, waker, reason])
			check(text.includes(word), "the moment " + index + " tells of " + word + ": " + text.slice(0, 600));
	}
	await page.keyboard.press("]");
	same((await state(page, "moment")).index, spells[spells.length - 1].index + 1, "] goes to the next interval");
	await page.keyboard.press("[");
	same((await state(page, "moment")).index, spells[spells.length - 1].index, "[ goes back");
	await page.context().close();
}

/** A shell runs the command lines of the page, and does nothing else for a file's name. */
function runLine(line, folder) {
	try {
		execFileSync("bash", ["-c", line + " >/dev/null"], {
			cwd: folder, stdio: ["ignore", "ignore", "pipe"],
			env: { ...process.env, PATH: dirname(setting.ebreport) + ":" + process.env.PATH, EBREPORT_SYMBOL_CACHE: "" },
		});
		check(true, line);
	} catch (error) {
		check(false, line + ": " + error.stderr);
	}
}

async function linesOf(page) {
	const lines = new Set();

	for (const tab of await tabs(page)) {
		await showTab(page, tab);
		(await page.locator(".command code").allTextContents()).forEach((line) => lines.add(line));
	}
	return lines;
}

async function commands() {
	const page = await open(NAME);
	const lines = await linesOf(page);

	await set(page, { range: PART, thread: 1 });
	(await linesOf(page)).forEach((line) => lines.add(line));
	for (const moment of await someMoments(page)) {
		await set(page, { moment });
		(await page.locator("#moment .command code").allTextContents()).forEach((line) => lines.add(line));
	}
	check(lines.size >= 6, "command lines: " + lines.size);
	for (const line of lines)
		runLine(line, dirname(TRACE));
	await page.context().close();
}

async function hostileName() {
	const folder = dirname(TRACE), trace = join(folder, "-$(touch ran)`touch ran`';touch ran;'\"\n\u009b&.ebt");

	copyFileSync(TRACE, trace);
	const html = join(folder, "hostile_name.html");
	ebreport("html", "-f", "-o", html, "--no-symbol-cache", trace);
	const page = await openFile(html, "hostile name", "tab=tables");
	const [line] = await page.locator(".command code").allTextContents();

	runLine(line, folder);
	check(!existsSync(join(folder, "ran")), "the name of a file is no command: " + line);
	check(basename(trace).length > 10, "a name");
	await page.context().close();
}

await run(search, expressions, inverted, turnedZoom, frames, damaged, ranges, files, keys, links, moments, commands, hostileName);
