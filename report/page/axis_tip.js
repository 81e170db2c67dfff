// SPDX-License-Identifier: GPL-2.0-or-later
// The box beside the pointer that says what lies below it.
import { el, fill } from "./dom.js";
import { describe } from "./hit.js";
import { plainText } from "./paint.js";

/** @typedef {import("./axis.js").Axis} Axis */
/** @typedef {import("./hit.js").Hit} Hit */

const AWAY = 12; // px from the pointer

export class AxisTip {
	/** @param {Axis} axis */
	constructor(axis) {
		this.axis = axis;
		this.element = el("div", { class: "axis-tip", hidden: true, "aria-hidden": "true" });
	}

	hide() {
		this.element.hidden = true;
	}

	/** @param {Hit | null} hit @param {PointerEvent | null} event */
	show(hit, event) {
		const lines = hit && event && event.pointerType !== "touch" ? describe(this.axis.painter, hit) : [];

		this.element.hidden = !lines.length;
		if (!lines.length || !event)
			return;
		fill(this.element, ...lines.map(([label, text]) => label ?
			el("div", { class: "axis-tip-row" }, el("span", null, label), el("bdi", null, plainText(text))) :
			el("bdi", { class: "axis-tip-title" }, plainText(text))));
		this.place(event);
	}

	/** Beside the pointer, and inside the window. @param {PointerEvent} event */
	place(event) {
		const { offsetWidth, offsetHeight, style } = this.element;
		const x = event.clientX + AWAY + offsetWidth > innerWidth ? event.clientX - AWAY - offsetWidth :
			event.clientX + AWAY;
		const y = Math.min(event.clientY + AWAY, innerHeight - offsetHeight - 4);

		style.left = Math.max(4, x) + "px";
		style.top = Math.max(4, y) + "px";
	}
}
