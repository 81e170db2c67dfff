// SPDX-License-Identifier: GPL-2.0-or-later
// What pages carry is what reports say: the module that decodes sections reads them here, without a
// browser, and sums of their rows are compared with `ebreport --json`.
import { readFileSync } from "node:fs";
import { Model } from "../../report/page/model.js";
import { gunzip } from "../../report/page/provider.js";
import { check, close, report, run, same, setting } from "./page.mjs";

const ELEMENT = /<script type="[^"]*" id="([^"]*)">([^<]*)<\/script>/g;

/** The models of a page, with all sections. */
async function modelsOf(name) {
	const text = readFileSync(setting.pages[name].html, "utf8");
	const elements = new Map([...text.matchAll(ELEMENT)].map((match) => [match[1], match[2]]));
	const head = JSON.parse(elements.get("head"));
	const provider = {
		head: async () => head,
		section: async (number, section) =>
			gunzip(new Uint8Array(Buffer.from(elements.get("s-" + number + "-" + section), "base64"))),
	};
	const models = head.traces.map((trace, i) => new Model(trace, provider, i));

	for (const model of models)
		for (const section of Object.keys(model.head.sections))
			await model.load(section);
	return models;
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

async function work() {
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

/** Two traces have sections of their own. */
async function two() {
	const models = await modelsOf("work+other");

	same(models.length, 2, "traces of a page");
	check(models.every((model) => model.get("samples").rows > 100), "samples of both");
}

await run(work, crowd, losses, cut, two);
