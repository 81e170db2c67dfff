// SPDX-License-Identifier: GPL-2.0-or-later
// What is shown and chosen: one object for all views. The address bar's hash holds it, so that a
// link into the page can be sent.

/** @typedef {{from: number, to: number}} Range ns since the start of the trace */
/**
 * @typedef {Object} State
 * @property {string} tab
 * @property {Range} view what the time axis shows
 * @property {Range | null} range what is chosen; null: all
 * @property {Range | null} range2 what it is compared with
 * @property {number | null} process index of the model
 * @property {number | null} thread
 * @property {string} text what is searched for
 * @property {boolean} typed here, and not in an address: an expression is run then, which may take for ever
 * @property {string} weight of the flame graph: "cpu", "offcpu", "wall"
 * @property {boolean} inverted
 * @property {string} by "name", "process", "thread" or "none": what stacks begin with
 * @property {string} [flame] choices of the flame graph, of FLAME_WORDS in profile.js, with dots between
 * @property {number | null} frame function that is chosen
 * @property {number[]} pins threads
 * @property {any} moment what was clicked on
 * @property {string} theme "auto", "dark", "light"
 * @property {string} table
 * @property {number} trace of `ebreport html A B`, which is shown
 */
/** @typedef {{model: import("./model.js").Model, models: import("./model.js").Model[], store: Store}} App */
/** @typedef {{element: HTMLElement, update: (changed: Set<string>) => void, keys?: [string, string][]}} View */

/** What stands in the hash: key, how it is written, how it is read. */
const number = { write: String, read: (/** @type {string} */ s) => Number(s) || 0 };
const word = { write: String, read: String };
const flag = { write: (/** @type {boolean} */ b) => b ? "1" : "0",
	read: (/** @type {string} */ s) => s === "1" };
const numbers = { write: (/** @type {number[]} */ list) => list.join("."),
	read: (/** @type {string} */ s) => s.split(".").map(Number).filter(Number.isFinite) };
const range = {
	write: (/** @type {Range} */ r) => Math.round(r.from) + "-" + Math.round(r.to),
	read: (/** @type {string} */ s) => {
		const match = /^(-?\d+)-(-?\d+)$/.exec(s);

		return match && Number(match[1]) < Number(match[2]) ?
			{ from: Number(match[1]), to: Number(match[2]) } : null;
	},
};
const object = {
	write: JSON.stringify,
	read: (/** @type {string} */ s) => {
		try {
			return JSON.parse(s);
		} catch {
			return null;
		}
	},
};
const IN_HASH = /** @type {Record<string, {write: any, read: any}>} */ ({
	tab: word, view: range, range: range, range2: range, process: number, thread: number,
	text: word, weight: word, inverted: flag, by: word, frame: number, pins: numbers,
	moment: object, theme: word, table: word, flame: word, trace: number,
});

/** Where the index of a moment points to. */
export const MOMENTS = /** @type {Record<string, string>} */ ({
	spell: "spells", event: "events", path: "path", loss: "losses", sample: "samples",
});

/**
 * What of an address can be: it may be of another page, or made to do harm.
 * @param {any} patch @param {import("./model.js").Model} model
 */
export function correctState(patch, model) {
	const below = (/** @type {any} */ value, /** @type {string} */ section) =>
		Number.isInteger(value) && value >= 0 && value < (model.head.sections[section]?.rows || 0);
	const inside = (/** @type {Range | null} */ r) => {
		const cut = r && { from: Math.max(r.from, model.from), to: Math.min(r.to, model.to) };

		return cut && cut.from < cut.to ? cut : null;
	};
	const moment = patch.moment;

	for (const [key, section] of [["process", "processes"], ["thread", "threads"], ["frame", "funcs"]])
		if (!below(patch[key], section))
			patch[key] = null;
	for (const key of ["range", "range2"])
		patch[key] = inside(patch[key]);
	patch.view = inside(patch.view) || { from: model.from, to: model.to };
	patch.pins = [...new Set(patch.pins)].filter((thread) => below(thread, "threads"));
	if (!["name", "process", "thread", "none"].includes(patch.by))
		patch.by = "name";
	if (!["auto", "light", "dark"].includes(patch.theme))
		patch.theme = "auto";
	if (!["cpu", "offcpu", "wall"].includes(patch.weight) && !patch.weight.includes(":"))
		patch.weight = "cpu"; // those with a colon are of tables with stacks
	if (moment !== null && !(typeof moment === "object" && Object.hasOwn(MOMENTS, moment.kind) &&
			below(moment.index, MOMENTS[moment.kind])))
		patch.moment = null;
	if (moment && !(moment.kind === "path" && Number.isInteger(moment.line) && moment.line >= 0 &&
			moment.line < (model.head.why?.lines?.length || 0)))
		delete moment.line; // sentence that it counts for
}

export class Store {
	/** @param {State} initial @param {(patch: any) => void} correct makes what the hash says possible */
	constructor(initial, correct) {
		this.initial = { ...initial };
		this.correct = correct;
		this.state = { ...initial };
		/** @type {((changed: Set<string>) => void)[]} */
		this.listeners = [];
		this.readHash();
	}

	/** @param {(changed: Set<string>) => void} listener */
	subscribe(listener) {
		this.listeners.push(listener);
	}

	/** Changes some members, and tells the views which. @param {Partial<State>} patch */
	set(patch) {
		const state = /** @type {any} */ (this.state);
		const changed = new Set();

		for (const [key, value] of Object.entries(patch)) {
			if (JSON.stringify(state[key]) === JSON.stringify(value))
				continue;
			state[key] = value;
			changed.add(key);
		}
		if (!changed.size)
			return;
		this.writeHash();
		for (const listener of this.listeners)
			listener(changed);
	}

	hash() {
		const state = /** @type {any} */ (this.state), initial = /** @type {any} */ (this.initial);
		const parts = [];

		for (const [key, { write }] of Object.entries(IN_HASH)) {
			if (state[key] !== null && JSON.stringify(state[key]) !== JSON.stringify(initial[key]))
				parts.push(key + "=" + encodeURIComponent(write(state[key])));
		}
		return parts.join("&");
	}

	writeHash() {
		const hash = this.hash();

		// Zooming makes no history of its own.
		history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
	}

	readHash() {
		const patch = /** @type {any} */ ({ ...this.initial });

		for (const part of location.hash.slice(1).split("&")) {
			const at = part.indexOf("=");
			const key = part.slice(0, at);

			if (at <= 0 || !Object.hasOwn(IN_HASH, key))
				continue;
			try {
				patch[key] = IN_HASH[key].read(decodeURIComponent(part.slice(at + 1)));
			} catch {
				continue; // an address that was cut
			}
			if (patch[key] === null)
				patch[key] = /** @type {any} */ (this.initial)[key];
		}
		this.correct(patch);
		this.set(patch);
	}
}
