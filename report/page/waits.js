// SPDX-License-Identifier: GPL-2.0-or-later
// What threads waited for in any range, to the ns, out of their spells: figures as
// `ebreport offcpu --from A --to B` has them, and those of `wall` and `sched` that do not add up.
// Where rows were lost, the command knows less of a part than the page, and what it would say is not
// known here: null.
import { lowerBound } from "./model.js";
import { spansOf } from "./spans.js";
import { columnOf } from "./tabledata.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./spans.js").Spans} Spans */
/** @typedef {import("./state.js").Range} Range */
/** @typedef {import("./tabledata.js").Table} Table */
/** @typedef {import("./tabledata.js").Row} Row */
/** @typedef {import("./tabledata.js").Values} Values */

const WHY = { runnable: 0, sleep: 1, disk: 2, idle: 3, fresh: 5, unknown: 7 }; // enum sched_why
const SPELL = { openStart: 2, openEnd: 4, doubtful: 8, ran: 16 }; // flags
const THREAD_OUT = 16;
const N_WHYS = 8;

/** One wait, as far as a range has it. */
class Wait {
	/** @param {Spans} spans @param {Range} range */
	constructor(spans, range) {
		this.spans = spans;
		this.range = range;
		this.from = 0;
		this.to = 0;
		this.ready = 0; // waits for a CPU only
		this.why = 0;
		this.open = false; // its beginning or its end is not in the trace
		this.cut = false; // it began before the range
		this.goesOn = false; // beyond the range
		this.waker = -1; // 1 + thread; 0: an interrupt; -1: nobody
	}

	/** Of a row of the spells; false: nothing of it is in the range. @param {number} row */
	read(row) {
		const { spans, range } = this, { spells } = spans;
		const stop = spans.stop[row], start = spans.start[row], why = spells.why[row], flags = spells.flags[row];
		const isFirst = why === WHY.fresh || why === WHY.runnable; // off_ns is 0
		const ready = isFirst ? stop + spells.new_ns[row] : spans.ready[row];

		if (isBare(spans, row) || stop >= range.to || start < range.from)
			return false;
		this.from = Math.max(stop, range.from);
		this.to = Math.min(start, range.to);
		this.ready = Math.min(Math.max(ready, this.from), this.to);
		this.why = why;
		this.goesOn = start >= range.to;
		this.open = Boolean(flags & SPELL.openStart) || (!this.goesOn && (flags & (SPELL.openEnd | SPELL.ran)) === SPELL.openEnd);
		this.cut = stop < range.from;
		this.waker = spells.wake[row] && ready < range.to ? spells.waker[row] : -1;
		return this.from < this.to || !this.open;
	}
}

/** Was it not seen off the CPUs? @param {Spans} spans @param {number} row */
function isBare(spans, row) {
	return spans.start[row] === spans.stop[row] && spans.spells.why[row] === WHY.unknown;
}

/** What a thread did in a range. */
class Figures {
	constructor() {
		this.total = 0;
		this.count = 0;
		this.max = 0;
		this.maxAt = 0;
		this.byWhy = new Float64Array(N_WHYS); // with the time on a run queue
		this.blocked = new Float64Array(N_WHYS); // without it
		this.queue = 0; // since it was woken
		this.opens = 0;
		this.doubtful = 0;
		this.cuts = 0; // waits and runs that reach beyond the range or beyond what is known
		this.openRuns = 0; // beyond what is known
		this.runs = 0; // that ended, with what they took before the range
		this.runNs = 0;
		/** @type {Map<number, {ns: number, count: number}>} by 1 + thread */
		this.wakers = new Map();
		this.ran = false;
		this.known = true; // what the command makes of it
		this.gap = false; // nor how long it waited: what it does at the end is not known
		this.begin = Infinity; // when the first wait or run ended
	}

	/** @param {Wait} wait @param {number} whole since it began, before the range */
	add(wait, whole) {
		const ns = wait.to - wait.from;

		this.total += ns;
		this.count++;
		this.byWhy[wait.why] += ns;
		this.blocked[wait.why] += wait.ready - wait.from;
		this.queue += wait.to - wait.ready;
		this.opens += Number(wait.open);
		this.cuts += Number(wait.open || wait.cut || wait.goesOn);
		if (whole >= this.max) {
			this.max = whole;
			this.maxAt = wait.to;
		}
		if (wait.waker >= 0) {
			const pair = this.wakers.get(wait.waker) || { ns: 0, count: 0 };

			pair.ns += ns;
			pair.count++;
			this.wakers.set(wait.waker, pair);
		}
	}

	/** Who ended most of the time; of several the first thread, an interrupt last. */
	waker() {
		/** @type {{waker: number, ns: number, count: number} | null} */
		let best = null;

		for (const [waker, { ns, count }] of this.wakers)
			if (!best || ns > best.ns || (ns === best.ns && waker && (!best.waker || waker < best.waker)))
				best = { waker, ns, count };
		return best;
	}
}

/** When rows of switches were lost. @param {Model} model @returns {Range[]} */
function lossesOf(model) {
	const losses = model.get("losses"), spans = [];

	for (let i = 0; i < losses.rows; i++)
		if (model.string(losses.table[i]) === "sched_switch")
			spans.push({ from: losses.from[i], to: losses.to[i] });
	return spans;
}

/** A filter by which the page has not all that the command reads. @param {Model} model */
function isPart(model) {
	return /--(from|comm|host)\b/.test(model.head.filters || "");
}

/**
 * By thread; null where spells do not tell it: they are put together, or it begins or ends where rows
 * were lost. Spells and losses must be loaded.
 * @param {Model} model @param {Range} asked @returns {Figures[] | null}
 */
export function waitFigures(model, asked) {
	const range = { from: Math.round(asked.from), to: Math.round(asked.to) };
	const losses = lossesOf(model);
	const isIn = (/** @type {number} */ time) => losses.some(({ from, to }) => from <= time && time <= to);

	if (model.head.summarised?.spells_ns !== 0 || isPart(model) || !model.get("spells").rows || isIn(range.from) || isIn(range.to))
		return null;

	const spans = spansOf(model), wait = new Wait(spans, range);
	const behindLoss = new Set(losses.map(({ to }) => to));

	return Array.from({ length: model.get("threads").rows }, (_, thread) => {
		const figures = new Figures(), first = spans.first[thread], last = spans.first[thread + 1];
		let row = lowerBound(spans.end, range.from, first, last);

		for (; row < last && spans.stop[row] < range.to; row++) {
			if (wait.read(row))
				addWait(figures, wait, row);
			// The command takes such a wait for one that began before the loss.
			if (spans.spells.flags[row] & SPELL.openStart && spans.stop[row] < range.from && behindLoss.has(spans.stop[row]))
				figures.known = false;
			addRun(figures, spans, row, range);
		}
		// The command does not know yet that nobody will have seen the end of a wait.
		if (row > first && row < last && spans.end[row - 1] < range.to) {
			figures.gap = true;
			figures.known = false;
		}
		return figures;
	});
}

/** @param {Figures} figures @param {Wait} wait @param {number} row */
function addWait(figures, wait, row) {
	const { flags } = wait.spans.spells;

	figures.add(wait, wait.to - (flags[row] & SPELL.openStart ? wait.from : wait.spans.stop[row]));
	figures.doubtful += Number(Boolean(flags[row] & SPELL.doubtful));
	figures.begin = Math.min(figures.begin, wait.goesOn ? Infinity : wait.to);
}

/** @param {Figures} figures @param {Spans} spans @param {number} row @param {Range} range */
function addRun(figures, spans, row, range) {
	const start = spans.start[row], end = spans.end[row], flags = spans.spells.flags[row];
	const began = flags & SPELL.openStart && isBare(spans, row), goesOn = end >= range.to;
	const isOpen = Boolean(began || (flags & SPELL.openEnd && !goesOn));

	if (!(flags & SPELL.ran) || end < range.from || start >= range.to)
		return;
	figures.ran = true;
	figures.openRuns += Number(isOpen);
	figures.cuts += Number(isOpen || start < range.from || goesOn);
	if (goesOn)
		return;
	figures.begin = Math.min(figures.begin, end);
	figures.runs += Number(!isOpen);
	figures.runNs += isOpen ? 0 : end - start;
}

// --- rows of tables ---

/** @param {Model} model @param {number} waker 1 + thread; 0: an interrupt */
function wakerText(model, waker) {
	const threads = model.get("threads");

	return waker ? (model.string(threads.name[waker - 1]) || "[unknown]") + "/" + threads.tid[waker - 1] : "[interrupt]";
}

/** @param {Model} model @param {Figures} figures @returns {Record<string, any>} by key of a column */
function offcpuValues(model, figures) {
	const { total, byWhy } = figures, waker = figures.waker();

	return figures.known ? {
		total_ns: total, count: figures.count, max_ns: figures.max, max_at_ns: figures.maxAt,
		sleep_ns: byWhy[WHY.sleep], disk_ns: byWhy[WHY.disk], preempted_ns: byWhy[WHY.runnable],
		other_ns: total - byWhy[WHY.sleep] - byWhy[WHY.disk] - byWhy[WHY.runnable], wait_ns: figures.queue,
		open_count: figures.opens, doubtful: figures.doubtful,
		waker: waker && wakerText(model, waker.waker), waker_ns: waker && waker.ns, waker_count: waker && waker.count,
	} : { total_ns: figures.gap ? null : total };
}

/** @param {Model} model @param {number} thread @returns {Record<string, any>} */
function threadValues(model, thread) {
	const threads = model.get("threads"), process = threads.process[thread];

	return {
		tid: threads.tid[thread], pid: process ? model.get("processes").pid[process - 1] : null,
		comm: model.string(threads.name[thread]),
	};
}

/**
 * Rows of table `offcpu` for a range, as the command sorts them; null: they are not known.
 * @param {Model} model @param {Table} table @param {Range} range @returns {Row[] | null}
 */
export function waitRows(model, table, range) {
	const all = table.command === "offcpu" && table.key === "rows" && waitFigures(model, range);
	const { flags } = model.get("threads");

	if (!all)
		return null;
	return all.map((figures, thread) => ({ figures, thread }))
		.filter(({ figures, thread }) => (figures.count || !figures.known) && figures.ran && !(flags[thread] & THREAD_OUT))
		.sort((a, b) => Number(a.figures.gap) - Number(b.figures.gap) || b.figures.total - a.figures.total || a.figures.begin - b.figures.begin || a.thread - b.thread)
		.map(({ figures, thread }) => {
			/** @type {Record<string, any>} */
			const values = { ...threadValues(model, thread), ...offcpuValues(model, figures) };

			return { values: table.columns.map(({ key }) => values[key] ?? null), children: [] };
		});
}

// --- columns of other tables ---

/** @param {Float64Array} byWhy */
function sumOfWhys(byWhy) {
	return byWhy.reduce((sum, ns) => sum + ns, 0);
}

/** Columns that slices of a table do not have, of its commands: by key. @type {Record<string, (figures: Figures, valueOf: (key: string) => any) => Record<string, any>>} */
const MORE = {
	sched: ({ blocked, runs, runNs, opens, openRuns }) => ({
		sleep_ns: blocked[WHY.sleep], disk_ns: blocked[WHY.disk],
		blocked_other_ns: sumOfWhys(blocked) - blocked[WHY.sleep] - blocked[WHY.disk],
		run_avg_ns: runs ? Math.floor(runNs / runs) : null, open: opens + openRuns > 0,
	}),
	wall: ({ total, byWhy, blocked, cuts }, valueOf) => {
		// Who is new waits for a CPU from the beginning on.
		const off = sumOfWhys(blocked) - blocked[WHY.runnable] - blocked[WHY.fresh], cpu = valueOf("on_cpu_ns"), life = valueOf("lifetime_ns");

		return {
			runqueue_ns: total - off, off_cpu_ns: off, open_count: cuts,
			other_ns: off - blocked[WHY.sleep] - blocked[WHY.disk] - blocked[WHY.idle],
			coverage_percent: cpu === null || life === null ? null : life ? 100 * (cpu + total) / life : 100,
		};
	},
};

/** Threads by what a row calls them; null: several are called so. @param {Model} model */
function threadsByKey(model) {
	const { rows } = model.get("threads");
	/** @type {Map<string, number | null>} */
	const found = new Map();

	for (let thread = 0; thread < rows; thread++) {
		const { tid, pid, comm } = threadValues(model, thread), key = JSON.stringify([tid, pid, comm]);

		found.set(key, found.has(key) ? null : thread);
	}
	return found;
}

/**
 * Adds to rows of a range what slices do not have. What the very end of the recording has is in the last
 * slice. Returns the keys of these columns.
 * @param {Model} model @param {Table} table @param {Row[]} rows @param {Range} range @returns {string[]}
 */
export function addWaits(model, table, rows, range) {
	const isEnd = range.to >= model.to && !/--to\b/.test(model.head.filters || "");
	const more = table.key === "rows" && Object.hasOwn(MORE, table.command) ? MORE[table.command] : null;
	const all = more && waitFigures(model, { from: range.from, to: range.to + Number(isEnd) });

	if (!more || !all)
		return [];

	const place = (/** @type {string} */ key) => columnOf(table, key);
	const threads = threadsByKey(model), keys = Object.keys(more(new Figures(), () => null)).filter((key) => place(key) >= 0);

	for (const { values } of rows) {
		const thread = threads.get(JSON.stringify(["tid", "pid", "comm"].map((key) => values[place(key)]))) ?? null;

		if (thread === null || !all[thread].known)
			continue;
		const found = more(all[thread], (key) => values[place(key)] ?? null);

		for (const key of keys)
			values[place(key)] = found[key];
	}
	return keys;
}
