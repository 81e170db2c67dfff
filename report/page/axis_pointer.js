// SPDX-License-Identifier: GPL-2.0-or-later
// Mouse, pen and fingers on the time axis: hovering, a click, a brush for a range, wheel and pinch.
import { hitAt } from "./hit.js";

/** @typedef {import("./axis.js").Axis} Axis */

const CLICK = 4; // px that a click may move
const WHEEL = 0.0025; // of a pixel of the wheel, exponent of e
const PIN_ROOM = 24; // px at the end of a label

export class AxisPointer {
	/** @param {Axis} axis @param {HTMLCanvasElement} canvas */
	constructor(axis, canvas) {
		this.axis = axis;
		this.canvas = canvas;
		this.mode = ""; // "brush", "pan", "label", "pinch"
		this.start = { x: 0, y: 0, from: 0, to: 0 };
		/** @type {Map<number, number>} */
		this.fingers = new Map(); // x by pointer that is down
		this.x = -1; // where it hovers
		canvas.addEventListener("pointerdown", (event) => this.onDown(event));
		canvas.addEventListener("pointermove", (event) => this.onMove(event));
		canvas.addEventListener("pointerup", (event) => this.onUp(event));
		canvas.addEventListener("pointercancel", (event) => this.onCancel(event));
		canvas.addEventListener("pointerleave", () => this.leave());
		canvas.addEventListener("dblclick", (event) => axis.showHit(hitAt(axis.painter, event.offsetX, event.offsetY)));
		canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
	}

	/** @param {WheelEvent} event */
	onWheel(event) {
		const { axis } = this, { left } = axis.painter.view;
		const unit = event.deltaMode === 1 ? 16 : 1;
		const dx = (event.shiftKey ? event.deltaY || event.deltaX : event.deltaX) * unit;

		if (event.ctrlKey || event.metaKey) {
			const x = Math.max(left, event.offsetX);

			event.preventDefault();
			axis.zoom(Math.exp(event.deltaY * unit * WHEEL), axis.painter.view.time(x));
		} else if (Math.abs(dx) > Math.abs(event.deltaY) || event.shiftKey) {
			event.preventDefault();
			axis.pan(dx / axis.painter.view.width);
		}
	}

	/** @param {PointerEvent} event */
	onDown(event) {
		const { axis } = this, { left } = axis.painter.view;

		this.fingers.set(event.pointerId, event.offsetX);
		this.start = { x: event.offsetX, y: event.offsetY, from: axis.view.from, to: axis.view.to };
		if (event.pointerType === "touch")
			this.mode = this.fingers.size > 1 ? "pinch" : "pan";
		else if (event.button === 1)
			this.mode = "pan";
		else if (event.button === 0)
			this.mode = event.offsetX < left ? "label" : "brush";
		else
			return;
		if (event.button === 1)
			event.preventDefault();
		this.canvas.setPointerCapture(event.pointerId);
	}

	/** @param {PointerEvent} event */
	onMove(event) {
		const { axis, start } = this, { view } = axis.painter;

		if (this.mode === "pinch")
			this.pinch(event);
		else if (this.mode === "pan")
			axis.show(start.from - (event.offsetX - start.x) / view.scale,
				start.to - (event.offsetX - start.x) / view.scale);
		else if (this.mode === "brush" && Math.abs(event.offsetX - start.x) > CLICK)
			axis.brush(view.time(start.x), view.time(event.offsetX), event.shiftKey);
		else if (!this.mode)
			this.hover(event);
		if (this.fingers.has(event.pointerId))
			this.fingers.set(event.pointerId, event.offsetX);
	}

	/** Two fingers: how far they are apart. @param {PointerEvent} event */
	pinch(event) {
		const { view } = this.axis.painter;
		const other = [...this.fingers].find(([id]) => id !== event.pointerId);
		const before = this.fingers.get(event.pointerId);

		if (!other || before === undefined)
			return;
		const distance = Math.max(8, Math.abs(event.offsetX - other[1]));

		this.axis.zoom(Math.max(8, Math.abs(before - other[1])) / distance,
			view.time((event.offsetX + other[1]) / 2));
	}

	/** @param {PointerEvent} event */
	hover(event) {
		const { axis } = this;

		this.x = event.offsetX;
		axis.hover(hitAt(axis.painter, event.offsetX, event.offsetY), event);
	}

	leave() {
		this.x = -1;
		this.axis.hover(null, null);
	}

	/** @param {PointerEvent} event */
	onUp(event) {
		const { axis, start, mode } = this;
		const still = Math.abs(event.offsetX - start.x) <= CLICK && Math.abs(event.offsetY - start.y) <= CLICK;

		if (mode === "brush" && !still)
			axis.endBrush();
		this.onCancel(event);
		if (still && mode && mode !== "pinch")
			this.click(event);
		else if (mode === "label")
			axis.dropPin(hitAt(axis.painter, start.x, start.y), hitAt(axis.painter, event.offsetX, event.offsetY));
	}

	/** @param {PointerEvent} event */
	onCancel(event) {
		this.axis.dropBrush();
		this.fingers.delete(event.pointerId);
		this.mode = this.fingers.size ? "pan" : "";
		if (!this.fingers.size)
			return;
		const [x] = this.fingers.values();

		this.start = { x, y: 0, from: this.axis.view.from, to: this.axis.view.to };
	}

	/** @param {PointerEvent} event */
	click(event) {
		const { axis } = this, { left } = axis.painter.view;
		const hit = hitAt(axis.painter, event.offsetX, event.offsetY);

		if (hit && hit.thread >= 0 && event.offsetX < left && event.offsetX >= left - PIN_ROOM)
			axis.togglePin(hit.thread);
		else if (hit)
			axis.choose(hit);
	}
}
