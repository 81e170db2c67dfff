// SPDX-License-Identifier: GPL-2.0-or-later
// Buttons above the time axis, and what its colours and forms mean.
import { el, fill, button } from "./dom.js";
import { parseTime } from "./ruler.js";

/** @typedef {import("./axis.js").Axis} Axis */

/** Kinds of tracks, as people call them. */
const KIND_NAMES = /** @type {Record<string, string>} */ ({
	syscall: "System calls", mark: "Marks", block: "Disk requests", net: "Network", dbus: "D-Bus",
	log: "Logs", irq: "Interrupts", fault: "Page faults", lock: "Locks",
});
const LEGEND = [["running", "running"], ["runnable", "waits for a CPU"], ["disk", "disk"], ["lock", "lock"],
	["network", "network"], ["pipe", "pipe"], ["idle", "event, timer, child"], ["path", "critical path"]];

export class AxisBar {
	/** @param {Axis} axis */
	constructor(axis) {
		this.axis = axis;
		this.time = this.createTime();
		this.kinds = el("div", { class: "axis-kinds", role: "group", "aria-label": "Events that are shown", hidden: true });
		this.asTable = button("Table", () => this.toggleTable(), { "aria-pressed": "false",
			title: "What threads did, in words and figures" });
		this.element = el("div", { class: "axis-bar", role: "toolbar", "aria-label": "Time axis" },
			button("Whole", () => axis.showAll(), { title: "Show all of the time (0)" }),
			button("−", () => axis.zoom(2, axis.pointerTime()), { class: "icon", "aria-label": "Zoom out", title: "Zoom out (S)" }),
			button("+", () => axis.zoom(0.5, axis.pointerTime()), { class: "icon", "aria-label": "Zoom in", title: "Zoom in (W)" }),
			button("Fit", () => axis.showChosen(), { title: "Show the range or interval that is chosen (F)" }),
			this.time, this.asTable, this.kinds, this.createLegend());
	}

	createTime() {
		const input = el("input", { type: "text", class: "axis-time", placeholder: "Go to 1.5s", "aria-label": "Go to a time, as 1.5s, 250ms or ns",
			"aria-keyshortcuts": "g", autocomplete: "off", spellcheck: "false", maxlength: "40" });

		input.addEventListener("keydown", (event) => {
			const time = event.key === "Enter" ? parseTime(input.value) : null;

			if (event.key === "Escape")
				this.axis.canvas.focus();
			if (event.key !== "Enter")
				return;
			input.setAttribute("aria-invalid", String(time === null));
			if (time !== null)
				this.axis.showTimeAt(time);
		});
		return input;
	}

	focusTime() {
		this.time.focus();
		this.time.select();
	}

	toggleTable() {
		const shown = this.axis.table.toggle();

		this.asTable.setAttribute("aria-pressed", String(shown));
	}

	/** A button for each kind of events that there is. */
	showKinds() {
		const kinds = [...new Set(this.axis.tracks.tracks.map((track) => track.kind))];
		const samples = this.axis.model.has("samples");

		fill(this.kinds, samples && this.samplesButton(), ...kinds.map((kind) => this.kindButton(kind)));
		this.kinds.hidden = !kinds.length && !samples;
	}

	samplesButton() {
		const { axis } = this;
		const toggle = button("Samples", () =>
			toggle.setAttribute("aria-pressed", String(axis.toggleSamples())),
		{ "aria-pressed": String(axis.samplesShown), title: "Stacks that were taken; a click on one shows it" });

		return toggle;
	}

	/** @param {string} kind */
	kindButton(kind) {
		const { axis } = this, { hidden } = axis.folding;
		const toggle = button(Object.hasOwn(KIND_NAMES, kind) ? KIND_NAMES[kind] : kind, () => {
			if (!hidden.delete(kind))
				hidden.add(kind);
			toggle.setAttribute("aria-pressed", String(!hidden.has(kind)));
			axis.stale = true;
			axis.request();
		}, { "aria-pressed": String(!hidden.has(kind)) });

		return toggle;
	}

	createLegend() {
		return el("ul", { class: "axis-legend", "aria-label": "What forms and colours mean" },
			...LEGEND.map(([name, text]) => el("li", null,
				el("span", { class: "axis-key key-" + name, "aria-hidden": "true" }), text)));
	}
}
