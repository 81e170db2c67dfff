// SPDX-License-Identifier: GPL-2.0-or-later
// What threads waited for in any range, out of the spells of a page, is what `ebreport offcpu`, `wall`
// and `sched` say of the same one, to the ns.
import { execFileSync } from "node:child_process";
import { mergeSlices } from "../../report/page/slices.js";
import { spansOf } from "../../report/page/spans.js";
import { tablesOf } from "../../report/page/tabledata.js";
import { addWaits, waitFigures, waitRows } from "../../report/page/waits.js";
import { check, modelsIn, randomOf, report, run, same, setting, window } from "./page.mjs";

const OFFCPU = ["pid", "tid", "comm", "total_ns", "count", "max_ns", "max_at_ns", "sleep_ns", "disk_ns", "preempted_ns",
	"other_ns", "wait_ns", "open_count", "doubtful", "waker", "waker_ns", "waker_count"];
const ADDED = {
	sched: ["sleep_ns", "disk_ns", "blocked_other_ns", "run_avg_ns", "open"],
	wall: ["runqueue_ns", "off_cpu_ns", "open_count", "other_ns", "coverage_percent"],
};

function tableOf(model, command) {
	return tablesOf(model).find((table) => table.command === command && table.key === "rows");
}

/** Anywhere, and 1 ns around what threads did: within waits, runs, and at their borders. */
function rangesOf(model, seed, n) {
	const random = randomOf(seed), spans = spansOf(model);
	const anywhere = () => Math.round(model.from + random() * (model.to - model.from));
	const near = () => spans[["stop", "ready", "start", "end"][Math.floor(random() * 4)]][Math.floor(random() * spans.rows)] +
		Math.floor(random() * 3) - 1;
	const ranges = [{ from: model.from, to: model.to }, { from: model.from, to: model.from + 1500000 }];

	// Where the first that is known of threads ends.
	for (const row of spans.first.subarray(0, 3).filter((first) => first < spans.rows))
		ranges.push({ from: spans.start[row], to: spans.start[row] + 5000000 });

	while (ranges.length < n) {
		const ends = [ranges.length % 3 ? near() : anywhere(), ranges.length % 2 ? near() : anywhere()].sort((a, b) => a - b);
		const from = Math.max(ends[0], model.from), to = Math.min(ends[1], model.to);

		if (from < to)
			ranges.push({ from, to });
	}
	return ranges;
}

function byThread(list) {
	return new Map(list.map((row) => [[row.tid, row.pid, row.comm].join(), row]));
}

function objectsOf(table, rows) {
	return rows.map(({ values }) => Object.fromEntries(table.columns.map(({ key }, i) => [key, values[i]])));
}

function isClose(a, b) {
	return a === b || (typeof a === "number" && typeof b === "number" && !Number.isInteger(b) && Math.abs(a - b) < 1e-4);
}

/** Cells that are known and those that are not. */
function compareRows(got, wanted, keys, what, isExact) {
	const rows = byThread(got), found = { known: 0, unknown: 0, above: 0 };

	same([...rows.keys()].sort(), [...byThread(wanted).keys()].sort(), what + ": rows");
	for (const [name, row] of byThread(wanted))
		for (const key of keys) {
			const have = rows.get(name)?.[key] ?? null, want = row[key] ?? null;

			found.known += Number(have !== null);
			found.unknown += Number(have === null && want !== null);
			found.above += Number(have > 0);
			if (have !== null || isExact)
				check(isClose(have, want), what + ": " + key + " of " + name + ": " + have + ", not " + want);
		}
	return found;
}

function add(into, found) {
	for (const key of Object.keys(found))
		into[key] = (into[key] || 0) + found[key];
}

// --- offcpu ---

function compareOffcpu(model, trace, ranges, isExact, options = []) {
	const table = tableOf(model, "offcpu"), all = {};

	same(table.columns.map(({ key }) => key), OFFCPU, "columns of offcpu");
	for (const range of ranges) {
		const rows = waitRows(model, table, range), what = trace + " " + JSON.stringify(range);

		if (!check(rows, what + ": there are rows"))
			continue;
		const got = objectsOf(table, rows), totals = got.map(({ total_ns: ns }) => ns ?? -1);

		same(totals, [...totals].sort((a, b) => b - a), what + ": most time first");
		add(all, compareRows(got, report(trace, "offcpu", ...options, ...window(range)).rows, OFFCPU, what, isExact));
	}
	return all;
}

async function offcpuOf(name, n) {
	const [model] = await modelsIn(setting.pages[name].html), { traces: [trace] } = setting.pages[name];
	const found = compareOffcpu(model, trace, rangesOf(model, 11, n), true);

	check(found.above > 500, name + ": cells: " + JSON.stringify(found));
}

async function work() {
	await offcpuOf("work", 40);
}

async function crowd() {
	await offcpuOf("crowd", 8);
}

async function cut() {
	await offcpuOf("cut", 15);
}

/**
 * A range that begins or ends where rows were lost has no rows; of others, there are cells that the page
 * cannot know.
 */
async function losses(name, isIn) {
	const [model] = await modelsIn(setting.pages[name].html), { traces: [trace] } = setting.pages[name];
	const ranges = rangesOf(model, 12, 60), lost = ranges.filter(({ from, to }) => isIn(from) || isIn(to));
	const found = compareOffcpu(model, trace, ranges.filter((range) => !lost.includes(range)), false);

	check(found.above > 500 && found.known > 10 * found.unknown && found.unknown, name + ": cells: " + JSON.stringify(found));
	check(lost.length > 2, name + ": ranges that begin or end where rows were lost: " + lost.length);
	for (const range of lost)
		same(waitRows(model, tableOf(model, "offcpu"), range), null, "rows of " + JSON.stringify(range));
	return model;
}

async function lossy() {
	const model = await losses("lossy", (time) => time >= 600e6 && time <= 800e6);

	same(waitRows(model, tableOf(model, "offcpu"), { from: 650e6, to: 700e6 }), null, "rows of what was lost");
}

/** Where a switch is not there, the command cannot know what comes behind a range. */
async function holes() {
	const model = await losses("holes", (time) => time >= 1000e6 && time <= 1050e6), table = tableOf(model, "offcpu");
	const rows = objectsOf(table, waitRows(model, table, { from: 0, to: 1.4e9 }));

	check(model.get("spells").new_ns.some((ns) => ns > 0), "a thread is new");
	check(rows.some(({ doubtful }) => doubtful), "waits are in doubt");
	check(rows.every(({ comm }) => comm !== "burner"), "threads of the kernel have rows");
}

/** Of wakers who ended as much the first thread, before an interrupt. */
async function wakers() {
	const [model] = await modelsIn(setting.pages.work.html), [figures] = waitFigures(model, { from: 0, to: 1e9 }) || [];

	for (const order of [[3, 0, 2], [0, 2, 3], [2, 3, 0]]) {
		figures.wakers = new Map(order.map((waker) => [waker, { ns: 5, count: 1 }]));
		same(figures.waker().waker, 2, "the first of " + order);
	}
}

// --- pages of a part, and of many spells ---

async function parts() {
	const { html, traces: [trace] } = setting.pages.work;

	for (const [i, options] of [["--to", "50%"], ["--pid", "200"], ["--from", "20%"], ["--comm", "customer"]].entries()) {
		const path = html + ".waits" + i + ".html";

		execFileSync(setting.ebreport, ["html", "--no-symbol-cache", ...options, "-o", path, trace], { stdio: "ignore" });
		const [model] = await modelsIn(path), ranges = rangesOf(model, 13 + i, 8);

		if (i < 2)
			check(compareOffcpu(model, trace, ranges, true, i ? options : []).above > 20, "cells of a page " + options);
		else
			same(ranges.map((range) => waitRows(model, tableOf(model, "offcpu"), range)), ranges.map(() => null), "rows of a page " + options);
	}
}

async function summarised() {
	const [model] = await modelsIn(setting.pages.work.html), range = { from: 0, to: 1e9 };

	check(waitRows(model, tableOf(model, "offcpu"), range)?.length, "rows of all spells");
	model.head.summarised.spells_ns = 1000;
	same(waitRows(model, tableOf(model, "offcpu"), range), null, "rows of spells that are put together");
	same(addWaits(model, tableOf(model, "wall"), [], range), [], "columns of spells that are put together");
}

// --- columns of sched and wall ---

function compareAdded(model, trace, command, isExact) {
	const table = tableOf(model, command), { slices } = table, n = slices.length, all = {};

	for (const [first, last] of [[0, 0], [3, 3], [n >> 2, n >> 1], [n >> 1, n - 1], [0, n - 1]]) {
		const { rows, range } = mergeSlices(table, { from: slices[first].from_ns, to: slices[last].to_ns });
		const what = trace + " " + command + " " + JSON.stringify(range);
		// What is at the very end belongs to the last slice.
		const wanted = report(trace, command, ...window({ ...range, to: range.to + Number(last === n - 1) })).rows;

		same(addWaits(model, table, rows, range).sort(), [...ADDED[command]].sort(), what + ": columns");
		add(all, compareRows(objectsOf(table, rows), wanted, ADDED[command], what, isExact));
	}
	return all;
}

async function added() {
	for (const [name, isExact] of [["work", true], ["cut", true], ["holes", false]]) {
		const [model] = await modelsIn(setting.pages[name].html), { traces: [trace] } = setting.pages[name];

		for (const command of ["sched", "wall"]) {
			const found = compareAdded(model, trace, command, isExact);

			check(found.above > 40 && found.known > 4 * found.unknown, name + ", " + command + ": cells: " + JSON.stringify(found));
		}
	}
}

await run(work, crowd, cut, lossy, holes, wakers, parts, summarised, added);
