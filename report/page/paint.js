// SPDX-License-Identifier: GPL-2.0-or-later
// Draws the time axis: visible lanes, what lies over them, their labels and the ruler.
import { tickStep, tickText } from "./ruler.js";
import { AxisColours } from "./axis_colours.js";
import { GROUP_HEIGHT, SPAN_HEIGHT, LANE_GAP, trackHeight } from "./lanes.js";
import { paintThread, paintCpu, paintGroup } from "./paint_spans.js";
import { paintTrack, paintSamples, paintCounter } from "./paint_events.js";
import { paintPath, paintLine, paintWaker, paintLosses, paintRange, paintOutline, paintSpan } from "./paint_over.js";
import { stateAt } from "./spans.js";
import { duration } from "./text.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./spans.js").Spans} Spans */
/** @typedef {import("./tracks.js").Tracks} Tracks */
/** @typedef {import("./tracks.js").ThreadSamples} ThreadSamples */
/** @typedef {import("./lanes.js").Lanes} Lanes */
/** @typedef {import("./lanes.js").Lane} Lane */
/** @typedef {import("./state.js").State} State */

const RULER_HEIGHT = 24;
const TICK_ROOM = 72; // px between ticks with a text
const LONG_ROOM = 112; // with more digits
const MANY_DIGITS = 1e8; // ns in view, below which there are more
const MOST_TEXTS = 4000;

/** What part of time and lanes the canvas shows. */
class AxisView {
	constructor() {
		this.from = 0;
		this.to = 1;
		this.left = 0; // of the plot, px
		this.right = 1;
		this.width = 1; // of the plot, px
		this.height = 0; // of the canvas
		this.top = RULER_HEIGHT;
		this.scroll = 0;
		this.scale = 1; // px per ns
	}

	/** @param {number} from @param {number} to */
	show(from, to) {
		this.from = from;
		this.to = Math.max(to, from + 1);
		this.scale = this.width / (this.to - this.from);
	}

	/** @param {number} time */
	x(time) {
		return this.left + (time - this.from) * this.scale;
	}

	/** @param {number} x */
	time(x) {
		return this.from + (x - this.left) / this.scale;
	}
}

/** What would turn or break a line of text. @param {string} text */
export function plainText(text) {
	return text.slice(0, 300).replace(/[\t\n\r]/g, " ").replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
}

export class Painter {
	/** @param {Model} model @param {Spans} spans @param {Tracks} tracks @param {Lanes} lanes
	 * @param {HTMLCanvasElement} canvas */
	constructor(model, spans, tracks, lanes, canvas) {
		this.model = model;
		this.spans = spans;
		this.tracks = tracks;
		this.lanes = lanes;
		this.canvas = canvas;
		this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
		this.colours = new AxisColours(canvas);
		this.view = new AxisView();
		this.columns = { run: new Uint8Array(1), queue: new Uint8Array(1), off: new Uint8Array(1),
			thread: new Uint32Array(1) };
		/** @type {ThreadSamples | null} */
		this.samples = null;
		/** @type {Uint8Array | null} */
		this.marked = null; // nodes with the chosen function
		/** @type {string[]} */
		this.threadColours = [];
		/** @type {Map<string, string>} */
		this.plains = new Map();
		this.ratio = 1;
		this.chosen = -1; // thread
		this.focus = -1; // lane that keys are for
		this.pointed = -1; // lane whose label is below the pointer
		/** @type {number[]} */
		this.pins = [];
	}

	/** @param {number} width @param {number} height px of the page @param {number} ratio */
	resize(width, height, ratio) {
		const { view, canvas } = this;
		const labels = Math.round(Math.min(220, Math.max(124, width * 0.2)));

		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		this.ratio = ratio;
		view.left = labels;
		view.right = width;
		view.width = Math.max(1, Math.floor(width - labels));
		view.height = height;
		if (this.columns.run.length < view.width)
			this.columns = { run: new Uint8Array(view.width), queue: new Uint8Array(view.width),
				off: new Uint8Array(view.width), thread: new Uint32Array(view.width) };
		this.readColours();
	}

	readColours() {
		const { model, colours } = this, { process, rows } = model.get("threads");
		const { name } = model.get("processes");

		colours.read(this.context, model.head.reasons, this.ratio);
		this.threadColours = Array.from({ length: rows }, (_, thread) =>
			colours.ofProcess(process[thread] ? model.string(name[process[thread] - 1]) :
				model.threadName(thread)));
	}

	/** Is another thread chosen? @param {number} thread */
	dims(thread) {
		return this.chosen >= 0 && this.chosen !== thread;
	}

	/** Middle of a thread's state in the canvas; NaN: it has no lane. @param {number} thread */
	middleOf(thread) {
		const lane = this.lanes.list[this.lanes.laneOf[thread]];

		return lane ? lane.y + LANE_GAP + SPAN_HEIGHT / 2 + this.view.top - this.view.scroll : NaN;
	}

	/** What a blocked row waited for, as much as there is room for. @param {number} row @param {number} room */
	reasonText(row, room) {
		const { object, reason } = this.spans.spells;
		const name = this.model.head.reasons[reason[row]]?.name || "";

		return object[row] && room > 160 ? name + ": " + this.model.string(object[row]) :
			name === "unknown" ? "" : name;
	}

	/** Name of an event, and its details where there is room: they may begin with its name.
	 * @param {number} event @param {number} room */
	eventText(event, room) {
		const name = this.model.string(this.tracks.events.name[event]);
		const detail = room > 120 ? this.model.string(this.tracks.events.detail[event]) : "";

		return !detail || detail.startsWith(name) ? detail || name : name + " " + detail;
	}

	/** A text in the colour of remarks. @param {string} text @param {number} x @param {number} y its middle
	 * @param {number} room */
	note(text, x, y, room) {
		this.write(text, x, y, room, this.colours.named.muted);
	}

	/** A text on a bar of that colour. @param {string} text @param {number} x @param {number} y
	 * @param {number} room @param {string} bar */
	inside(text, x, y, room, bar) {
		this.write(text, x, y, room, this.colours.inkOn(bar));
	}

	/** @param {string} text @param {number} x @param {number} y @param {number} room @param {string} colour */
	write(text, x, y, room, colour) {
		const n = Math.floor(room / 6);
		const shown = this.plain(text);

		this.context.fillStyle = colour;
		this.context.fillText(shown.length > n ? shown.slice(0, Math.max(1, n - 1)) + "…" : shown,
			x, y, Math.max(1, room));
	}

	/** plainText(), made once. @param {string} text */
	plain(text) {
		let found = this.plains.get(text);

		if (found === undefined) {
			if (this.plains.size >= MOST_TEXTS)
				this.plains.clear();
			this.plains.set(text, found = plainText(text));
		}
		return found;
	}

	/** @param {State} state @param {import("./hit.js").Hit | null} hover */
	paint(state, hover) {
		const { context, view, colours } = this;

		context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		context.fillStyle = colours.named.bg;
		context.fillRect(0, 0, view.right, view.height);
		context.font = colours.font;
		context.textBaseline = "middle";
		this.chosen = state.thread ?? -1;
		this.pins = state.pins;
		view.show(state.view.from, state.view.to);
		this.paintGrid();
		this.paintLanes();
		this.paintOver(state, hover);
		this.paintLabels();
		this.paintRuler(state);
	}

	tickStep() {
		const { from, to, scale } = this.view;

		return tickStep((to - from < MANY_DIGITS ? LONG_ROOM : TICK_ROOM) / scale);
	}

	paintGrid() {
		const { context, view, colours } = this, step = this.tickStep();

		context.fillStyle = colours.named.line;
		context.globalAlpha = 0.5;
		for (let time = Math.ceil(view.from / step) * step; time < view.to; time += step)
			context.fillRect(Math.round(view.x(time)), view.top, 1, view.height);
		context.globalAlpha = 1;
	}

	/** @param {(lane: Lane, y: number, index: number) => void} paint */
	eachVisible(paint) {
		const { view, lanes } = this;

		for (let i = Math.max(0, lanes.at(view.scroll)); i < lanes.list.length; i++) {
			const y = lanes.list[i].y - view.scroll + view.top;

			if (y > view.height)
				break;
			paint(lanes.list[i], y, i);
		}
	}

	paintLanes() {
		if (!this.lanes.list.length)
			this.note("Neither switches nor events nor counters were recorded.", this.view.left + 8, this.view.top + 20, 400);
		this.eachVisible((lane, y, index) => this.paintLane(lane, y, index));
	}

	/** @param {Lane} lane @param {number} y @param {number} index */
	paintLane(lane, y, index) {
		const { context, view, colours } = this;

		if (lane.kind === "group" || (lane.kind === "thread" && lane.index === this.chosen) ||
			index === this.focus) {
			context.fillStyle = lane.kind === "group" ? colours.named.surface : colours.named.accent;
			context.globalAlpha = lane.kind === "group" ? 1 : 0.08;
			context.fillRect(0, y, view.right, lane.height);
			context.globalAlpha = 1;
		}
		if (lane.runs)
			paintGroup(this, lane.runs, y + (GROUP_HEIGHT - SPAN_HEIGHT) / 2);
		else if (lane.kind === "cpu")
			this.paintCpuLane(lane, y + LANE_GAP);
		else if (lane.kind === "counter" && lane.counter)
			paintCounter(this, lane.counter, y + LANE_GAP);
		else if (lane.kind === "thread")
			this.paintThreadLane(lane, y + LANE_GAP);
		else if (lane.kind === "track")
			this.paintTracks(lane, y + LANE_GAP);
	}

	/** @param {Lane} lane @param {number} y */
	paintCpuLane(lane, y) {
		paintCpu(this, lane.index, y);
		this.paintTracks(lane, y + SPAN_HEIGHT + LANE_GAP);
	}

	/** @param {Lane} lane @param {number} y */
	paintThreadLane(lane, y) {
		paintThread(this, lane.index, y);
		paintSamples(this, lane.index, y);
		this.paintTracks(lane, y + SPAN_HEIGHT + LANE_GAP);
	}

	/** @param {Lane} lane @param {number} y */
	paintTracks(lane, y) {
		for (const track of lane.tracks) {
			paintTrack(this, track, y);
			y += trackHeight(track);
		}
	}

	/** @param {State} state @param {import("./hit.js").Hit | null} hover */
	paintOver(state, hover) {
		const { context, view, colours } = this, { moment } = state;

		context.save();
		context.beginPath();
		context.rect(view.left, view.top, view.width, view.height);
		context.clip();
		paintRange(this, state.range, colours.named.range);
		paintRange(this, state.range2, colours.named.range2);
		paintLosses(this);
		paintPath(this, moment?.line === undefined ? 1 : 0.4);
		if (moment?.line !== undefined)
			paintLine(this, moment.line);
		if (moment?.kind === "spell" && moment.index < this.spans.rows)
			this.paintMoment(moment);
		else if (moment)
			paintSpan(this, moment);
		if (hover?.kind === "spell")
			paintWaker(this, hover.index);
		context.restore();
	}

	/** @param {{index: number, time?: number}} moment */
	paintMoment(moment) {
		const thread = this.spans.spells.thread[moment.index];
		const time = moment.time ?? this.spans.stop[moment.index]; // links may have no time
		const state = stateAt(this.model, thread, time), middle = this.middleOf(thread);

		if (middle === middle && state.row === moment.index)
			paintOutline(this, middle - SPAN_HEIGHT / 2, SPAN_HEIGHT, state.from, state.to);
		paintWaker(this, moment.index);
	}

	// --- labels and ruler ---

	paintLabels() {
		const { context, view, colours } = this;

		context.fillStyle = colours.named.bg;
		context.fillRect(0, view.top, view.left - 1, view.height);
		this.eachVisible((lane, y, index) => this.paintLabel(lane, y, index));
		context.fillStyle = colours.named.line;
		context.fillRect(view.left - 1, 0, 1, view.height);
		context.font = colours.font;
	}

	/** @param {Lane} lane @param {number} y @param {number} index */
	paintLabel(lane, y, index) {
		const { context, view, colours } = this, group = lane.kind === "group";
		const x = 8 + 12 * lane.depth + (group ? 12 : 0);
		const middle = y + (group ? GROUP_HEIGHT : SPAN_HEIGHT + 2 * LANE_GAP) / 2;

		if (group || index === this.focus || (lane.kind === "thread" && lane.index === this.chosen)) {
			context.fillStyle = group ? colours.named.surface : colours.named.accent;
			context.globalAlpha = group ? 1 : 0.16;
			context.fillRect(0, y, view.left - 1, lane.height);
			context.globalAlpha = 1;
		}
		context.fillStyle = colours.named.line;
		context.fillRect(0, y + lane.height - 1, view.left, 1);
		if (group)
			this.paintTriangle(x - 8, middle, lane.open);
		const pinned = lane.kind === "thread" && this.pins.includes(lane.index);

		if (lane.kind === "thread" && (pinned || index === this.pointed))
			this.paintPin(view.left - 14, middle, pinned);
		this.paintName(lane, x, middle, view.left - x - (pinned || index === this.pointed ? 24 : 8));
	}

	/** What pins a thread, or unpins it. @param {number} x @param {number} y @param {boolean} pinned */
	paintPin(x, y, pinned) {
		const { context, colours } = this;

		context.strokeStyle = context.fillStyle = pinned ? colours.named.accent : colours.named.muted;
		context.lineWidth = 1.5;
		context.beginPath();
		context.moveTo(x - 3, y - 5);
		context.lineTo(x + 3, y - 5);
		context.lineTo(x + 3, y);
		context.lineTo(x - 3, y);
		context.closePath();
		if (pinned)
			context.fill();
		context.moveTo(x - 5, y);
		context.lineTo(x + 5, y);
		context.moveTo(x, y);
		context.lineTo(x, y + 5);
		context.stroke();
	}

	/** @param {Lane} lane @param {number} x @param {number} middle @param {number} room */
	paintName(lane, x, middle, room) {
		const { context, colours } = this;
		const name = this.plain(lane.label);

		context.font = (lane.kind === "group" ? "600 " : "") + colours.font;
		const width = Math.min(room, context.measureText(name).width);

		this.write(name, x, middle, room, colours.named.text);
		context.font = colours.font;
		if (lane.note && room - width > 24)
			this.note(lane.note, x + width + 6, middle, room - width - 6);
	}

	/** @param {number} x @param {number} y @param {boolean} open */
	paintTriangle(x, y, open) {
		const { context, colours } = this;

		context.fillStyle = colours.named.muted;
		context.beginPath();
		if (open) {
			context.moveTo(x - 4, y - 2);
			context.lineTo(x + 4, y - 2);
			context.lineTo(x, y + 3);
		} else {
			context.moveTo(x - 2, y - 4);
			context.lineTo(x + 3, y);
			context.lineTo(x - 2, y + 4);
		}
		context.fill();
	}

	/** @param {State} state */
	paintRuler(state) {
		const { context, view, colours } = this, step = this.tickStep();

		context.fillStyle = colours.named.bg;
		context.fillRect(0, 0, view.right, view.top);
		context.fillStyle = colours.named.line;
		context.fillRect(0, view.top - 1, view.right, 1);
		for (let time = Math.ceil(view.from / step) * step; time < view.to; time += step) {
			const x = Math.round(view.x(time));

			context.fillStyle = colours.named.line;
			context.fillRect(x, view.top - 8, 1, 8);
			this.note(tickText(time, step), x + 4, view.top / 2, LONG_ROOM - 8);
		}
		this.paintRangeLength(state.range, colours.named.range);
		this.paintRangeLength(state.range2, colours.named.range2);
		context.fillStyle = colours.named.bg;
		context.fillRect(0, 0, view.left - 1, view.top - 1);
		this.note(duration(view.to - view.from), 8, view.top / 2, view.left - 16);
	}

	/** @param {State["range"]} range @param {string} colour */
	paintRangeLength(range, colour) {
		const { context, view } = this;

		if (!range || view.x(range.to) < view.left || view.x(range.from) > view.right)
			return;
		const x0 = Math.max(view.left, view.x(range.from)), x1 = Math.min(view.right, view.x(range.to));

		context.fillStyle = colour;
		context.fillRect(x0, view.top - 4, Math.max(1, x1 - x0), 3);
	}
}
