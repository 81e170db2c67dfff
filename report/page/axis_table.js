// SPDX-License-Identifier: GPL-2.0-or-later
// The time axis in words and figures: what each thread did in the chosen range, or in what is
// shown, and of the chosen thread also what it waited for.
import { el, fill, button } from "./dom.js";
import { firstRow } from "./spans.js";
import { duration, percent, timeText } from "./text.js";

/** @typedef {import("./axis.js").Axis} Axis */

const MOST_THREADS = 200;

export class AxisTable {
	/** @param {Axis} axis */
	constructor(axis) {
		this.axis = axis;
		this.element = el("div", { class: "axis-table", tabindex: "0", hidden: true, role: "region",
			"aria-label": "What threads did" });
	}

	toggle() {
		const shown = this.element.hidden;

		this.element.hidden = !shown;
		this.axis.scroller.hidden = shown;
		this.axis.map.element.hidden = shown;
		this.update();
		return shown;
	}

	range() {
		return this.axis.app.store.state.range || this.axis.view;
	}

	/** "running 12.00 %, …" @param {number} thread */
	summary(thread) {
		const { spans } = this.axis, { from, to } = this.range();

		spans.sumsOf(thread, from, to);
		return "running " + percent(spans.run, to - from) + ", waiting for a CPU " + percent(spans.queue, to - from) +
			", blocked " + percent(spans.off, to - from);
	}

	update() {
		const { from, to } = this.range(), { thread } = this.axis.app.store.state;

		if (this.element.hidden)
			return;
		fill(this.element,
			el("p", { class: "note" }, timeText(from) + "–" + timeText(to) + " s, " + duration(to - from) +
				(this.axis.app.store.state.range ? ", the chosen range" : ", what the time axis shows")),
			thread !== null ? this.reasons(thread) : null, this.threads());
	}

	/** @param {string} caption @param {string[]} heads @param {HTMLElement[]} rows */
	grid(caption, heads, rows) {
		return el("table", { class: "grid" }, el("caption", { class: "axis-caption" }, caption),
			el("thead", null, el("tr", null, ...heads.map((head, i) =>
				el("th", { scope: "col", class: i ? "number" : null }, head)))),
			el("tbody", null, ...rows));
	}

	// --- all threads ---

	threads() {
		const { lanes } = this.axis, { from, to } = this.range();
		const threads = lanes.list.filter((lane) => lane.kind === "thread").map((lane) => lane.index);
		const active = [...new Set(threads)].filter((thread) => this.didAnything(thread, from, to));
		const shown = active.slice(0, MOST_THREADS);

		return this.grid("Threads" + (active.length > shown.length ? ", the first " + shown.length + " of " + active.length : ""),
			["Thread", "Running", "Waiting for a CPU", "Blocked"],
			shown.map((thread) => this.threadRow(thread, from, to)));
	}

	/** @param {number} thread @param {number} from @param {number} to */
	didAnything(thread, from, to) {
		const { spans } = this.axis;

		spans.sumsOf(thread, from, to);
		return spans.run + spans.queue + spans.off > 0;
	}

	/** @param {number} thread @param {number} from @param {number} to */
	threadRow(thread, from, to) {
		const { spans, app } = this.axis;

		spans.sumsOf(thread, from, to);
		return el("tr", { class: app.store.state.thread === thread ? "chosen" : null },
			el("th", { scope: "row" }, button(app.model.threadLabel(thread), () => this.choose(thread), { class: "link" })),
			...[spans.run, spans.queue, spans.off].map((ns) => el("td", { class: "number" }, duration(ns))));
	}

	/** @param {number} thread */
	choose(thread) {
		this.axis.app.store.set({ thread });
		this.update();
	}

	// --- one thread ---

	/** @param {number} thread */
	reasons(thread) {
		const { model, spans } = this.axis, { from, to } = this.range();
		const { waits, longest } = this.waitsOf(thread, from, to);

		spans.sumsOf(thread, from, to);
		const order = [...waits.keys()].filter((reason) => waits[reason]).sort((a, b) => waits[b] - waits[a]);

		return this.grid("What " + model.threadLabel(thread) + " did", ["State", "Time", "Share", "Longest"], [
			this.reasonRow("Running", spans.run, to - from, ""),
			this.reasonRow("Waiting for a CPU", spans.queue, to - from, ""),
			...order.map((reason) => this.reasonRow("Waiting for " + (model.head.reasons[reason]?.text || "what is not known"),
				waits[reason], to - from, duration(longest[reason]))),
		]);
	}

	/** @param {string} name @param {number} ns @param {number} whole @param {string} longest */
	reasonRow(name, ns, whole, longest) {
		return el("tr", null, el("th", { scope: "row" }, name), el("td", { class: "number" }, duration(ns)),
			el("td", { class: "number" }, percent(ns, whole)), el("td", { class: "number" }, longest));
	}

	/** Time blocked by reason. @param {number} thread @param {number} from @param {number} to */
	waitsOf(thread, from, to) {
		const { spans, model } = this.axis, { reason } = spans.spells;
		const waits = new Float64Array(model.head.reasons.length), longest = new Float64Array(waits.length);

		for (let i = firstRow(spans, thread, from); i < spans.first[thread + 1] && spans.stop[i] < to; i++) {
			spans.sumsAt(i, from);
			const before = spans.off;

			spans.sumsAt(i, to);
			waits[reason[i]] += spans.off - before;
			longest[reason[i]] = Math.max(longest[reason[i]], spans.off - before);
		}
		return { waits, longest };
	}
}
