// SPDX-License-Identifier: GPL-2.0-or-later
// Draws what threads did and what CPUs ran: columns of one pixel, whose heights are exact shares of
// its time, however many intervals lie in it.
//
// A state is told by its form first: running is as high as the lane, runnable half as high and
// hatched, blocked a line whose thickness tells waits that hold up from mere idleness.
import { lowerBound } from "./model.js";
import { lastAt, lastFrom } from "./spans.js";
import { SPAN_HEIGHT } from "./lanes.js";

/** @typedef {import("./paint.js").Painter} Painter */
/** @typedef {import("./spans.js").CpuRuns} CpuRuns */

const HALF = SPAN_HEIGHT / 2;
const LEAST = 2; // px of a share that is not 0
const TEXT_ROOM = 56; // px that a text needs

/** @param {Painter} p @param {number} thread @param {number} y */
export function paintThread(p, thread, y) {
	const { spans, view } = p;
	const high = spans.first[thread + 1];
	const begin = lowerBound(spans.end, view.from, spans.first[thread], high);
	const end = lastAt(spans.stop, view.to, begin, high) + 1;

	if (begin >= end)
		return;
	const left = Math.max(0, Math.floor(view.x(spans.stop[begin]) - view.left));
	const right = Math.min(view.width, Math.ceil(view.x(spans.end[end - 1]) - view.left));

	fillColumns(p, begin, end, left, right);
	paintColumns(p, y, left, right);
	if (end - begin < view.width / 4)
		paintReasons(p, begin, end, y);
}

/** Why it was blocked, where there is room. @param {Painter} p @param {number} begin @param {number} end rows
 * @param {number} y */
function paintReasons(p, begin, end, y) {
	const { spans, view } = p;

	for (let i = begin; i < end; i++) {
		const x = Math.max(view.left, view.x(spans.stop[i]));
		const room = Math.min(view.right, view.x(spans.ready[i])) - x - 8;

		if (room > TEXT_ROOM && spans.spells.count[i] === 1)
			p.note(p.reasonText(i, room), x + 4, y + SPAN_HEIGHT - 11, room);
	}
}

/** A share as whole pixels; what is there at all is seen. @param {number} share @param {number} height */
function pixels(share, height) {
	return share > 0 ? Math.max(LEAST, Math.round(share * height)) : 0;
}

/** @param {Painter} p @param {number} begin @param {number} end rows @param {number} left @param {number} right px */
function fillColumns(p, begin, end, left, right) {
	const { spans, view, columns } = p;
	const { reason } = spans.spells;
	const step = 1 / view.scale;
	let row = begin;

	spans.sumsAt(row, view.from + left * step);
	let run = spans.run, queue = spans.queue, off = spans.off;

	for (let i = left; i < right; i++) {
		const time = view.from + (i + 1) * step;

		row = lastFrom(spans.stop, time, row, end);
		spans.sumsAt(row, time);
		columns.run[i] = pixels((spans.run - run) / step, SPAN_HEIGHT);
		columns.queue[i] = pixels((spans.queue - queue) / step, HALF);
		columns.off[i] = spans.off > off && !columns.run[i] && !columns.queue[i] ?
			reason[row] + 1 : 0;
		run = spans.run;
		queue = spans.queue;
		off = spans.off;
	}
}

/** Neighbours of one height are one rectangle. @param {Painter} p @param {number} y @param {number} left
 * @param {number} right px */
function paintColumns(p, y, left, right) {
	const { view, context, colours, columns } = p;
	const { run, queue, off } = columns, bottom = y + SPAN_HEIGHT;

	for (let i = left, next; i < right; i = next) {
		for (next = i + 1; next < right && off[next] === off[i];)
			next++;
		if (!off[i])
			continue;
		const height = colours.heights[off[i] - 1];

		context.fillStyle = colours.reasons[off[i] - 1];
		context.fillRect(view.left + i, bottom - height, next - i, height);
	}
	context.fillStyle = colours.hatch;
	for (let i = left, next; i < right; i = next) {
		for (next = i + 1; next < right && queue[next] === queue[i] && run[next] === run[i];)
			next++;
		if (queue[i])
			context.fillRect(view.left + i, bottom - run[i] - queue[i], next - i, queue[i]);
	}
	context.fillStyle = colours.named.running;
	for (let i = left, next; i < right; i = next) {
		for (next = i + 1; next < right && run[next] === run[i];)
			next++;
		if (run[i])
			context.fillRect(view.left + i, bottom - run[i], next - i, run[i]);
	}
}

// --- CPUs ---

/** @param {Painter} p @param {number} number of the CPU @param {number} y */
export function paintCpu(p, number, y) {
	fillCpuColumns(p, p.spans.cpus[number]);
	paintCpuColumns(p, y);
}

/** @param {Painter} p @param {number} thread @param {number} x @param {number} width @param {number} y
 * @param {number} height */
function paintCpuRun(p, thread, x, width, y, height) {
	p.context.globalAlpha = p.dims(thread) ? 0.3 : 1;
	p.context.fillStyle = p.threadColours[thread];
	p.context.fillRect(x, y + SPAN_HEIGHT - height, width > 3 ? width - 0.5 : width, height);
	p.context.globalAlpha = 1;
	if (width > TEXT_ROOM && height > HALF)
		p.inside(p.model.threadName(thread), x + 4, y + SPAN_HEIGHT - height / 2, width - 8,
			p.threadColours[thread]);
}

/** @param {Painter} p @param {CpuRuns} cpu */
function fillCpuColumns(p, cpu) {
	const { spans, view, columns } = p, n = cpu.begin.length, step = 1 / view.scale;
	let at = lastAt(cpu.begin, view.from, 0, n), sum = spans.cpuSum(cpu, at, view.from);

	for (let i = 0; i < view.width; i++) {
		const time = view.from + (i + 1) * step;
		const before = at;

		at = at < 0 ? lastAt(cpu.begin, time, 0, n) : lastFrom(cpu.begin, time, at, n);
		const until = spans.cpuSum(cpu, at, time);

		columns.run[i] = Math.min(SPAN_HEIGHT, pixels((until - sum) / step, SPAN_HEIGHT));
		columns.thread[i] = columns.run[i] ?
			spans.spells.thread[spans.longestOf(cpu, Math.max(0, before), at + 1)] : 0;
		sum = until;
	}
}

/** @param {Painter} p @param {number} y */
function paintCpuColumns(p, y) {
	const { view, columns } = p;

	for (let i = 0, next; i < view.width; i = next) {
		for (next = i + 1; next < view.width && columns.run[next] === columns.run[i] &&
			columns.thread[next] === columns.thread[i];)
			next++;
		if (columns.run[i])
			paintCpuRun(p, columns.thread[i], view.left + i, next - i, y, columns.run[i]);
	}
}

// --- groups ---

/** How many of its threads ran, as a share of all CPUs. @param {Painter} p
 * @param {import("./group_runs.js").GroupRuns} runs @param {number} y */
export function paintGroup(p, runs, y) {
	const { spans, view, columns } = p, step = 1 / view.scale;
	const whole = step * Math.max(1, spans.cpus.length), least = Math.max(whole * 1e-6, runs.noise);
	let sum = runs.seek(view.from);

	for (let i = 0; i < view.width; i++) {
		const until = runs.until(view.from + (i + 1) * step);

		columns.run[i] = until - sum > least ? pixels(Math.min(1, (until - sum) / whole), SPAN_HEIGHT) : 0;
		columns.queue[i] = columns.off[i] = 0;
		sum = until;
	}
	paintColumns(p, y, 0, view.width);
}
