// SPDX-License-Identifier: GPL-2.0-or-later
// The strip above the time axis: how busy the CPUs were over all of the trace, and a window that
// shows what the axis shows, to be dragged.
import { el } from "./dom.js";
import { lastAt, lastFrom } from "./spans.js";

/** @typedef {import("./axis.js").Axis} Axis */

const MAP_HEIGHT = 32; // px
const GRIP = 6; // px on either side of an edge of the window

export class Minimap {
	/** @param {Axis} axis */
	constructor(axis) {
		this.axis = axis;
		this.element = el("canvas", { class: "axis-map", "aria-hidden": "true" });
		this.context = /** @type {CanvasRenderingContext2D} */ (this.element.getContext("2d", { alpha: false }));
		/** @type {Float32Array} */
		this.busy = new Float32Array(0); // share of all CPUs, by px
		this.width = 1;
		this.drag = { edge: "", offset: 0 };
		this.element.addEventListener("pointerdown", (event) => this.onDown(event));
		this.element.addEventListener("pointermove", (event) => this.onMove(event));
	}

	/** @param {number} width @param {number} ratio */
	resize(width, ratio) {
		this.element.width = Math.round(width * ratio);
		this.element.height = Math.round(MAP_HEIGHT * ratio);
		if (this.width !== width)
			this.busy = this.measure(Math.max(1, Math.floor(width)));
		this.width = width;
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
	}

	/** @param {number} width @returns {Float32Array} */
	measure(width) {
		const { spans, model } = this.axis, { cpus } = spans;
		const busy = new Float32Array(width), step = (model.to - model.from) / width;

		for (const cpu of cpus) {
			const n = cpu.begin.length;
			let at = lastAt(cpu.begin, model.from, 0, n), sum = spans.cpuSum(cpu, at, model.from);

			for (let i = 0; i < width; i++) {
				const time = model.from + (i + 1) * step;

				at = at < 0 ? lastAt(cpu.begin, time, 0, n) : lastFrom(cpu.begin, time, at, n);
				const until = spans.cpuSum(cpu, at, time);

				busy[i] += (until - sum) / step / cpus.length;
				sum = until;
			}
		}
		return busy;
	}

	/** @param {number} time */
	x(time) {
		const { model } = this.axis;

		return (time - model.from) / (model.to - model.from) * this.width;
	}

	/** @param {number} x */
	time(x) {
		const { model } = this.axis;

		return model.from + x / this.width * (model.to - model.from);
	}

	paint() {
		const { context, axis } = this, { named } = axis.painter.colours;

		context.fillStyle = named.surface;
		context.fillRect(0, 0, this.width, MAP_HEIGHT);
		context.fillStyle = named.muted;
		context.globalAlpha = 0.6;
		for (let i = 0; i < this.busy.length; i++) {
			const height = this.busy[i] * (MAP_HEIGHT - 4);

			context.fillRect(i, MAP_HEIGHT - height, 1, height);
		}
		context.globalAlpha = 1;
		for (const [range, colour] of /** @type {[any, string][]} */ ([
			[axis.app.store.state.range, named.range], [axis.app.store.state.range2, named.range2]]))
			if (range) {
				context.fillStyle = colour;
				context.fillRect(this.x(range.from), MAP_HEIGHT - 3,
					Math.max(2, this.x(range.to) - this.x(range.from)), 3);
			}
		this.paintWindow();
	}

	paintWindow() {
		const { context, axis } = this, { named } = axis.painter.colours;
		const x0 = this.x(axis.view.from), x1 = Math.max(this.x(axis.view.to), x0 + 2);

		context.fillStyle = named.bg;
		context.globalAlpha = 0.6;
		context.fillRect(0, 0, x0, MAP_HEIGHT);
		context.fillRect(x1, 0, this.width - x1, MAP_HEIGHT);
		context.globalAlpha = 1;
		context.fillStyle = named.accent;
		context.fillRect(x0, 0, 2, MAP_HEIGHT);
		context.fillRect(x1 - 2, 0, 2, MAP_HEIGHT);
		context.fillRect(x0, 0, x1 - x0, 1);
		context.fillRect(x0, MAP_HEIGHT - 1, x1 - x0, 1);
	}

	// --- the window is moved ---

	/** Which edge is there: "from", "to"; "": none. @param {number} x */
	edgeAt(x) {
		const { view } = this.axis;

		if (Math.abs(x - this.x(view.to)) < GRIP)
			return "to";
		return Math.abs(x - this.x(view.from)) < GRIP ? "from" : "";
	}

	/** @param {PointerEvent} event */
	onDown(event) {
		const { view } = this.axis, x = event.offsetX, time = this.time(x);
		const inside = time >= view.from && time <= view.to;

		event.preventDefault();
		this.element.setPointerCapture(event.pointerId);
		this.drag = { edge: this.edgeAt(x), offset: inside ? time - view.from : (view.to - view.from) / 2 };
		this.move(x);
	}

	/** @param {PointerEvent} event */
	onMove(event) {
		if (this.element.hasPointerCapture(event.pointerId))
			this.move(event.offsetX);
		else
			this.element.classList.toggle("at-edge", this.edgeAt(event.offsetX) !== "");
	}

	/** @param {number} x */
	move(x) {
		const { axis, drag } = this, { from, to } = axis.view, time = this.time(x);

		if (drag.edge === "from")
			axis.show(Math.min(time, to - 1000), to);
		else if (drag.edge === "to")
			axis.show(from, Math.max(time, from + 1000));
		else
			axis.show(time - drag.offset, time - drag.offset + to - from);
	}
}
