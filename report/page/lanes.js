// SPDX-License-Identifier: GPL-2.0-or-later
// Which lanes the time axis has, from top to bottom: CPUs, pinned threads, the processes that matter
// most, counters, shared tracks, and the other processes. Threads that do nothing are folded into a
// line.

import { isTicks } from "./tracks.js";
import { GroupRuns } from "./group_runs.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./spans.js").Spans} Spans */
/** @typedef {import("./tracks.js").Tracks} Tracks */
/** @typedef {import("./tracks.js").Track} Track */
/** @typedef {import("./tracks.js").Counter} Counter */
/** @typedef {import("./state.js").State} State */
/**
 * @typedef {Object} Lane
 * @property {"group" | "cpu" | "thread" | "track" | "counter"} kind
 * @property {string} key of a group: what opens and closes it
 * @property {string} label @property {string} note beside the label
 * @property {number} depth of indentation
 * @property {number} y @property {number} height
 * @property {number} index of the CPU or thread; -1: none
 * @property {Track[]} tracks below the state of the thread, or the lane's own
 * @property {Counter | null} counter
 * @property {boolean} open
 * @property {GroupRuns | null} runs of the threads of a group that is closed
 */
/** @typedef {{opened: Map<string, boolean>, hidden: Set<string>}} Folding groups opened or closed by hand; kinds of tracks not wanted */
/** @typedef {{active: number[], idle: number[], process: number, weight: number}} Group */

export const GROUP_HEIGHT = 24;
export const SPAN_HEIGHT = 16;
export const LANE_GAP = 2; // above and below each lane
const EVENT_HEIGHT = 16;
const LOW_HEIGHT = 8; // of many rows
const TICK_HEIGHT = 6; // of short events
const FEW_ROWS = 3;
export const COUNTER_HEIGHT = 40;

const FOREMOST = 8; // processes above counters and devices: those of the critical path
const OPEN_COUNTERS = 4; // more are a closed group
const ON_PATH = 2; // threads.flags
const KERNEL_PROCESS = 1; // processes.flags
const MAJOR_SHARE = 5e-3; // of the weight of all groups
const IDLE_SHARE = 1e-3; // of the CPU time of all threads

/** Height of each of its rows. @param {Track} track */
export function rowHeight(track) {
	if (isTicks(track.kind))
		return TICK_HEIGHT;
	return track.rows.length > FEW_ROWS && track.kind !== "mark" ? LOW_HEIGHT : EVENT_HEIGHT;
}

/** @param {Track} track */
export function trackHeight(track) {
	return track.rows.length * rowHeight(track);
}

/** ns of the critical path by thread. @param {Model} model @returns {Float64Array} */
function pathByThread(model) {
	const path = model.get("path");
	const sums = new Float64Array(model.get("threads").rows);

	for (let i = 0; i < path.rows; i++)
		if (path.thread[i] && path.thread[i] <= sums.length)
			sums[path.thread[i] - 1] += path.dur[i];
	return sums;
}

export class Lanes {
	/** @param {Model} model @param {Spans} spans @param {Tracks} tracks */
	constructor(model, spans, tracks) {
		this.model = model;
		this.spans = spans;
		this.tracks = tracks;
		this.threads = model.get("threads");
		this.processes = model.get("processes");
		this.onPath = pathByThread(model);
		/** @type {Lane[]} */
		this.list = [];
		this.height = 0;
		this.laneOf = new Int32Array(this.threads.rows); // where a thread is, or is folded into; -1
		/** @type {Map<string, GroupRuns>} */
		this.runs = new Map(); // by key, of the threads that were closed last
		/** @type {Folding} */
		this.folding = { opened: new Map(), hidden: new Set() };
		/** @type {State | null} */
		this.state = null;
		this.words = "";
	}

	/** @param {State} state @param {Folding} folding */
	build(state, folding) {
		this.state = state;
		this.folding = folding;
		this.words = this.wordsOf(state.text);
		this.list = [];
		this.height = 0;
		this.laneOf.fill(-1);
		this.addCpus();
		this.addPins();
		this.addProcesses();
	}

	/** @param {Partial<Lane> & {kind: Lane["kind"], label: string}} lane @param {number} height */
	add(lane, height) {
		const whole = { key: "", note: "", depth: 0, index: -1, tracks: [], counter: null, open: true, runs: null,
			...lane, y: this.height, height };

		this.list.push(whole);
		this.height += height;
		return whole;
	}

	/** A line that opens and closes what follows. @param {string} key @param {string} label
	 * @param {string} note @param {number} depth @param {boolean} open by default */
	addGroup(key, label, note, depth, open) {
		const wanted = this.folding.opened.get(key) ?? open;

		this.add({ kind: "group", key, label, note, depth, open: wanted }, GROUP_HEIGHT);
		return wanted;
	}

	addCpus() {
		const { cpus } = this.spans;

		if (!cpus.length || !this.addGroup("cpus", "CPUs", String(cpus.length), 0, true))
			return;
		cpus.forEach((_, index) => {
			const tracks = this.wanted(this.tracks.ofCpu(index));

			this.add({ kind: "cpu", label: "CPU " + index, index, depth: 1, tracks },
				SPAN_HEIGHT + 2 * LANE_GAP + this.rowsHeight(tracks));
		});
	}

	addCounters() {
		const { counters } = this.tracks, few = counters.length <= OPEN_COUNTERS;

		if (!counters.length || !this.addGroup("counters", "Counters", String(counters.length), 0, few))
			return;
		for (const category of new Set(counters.map((counter) => counter.category)))
			this.addCategory(category, counters.filter((counter) => counter.category === category), few);
	}

	/** @param {string} category @param {Counter[]} counters @param {boolean} open */
	addCategory(category, counters, open) {
		if (!this.addGroup("counters:" + category, category, String(counters.length), 1, open))
			return;
		for (const counter of counters)
			this.add({ kind: "counter", label: counter.name, note: counter.unit, counter, depth: 2 },
				COUNTER_HEIGHT + 2 * LANE_GAP);
	}

	/** @param {Track[]} tracks */
	wanted(tracks) {
		return tracks.filter((track) => !this.folding.hidden.has(track.kind));
	}

	/** @param {Track[]} tracks */
	rowsHeight(tracks) {
		return tracks.reduce((sum, track) => sum + trackHeight(track), 0);
	}

	addShared() {
		const tracks = this.wanted(this.tracks.shared(this.spans.cpus.length));

		if (!tracks.length || !this.addGroup("events", "Events", String(tracks.length), 0, true))
			return;
		for (const track of tracks)
			this.add({ kind: "track", label: track.name || track.kind,
				note: track.name.includes(track.kind) ? "" : track.kind,
				tracks: [track], depth: 1 },
			Math.max(SPAN_HEIGHT, trackHeight(track)) + 2 * LANE_GAP);
	}

	addPins() {
		const pins = (this.state?.pins || []).filter((thread) => thread >= 0 && thread < this.threads.rows);

		if (!pins.length || !this.addGroup("pins", "Pinned", String(pins.length), 0, true))
			return;
		for (const thread of pins)
			this.addThread(thread, 1, this.processNote(thread));
	}

	/** @param {number} thread */
	processNote(thread) {
		const process = this.threads.process[thread] - 1;

		return process >= 0 && this.processes.pid[process] !== this.threads.tid[thread] ?
			"of " + this.model.processLabel(process) : "";
	}

	/** @param {number} thread @param {number} depth @param {string} note */
	addThread(thread, depth, note) {
		const tracks = this.wanted(this.tracks.ofThread(thread));

		if (this.laneOf[thread] < 0)
			this.laneOf[thread] = this.list.length;
		this.add({ kind: "thread", label: this.model.threadName(thread),
			note: this.threads.tid[thread] + (note ? " " + note : ""), index: thread, depth, tracks },
		SPAN_HEIGHT + 2 * LANE_GAP + this.rowsHeight(tracks));
	}

	// --- processes ---

	/** @param {number} thread */
	isIdle(thread) {
		return this.spans.rows > 0 && this.threads.cpu_ns[thread] <= this.spans.total * IDLE_SHARE &&
			!(this.threads.flags[thread] & ON_PATH) && thread !== this.state?.thread && !this.words;
	}

	/** @param {number} thread */
	isWanted(thread) {
		const { state, spans } = this;

		if (state && state.process !== null && state.process !== this.threads.process[thread] - 1)
			return false;
		if (spans.rows && spans.first[thread] === spans.first[thread + 1] &&
			!this.tracks.ofThread(thread).length && thread !== state?.thread)
			return false; // of it only the name is known
		return !this.words || this.matches(thread);
	}

	/** By its name or number, or those of its process. @param {number} thread */
	matches(thread) {
		const process = this.threads.process[thread] - 1;

		return this.model.threadLabel(thread).toLowerCase().includes(this.words) ||
			(process >= 0 && this.model.processLabel(process).toLowerCase().includes(this.words));
	}

	/** Text that is in no thread is looked for in other views, and hides nothing here. @param {string} text */
	wordsOf(text) {
		this.words = text.trim().toLowerCase();
		for (let thread = 0; thread < this.threads.rows; thread++)
			if (this.matches(thread))
				return this.words;
		return "";
	}

	/** @returns {Group[]} what matters most in the order of time, then the rest by its weight */
	groups() {
		/** @type {Map<number, Group>} */
		const groups = new Map();

		for (let thread = 0; thread < this.threads.rows; thread++) {
			const process = this.threads.process[thread] - 1;
			const kernel = process >= 0 && this.processes.flags[process] & KERNEL_PROCESS;
			const key = kernel ? -1 : process >= 0 ? process : -2 - thread;

			if (!this.isWanted(thread))
				continue;
			if (!groups.has(key))
				groups.set(key, { active: [], idle: [], process: key, weight: 0 });
			const group = /** @type {Group} */ (groups.get(key));

			group[this.isIdle(thread) ? "idle" : "active"].push(thread);
			group.weight += this.weight(thread);
		}
		const list = [...groups.values()];
		const least = list.reduce((sum, group) => sum + group.weight, 0) * MAJOR_SHARE;

		return list.sort((a, b) => a.weight >= least && b.weight >= least ?
			this.begin(a) - this.begin(b) : b.weight - a.weight);
	}

	/** When the first of its threads did something. @param {Group} group */
	begin(group) {
		let begin = Infinity;

		for (const thread of group.active)
			if (this.spans.first[thread] < this.spans.first[thread + 1])
				begin = Math.min(begin, this.spans.stop[this.spans.first[thread]]);
		return begin;
	}

	/** What is on the path counts most. @param {number} thread */
	weight(thread) {
		return this.onPath[thread] * 1000 + this.threads.cpu_ns[thread];
	}

	/** @param {number[]} threads */
	sorted(threads) {
		return threads.sort((a, b) => this.weight(b) - this.weight(a));
	}

	addProcesses() {
		const groups = this.groups(), active = groups.filter((group) => group.active.length);
		const foremost = [...active].sort((a, b) => b.weight - a.weight).slice(0, FOREMOST);

		active.filter((group) => foremost.includes(group)).forEach((group) => this.addProcess(group));
		this.addCounters();
		this.addShared();
		active.filter((group) => !foremost.includes(group)).forEach((group) => this.addProcess(group));
		this.addIdle(groups.filter((group) => !group.active.length));
	}

	/** @param {Group} group */
	label(group) {
		return group.process === -1 ? "Kernel threads" :
			group.process >= 0 ? this.model.string(this.processes.name[group.process]) || "?" :
				"Thread";
	}

	/** @param {Group} group */
	addProcess(group) {
		const all = group.active.length + group.idle.length;
		const pid = group.process >= 0 ? this.processes.pid[group.process] + ", " : "";
		const key = "process:" + group.process;

		if (all === 1 && group.process !== -1) {
			this.addThread(group.active[0], 0, "");
			return;
		}
		const at = this.list.length;

		if (this.addGroup(key, this.label(group), pid + all + " threads", 0, true)) {
			for (const thread of this.sorted(group.active))
				this.addThread(thread, 1, "");
			this.addFolded("idle:" + group.process, group.idle, 1);
		} else {
			this.close([...group.active, ...group.idle], at);
		}
	}

	/** @param {string} key @param {number[]} threads @param {number} depth */
	addFolded(key, threads, depth) {
		const at = this.list.length;

		if (!threads.length)
			return;
		if (this.addGroup(key, threads.length === 1 ? "1 idle thread" : threads.length + " idle threads",
			"", depth, false))
			this.sorted(threads).forEach((thread) => this.addThread(thread, depth + 1, ""));
		else
			this.close(threads, at);
	}

	/** @param {Group[]} groups */
	addIdle(groups) {
		const threads = groups.flatMap((group) => group.idle);

		this.addFolded("idle", threads, 0);
	}

	/** Threads that have no lane of their own. @param {number[]} threads @param {number} at lane of their group */
	close(threads, at) {
		const lane = this.list[at];
		let runs = this.runs.get(lane.key);

		for (const thread of threads)
			if (this.laneOf[thread] < 0)
				this.laneOf[thread] = at;
		if (runs?.threads.join() !== threads.join())
			this.runs.set(lane.key, runs = new GroupRuns(this.spans, threads));
		lane.runs = runs;
	}

	/** Index of the lane at a height; -1: none. @param {number} y */
	at(y) {
		let low = 0, high = this.list.length;

		while (low < high) {
			const middle = (low + high) >> 1;

			if (this.list[middle].y + this.list[middle].height <= y)
				low = middle + 1;
			else
				high = middle;
		}
		return low < this.list.length && y >= 0 ? low : -1;
	}
}
