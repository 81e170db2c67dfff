// SPDX-License-Identifier: GPL-2.0-or-later
// Choosing a part of a trace that is too large to be shown at once: how many rows of each table
// there are and when, as the index of the file says, and a range to be drawn over it or typed.
import { button, el, put } from "./dom.js";
import { count, duration } from "./text.js";

/** @typedef {import("./served.js").Overview} Overview */
/** @typedef {import("./served.js").Part} Part */

const MOST_STRIPS = 8;
const SUM_STRIP = 48, TABLE_STRIP = 16;

/** Bins of all tables together. @param {Overview} overview */
function sumBins(overview) {
	const all = /** @type {number[]} */ (new Array(overview.tables[0]?.bins.length || 1).fill(0));

	for (const table of overview.tables)
		table.bins.forEach((rows, i) => all[i] += rows);
	return all;
}

/** How many rows there are about, from one time to another. @param {Overview} overview @param {number} from @param {number} to */
export function rowsWithin(overview, from, to) {
	const bins = sumBins(overview);
	const width = (overview.to_ns - overview.from_ns) / bins.length;
	let rows = 0;

	for (let i = 0; i < bins.length; i++) {
		const begin = overview.from_ns + i * width;
		const inside = Math.min(to, begin + width) - Math.max(from, begin);

		if (inside > 0)
			rows += bins[i] * inside / width;
	}
	return rows;
}

/** @param {HTMLCanvasElement} canvas @param {number} height px @returns {CanvasRenderingContext2D | null} */
function prepareBins(canvas, height) {
	const scale = devicePixelRatio || 1;

	canvas.style.height = height + "px";
	canvas.width = Math.max(1, Math.round(canvas.clientWidth * scale));
	canvas.height = Math.round(height * scale);
	return canvas.getContext("2d");
}

/** Bars, or shades where there is no room for bars. @param {HTMLCanvasElement} canvas @param {number[]} bins @param {number} height */
function paintBins(canvas, bins, height) {
	const context = prepareBins(canvas, height);
	const most = Math.max(1, ...bins);

	if (!context)
		return;
	context.fillStyle = getComputedStyle(canvas).getPropertyValue("--accent");
	bins.forEach((rows, i) => {
		const x = Math.floor(i * canvas.width / bins.length);
		const width = Math.ceil((i + 1) * canvas.width / bins.length) - x;
		const part = rows / most;
		const tall = height > TABLE_STRIP ? part * canvas.height : canvas.height - 2;

		if (!rows)
			return;
		context.globalAlpha = height > TABLE_STRIP ? 1 : 0.2 + 0.8 * part;
		context.fillRect(x, canvas.height - Math.max(1, tall), width, Math.max(1, tall));
	});
}

/** @param {string} label @param {string} text @param {Record<string, any>} properties */
function typedField(label, text, properties) {
	const input = el("input", { type: "text", size: "14", value: text, autocomplete: "off", ...properties });

	return { input, element: el("label", { class: "field" }, el("span", null, label), input) };
}

/** Seconds as people type them; NaN: it is no number. @param {string} text */
function secondsOf(text) {
	return /^\s*\d+([.,]\d+)?\s*s?\s*$/.test(text) ? Number.parseFloat(text.replace(",", ".")) * 1e9 : NaN;
}

class Chooser {
	/** @param {Overview} overview @param {Part | null} part @param {(part: Part) => void} choose */
	constructor(overview, part, choose) {
		this.overview = overview;
		this.choose = choose;
		this.from = typedField("From", "", { inputmode: "decimal" });
		this.to = typedField("To", "", { inputmode: "decimal" });
		this.pids = typedField("Processes", part?.pids || "", { placeholder: "all, or PID, PID", inputmode: "numeric" });
		this.rows = el("p", { class: "muted", role: "status" });
		this.show = el("button", { type: "submit" }, "Show");
		this.over = el("div", { class: "served-range" });
		this.strips = el("div", { class: "served-strips" });
		this.part = part;
		this.element = this.layOut();
		this.write(part?.from ?? overview.from_ns, part?.to ?? this.suggestedEnd());
	}

	layOut() {
		const tables = [...this.overview.tables].sort((a, b) => b.rows - a.rows).slice(0, MOST_STRIPS);
		const sum = { name: "All tables", rows: this.overview.rows, lost: 0, bins: sumBins(this.overview) };
		const lines = [sum, ...tables].map((table, i) => ({ table, height: i ? TABLE_STRIP : SUM_STRIP, canvas: el("canvas") }));
		const names = el("ul", { class: "served-names" }, ...lines.map(({ table, height }) => {
			const name = el("li", null, el("span", null, table.name), el("span", { class: "number muted" },
				count(table.rows) + " rows" + (table.lost >= 1 ? ", " + count(table.lost) + " lost" : "")));

			name.style.height = height + "px";
			return name;
		}));

		put(this.strips, ...lines.map((line) => line.canvas), this.over);
		this.listen();
		new ResizeObserver(() => lines.forEach(({ canvas, table, height }) => paintBins(canvas, table.bins, height)))
			.observe(this.strips);
		return el("div", { class: "served-chooser" }, el("div", { class: "served-when" }, names, this.strips), this.form());
	}

	form() {
		const step = (/** @type {number} */ by) => () => this.move(by);
		const form = el("form", { class: "served-form" }, this.from.element, this.to.element, this.pids.element, this.show,
			this.part ? button("Earlier", step(-1), { title: "The part before, of the same length" }) : null,
			this.part ? button("Later", step(1), { title: "The part behind, of the same length" }) : null, this.rows);

		form.addEventListener("submit", (event) => {
			event.preventDefault();
			this.submit();
		});
		for (const { input } of [this.from, this.to])
			input.addEventListener("input", () => this.follow());
		return form;
	}

	/** From the beginning up to where half of what fits is reached. */
	suggestedEnd() {
		const { overview } = this, bins = sumBins(overview);
		let rows = 0;

		for (let i = 0; i < bins.length; i++) {
			const left = overview.most_rows / 2 - rows;

			if (bins[i] > left)
				return overview.from_ns + (overview.to_ns - overview.from_ns) * (i + left / bins[i]) / bins.length;
			rows += bins[i];
		}
		return overview.to_ns;
	}

	/** @returns {{from: number, to: number}} as typed; NaN where that is no time */
	typed() {
		return { from: secondsOf(this.from.input.value), to: secondsOf(this.to.input.value) };
	}

	/** @param {number} from @param {number} to */
	write(from, to) {
		this.from.input.value = (from / 1e9).toFixed(6);
		this.to.input.value = (to / 1e9).toFixed(6);
		this.follow();
	}

	/** What is typed is shown on the axis, and how much that is. */
	follow() {
		const { overview } = this, { from, to } = this.typed();
		const span = overview.to_ns - overview.from_ns || 1, good = from < to;
		const rows = good ? rowsWithin(overview, from, to) : 0;
		const within = rows <= overview.most_rows;

		this.over.hidden = !good;
		this.over.style.left = 100 * Math.max(0, (from - overview.from_ns) / span) + "%";
		this.over.style.width = 100 * Math.min(1, (to - from) / span) + "%";
		this.show.disabled = !good || !within;
		this.rows.textContent = !good ? "From and To are seconds since the start, and To is the later one." :
			duration(to - from) + ", about " + count(rows) + " rows" +
			(within ? "" : ": more than the " + count(overview.most_rows) + " that fit; choose a shorter part");
	}

	submit() {
		const { from, to } = this.typed();

		if (!this.show.disabled)
			this.choose({ from, to, pids: this.pids.input.value.split(/[\s,]+/).filter((pid) => /^\d+$/.test(pid)).join(",") });
	}

	/** The part of the same length beside this one. @param {number} by */
	move(by) {
		const { overview, part } = this;

		if (!part)
			return;
		const length = part.to - part.from;
		const from = Math.max(overview.from_ns, Math.min(overview.to_ns - length, part.from + by * length));

		this.choose({ ...part, from, to: from + length });
	}

	/** A range is drawn with the pointer. */
	listen() {
		const { overview } = this;
		let start = 0;
		const timeAt = (/** @type {PointerEvent} */ event) => {
			const box = this.strips.getBoundingClientRect();
			const share = Math.max(0, Math.min(1, (event.clientX - box.left) / (box.width || 1)));

			return overview.from_ns + share * (overview.to_ns - overview.from_ns);
		};

		this.strips.addEventListener("pointerdown", (event) => {
			this.strips.setPointerCapture(event.pointerId);
			event.preventDefault();
			start = timeAt(event);
		});
		this.strips.addEventListener("pointermove", (event) => {
			const at = timeAt(event);

			if (this.strips.hasPointerCapture(event.pointerId))
				this.write(Math.min(start, at), Math.max(start, at));
		});
		this.strips.addEventListener("pointerup", () => this.show.focus());
	}
}

/**
 * @param {Overview} overview @param {Part | null} part that is shown
 * @param {(part: Part) => void} choose
 */
export function createChooser(overview, part, choose) {
	const chooser = new Chooser(overview, part, choose);
	const shown = part ? "Shown: " + duration(part.to - part.from) + " from " + (part.from / 1e9).toFixed(6) + " s on, of " +
		duration(overview.to_ns - overview.from_ns) + (part.pids ? ", processes " + part.pids : "") : "Choose a part of the time";

	return el("details", { open: !part }, el("summary", null, shown), chooser.element);
}
