// SPDX-License-Identifier: GPL-2.0-or-later
// The time axis: what CPUs and threads did, on one axis. This file holds its state and says when
// it is drawn; what lanes there are, how they are drawn and what lies where is told by others.
import { el, announce } from "./dom.js";
import { spansOf, stateAt } from "./spans.js";
import { Tracks, ThreadSamples, nodesWith } from "./tracks.js";
import { Lanes } from "./lanes.js";
import { Painter } from "./paint.js";
import { Minimap } from "./minimap.js";
import { AxisPointer } from "./axis_pointer.js";
import { AXIS_KEYS, onAxisKey } from "./axis_keys.js";
import { AxisBar } from "./axis_bar.js";
import { AxisTip } from "./axis_tip.js";
import { AxisTable } from "./axis_table.js";
import { sentence } from "./hit.js";
import { clampRange } from "./ruler.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./state.js").View} View */
/** @typedef {import("./state.js").Range} Range */
/** @typedef {import("./hit.js").Hit} Hit */

const SETTLE = 300; // ms; the address is written when the view rests
const LATER = ["losses", "events", "points"]; // sections that are drawn when they are there
const OF_SAMPLES = ["nodes", "funcs", "samples"];

export class Axis {
	/** @param {App} app */
	constructor(app) {
		this.app = app;
		this.model = app.model;
		this.spans = spansOf(app.model);
		this.tracks = new Tracks(app.model);
		this.lanes = new Lanes(app.model, this.spans, this.tracks);
		this.folding = { opened: new Map(), hidden: new Set() };
		this.view = { ...app.store.state.view };
		this.canvas = el("canvas", { class: "axis-canvas", tabindex: "0", role: "application",
			"aria-label": "Time axis. Arrow keys move in time and from lane to lane, W and S zoom; the table has the same in words." });
		this.spacer = el("div", { "aria-hidden": "true" });
		this.scroller = el("div", { class: "axis-scroll" }, this.canvas, this.spacer);
		this.painter = new Painter(app.model, this.spans, this.tracks, this.lanes, this.canvas);
		this.pointer = new AxisPointer(this, this.canvas);
		this.map = new Minimap(this);
		this.bar = new AxisBar(this);
		this.tip = new AxisTip(this);
		this.table = new AxisTable(this);
		this.element = el("div", { class: "axis-view" }, this.bar.element, this.map.element, this.scroller,
			this.table.element, this.tip.element);
		/** @type {Hit | null} */
		this.hovered = null;
		/** @type {Range | null} */
		this.brushed = null;
		this.brushKey = /** @type {"range" | "range2"} */ ("range");
		this.wanted = false; // a frame is asked for
		this.stale = true; // lanes have to be made anew
		this.samplesShown = !this.spans.rows; // nothing else tells then what threads did
		this.revealed = this.momentThread() ?? app.store.state.thread ?? -1; // thread whose lane has to be in view
		this.settling = 0;
		this.listen();
		this.loadLater();
		this.markSamples();
	}

	listen() {
		new ResizeObserver(() => this.resize()).observe(this.scroller);
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
		matchMedia("print").addEventListener("change", () => {
			this.painter.readColours(); // paper is white
			this.frame();
		});
		this.scroller.addEventListener("scroll", () => this.request(), { passive: true });
		this.canvas.addEventListener("keydown", (event) => onAxisKey(this, event));
		document.addEventListener("keydown", (event) => {
			if (event.target === document.body && event.key.length === 1)
				onAxisKey(this, event); // nothing else has the keys
		});
	}

	async loadLater() {
		await Promise.all(LATER.map((name) => this.model.load(name)));
		this.tracks = this.painter.tracks = this.lanes.tracks = new Tracks(this.model);
		this.bar.showKinds();
		this.stale = true;
		this.request();
	}

	// --- drawing ---

	resize() {
		const { clientWidth, clientHeight } = this.scroller, ratio = globalThis.devicePixelRatio || 1;

		if (!clientWidth || !clientHeight)
			return;
		this.painter.resize(clientWidth, clientHeight, ratio);
		this.canvas.style.width = clientWidth + "px";
		this.canvas.style.height = clientHeight + "px";
		this.map.resize(this.element.clientWidth, ratio);
		this.stale = true;
		this.frame(); // at once: a canvas of a new size is empty
	}

	recolour() {
		this.painter.readColours();
		this.request();
	}

	/** A frame is drawn only when something has changed. */
	request() {
		if (this.wanted)
			return;
		this.wanted = true;
		requestAnimationFrame(() => this.frame());
	}

	frame() {
		const { state } = this.app.store;

		this.wanted = false;
		if (!this.canvas.width || !this.painter.view.height)
			return;
		if (this.stale)
			this.makeLanes();
		if (this.revealed >= 0)
			this.reveal(this.lanes.laneOf[this.revealed], this.painter.view.height / 3);
		this.revealed = -1;
		this.painter.view.scroll = this.scroller.scrollTop;
		this.painter.paint({ ...state, view: this.view, [this.brushKey]: this.brushed || state[this.brushKey] },
			this.hovered);
		this.map.paint();
	}

	makeLanes() {
		const { painter, lanes } = this, focused = lanes.list[painter.focus];

		this.stale = false;
		lanes.build(this.app.store.state, this.folding);
		if (focused) // keys stay with the lane; of a pinned thread with the upper one
			painter.focus = lanes.list.findIndex((lane) => lane.kind === focused.kind &&
				lane.index === focused.index && lane.key === focused.key && lane.label === focused.label);
		this.spacer.style.height = Math.max(0, this.lanes.height + this.painter.view.top -
			this.painter.view.height) + "px";
		this.table.update();
	}

	// --- what part of the time is shown ---

	/** @param {number} from @param {number} to */
	show(from, to) {
		const { from: low, to: high } = this.model;

		this.view = clampRange(from, to, low, high);
		this.request();
		clearTimeout(this.settling);
		this.settling = setTimeout(() => this.settle(), SETTLE);
	}

	settle() {
		this.app.store.set({ view: { from: Math.round(this.view.from), to: Math.round(this.view.to) } });
		this.table.update();
	}

	showAll() {
		this.show(this.model.from, this.model.to);
	}

	/** @param {number} factor of the length @param {number} time that stays where it is */
	zoom(factor, time) {
		const { from, to } = this.view, length = to - from, at = (time - from) / length;
		const wanted = Math.min(length * factor, this.model.to - this.model.from);

		this.show(time - at * wanted, time - at * wanted + wanted);
	}

	/** @param {number} share of what is shown */
	pan(share) {
		const shift = (this.view.to - this.view.from) * share;

		this.show(this.view.from + shift, this.view.to + shift);
	}

	/** Where the pointer is, or the middle. */
	pointerTime() {
		const { view } = this.painter;

		return this.pointer.x >= view.left ? view.time(this.pointer.x) : (this.view.from + this.view.to) / 2;
	}

	/** With some room on both sides. @param {number} from @param {number} to */
	showWithRoom(from, to) {
		const room = Math.max(50, (to - from) * 0.1);

		this.show(from - room, to + room);
	}

	/** The range, or the interval that was clicked on. */
	showChosen() {
		const { range, moment } = this.app.store.state;

		if (range)
			this.showWithRoom(range.from, range.to);
		else if (moment)
			this.showHit({ ...moment, lane: -1, thread: moment.thread ?? -1 });
	}

	/** @param {Hit | null} hit */
	showHit(hit) {
		const events = this.tracks.events;

		if (hit?.kind === "spell") {
			const state = stateAt(this.model, this.spans.spells.thread[hit.index], hit.time);

			if (state.row >= 0)
				this.showWithRoom(state.from, state.to);
		} else if (hit?.kind === "event" && hit.index < events.rows) {
			this.showWithRoom(events.time[hit.index], events.time[hit.index] + events.dur[hit.index]);
		}
	}

	goTo() {
		this.bar.focusTime();
	}

	/** In the middle. @param {number} time */
	showTimeAt(time) {
		const whole = this.model.to - this.model.from;
		// In a view of nearly all of the time nothing would move.
		const half = Math.min(this.view.to - this.view.from, whole / 10) / 2;

		this.show(time - half, time + half);
		announce("At " + time / 1e9 + " s");
	}

	// --- what is chosen ---

	hasChoice() {
		return this.app.store.state.moment !== null || this.app.store.state.range !== null;
	}

	/** @param {number} from @param {number} to @param {boolean} second */
	brush(from, to, second) {
		const low = Math.max(this.model.from, Math.min(from, to)), high = Math.min(this.model.to, Math.max(from, to));

		this.brushKey = second ? "range2" : "range";
		this.brushed = { from: Math.round(low), to: Math.round(Math.max(high, low + 1)) };
		this.tip.hide();
		this.request();
	}

	endBrush() {
		if (this.brushed)
			this.app.store.set({ [this.brushKey]: this.brushed });
	}

	dropBrush() {
		this.brushed = null;
		this.request();
	}

	/** @returns {number | null | undefined} */
	momentThread() {
		const { moment } = this.app.store.state;

		return moment?.kind === "spell" && moment.index < this.spans.rows ? this.spans.spells.thread[moment.index] :
			moment?.thread;
	}

	/** A click. @param {Hit} hit */
	choose(hit) {
		const lane = this.lanes.list[hit.lane];

		this.painter.focus = hit.lane;
		if (lane && hit.kind === "group")
			this.toggle(lane.key, lane.open);
		else if (hit.kind === "lane" || hit.kind === "counter")
			this.chooseThread(hit.thread);
		else
			this.app.store.set({
				thread: hit.thread >= 0 ? hit.thread : this.app.store.state.thread,
				moment: { kind: hit.kind, index: hit.index, thread: hit.thread >= 0 ? hit.thread : null,
					time: Math.round(hit.time) },
			});
		this.say(hit);
		this.request();
	}

	/** Or no thread, if it is the chosen one. @param {number} thread -1: none */
	chooseThread(thread) {
		const { state } = this.app.store;

		this.app.store.set(thread < 0 ? { moment: null } : { thread: thread === state.thread ? null : thread });
	}

	/** @param {Hit} hit */
	say(hit) {
		const text = hit.kind === "group" || hit.kind === "lane" ? this.laneText(hit.lane) : sentence(this.painter, hit);

		if (text)
			announce(text);
	}

	/** @param {string} key @param {boolean} open */
	toggle(key, open) {
		this.folding.opened.set(key, !open);
		this.stale = true;
		this.request();
	}

	/** @param {Hit | null} hit @param {PointerEvent | null} event */
	hover(hit, event) {
		const { left } = this.painter.view, before = this.hovered;
		const spell = hit?.kind === "spell" ? hit : null;
		const pointed = hit && event && event.offsetX < left ? hit.lane : -1;

		this.hovered = spell;
		this.canvas.classList.toggle("on-label", Boolean(event && event.offsetX < left && hit));
		this.tip.show(hit, event);
		if (before?.index !== spell?.index || pointed !== this.painter.pointed)
			this.request(); // another arrow, another pin
		this.painter.pointed = pointed;
	}

	// --- lanes by keys ---

	/** @param {number} index of a lane */
	laneText(index) {
		const lane = this.lanes.list[index];

		if (!lane)
			return "";
		if (lane.kind === "group")
			return lane.label + " " + lane.note + (lane.open ? ", open" : ", closed");
		return lane.label + " " + lane.note + (lane.kind === "thread" ? ": " + this.table.summary(lane.index) : "");
	}

	/** @param {number} step */
	focusLane(step) {
		const at = Math.max(0, Math.min(this.lanes.list.length - 1, this.painter.focus + step));

		this.painter.focus = at;
		this.reveal(at, 0);
		announce(this.laneText(at));
		this.request();
	}

	/** Scrolls, if the lane is not in view. @param {number} index of a lane @param {number} room px that it gets above or below */
	reveal(index, room) {
		const { scroller, painter } = this, lane = this.lanes.list[index];
		const height = painter.view.height - painter.view.top;

		if (!lane)
			return;
		if (lane.y < scroller.scrollTop)
			scroller.scrollTop = lane.y - room;
		else if (lane.y + lane.height > scroller.scrollTop + height)
			scroller.scrollTop = Math.min(lane.y, lane.y + lane.height - height + room);
	}

	/** Enter: as a click on the lane, at the middle of what is shown. */
	chooseLane() {
		const lane = this.lanes.list[this.painter.focus], time = (this.view.from + this.view.to) / 2;

		if (!lane)
			return;
		const hit = /** @type {Hit} */ ({ kind: lane.kind === "group" ? "group" : "lane", index: -1,
			lane: this.painter.focus, thread: lane.kind === "thread" ? lane.index : -1, time });
		const state = hit.thread >= 0 ? stateAt(this.model, hit.thread, time) : null;

		this.choose(state && state.row >= 0 ? { ...hit, kind: "spell", index: state.row } : hit);
	}

	/** The lane of the keys, or the chosen thread. */
	focusedThread() {
		const lane = this.lanes.list[this.painter.focus];

		return lane?.kind === "thread" ? lane.index : this.app.store.state.thread ?? -1;
	}

	// --- pins ---

	/** @param {number} thread */
	togglePin(thread) {
		const { pins } = this.app.store.state;

		if (thread < 0)
			return;
		const pinned = pins.includes(thread);

		this.app.store.set({ pins: pinned ? pins.filter((pin) => pin !== thread) : [...pins, thread] });
		announce(this.model.threadLabel(thread) + (pinned ? " is not pinned any more" : " is pinned"));
	}

	/** @param {number} step */
	movePin(step) {
		const pins = [...this.app.store.state.pins], at = pins.indexOf(this.focusedThread());
		const to = at + step;

		if (at < 0 || to < 0 || to >= pins.length)
			return;
		[pins[at], pins[to]] = [pins[to], pins[at]];
		this.app.store.set({ pins });
	}

	/** A pinned lane was dragged by its label to another. @param {Hit | null} from @param {Hit | null} to */
	dropPin(from, to) {
		const { pins } = this.app.store.state;

		if (!from || !to || !pins.includes(from.thread) || !pins.includes(to.thread))
			return;
		const at = pins.indexOf(to.thread), rest = pins.filter((pin) => pin !== from.thread);

		rest.splice(at, 0, from.thread);
		this.app.store.set({ pins: rest });
	}

	// --- the other views ---

	/** Ticks of samples that have the chosen function, or of all. */
	async markSamples() {
		const { frame } = this.app.store.state, { painter, samplesShown } = this;

		if (frame !== null || samplesShown)
			await Promise.all(OF_SAMPLES.map((name) => this.model.load(name)));
		if (frame !== this.app.store.state.frame || samplesShown !== this.samplesShown)
			return; // changed meanwhile
		if ((frame !== null || samplesShown) && !painter.samples)
			painter.samples = new ThreadSamples(this.model);
		painter.marked = frame !== null ? nodesWith(this.model, frame) :
			samplesShown ? new Uint8Array(this.model.get("nodes").rows).fill(1) : null;
		this.request();
	}

	/** @returns {boolean} are they shown now? */
	toggleSamples() {
		this.samplesShown = !this.samplesShown;
		this.markSamples();
		return this.samplesShown;
	}

	/** @param {Set<string>} changed */
	update(changed) {
		const { state } = this.app.store;

		if (changed.has("view") && (Math.round(this.view.from) !== state.view.from ||
			Math.round(this.view.to) !== state.view.to))
			this.view = { ...state.view };
		if (["text", "process", "thread", "pins"].some((key) => changed.has(key)))
			this.stale = true;
		if (changed.has("thread") || changed.has("moment"))
			this.revealed = this.momentThread() ?? state.thread ?? -1;
		if (changed.has("range"))
			this.table.update();
		if (changed.has("frame"))
			this.markSamples();
		if (changed.has("theme"))
			this.recolour();
		this.request();
	}
}

/** @param {App} app @returns {View} */
export function createAxis(app) {
	const axis = new Axis(app);

	return { element: axis.element, update: (changed) => axis.update(changed), keys: AXIS_KEYS };
}
