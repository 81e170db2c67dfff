// SPDX-License-Identifier: GPL-2.0-or-later
// A range that is chosen in the page changes functions, flame graph and tables to what
// `ebreport --from --to --json` says of the same one; so do a thread and a process.
import { count, duration, percent, timeText } from "../../report/page/text.js";
import { check, eventually, open, report, run, same, set, setting, showTab, window } from "./page.mjs";

const [NAME] = Object.keys(setting.pages);
const [TRACE] = setting.pages[NAME].traces;
const { duration_ns: WHOLE } = report(TRACE, "info");

/** Parts of the whole, to the nanosecond; null: all of it. */
const RANGES = [null, [0, 0.25], [0.2, 0.7], [0.33333, 0.33933], [0.5, 1]].map((range) =>
	range && { from: Math.round(range[0] * WHOLE), to: Math.round(range[1] * WHOLE) });

// --- functions ---

/** The table of functions as it is shown: names and objects to texts of the row. */
function shownFunctions(page) {
	return page.evaluate(() => {
		const found = {}, { weight } = globalThis.ebreportPage.store.state;

		for (const row of document.querySelectorAll(".functions-grid tbody tr")) {
			const text = (key) => row.querySelector("td.is-" + key).textContent;
			const key = row.querySelector("th button").textContent + " of " + row.querySelector("td.is-object").title;

			found[key] = [text("self"), text("total"), ...(weight === "cpu" ? [text("stacks")] : [])];
		}
		return found;
	});
}

/** The same of a report; where a function is inlined here and called there, it is one of the page. */
function functionsOf(options) {
	const { rows } = report(TRACE, "callgraph", ...options);
	const found = {};

	for (const row of rows)
		found[row.function + " of " + row.object] = [duration(row.self_ns), duration(row.total_ns),
			...(row.samples === undefined ? [] : [count(row.samples)])];
	return found;
}

function sorted(object) {
	return Object.fromEntries(Object.entries(object).sort(([a], [b]) => a < b ? -1 : 1));
}

async function showAll(page) {
	for (let more = page.locator(".functions-table > button"); await more.count();)
		await more.click();
}

async function compareFunctions(page, what, options) {
	const wanted = functionsOf(options), n = Object.keys(wanted).length;

	await eventually(page, what + ": " + n + " functions", (number) => Number(
		document.querySelector(".functions-grid caption")?.textContent.replace(/\D/g, "") || 0) === number, n);
	await showAll(page);
	same(sorted(await shownFunctions(page)), sorted(wanted), what);
	return n;
}

async function functions() {
	const page = await open(NAME, "tab=functions");
	let rows = 0;

	for (const range of RANGES)
		for (const [weight, event] of [["cpu", []], ["offcpu", ["--event", "offcpu"]]]) {
			await set(page, { range, weight });
			rows += await compareFunctions(page, "functions of " + weight + ", " + JSON.stringify(range), [...event, ...window(range)]);
		}
	check(rows > 20, "functions that were compared: " + rows);
	await page.context().close();
}

/** Of one thread, and of one process: those with most to do. */
async function chosen() {
	const page = await open(NAME, "tab=functions");
	const threads = await page.evaluate(() => {
		const { cpu_ns: ns, tid, process } = globalThis.ebreportPage.model.get("threads");
		const { pid } = globalThis.ebreportPage.model.get("processes");

		return [...ns.keys()].sort((a, b) => ns[b] - ns[a]).slice(0, 3)
			.map((thread) => ({ thread, tid: tid[thread], process: process[thread] - 1, pid: pid[process[thread] - 1] }));
	});
	const [, , range] = RANGES;

	for (const { thread, tid, process, pid } of threads) {
		await set(page, { thread, process: null, range });
		await compareFunctions(page, "functions of thread " + tid, ["--tid", String(tid), ...window(range)]);
		await set(page, { thread: null, process, range: null });
		await compareFunctions(page, "functions of process " + pid, ["--pid", String(pid)]);
	}
	await page.context().close();
}

// --- the flame graph ---

/** The time of all that is shown, as it is said above the picture. */
async function flame() {
	const page = await open(NAME, "tab=flame");

	for (const range of RANGES) {
		await set(page, { range, weight: "cpu" });
		const { rows } = report(TRACE, "callgraph", ...window(range));
		const self = rows.reduce((sum, row) => sum + row.self_ns, 0);
		const said = await page.textContent(".flame-said");

		check(said.startsWith(duration(self) + " in "), "the flame graph of " + JSON.stringify(range) + " has " + duration(self) + ": " + said);
	}
	await page.context().close();
}

// --- tables ---

/** Ranges that tables have rows of. @param {string} table */
function slicesOf(page, table) {
	return page.evaluate(async (id) => {
		const { text } = await globalThis.ebreportPage.model.load("tables");
		const found = JSON.parse(new TextDecoder().decode(text)).find((t) => t.command === id && t.key === "rows");

		return { slices: (found?.slices || []).map(({ from_ns: from, to_ns: to }) => ({ from, to })), columns: found?.columns || [] };
	}, table);
}

/** What the table shows: by what stands under a head its cells, by the heads of their columns. */
function shownRows(page, head) {
	return page.evaluate((name) => {
		const texts = (cells) => [...cells].map((cell) => cell.textContent);
		const heads = texts(document.querySelectorAll(".table-place thead th"));
		const rows = [...document.querySelectorAll(".table-place tbody tr")].map((row) => texts(row.children));

		return Object.fromEntries(rows.filter((cells) => cells.length === heads.length).map((cells) =>
			[cells[heads.indexOf(name)], Object.fromEntries(cells.map((cell, i) => [heads[i], cell]))]));
	}, head);
}

/** Figures of any range that do not add up, out of what threads did; true: all of the table. */
const OF_WAITS = {
	offcpu: true, sched: ["sleep_ns", "disk_ns", "blocked_other_ns", "run_avg_ns", "open"],
	wall: ["runqueue_ns", "off_cpu_ns", "other_ns", "coverage_percent", "open_count"],
};

function isOfRange(command, { key, merge }) {
	return Boolean(merge) || OF_WAITS[command] === true || Boolean(OF_WAITS[command]?.includes(key));
}

const TEXTS = { duration, u64: String, percent: (value) => percent(value, 100) };

async function compareTable(page, command, range, columns, id, isEnd = false) {
	await set(page, { range, table: command });
	// What is at the very end belongs to the last slice; --to is the first time behind a range.
	const { rows } = report(TRACE, command, ...window(range && { ...range, to: range.to + Number(isEnd) }));
	const shown = await shownRows(page, columns.find(({ key }) => key === id).header);
	let compared = 0;

	same(Object.keys(shown).sort(), rows.map((row) => String(row[id])).sort(), command + " of " + JSON.stringify(range) + ": rows");
	for (const row of rows)
		for (const { key, header, type, merge } of columns) {
			const text = shown[row[id]]?.[header], isKnown = isOfRange(command, { key, merge });

			// Where a kernel has hidden switches, parts may differ from the whole: the page says nothing then.
			if (!TEXTS[type] || text === undefined || (range && (!isKnown || (text === "–" && NAME === "recorded"))))
				continue;
			same(text, row[key] === undefined ? "–" : TEXTS[type](row[key]),
				command + " of " + JSON.stringify(range) + ": " + key + " of " + row[id]);
			compared++;
		}
	return compared;
}

/** Rows of any range, to the ns, with what is said of them. */
async function compareWaits(page, columns) {
	let compared = 0;

	for (const range of RANGES.slice(1)) {
		compared += await compareTable(page, "offcpu", range, columns, "tid");
		same(await page.textContent(".table-view .notes p"), "Rows of the range.", "what is said of offcpu of " + JSON.stringify(range));
	}
	check(compared > 40 || NAME === "recorded", "figures of offcpu of ranges that were compared: " + compared);
	return compared;
}

async function tables() {
	const page = await open(NAME, "tab=tables");
	let compared = 0;

	for (const [command, id] of [["sched", "tid"], ["offcpu", "tid"], ["wall", "tid"], ["syscalls", "name"]]) {
		const { slices, columns } = await slicesOf(page, command), n = slices.length;

		await compareTable(page, command, null, columns, id);
		if (command === "offcpu") {
			compared += await compareWaits(page, columns);
			continue;
		}
		check(n >= 10, command + " has rows of parts of the time: " + n);
		for (const [first, last] of [[0, 0], [n >> 2, n >> 1], [n >> 1, n - 1]])
			compared += await compareTable(page, command, { from: slices[first].from, to: slices[last].to }, columns, id,
				last === n - 1);
	}
	check(compared > 50, "figures of ranges that were compared: " + compared);
	await page.context().close();
}

/** Rows of one thing each: marks that last into a range, lines of logs in it, processes that are there in it. */
async function rowsOfOneThing() {
	const page = await open(NAME, "tab=tables");
	let fewer = 0;

	for (const [command, key, text] of [["marks", "time_ns", timeText], ["logs", "time_ns", timeText], ["procs", "pid", String]]) {
		const all = report(TRACE, command).rows?.length;

		if (!all && NAME === "recorded")
			continue;

		for (const range of RANGES) {
			const wanted = report(TRACE, command, ...window(range)).rows.map((row) => text(row[key]));

			await set(page, { range, table: command });
			const shown = await page.evaluate((name) => {
				const at = [...document.querySelectorAll(".table-place thead th")].findIndex((head) => head.textContent === name);

				return [...document.querySelectorAll(".table-place tbody tr")].map((row) => row.children[at]?.textContent);
			}, { marks: "START", logs: "TIME", procs: "PID" }[command]);

			check(wanted.length <= 200, command + " of " + JSON.stringify(range) + " are seen at once: " + wanted.length);
			same(shown, wanted.length ? wanted : ["No rows."], command + " of " + JSON.stringify(range));
			fewer += Number(wanted.length < all);
		}
	}
	check(fewer >= 5 || NAME === "recorded", "ranges that leave something out: " + fewer);
	await page.context().close();
}

const MOST_CATEGORIES = 24; // in the legend

/** Shares of the categories, as the legend has them: of more, the largest ones, any of those that are as large as
 * the last. */
async function categories() {
	const page = await open(NAME, "tab=flame&flame=category");

	for (const range of [null, RANGES[1]]) {
		const { rows } = report(TRACE, "callgraph", "--categories", ...window(range));
		const total = rows.reduce((sum, row) => sum + row.self_ns, 0);
		const all = rows.filter((row) => row.self_ns > 0).sort((a, b) => b.self_ns - a.self_ns);
		const least = all.length > MOST_CATEGORIES ? all[MOST_CATEGORIES - 1].self_ns : 0;
		const texts = (some) => some.map((row) => row.category + " " + percent(row.self_ns, total));

		await set(page, { range });
		await eventually(page, "categories of " + JSON.stringify(range), ({ larger, last, n }) => {
			const shown = [...document.querySelectorAll(".flame-legend li")].map((item) => item.textContent);

			return shown.length === n && new Set(shown).size === n && larger.every((text) => shown.includes(text)) &&
				shown.every((text) => larger.includes(text) || last.includes(text));
		}, { larger: texts(all.filter((row) => row.self_ns > least)), last: texts(all.filter((row) => row.self_ns === least)),
			n: Math.min(all.length, MOST_CATEGORIES) });
		check(all.length > 0, "there is one");
	}
	await page.context().close();
}

await run(functions, chosen, flame, categories, tables, rowsOfOneThing);
