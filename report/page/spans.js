// SPDX-License-Identifier: GPL-2.0-or-later
// What threads did and what CPUs ran, as intervals: rows of `spells` with absolute times, sums
// before each row, and an index by CPU. Any range of a thread or a CPU is two binary searches.
import { lowerBound } from "./model.js";

/** @typedef {import("./model.js").Model} Model */
/**
 * What a thread did at one moment. Shares are of the row, where it stands for several spells.
 * @typedef {Object} ThreadState
 * @property {"running" | "runnable" | "blocked" | "mixed" | "unknown"} state
 * @property {number} row of the spells; -1: none
 * @property {number} from of this state @property {number} to
 * @property {number | null} cpu
 * @property {string | null} reason why it was blocked, a name of head.reasons
 * @property {number | null} behind thread that had its CPU meanwhile
 * @property {number | null} waker thread
 * @property {string} object what it waited for
 * @property {number} running share @property {number} runnable share @property {number} blocked share
 */

/** @typedef {{row: Uint32Array, begin: Float64Array, sum: Float64Array, longest: Uint32Array[]}} CpuRuns */

const FAN = 16; // entries of a level for each of the level above

/** The last index of an ordered part whose value is not above `value`; low - 1: none.
 * @param {Float64Array} values @param {number} value @param {number} low @param {number} high */
export function lastAt(values, value, low, high) {
	while (low < high) {
		const middle = (low + high) >> 1;

		if (values[middle] <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

/** As lastAt(), from a near index on: fast for the next pixel.
 * @param {Float64Array} values @param {number} value @param {number} at @param {number} high */
export function lastFrom(values, value, at, high) {
	let step = 1;

	if (at + 1 >= high || values[at + 1] > value)
		return at;
	while (at + step < high && values[at + step] <= value)
		step *= 2;
	return lastAt(values, value, at + (step >> 1), Math.min(at + step, high));
}

export class Spans {
	/** @param {Model} model whose spells are loaded */
	constructor(model) {
		const spells = model.get("spells");
		const n = spells.rows;

		this.model = model;
		this.spells = spells;
		this.rows = n;
		this.stop = new Float64Array(n); // left its CPU
		this.ready = new Float64Array(n); // waits for a CPU only
		this.start = new Float64Array(n); // is on a CPU
		this.end = new Float64Array(n);
		this.sumRun = new Float64Array(n + 1); // of all rows before
		this.sumQueue = new Float64Array(n + 1);
		this.sumOff = new Float64Array(n + 1);
		this.first = new Uint32Array(model.get("threads").rows + 1); // row of a thread
		this.run = 0; // what sumsAt() found
		this.queue = 0;
		this.off = 0;
		this.total = 0; // CPU time of all
		if (n)
			this.fill();
		/** @type {CpuRuns[]} */
		this.cpus = [];
		this.longestRow = 0; // ns, of those put together
		if (n)
			this.indexCpus();
	}

	fill() {
		const { spells, first } = this;
		let before = -1, end = 0, next = 0;

		for (let i = 0; i < this.rows; i++) {
			const thread = spells.thread[i];

			if (thread !== before) {
				end = this.model.from;
				while (next <= thread && next < first.length)
					first[next++] = i;
			}
			before = thread;
			this.stop[i] = end + spells.gap[i];
			this.ready[i] = this.stop[i] + spells.off_ns[i];
			this.start[i] = this.ready[i] + spells.queue_ns[i];
			this.end[i] = end = this.start[i] + spells.run_ns[i];
			this.sumOff[i + 1] = this.sumOff[i] + spells.off_ns[i];
			this.sumQueue[i + 1] = this.sumQueue[i] + spells.queue_ns[i];
			this.sumRun[i + 1] = this.sumRun[i] + spells.run_ns[i];
		}
		while (next < first.length)
			first[next++] = this.rows;
		this.total = this.sumRun[this.rows];
	}

	/** Runs of each CPU in the order of time. */
	indexCpus() {
		const { spells } = this;
		/** @type {number[][]} */
		const lists = [];

		for (let i = 0; i < this.rows; i++) {
			if (!spells.cpu[i] || !spells.run_ns[i])
				continue;
			while (lists.length < spells.cpu[i])
				lists.push([]);
			lists[spells.cpu[i] - 1].push(i);
			if (spells.count[i] > 1)
				this.longestRow = Math.max(this.longestRow, this.end[i] - this.stop[i]);
		}
		this.cpus = lists.map((list) => this.indexCpu(list));
	}

	/** When the run of a row begins; rows put together run somewhere between their ends. @param {number} row */
	beginOf(row) {
		return this.spells.count[row] > 1 ? this.stop[row] : this.start[row];
	}

	/** @param {number[]} list @returns {CpuRuns} */
	indexCpu(list) {
		list.sort((a, b) => this.beginOf(a) - this.beginOf(b)); // few runs merge fast
		const row = Uint32Array.from(list);
		const begin = new Float64Array(row.length), sum = new Float64Array(row.length + 1);

		for (let i = 0; i < row.length; i++) {
			begin[i] = this.beginOf(row[i]);
			sum[i + 1] = sum[i] + this.spells.run_ns[row[i]];
		}
		return { row, begin, sum, longest: this.levels(row) };
	}

	/** The longest run of each 16 entries, of each 16 of these, and so on. @param {Uint32Array} row */
	levels(row) {
		const run = this.spells.run_ns, levels = [];

		for (let below = row; below.length > FAN;) {
			const level = new Uint32Array(Math.ceil(below.length / FAN));

			for (let i = 0; i < below.length; i++) {
				const at = Math.floor(i / FAN);

				if (i % FAN === 0 || run[below[i]] > run[level[at]])
					level[at] = below[i];
			}
			levels.push(level);
			below = level;
		}
		return levels;
	}

	/** The row that ran longest of entries [low, high) of a CPU. @param {CpuRuns} cpu @param {number} low @param {number} high */
	longestOf(cpu, low, high) {
		const run = this.spells.run_ns;
		let best = cpu.row[low], values = cpu.row;

		for (let level = 0; low < high; level++) {
			const more = level < cpu.longest.length;

			while (low < high && (!more || low % FAN))
				best = run[values[low]] > run[best] ? values[low++] : (low++, best);
			while (low < high && more && high % FAN)
				best = run[values[--high]] > run[best] ? values[high] : best;
			low /= FAN;
			high /= FAN;
			values = more ? cpu.longest[level] : values;
		}
		return best;
	}

	/** Row of a thread at a time; -1: before its first. @param {number} thread @param {number} time */
	rowAt(thread, time) {
		const low = this.first[thread];
		const row = lastAt(this.stop, time, low, this.first[thread + 1]);

		return row < low ? -1 : row;
	}

	/** Sums from the section's beginning to a time in or behind this row, to run, queue and off.
	 * @param {number} row @param {number} time */
	sumsAt(row, time) {
		const stop = this.stop[row], start = this.start[row], end = this.end[row];

		if (time >= end) {
			this.run = this.sumRun[row + 1];
			this.queue = this.sumQueue[row + 1];
			this.off = this.sumOff[row + 1];
			return;
		}
		this.run = this.sumRun[row];
		this.queue = this.sumQueue[row];
		this.off = this.sumOff[row];
		if (time <= stop)
			return;
		if (this.spells.count[row] > 1) {
			const share = (time - stop) / (end - stop);

			this.run += this.spells.run_ns[row] * share;
			this.queue += (start - this.ready[row]) * share;
			this.off += (this.ready[row] - stop) * share;
		} else {
			this.off += Math.min(time, this.ready[row]) - stop;
			this.queue += Math.max(0, Math.min(time, start) - this.ready[row]);
			this.run += Math.max(0, time - start);
		}
	}

	/** Time of a thread in a range: to run, queue and off. @param {number} thread @param {number} from @param {number} to */
	sumsOf(thread, from, to) {
		const low = this.first[thread], high = this.first[thread + 1];

		if (low === high) {
			this.run = this.queue = this.off = 0;
			return;
		}
		this.sumsAt(Math.max(low, lastAt(this.stop, from, low, high)), from);
		const run = this.run, queue = this.queue, off = this.off;

		this.sumsAt(Math.max(low, lastAt(this.stop, to, low, high)), to);
		this.run -= run;
		this.queue -= queue;
		this.off -= off;
	}

	/** How long an entry of a CPU ran until a time. @param {number} row @param {number} time */
	ranUntil(row, time) {
		const begin = this.beginOf(row), end = this.end[row];

		if (time >= end)
			return this.spells.run_ns[row];
		return time <= begin ? 0 : this.spells.run_ns[row] * (time - begin) / (end - begin);
	}

	/** CPU time until a time whose last entry is `at`. @param {CpuRuns} cpu @param {number} at @param {number} time */
	cpuSum(cpu, at, time) {
		let sum = 0;

		if (at < 0)
			return 0;
		sum = cpu.sum[at + 1];
		for (let i = at; i >= 0; i--) {
			sum -= this.spells.run_ns[cpu.row[i]] - this.ranUntil(cpu.row[i], time);
			if (cpu.begin[i] < time - this.longestRow)
				break; // what began before has ended
		}
		return sum;
	}

	/** The row that ran on a CPU at a time; -1: none that is known. @param {number} number of the CPU @param {number} time */
	runnerAt(number, time) {
		const cpu = this.cpus[number];

		if (!cpu)
			return -1;
		for (let i = lastAt(cpu.begin, time, 0, cpu.begin.length); i >= 0; i--) {
			if (this.end[cpu.row[i]] > time)
				return cpu.row[i];
			if (cpu.begin[i] < time - this.longestRow)
				break;
		}
		return -1;
	}

	/** Which thread had the CPU that a row waited for, at a time. @param {number} row @param {number} time @returns {number | null} */
	behind(row, time) {
		const cpu = this.spells.cpu[row];
		const runner = cpu ? this.runnerAt(cpu - 1, time) : -1;

		return runner < 0 || this.spells.thread[runner] === this.spells.thread[row] ?
			null : this.spells.thread[runner];
	}
}

/** @type {WeakMap<Model, Spans>} */
const spansByModel = new WeakMap();

/** Of a model whose spells are loaded. @param {Model} model @returns {Spans} */
export function spansOf(model) {
	let spans = spansByModel.get(model);

	if (!spans || spans.rows !== model.get("spells").rows) {
		spans = new Spans(model);
		spansByModel.set(model, spans);
	}
	return spans;
}

/** @returns {ThreadState} */
function unknownState() {
	return { state: "unknown", row: -1, from: 0, to: 0, cpu: null, reason: null, behind: null,
		waker: null, object: "", running: 0, runnable: 0, blocked: 0 };
}

/** Several spells in one row: their order is not known. @param {Spans} spans @param {ThreadState} ret */
function mixState(spans, ret) {
	const { row } = ret, whole = spans.end[row] - spans.stop[row];

	ret.state = "mixed";
	ret.from = spans.stop[row];
	ret.to = spans.end[row];
	ret.running = spans.spells.run_ns[row] / whole;
	ret.runnable = (spans.start[row] - spans.ready[row]) / whole;
	ret.blocked = (spans.ready[row] - spans.stop[row]) / whole;
	return ret;
}

/** @param {Spans} spans @param {ThreadState} ret @param {number} time */
function exactState(spans, ret, time) {
	const { row } = ret;

	if (time >= spans.start[row]) {
		ret.state = "running";
		ret.from = spans.start[row];
		ret.to = spans.end[row];
		ret.running = 1;
	} else if (time >= spans.ready[row]) {
		ret.state = "runnable";
		ret.from = spans.ready[row];
		ret.to = spans.start[row];
		ret.behind = spans.behind(row, time);
		ret.runnable = 1;
	} else {
		ret.state = "blocked";
		ret.from = spans.stop[row];
		ret.to = spans.ready[row];
		ret.blocked = 1;
	}
	return ret;
}

/**
 * What a thread did at a time, as the page knows it. Its spells must be loaded.
 * @param {Model} model @param {number} thread @param {number} time @returns {ThreadState}
 */
export function stateAt(model, thread, time) {
	const spans = spansOf(model), ret = unknownState();
	const row = thread < model.get("threads").rows ? spans.rowAt(thread, time) : -1;

	if (row < 0 || time >= spans.end[row])
		return ret;
	ret.row = row;
	ret.cpu = spans.spells.cpu[row] ? spans.spells.cpu[row] - 1 : null;
	ret.waker = spans.spells.waker[row] ? spans.spells.waker[row] - 1 : null;
	ret.object = model.string(spans.spells.object[row]);
	ret.reason = model.head.reasons[spans.spells.reason[row]]?.name ?? null;
	return spans.spells.count[row] > 1 ? mixState(spans, ret) : exactState(spans, ret, time);
}

/** The first row of a thread that ends behind a time. @param {Spans} spans @param {number} thread @param {number} time */
export function firstRow(spans, thread, time) {
	return lowerBound(spans.end, time, spans.first[thread], spans.first[thread + 1]);
}
