// SPDX-License-Identifier: GPL-2.0-or-later
// Messages of buses and lines of logs on the time axis, and files that are in the trace: each is where
// it was put when the trace was made (painted.py).
import { bytes } from "../../report/page/text.js";
import { axisOf, blend, COLOUR_SCHEMES, colours, hover, isNear, leave, pixels, saidAlong, viewAround, xOf } from "./canvas.mjs";
import { check, eventually, open, report, run, same, set, setting, settle, showTab, state } from "./page.mjs";

const NAME = "painted", AXIS = ".axis-canvas";
const [TRACE] = setting.pages[NAME].traces;
const PLAN = setting.plans[NAME];
const SHORT = 0.7; // what is as narrow as a pixel lets the ground through
/** As syslog(3) numbers them. */
const SEVERITIES = { error: 3, warning: 4, info: 6 };

async function inThemes(test) {
	for (const colorScheme of COLOUR_SCHEMES) {
		const page = await open(NAME, "", { colorScheme, viewport: { width: 1280, height: 1300 } });
		const box = await axisOf(page);

		await test(page, box, await colours(page, AXIS, ["bg", "bad", "event", "blocked-pipe"]), colorScheme);
		await page.context().close();
	}
}

/** What of a kind is said at a time, from top to bottom. */
async function eventsAt(page, box, time, kind) {
	return (await saidAlong(page, box, await xOf(page, box, time))).filter(({ tip }) => tip.rows.Kind === kind);
}

/** Names of lanes, as the keys go through them. */
async function namesOfLanes(page) {
	const names = [];

	await page.focus(AXIS);
	for (;;) {
		await page.keyboard.press("ArrowDown");
		const text = await page.evaluate(() => document.getElementById("live").textContent);

		if (names.length && text === names[names.length - 1])
			return names;
		names.push(text);
	}
}

/** A click chooses it: the panel says all of it. */
async function choose(page, box, time, part, texts, what) {
	await page.mouse.click(box.x + await xOf(page, box, time), box.y + part.top + 4);
	await eventually(page, what + ": a click chooses it", () => globalThis.ebreportPage.store.state.moment?.kind === "event");
	await settle(page);
	const said = await page.evaluate(() => document.getElementById("moment").innerText);

	for (const text of texts)
		check(said.includes(text), what + ": the panel says " + text + ": " + said);
	await set(page, { moment: null, thread: null });
	await leave(page);
}

/** Both have lanes with their names. */
async function lanes() {
	const page = await open(NAME);

	await axisOf(page);
	const names = (await namesOfLanes(page)).map((text) => text.trim());

	for (const name of new Set([...PLAN.messages.map(({ bus }) => bus + " dbus"), ...PLAN.logs.map(({ lane }) => lane && lane + " log").filter(Boolean)]))
		check(names.includes(name), "a lane " + name + ": " + names);
	await page.context().close();
}

// --- messages ---

async function messages() {
	await inThemes(async (page, box, colour, theme) => {
		for (const { bus, kind, member, from, to, path } of PLAN.messages) {
			const view = viewAround(box, from), what = theme + ": " + member + " on the bus " + bus;

			await set(page, { view: to > from ? { from: 0, to: PLAN.whole } : view });
			const middle = (from + to) / 2, found = await eventsAt(page, box, middle, "dbus");

			same(found.length, 1, what + " is there once");
			if (!found.length)
				continue;
			const [part] = found, x = await xOf(page, box, middle);
			const wanted = "org.example.Shop." + member;

			check(part.tip.title.includes(kind) && part.tip.title.includes(wanted) && part.tip.title.includes(path), what + ": what is said: " + part.tip.title);
			same((await hover(page, box, x, part.top + 4))?.title, part.tip.title, what + ": the pointer is told the same");
			await leave(page);
			const [list, [ground]] = await pixels(page, AXIS, [[to > from ? await xOf(page, box, to) - 3 : x, part.top + 2, 1, 14], [x - 4, part.top + 2, 1, 1]]);
			const painted = blend(colour["blocked-pipe"], ground, to > from ? 1 : SHORT);

			check(list.every((pixel) => isNear(pixel, painted)), what + " is painted: " + list[0] + ", not " + painted);
			same((await eventsAt(page, box, from - (to > from ? 20e6 : 5e6), "dbus")).length, 0, what + " is not there before");
			await choose(page, box, middle, part, [wanted, path], what);
			await axisOf(page);
		}
	});
}

// --- logs ---

async function logs() {
	await inThemes(async (page, box, colour, theme) => {
		for (const { tid, time, severity, text } of PLAN.logs) {
			const what = theme + ": " + text;

			await set(page, { view: viewAround(box, time) });
			const found = await eventsAt(page, box, time, "log");

			same(found.map(({ tip }) => tip.title), [severity + " " + text], what + ": what is said");
			if (!found.length)
				continue;
			const [{ tip, top }] = found, x = await xOf(page, box, time);

			same([tip.rows.Severity, tip.rows.Thread], [String(SEVERITIES[severity]), tid && "boss (" + tid + ")"], what + ": its severity, and who wrote it");
			same((await hover(page, box, x, top + 4))?.title, tip.title, what + ": the pointer is told the same");
			await leave(page);
			await checkLine(page, [x, await painted(page, x, top)], severity, colour, what);
			same((await eventsAt(page, box, time - 5e6, "log")).length, 0, what + " is not there before");
			await choose(page, box, time, found[0], [text], what);
			await axisOf(page);
		}
	});
}

/** Where below an event's lane it is painted: the lane may begin above it. */
async function painted(page, x, top) {
	const [here, beside] = await pixels(page, AXIS, [[x, top, 1, 8], [x - 4, top, 1, 8]]);

	return top + here.findIndex((pixel, i) => !isNear(pixel, beside[i]));
}

/** Its colour; at the lower end that of what is bad, if it is. */
async function checkLine(page, [x, top], severity, colour, what) {
	const [list, [ground]] = await pixels(page, AXIS, [[x, top, 1, 14], [x - 4, top, 1, 1]]); // the lane may be a chosen one
	const isBad = severity === "error", upper = blend(colour.event, ground, SHORT);
	const lower = isBad ? blend(colour.bad, upper, SHORT) : upper;

	check(list.slice(0, 12).every((pixel) => isNear(pixel, upper)), what + " is painted: " + list[0] + ", not " + upper);
	check(list.slice(12).every((pixel) => isNear(pixel, lower)), what + ": its lower end: " + list[13] + ", not " + lower);
}

// --- files ---

/** The table of files as it is shown: cells by their heads. */
function shownFiles(page) {
	return page.evaluate(() => {
		const texts = (cells) => [...cells].map((cell) => cell.textContent);
		const heads = texts(document.querySelectorAll(".table-place thead th"));

		return [...document.querySelectorAll(".table-place tbody tr")].map((row) =>
			Object.fromEntries(texts(row.children).map((text, i) => [heads[i], text])));
	});
}

/** From the processes a link leads to them; they are as `ebreport files` has them. */
async function files() {
	const page = await open(NAME), { rows } = report(TRACE, "files");

	await showTab(page, "processes");
	await page.getByRole("button", { name: "Files that are in the trace" }).click();
	await eventually(page, "the link leads to the table", () => document.querySelector(".table-place h2")?.textContent.includes("files"));
	same([await state(page, "tab"), await state(page, "table")], ["tables", "files"], "the table is chosen");
	await page.getByLabel(/All columns/).check();
	const text = (value) => value === undefined || value === null ? "–" : String(value);

	same(await shownFiles(page), rows.map((row) => ({
		ID: text(row.file_id), ROLE: row.role, PID: text(row.pid), NS: text(row.namespace), SIZE: bytes(row.size), STORED: bytes(row.stored),
		CLASS: row.sensitivity, TRUNCATED: row.truncated ? "yes" : "no", MISSING: bytes(row.missing),
		NOTE: row.missing ? "damaged" : row.truncated ? "cut" : "–", PATH: row.path,
	})), "files of the trace");
	same(rows.map(({ path, size, truncated, missing }) => [path, size, truncated, missing]), PLAN.files, "files that were put there");
	await page.context().close();
}

await run(lanes, messages, logs, files);
