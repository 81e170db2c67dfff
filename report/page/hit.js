// SPDX-License-Identifier: GPL-2.0-or-later
// What lies below the pointer, and what is said about it.
import { stateAt, lastAt } from "./spans.js";
import { lowerBound } from "./model.js";
import { SPAN_HEIGHT, LANE_GAP, rowHeight, trackHeight } from "./lanes.js";
import { pathAt } from "./paint_over.js";
import { counterText } from "./paint_events.js";
import { plainText } from "./paint.js";
import { bytes, duration, timeText, count, percent } from "./text.js";

/** @typedef {import("./paint.js").Painter} Painter */
/** @typedef {import("./lanes.js").Lane} Lane */
/** @typedef {import("./tracks.js").EventRow} EventRow */
/**
 * What is at a point. index: of the row of its section.
 * @typedef {Object} Hit
 * @property {"spell" | "event" | "sample" | "loss" | "group" | "counter" | "lane"} kind
 * @property {number} index @property {number} lane @property {number} thread -1: none
 * @property {number} time
 */

const NEAR = 3; // px
const HIT_FAILED = 1, HIT_OPEN = 2; // events.flags

/** @param {Painter} p @param {number} x @param {number} y of the canvas @returns {Hit | null} */
export function hitAt(p, x, y) {
	const { view, lanes } = p;
	const index = y < view.top ? -1 : lanes.at(y - view.top + view.scroll);
	const lane = lanes.list[index];

	if (!lane)
		return null;
	const hit = { kind: /** @type {Hit["kind"]} */ ("lane"), index: -1, lane: index,
		thread: lane.kind === "thread" ? lane.index : -1, time: view.time(x) };

	if (lane.kind === "group")
		return { ...hit, kind: "group" };
	if (x < view.left)
		return hit;
	return hitLoss(p, hit) || hitInLane(p, lane, hit, y - view.top + view.scroll - lane.y - LANE_GAP);
}

/** @param {Painter} p @param {Hit} hit @returns {Hit | null} */
function hitLoss(p, hit) {
	const losses = p.model.get("losses"), near = NEAR / p.view.scale;

	for (let i = 0; i < losses.rows; i++)
		if (hit.time >= losses.from[i] - near && hit.time <= losses.to[i] + near)
			return { ...hit, kind: "loss", index: i };
	return null;
}

/** @param {Painter} p @param {Lane} lane @param {Hit} hit @param {number} y in the lane @returns {Hit} */
function hitInLane(p, lane, hit, y) {
	if (lane.kind === "counter" && lane.counter)
		return { ...hit, kind: "counter", index: lane.counter.index };
	if (lane.kind === "track")
		return hitEvent(p, lane, hit, y);
	if (y > SPAN_HEIGHT + LANE_GAP / 2 && lane.tracks.length)
		return hitEvent(p, lane, hit, y - SPAN_HEIGHT - LANE_GAP);
	return lane.kind === "cpu" ? hitCpu(p, lane, hit) : hitSample(p, hit, y) || hitSpell(p, hit);
}

/** What ran, or the longest run nearby: most are narrower than a pixel. @param {Painter} p @param {Lane} lane
 * @param {Hit} hit @returns {Hit} */
function hitCpu(p, lane, hit) {
	const { spans, view } = p, cpu = spans.cpus[lane.index], near = NEAR / 2 / view.scale;
	let row = spans.runnerAt(lane.index, hit.time);

	if (row < 0) {
		const low = lowerBound(cpu.begin, hit.time - near, 0, cpu.begin.length);
		const high = lowerBound(cpu.begin, hit.time + near, low, cpu.begin.length);

		if (low === high)
			return hit;
		row = spans.longestOf(cpu, low, high);
	}
	return { ...hit, kind: "spell", index: row, thread: spans.spells.thread[row],
		time: Math.max(spans.beginOf(row), Math.min(hit.time, spans.end[row] - 1)) };
}

/** @param {Painter} p @param {Hit} hit @returns {Hit} */
function hitSpell(p, hit) {
	const state = stateAt(p.model, hit.thread, hit.time);

	return state.row < 0 ? hit : { ...hit, kind: "spell", index: state.row };
}

/** @param {Painter} p @param {Hit} hit @param {number} y @returns {Hit | null} */
function hitSample(p, hit, y) {
	const { samples, marked, view } = p, near = NEAR / view.scale;

	if (!samples || !marked || y > SPAN_HEIGHT / 2)
		return null;
	const { node } = p.model.get("samples"), high = samples.first[hit.thread + 2];

	for (let i = lowerBound(samples.time, hit.time - near, samples.first[hit.thread + 1], high);
		i < high && samples.time[i] <= hit.time + near; i++)
		if (marked[node[samples.sample[i]]])
			return { ...hit, kind: "sample", index: samples.sample[i], time: samples.time[i] };
	return null;
}

/** @param {Painter} p @param {Lane} lane @param {Hit} hit @param {number} y @returns {Hit} */
function hitEvent(p, lane, hit, y) {
	let top = 0;

	for (const track of lane.tracks) {
		const row = track.rows[Math.max(0, Math.floor((y - top) / rowHeight(track)))];

		if (row)
			return hitRow(p, row, hit);
		top += trackHeight(track);
	}
	return hit;
}

/** The event at a time, or one that is near. @param {Painter} p @param {EventRow} row @param {Hit} hit @returns {Hit} */
function hitRow(p, row, hit) {
	const near = NEAR / p.view.scale, n = row.from.length;
	let best = hit;

	// The last that is there: of those that share a row it began last.
	for (let i = lowerBound(row.reach, hit.time - near, 0, n); i < n && row.from[i] <= hit.time + near; i++)
		if (row.to[i] >= hit.time - near)
			best = { ...hit, kind: "event", index: row.event[i] };
	return best;
}

// --- what is said ---

/** Lines of a label and a text. @param {Painter} p @param {Hit} hit @returns {[string, string][]} */
export function describe(p, hit) {
	if (hit.kind === "lane" && hit.thread >= 0 && hit.time < p.view.from)
		return describeThread(p, hit.thread);
	if (hit.kind === "spell")
		return describeSpell(p, hit);
	if (hit.kind === "event")
		return describeEvent(p, hit);
	if (hit.kind === "loss")
		return describeLoss(p, hit);
	if (hit.kind === "sample")
		return describeSample(p, hit);
	if (hit.kind === "counter")
		return describeCounter(p, hit);
	return [];
}

/** Below its label. @param {Painter} p @param {number} thread @returns {[string, string][]} */
function describeThread(p, thread) {
	const { model } = p, threads = model.get("threads"), processes = model.get("processes");
	const process = threads.process[thread] - 1;
	/** @type {[string, string][]} */
	const lines = [["", model.threadLabel(thread)]];

	if (process >= 0) {
		lines.push(["Process", model.processLabel(process)]);
		if (processes.command[process])
			lines.push(["Command", model.string(processes.command[process])]);
	}
	return [...lines, ["CPU time", duration(threads.cpu_ns[thread])]];
}

/** @param {number} from @param {number} to @returns {[string, string][]} */
function span(from, to) {
	return [["From", timeText(from) + " s"], ["Duration", duration(to - from)]];
}

/** @param {Painter} p @param {Hit} hit @returns {[string, string][]} */
function describeSpell(p, hit) {
	const state = stateAt(p.model, hit.thread, hit.time), { spells } = p.spans;
	/** @type {[string, string][]} */
	const lines = [["", p.model.threadLabel(hit.thread)]];

	if (state.row < 0)
		return [...lines, ["State", "not known"]];
	if (state.state === "mixed") {
		lines.push(["State", count(spells.count[state.row]) + " spells in one row: running " +
			percent(state.running, 1) + ", runnable " + percent(state.runnable, 1) + ", blocked " +
			percent(state.blocked, 1)], ...span(state.from, state.to));
		return lines;
	}
	lines.push(["State", stateText(p, state)], ...span(state.from, state.to));
	if (state.state === "blocked" && state.object)
		lines.push(["Waited for", state.object]);
	if (state.state === "blocked" && state.waker !== null)
		lines.push(["Woken by", p.model.threadLabel(state.waker)]);
	else if (state.state === "blocked" && spells.wake[state.row] > 1)
		lines.push(["Woken by", "an interrupt"]);
	if (state.state === "running" && state.cpu !== null)
		lines.push(["CPU", String(state.cpu)]);
	return [...lines, ...callAt(p, hit), ...pathLine(p, hit)];
}

/** @param {Painter} p @param {import("./spans.js").ThreadState} state */
function stateText(p, state) {
	const reason = p.model.head.reasons.find((/** @type {{name: string}} */ one) => one.name === state.reason);

	if (state.state === "blocked")
		return "blocked" + (reason && reason.name !== "unknown" ? ", waits for " + reason.text : "");
	if (state.state === "runnable")
		return "waits for CPU" + (state.cpu === null ? "" : " " + state.cpu) +
			(state.behind === null ? "" : ", which " + p.model.threadLabel(state.behind) + " has");
	return state.state;
}

/** The system call at that time. @param {Painter} p @param {Hit} hit @returns {[string, string][]} */
function callAt(p, hit) {
	for (const track of p.tracks.ofThread(hit.thread)) {
		const row = track.rows[0], at = lastAt(row.from, hit.time, 0, row.from.length);

		if (track.kind === "syscall" && at >= 0 && row.to[at] >= hit.time)
			return [["System call", p.eventText(row.event[at], Infinity)]];
	}
	return [];
}

/** @param {Painter} p @param {Hit} hit @returns {[string, string][]} */
function pathLine(p, hit) {
	const i = pathAt(p, hit.time);

	return i >= 0 && p.model.get("path").thread[i] - 1 === hit.thread ?
		[["Critical path", "leads through it here"]] : [];
}

/** @param {Painter} p @param {Hit} hit @returns {[string, string][]} */
function describeEvent(p, hit) {
	const { events } = p.tracks, i = hit.index, track = p.model.head.tracks[events.track[i]];
	/** @type {[string, string][]} */
	const lines = [["", p.eventText(i, Infinity)], ["Kind", String(track.kind)]];

	lines.push(...(events.dur[i] ? span(events.time[i], events.time[i] + events.dur[i]) :
		/** @type {[string, string][]} */ ([["At", timeText(events.time[i]) + " s"]])));
	if (hit.thread >= 0)
		lines.push(["Thread", p.model.threadLabel(hit.thread)]);
	if (events.other[i])
		lines.push(["With", p.model.threadLabel(events.other[i] - 1)]);
	lines.push(...valueOf(p, String(track.kind), i));
	if (events.count[i] > 1)
		lines.push(["Count", count(events.count[i]) + " put together"]);
	if (events.flags[i] & HIT_FAILED)
		lines.push(["Result", "failed"]);
	if (events.flags[i] & HIT_OPEN)
		lines.push(["End", "not known"]);
	return lines;
}

/** The number that events of a kind have; texts of system calls have theirs. @param {Painter} p @param {string} kind
 * @param {number} event @returns {[string, string][]} */
function valueOf(p, kind, event) {
	const kinds = Array.isArray(p.model.head.event_kinds) ? p.model.head.event_kinds : [];
	const name = kinds.find((/** @type {any} */ one) => one.kind === kind)?.value;

	if (name !== "bytes" && name !== "severity")
		return [];
	const value = p.tracks.events.value[event];

	return [[name === "bytes" ? "Bytes" : "Severity", name === "bytes" ? bytes(value) : String(value)]];
}

/** @param {Painter} p @param {Hit} hit @returns {[string, string][]} */
function describeLoss(p, hit) {
	const losses = p.model.get("losses"), i = hit.index;

	return [["", "Rows were lost"], ["Table", p.model.string(losses.table[i])],
		...span(losses.from[i], losses.to[i])];
}

/** @param {Painter} p @param {Hit} hit @returns {[string, string][]} */
function describeSample(p, hit) {
	const { node } = p.model.get("samples");

	return [["", p.model.threadLabel(hit.thread)], ["Sample at", timeText(hit.time) + " s"],
		["Function", p.model.nodeName(node[hit.index])]];
}

/** @param {Painter} p @param {Hit} hit @returns {[string, string][]} */
function describeCounter(p, hit) {
	const counter = p.tracks.counters.find((one) => one.index === hit.index);
	const { time, value } = p.tracks.points;

	if (!counter)
		return [];
	const at = lastAt(time, hit.time, counter.first, counter.end);

	return [["", counter.name], ["At", timeText(hit.time) + " s"],
		["Value", at < counter.first ? "not known" : counterText(value[at], counter.unit)]];
}

/** One sentence. @param {Painter} p @param {Hit} hit */
export function sentence(p, hit) {
	return describe(p, hit).map(([label, text]) => (label ? label + ": " : "") + plainText(text)).join(". ");
}
