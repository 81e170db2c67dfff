// SPDX-License-Identifier: GPL-2.0-or-later
// Colours of the time axis, as the style sheet has them, and the hatching that tells states apart
// without colours.
import { hashOf } from "./text.js";

/** Which property of the style sheet stands for a reason of head.reasons. */
const REASON_COLOURS = /** @type {Record<string, string>} */ ({
	disk: "disk", freeze: "disk", lock: "lock", condition: "lock", thread: "lock", filelock: "lock",
	semaphore: "lock", queue: "pipe", pipe: "pipe", network: "network", poll: "poll", timer: "timer",
	child: "child",
});
/** Lines of what holds a thread up are thicker than those of one that has nothing to do. */
const REASON_HEIGHTS = /** @type {Record<string, number>} */ ({
	disk: 6, lock: 6, network: 4, pipe: 4, child: 2, poll: 2, timer: 2, other: 2,
});
const COLOUR_NAMES = ["bg", "text", "muted", "line", "accent", "surface", "running", "runnable",
	"loss", "path", "mark", "bad", "match", "range", "range2", "event",
	"blocked-disk", "blocked-lock", "blocked-pipe", "blocked-network", "blocked-poll",
	"blocked-timer", "blocked-child", "blocked-other"];
const N_HUES = 10; // --process-0 …

export class AxisColours {
	/** @param {HTMLElement} element */
	constructor(element) {
		this.element = element;
		/** @type {Record<string, string>} */
		this.named = {};
		/** @type {string[]} */
		this.processes = [];
		/** @type {string[]} */
		this.reasons = []; // by number of head.reasons
		/** @type {number[]} */
		this.heights = [];
		/** @type {CanvasPattern | string} */
		this.hatch = "";
		/** @type {CanvasPattern | string} */
		this.lossHatch = "";
		this.font = "12px sans-serif";
		/** @type {Map<string, string>} */
		this.inks = new Map();
	}

	/** @param {CanvasRenderingContext2D} context @param {{name: string}[]} reasons @param {number} ratio */
	read(context, reasons, ratio) {
		const style = getComputedStyle(this.element);
		const kinds = reasons.map(({ name }) =>
			Object.hasOwn(REASON_COLOURS, name) ? REASON_COLOURS[name] : "other");

		for (const name of COLOUR_NAMES)
			this.named[name] = style.getPropertyValue("--" + name).trim() || "#888";
		this.processes = Array.from({ length: N_HUES },
			(_, i) => style.getPropertyValue("--process-" + i).trim() || "#888");
		this.reasons = kinds.map((kind) => this.named["blocked-" + kind]);
		this.heights = kinds.map((kind) => REASON_HEIGHTS[kind]);
		this.hatch = hatching(context, this.named.runnable, 4, ratio);
		this.lossHatch = hatching(context, this.named.loss, 8, ratio);
		this.font = "12px " + style.fontFamily;
	}

	/** What can be read on a colour: black or white. @param {string} colour "#rrggbb" */
	inkOn(colour) {
		let ink = this.inks.get(colour);

		if (!ink) {
			const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) || 0);

			ink = red * 0.3 + green * 0.59 + blue * 0.11 > 128 ? "#14171a" : "#ffffff";
			this.inks.set(colour, ink);
		}
		return ink;
	}

	/** @param {string} name of a process */
	ofProcess(name) {
		return this.processes[hashOf(name) % N_HUES];
	}
}

/** Oblique lines. @param {CanvasRenderingContext2D} context @param {string} colour @param {number} step px @param {number} ratio */
function hatching(context, colour, step, ratio) {
	const tile = document.createElement("canvas");
	const size = Math.round(step * ratio);
	const pen = tile.getContext("2d");

	tile.width = tile.height = size;
	if (!pen)
		return colour;
	pen.strokeStyle = colour;
	pen.lineWidth = Math.max(1, size / 4);
	pen.beginPath();
	for (const shift of [-size, 0, size]) {
		pen.moveTo(shift - 1, size + 1);
		pen.lineTo(shift + size + 1, -1);
	}
	pen.stroke();
	const pattern = context.createPattern(tile, "repeat");

	pattern?.setTransform(new DOMMatrix().scale(1 / ratio));
	return pattern || colour;
}
