// SPDX-License-Identifier: GPL-2.0-or-later
// What pages carry is what reports say: the module that decodes sections reads them here, without a
// browser, and sums of their rows are compared with `ebreport --json`.
import { execFileSync } from "node:child_process";
import { mergeSlices } from "../../report/page/slices.js";
import { flattenRows, nestRows, tablesOf } from "../../report/page/tabledata.js";
import { selectionOf, sumOf, weighingOf } from "../../report/page/weights.js";
import { check, close, modelsIn, report, run, same, setting, window } from "./page.mjs";

/** The models of a page, with all sections. @param {string} name of setting.pages */
function modelsOf(name) {
	return modelsIn(setting.pages[name].html);
}

function sums(rows, key, ...values) {
	const found = {};

	for (const row of rows) {
		found[row[key]] ||= values.map(() => 0);
		values.forEach((value, i) => found[row[key]][i] += row[value]);
	}
	return found;
}

function sortKeys(object) {
	return Object.fromEntries(Object.entries(object).sort());
}

/** Rows of a section as objects. */
function rowsOf(model, name) {
	const columns = model.get(name);
	const keys = Object.keys(columns).filter((key) => columns[key]?.length === columns.rows);

	return Array.from({ length: columns.rows }, (_, i) =>
		Object.fromEntries(keys.map((key) => [key, columns[key][i]])));
}

/** Spells, with their times, whose parts lie within the time of the page. */
function spellsOf(model) {
	const { tid } = model.get("threads");
	let thread = -1, end = 0;

	return rowsOf(model, "spells").map((spell) => {
		const stop = (spell.thread === thread ? end : model.from) + spell.gap;

		({ thread } = spell);
		end = stop + spell.off_ns + spell.queue_ns + spell.run_ns;
		return { ...spell, tid: tid[thread], stop, end };
	});
}

async function checkSpells(name) {
	const [model] = await modelsOf(name);
	const wall = sums(report(setting.pages[name].traces[0], "wall").rows, "tid", "on_cpu_ns", "runqueue_ns");
	const spells = spellsOf(model);
	const found = sums(spells, "tid", "run_ns", "queue_ns");

	check(spells.length > 100, name + " has spells");
	check(spells.every((spell) => [0, 1].includes(spell.wake) || spell.waker === 0 || spell.wake < 4), "who wakes");
	for (const [tid, [run]] of Object.entries(wall))
		close(found[tid]?.[0], run, name + ": ns on CPUs of " + tid, 2000000);
	// Nobody is at two places.
	for (let i = 1; i < spells.length; i++)
		if (spells[i].tid === spells[i - 1].tid && spells[i].gap < 0)
			check(false, name + ": a spell begins before the end of the one before: " + JSON.stringify(spells[i]));
}

async function checkSamples(name) {
	const [model] = await modelsOf(name);
	const { rows } = report(setting.pages[name].traces[0], "callgraph");
	const samples = rowsOf(model, "samples"), { parent, func } = model.get("nodes");
	const total = {}, self = {};

	for (const sample of samples) {
		const seen = new Set();

		self[model.nodeName(sample.node)] = (self[model.nodeName(sample.node)] || 0) + sample.weight;
		for (let node = sample.node; node; node = parent[node])
			if (parent[node] && !seen.has(func[node])) { // below the process
				seen.add(func[node]);
				total[model.nodeName(node)] = (total[model.nodeName(node)] || 0) + sample.weight;
			}
	}
	same(sortKeys(total), sortKeys(Object.fromEntries(rows.map((row) => [row.function, row.total_ns]))),
		name + ": total ns by function");
	same(sortKeys(self), sortKeys(Object.fromEntries(rows.filter((row) => row.self_ns).map((row) => [row.function, row.self_ns]))),
		name + ": self ns by function");
	for (let node = 1; node < parent.length; node++)
		if (parent[node] >= node)
			check(false, name + ": node " + node + " stands before its parent " + parent[node]);
}

async function checkThreads(name) {
	const [model] = await modelsOf(name);
	const tids = report(setting.pages[name].traces[0], "sched", "--all").rows.map((row) => row.tid);
	const threads = rowsOf(model, "threads");

	for (const tid of tids)
		check(threads.some((thread) => thread.tid === tid), name + ": thread " + tid);
	for (const thread of threads)
		check(thread.process <= model.get("processes").rows, name + ": the process of a thread");
}

async function checkTime(name) {
	const [model] = await modelsOf(name);
	const { duration_ns: duration } = report(setting.pages[name].traces[0], "info");

	same([model.from, model.to], [0, duration], name + ": its time");
}

/** Tables of the whole: the rows of the report. Some columns are put together for people, and JSON has
 * their parts alone. */
async function checkTables(name, least) {
	const [model] = await modelsOf(name);
	let compared = 0;

	for (const table of tablesOf(model)) {
		const { [table.key]: rows } = report(setting.pages[name].traces[0], ...table.command.split(" "));

		if (!Array.isArray(rows) || table.left_out || table.rows.some((values) => values[table.columns.length]))
			continue; // a tree, or cut
		const columns = table.columns.filter(({ key }) => rows.some((row) => row[key] !== undefined));

		same(flattenRows(nestRows(table, table.rows)).map(({ values }) => columns.map((column) => values[table.columns.indexOf(column)] ?? null)),
			rows.map((row) => columns.map(({ key }) => row[key] ?? null)), name + ": " + table.command + ", " + table.key);
		check(columns.length > table.columns.length / 3, name + ": " + table.command + ": columns " + columns.map(({ key }) => key));
		compared++;
	}
	check(compared >= least, name + ": tables that were compared: " + compared);
}

/** A figure as JSON has it, with six digits, if it is that one. @param {any} value @param {any} wanted */
function inDigits(value, wanted) {
	if (typeof value !== "number" || typeof wanted !== "number" || Number.isInteger(value) || Number(wanted.toPrecision(6)) !== wanted)
		return value;
	return Math.abs(value - wanted) <= 0.501 * 10 ** (Math.floor(Math.log10(Math.abs(wanted))) - 5) ? wanted : value;
}

/** Of a range: the rows that the report has for the same one. By key, where columns add up. */
function compareRange(table, trace, range) {
	const merged = mergeSlices(table, range);
	const { from, to } = merged.range, isLast = to === table.slices[table.slices.length - 1].to_ns;
	// The last part has what is at the very end, too.
	const { [table.key]: rows } = report(trace, ...table.command.split(" "), ...window({ from, to: to + Number(isLast) }));
	const keys = table.columns.filter(({ merge, key }) => merge === "key" && rows.some((row) => row[key] !== undefined));
	const values = table.columns.filter(({ merge }) => merge && merge !== "key");
	const byKey = (list, get) => sortKeys(Object.fromEntries(list.map((row) =>
		[JSON.stringify(keys.map((column) => get(row, column) ?? null)), values.map((column) => get(row, column) ?? null)])));

	const wanted = byKey(rows, (row, column) => row[column.key]);
	const got = byKey(merged.rows.map((row) => row.values), (row, column) => row[table.columns.indexOf(column)]);

	for (const [key, list] of Object.entries(got))
		got[key] = list.map((value, i) => inDigits(value, wanted[key]?.[i]));
	same(got, wanted,
		table.command + ", " + table.key + " of " + JSON.stringify(merged.range));
	return rows.length;
}

async function checkRanges(name, least) {
	const [model] = await modelsOf(name), [trace] = setting.pages[name].traces;
	const tables = tablesOf(model).filter((table) => table.slices?.length &&
		!table.rows.some((values) => values[table.columns.length]));
	let rows = 0;

	for (const table of tables) {
		const { slices } = table, n = slices.length;

		for (const [first, last] of [[0, 0], [n >> 2, n >> 1], [n >> 1, n - 1], [0, n - 1]])
			rows += compareRange(table, trace, { from: slices[first].from_ns, to: slices[last].to_ns });
	}
	check(tables.length >= least, name + ": tables of ranges: " + tables.map((table) => table.command));
	check(rows > 0, name + ": rows of ranges");
}

async function work() {
	await checkTables("work", 8);
	await checkRanges("work", 4);
	await checkTime("work");
	await checkSpells("work");
	await checkSamples("work");
	await checkThreads("work");
}

async function crowd() {
	const [model] = await modelsOf("crowd");

	same(model.get("threads").rows, 1000, "threads");
	await checkSpells("crowd");
	await checkThreads("crowd");
}

/** Those that were lost are told, where they were. */
async function losses() {
	const [model] = await modelsOf("lossy");
	const found = rowsOf(model, "losses");

	same(found.length, 1, "losses");
	same([found[0]?.from, found[0]?.to], [600e6, 800e6], "when rows were lost");
	same(model.string(found[0]?.table), "sched_switch", "of which table");
	check(model.head.warnings.length > 0, "a warning of them");
}

async function cut() {
	const [model] = await modelsOf("cut");

	check(model.get("samples").rows > 100, "samples before the cut");
	check(model.head.warnings.some((text) => /cut|end/i.test(text)), "a warning of the cut: " + model.head.warnings);
}

/** Of a page of a part what threads did behind it counts for nothing. */
async function part() {
	const { html, traces: [trace] } = setting.pages.work, path = html + ".part.html", to = ["--to", "50%"];

	execFileSync(setting.ebreport, ["html", "--no-symbol-cache", ...to, "-o", path, trace], { stdio: "ignore" });
	const [model] = await modelsIn(path), spells = spellsOf(model), threads = rowsOf(model, "threads");

	check(spells.every(({ stop }) => stop < model.to), "a spell begins behind the part");
	check(spells.some(({ end }) => end > model.to), "some last beyond it");
	for (const { tid, run_ns: run } of report(trace, "sched", ...to).rows)
		close(threads.find((thread) => thread.tid === tid)?.cpu_ns ?? 0, run, "CPU time of " + tid + " in the part");
	for (const weight of ["offcpu", "wall"]) {
		const { weigh } = weighingOf(model, weight, "none", false), state = { process: null, thread: null, weight };
		const [all, chosen] = [null, { from: model.from, to: model.to }].map((range) =>
			sumOf(weigh(selectionOf(model, state, range)).self));

		check(all > 0, weight + " of a part");
		same(all, chosen, weight + " of all that is in the part");
	}
}

/** Two traces have sections of their own. */
async function two() {
	const models = await modelsOf("work+other");

	same(models.length, 2, "traces of a page");
	check(models.every((model) => model.get("samples").rows > 100), "samples of both");
}

await run(work, crowd, losses, cut, part, two);
