// SPDX-License-Identifier: GPL-2.0-or-later
// Draws events, samples and counters: at most one thing for each pixel of a row.
import { lowerBound } from "./model.js";
import { COUNTER_HEIGHT, SPAN_HEIGHT, rowHeight } from "./lanes.js";
import { bytes, duration } from "./text.js";

/** @typedef {import("./paint.js").Painter} Painter */
/** @typedef {import("./tracks.js").Track} Track */
/** @typedef {import("./tracks.js").EventRow} EventRow */
/** @typedef {import("./tracks.js").Counter} Counter */

const TEXT_HEIGHT = 12;
const NAME_ROOM = 32; // px that a name needs
const FAILED_EVENT = 1; // events.flags

/** Kinds that are shown in a colour of their own. */
const TRACK_COLOURS = /** @type {Record<string, string>} */ ({
	mark: "mark", block: "blocked-disk", net: "blocked-network", dbus: "blocked-pipe",
});

/** @param {Painter} p @param {Track} track @param {number} y */
export function paintTrack(p, track, y) {
	const name = Object.hasOwn(TRACK_COLOURS, track.kind) ? TRACK_COLOURS[track.kind] : "event";

	const height = rowHeight(track);

	track.rows.forEach((row, i) =>
		paintEventRow(p, row, y + i * height, height - 2, p.colours.named[name]));
}

/** @param {Painter} p @param {EventRow} row @param {number} y @param {number} height @param {string} colour */
function paintEventRow(p, row, y, height, colour) {
	const { view, context } = p, n = row.from.length;
	let i = lowerBound(row.reach, view.from, 0, n);

	while (i < n && row.from[i] < view.to) {
		const x0 = Math.max(view.left, view.x(row.from[i]));
		const end = Math.min(view.right, view.x(row.to[i]));

		if (row.to[i] < view.from) {
			i++;
			continue;
		}
		paintEvent(p, row.event[i], x0, Math.max(1, end - x0), y, height, colour);
		// Of those in a pixel the last is looked at, too: it may reach far beyond.
		i = Math.max(i + 1, end - x0 < 1 ?
			lowerBound(row.from, view.time(Math.floor(x0) + 1), i + 1, n) - 1 : 0);
	}
	context.globalAlpha = 1;
}

/** @param {Painter} p @param {number} event @param {number} x @param {number} width @param {number} y
 * @param {number} height @param {string} colour */
function paintEvent(p, event, x, width, y, height, colour) {
	const { context, tracks: { events } } = p;
	const shown = width > 3 ? width - 0.5 : width;

	context.globalAlpha = width > 3 ? 1 : 0.7;
	context.fillStyle = colour;
	context.fillRect(x, y, shown, height);
	if (events.flags[event] & FAILED_EVENT) {
		context.fillStyle = p.colours.named.bad;
		context.fillRect(x, y + height - 2, shown, 2);
	}
	if (width > NAME_ROOM && height >= TEXT_HEIGHT)
		p.inside(p.eventText(event, width), x + 4, y + height / 2 + 0.5, width - 8, colour);
}

/** Samples with the chosen function: ticks below the state. @param {Painter} p @param {number} thread
 * @param {number} y of the lane */
export function paintSamples(p, thread, y) {
	const { view, context, samples, marked } = p;

	if (!samples || !marked)
		return;
	const { node } = p.model.get("samples");
	const high = samples.first[thread + 2];
	let i = lowerBound(samples.time, view.from, samples.first[thread + 1], high);

	context.fillStyle = p.colours.named.match;
	while (i < high && samples.time[i] < view.to) {
		const x = Math.floor(view.x(samples.time[i]));

		if (!marked[node[samples.sample[i]]]) {
			i++;
			continue;
		}
		context.fillRect(x - 0.5, y - 3, 1.5, SPAN_HEIGHT / 2 + 2);
		i = lowerBound(samples.time, view.time(x + 1), i + 1, high);
	}
}

/** A value of a counter. @param {number} value @param {string} unit @returns {string} */
export function counterText(value, unit) {
	if (unit.startsWith("bytes"))
		return bytes(Math.round(value)) + unit.slice(5);
	if (unit === "ns")
		return duration(value);
	return Number(value.toPrecision(4)) + (unit ? " " + unit : "");
}

/** Least and greatest value of each pixel. @param {Painter} p @param {Counter} counter @param {number} y */
export function paintCounter(p, counter, y) {
	const { view, context, tracks } = p, { time } = tracks.points;
	const low = Math.min(0, counter.least), range = counter.greatest - low || 1;
	const scale = COUNTER_HEIGHT / range, bottom = y + COUNTER_HEIGHT;
	let at = Math.max(counter.first, lowerBound(time, view.from, counter.first, counter.end) - 1);

	context.fillStyle = p.colours.named.accent;
	for (let i = 0; i < view.width; i++) {
		const next = lowerBound(time, view.time(view.left + i + 1), at, counter.end);

		if (next > counter.first) {
			const { least, greatest } = tracks.extremesOf(at, next); // from the one that still holds on
			const top = bottom - (greatest - low) * scale;

			context.globalAlpha = 0.25;
			context.fillRect(view.left + i, top, 1, bottom - top);
			context.globalAlpha = 1;
			context.fillRect(view.left + i, top - 0.5, 1, Math.max(1.5, (greatest - least) * scale));
		}
		at = Math.max(counter.first, next - 1);
	}
	p.note(counterText(counter.greatest, counter.unit), view.left + 4, y + 6, 120);
}
