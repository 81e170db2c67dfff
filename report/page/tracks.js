// SPDX-License-Identifier: GPL-2.0-or-later
// What stands on tracks: events in rows in which none hides another, and counters with their least
// and greatest values, so that a pixel costs the same however many lie in it.
import { lowerBound } from "./model.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {{event: Uint32Array, from: Float64Array, to: Float64Array, reach: Float64Array}} EventRow in the order of time; reach: the latest end so far */
/** @typedef {{index: number, kind: string, name: string, thread: number | null, rows: EventRow[]}} Track */
/**
 * @typedef {Object} Counter
 * @property {number} index of head.series
 * @property {string} category @property {string} name @property {string} unit
 * @property {number} first point @property {number} end behind the last
 * @property {number} least @property {number} greatest
 */

const MOST_EVENT_ROWS = 8; // what lies deeper shares the last one
const TICKS = ["fault", "irq"]; // kinds that are short and many: one low row
const BLOCK = 64; // points for each pair of least and greatest

export class Tracks {
	/** @param {Model} model */
	constructor(model) {
		this.model = model;
		this.events = model.get("events");
		this.points = model.get("points");
		/** @type {Track[]} */
		this.tracks = [];
		/** @type {Counter[]} */
		this.counters = [];
		/** @type {Map<number, Track[]>} */
		this.byThread = new Map();
		this.blockLeast = new Float64Array(0);
		this.blockGreatest = new Float64Array(0);
		if (this.events.rows)
			this.fillTracks();
		if (this.points.rows)
			this.fillCounters();
	}

	/** Of no thread and no CPU. @param {number} cpus */
	shared(cpus) {
		return this.tracks.filter((track) => track.thread === null && cpuOf(track) >= cpus);
	}

	/** Interrupts of a CPU. @param {number} cpu */
	ofCpu(cpu) {
		return this.tracks.filter((track) => track.thread === null && cpuOf(track) === cpu);
	}

	/** @param {number} thread @returns {Track[]} */
	ofThread(thread) {
		return this.byThread.get(thread) || NO_TRACKS;
	}

	fillTracks() {
		const heads = Array.isArray(this.model.head.tracks) ? this.model.head.tracks : [];
		const threads = this.model.get("threads").rows;

		for (let low = 0, high; low < this.events.rows; low = high) {
			const index = this.events.track[low], head = heads[index];

			high = lowerBound(this.events.track, index + 1, low, this.events.rows);
			if (!head)
				continue;
			const thread = Number.isInteger(head.thread) && head.thread < threads ? head.thread : null;
			const track = { index, kind: String(head.kind), name: String(head.name ?? ""), thread,
				rows: this.rowsOf(low, high, isTicks(head.kind) ? 1 : MOST_EVENT_ROWS) };

			this.tracks.push(track);
			if (thread !== null)
				this.byThread.set(thread, [...this.ofThread(thread), track]);
		}
	}

	/** The lowest row that is free: marks nest that way, and requests do not hide each other.
	 * @param {number} low @param {number} high @param {number} most @returns {EventRow[]} */
	rowsOf(low, high, most) {
		const { events } = this;
		const ends = new Float64Array(most).fill(-Infinity);
		/** @type {number[][]} */
		const lists = [];

		for (let i = low; i < high; i++) {
			let row = 0;

			while (row < most - 1 && ends[row] > events.time[i])
				row++;
			while (lists.length <= row)
				lists.push([]);
			lists[row].push(i);
			ends[row] = Math.max(ends[row], events.time[i] + events.dur[i]);
		}
		return lists.map((list) => this.eventRow(list));
	}

	/** @param {number[]} list events @returns {EventRow} */
	eventRow(list) {
		const { time, dur } = this.events;
		const from = Float64Array.from(list, (i) => time[i]), to = Float64Array.from(list, (i) => time[i] + dur[i]);
		const reach = to.slice();

		for (let i = 1; i < reach.length; i++)
			reach[i] = Math.max(reach[i], reach[i - 1]);
		return { event: Uint32Array.from(list), from, to, reach };
	}

	fillCounters() {
		const { series } = this.points;
		const heads = Array.isArray(this.model.head.series) ? this.model.head.series : [];

		this.fillBlocks();
		for (let low = 0, high; low < this.points.rows; low = high) {
			const index = series[low], head = heads[index];

			high = lowerBound(series, index + 1, low, this.points.rows);
			if (!head)
				continue;
			this.counters.push({ index, name: String(head.name ?? ""), category: String(head.category || "others"),
				unit: head.kind === "rate" ? (head.unit || "") + "/s" : String(head.unit ?? ""),
				first: low, end: high, ...this.extremesOf(low, high) });
		}
	}

	fillBlocks() {
		const { value } = this.points, n = Math.ceil(this.points.rows / BLOCK);

		this.blockLeast = new Float64Array(n).fill(Infinity);
		this.blockGreatest = new Float64Array(n).fill(-Infinity);
		for (let i = 0; i < this.points.rows; i++) {
			const at = Math.floor(i / BLOCK);

			this.blockLeast[at] = Math.min(this.blockLeast[at], value[i]);
			this.blockGreatest[at] = Math.max(this.blockGreatest[at], value[i]);
		}
	}

	/** Of some points; Infinity and -Infinity of none. @param {number} low @param {number} high */
	extremesOf(low, high) {
		const { value } = this.points;
		let least = Infinity, greatest = -Infinity;

		while (low < high) {
			const isWhole = low % BLOCK === 0 && low + BLOCK <= high, block = low / BLOCK;

			least = Math.min(least, isWhole ? this.blockLeast[block] : value[low]);
			greatest = Math.max(greatest, isWhole ? this.blockGreatest[block] : value[low]);
			low += isWhole ? BLOCK : 1;
		}
		return { least, greatest };
	}
}

/** The CPU that a track of interrupts is of; Infinity: none. @param {Track} track */
function cpuOf(track) {
	const match = track.kind === "irq" ? /^CPU (\d+)$/.exec(track.name) : null;

	return match ? Number(match[1]) : Infinity;
}

/** Is it a track of things that are short and many? @param {string} kind */
export function isTicks(kind) {
	return TICKS.includes(kind);
}

/** @type {Track[]} */
const NO_TRACKS = [];

/** Samples of each thread, in the order of time. */
export class ThreadSamples {
	/** @param {Model} model */
	constructor(model) {
		const { thread, time, rows } = model.get("samples");
		const n = model.get("threads").rows;

		this.first = new Uint32Array(n + 2); // [1 + thread]: 0 stands for none
		this.sample = new Uint32Array(rows);
		this.time = new Float64Array(rows);
		for (let i = 0; i < rows; i++)
			this.first[Math.min(thread[i], n) + 1]++;
		for (let i = 0; i <= n; i++)
			this.first[i + 1] += this.first[i];
		const next = this.first.slice();

		for (let i = 0; i < rows; i++) {
			const at = next[Math.min(thread[i], n)]++;

			this.sample[at] = i;
			this.time[at] = time[i];
		}
	}
}

/** Nodes below a function, the function's own too. @param {Model} model @param {number} func @returns {Uint8Array} */
export function nodesWith(model, func) {
	const nodes = model.get("nodes");
	const marks = new Uint8Array(nodes.rows);

	for (let i = 1; i < nodes.rows; i++)
		marks[i] = nodes.func[i] === func || marks[nodes.parent[i]] ? 1 : 0;
	return marks;
}
