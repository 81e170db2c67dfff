// SPDX-License-Identifier: GPL-2.0-or-later
// Draws what lies over lanes: the critical path, who woke whom, lost rows, chosen ranges and the
// moment that was clicked on.
import { lowerBound } from "./model.js";
import { MOMENTS } from "./state.js";
import { lastAt } from "./spans.js";
import { stepsOfLine } from "./path.js";
import { SPAN_HEIGHT, LANE_GAP } from "./lanes.js";

/** @typedef {import("./paint.js").Painter} Painter */
/** @typedef {import("./state.js").Range} Range */

const STEP = 4; // px that a segment needs for a line to the next lane

/** Height of a thread's path in the canvas; NaN: it has no lane. @param {Painter} p @param {number} thread */
function pathY(p, thread) {
	const lane = p.lanes.laneOf[thread];

	return lane < 0 || lane === undefined ? NaN :
		p.lanes.list[lane].y + LANE_GAP + SPAN_HEIGHT + 1 + p.view.top - p.view.scroll;
}

/** From lane to lane; what is shorter than a pixel stands for the others in it. @param {Painter} p @param {number} alpha */
export function paintPath(p, alpha) {
	const { view, context } = p, path = p.model.get("path");
	let i = path.rows ? Math.max(0, lowerBound(path.time, view.from, 0, path.rows) - 1) : 0;
	let beforeY = NaN, beforeX = 0;

	context.fillStyle = p.colours.named.path;
	context.globalAlpha = alpha;
	while (i < path.rows && path.time[i] < view.to) {
		const x0 = view.x(path.time[i]), x1 = view.x(path.time[i] + path.dur[i]);
		const y = pathY(p, path.thread[i] - 1), from = Math.max(x0, view.left);

		if (x1 >= view.left && y === y) {
			if (y !== beforeY && x0 - beforeX < 2 && x1 - x0 >= STEP && beforeY === beforeY)
				context.fillRect(from - 1, Math.min(y, beforeY) - 1, 2, Math.abs(y - beforeY) + 2);
			context.fillRect(from, y - 1, Math.max(1, Math.min(x1, view.right) - from), 2);
		}
		beforeY = x1 - x0 >= STEP ? y : NaN;
		beforeX = x1;
		// Of those in a pixel the last is looked at, too: it may reach far beyond.
		i = Math.max(i + 1, x1 - x0 < 1 ?
			lowerBound(path.time, view.time(Math.floor(x0) + 1), i + 1, path.rows) - 1 : 0);
	}
	context.globalAlpha = 1;
}

/** Steps that a sentence counts stand out. @param {Painter} p @param {number} line */
export function paintLine(p, line) {
	const { view, context } = p, path = p.model.get("path");
	const steps = stepsOfLine(p.model, line)?.steps || [];
	let beforeY = NaN, end = 0;

	context.fillStyle = p.colours.named.path;
	for (const step of steps) {
		const x0 = Math.max(view.x(path.time[step]), view.left), x1 = Math.min(view.x(path.time[step] + path.dur[step]), view.right);
		const y = pathY(p, path.thread[step] - 1), to = Math.max(x1, x0 + 1);

		if (x1 < view.left || x0 > view.right || y !== y || (y === beforeY && to <= end))
			continue; // out of sight, or in the pixel of the one before
		context.fillRect(x0, y - 2, to - x0, 4);
		[beforeY, end] = [y, Math.ceil(to)];
	}
}

/** From the lane of who woke to the lane of who was woken. @param {Painter} p @param {number} row */
export function paintWaker(p, row) {
	const { spans, view, context } = p, { waker, thread, count } = spans.spells;
	const from = waker[row] ? p.middleOf(waker[row] - 1) : NaN, to = p.middleOf(thread[row]);
	const x = view.x(count[row] > 1 ? spans.stop[row] : spans.ready[row]);

	if (from !== from || to !== to || from === to || count[row] > 1 || x < view.left || x > view.right)
		return;
	const way = to > from ? 1 : -1;

	context.strokeStyle = context.fillStyle = p.colours.named.text;
	context.lineWidth = 1.5;
	context.beginPath();
	context.arc(x, from, 3, 0, 7);
	context.fill();
	context.beginPath();
	context.moveTo(x, from);
	context.lineTo(x, to - 6 * way);
	context.stroke();
	context.beginPath();
	context.moveTo(x, to);
	context.lineTo(x - 4, to - 8 * way);
	context.lineTo(x + 4, to - 8 * way);
	context.fill();
}

/** When rows were lost, nothing is known for sure. @param {Painter} p */
export function paintLosses(p) {
	const { view, context } = p, losses = p.model.get("losses");

	context.fillStyle = p.colours.lossHatch;
	context.globalAlpha = 0.5; // what is below is known in part
	for (let i = 0; i < losses.rows; i++) {
		const x0 = Math.max(view.left, view.x(losses.from[i]));
		const x1 = Math.min(view.right, Math.max(view.x(losses.to[i]), view.x(losses.from[i]) + 2));

		if (x1 > x0)
			context.fillRect(x0, 0, x1 - x0, view.height);
	}
	context.globalAlpha = 1;
}

/** @param {Painter} p @param {Range | null} range @param {string} colour */
export function paintRange(p, range, colour) {
	const { view, context } = p;

	if (!range)
		return;
	const x0 = Math.max(view.left - 2, view.x(range.from)), x1 = Math.min(view.right + 2, view.x(range.to));

	if (x1 <= x0)
		return;
	context.fillStyle = colour;
	context.globalAlpha = 0.12;
	context.fillRect(x0, 0, x1 - x0, view.height);
	context.globalAlpha = 1;
	context.fillRect(x0, 0, 1, view.height);
	context.fillRect(x1 - 1, 0, 1, view.height);
}

/** The interval that was clicked on, or that the pointer is over. @param {Painter} p @param {number} y
 * @param {number} height @param {number} from @param {number} to */
export function paintOutline(p, y, height, from, to) {
	const { view, context } = p;
	const x0 = Math.max(view.left - 4, view.x(from)), x1 = Math.min(view.right + 4, view.x(to));

	if (x1 < view.left || x0 > view.right)
		return;
	context.strokeStyle = p.colours.named.text;
	context.lineWidth = 1.5;
	context.strokeRect(x0 - 1, y - 1, Math.max(3, x1 - x0 + 2), height + 2);
}

/** From when to when a moment lasts. @param {Painter} p @param {{kind: string, index: number, time: number}} moment
 * @returns {[number, number]} */
function spanOfMoment(p, moment) {
	const { kind, index } = moment;
	const section = p.model.get(MOMENTS[kind]);

	if (index >= section.rows)
		return [moment.time, moment.time];
	if (kind === "loss")
		return [section.from[index], section.to[index]];
	return [section.time[index], section.time[index] + (section.dur ? section.dur[index] : 0)];
}

/** A moment that is no spell: a line down all lanes at either end.
 * @param {Painter} p @param {{kind: string, index: number, time: number}} moment */
export function paintSpan(p, moment) {
	const { view, context } = p, [from, to] = spanOfMoment(p, moment);

	context.fillStyle = p.colours.named.text;
	context.globalAlpha = 0.6;
	context.fillRect(Math.round(view.x(from)), view.top, 1, view.height);
	if (view.x(to) - view.x(from) >= 2)
		context.fillRect(Math.round(view.x(to)), view.top, 1, view.height);
	context.globalAlpha = 1;
}

/** Segment of the path at a time, in the order of time; -1: none. @param {Painter} p @param {number} time */
export function pathAt(p, time) {
	const path = p.model.get("path");
	const i = path.rows ? lastAt(path.time, time, 0, path.rows) : -1;

	return i >= 0 && time < path.time[i] + path.dur[i] ? i : -1;
}
