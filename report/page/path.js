// SPDX-License-Identifier: GPL-2.0-or-later
// The critical path in words: its steps, and what they add up to.

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./model.js").Columns} Columns */
/** @typedef {{steps: number[], longest: number, ns: number}} LineSteps in order of time; ns: of the longest what counts for the sentence */

/** Kinds of a step, as the column has them; of another one nothing is known. */
const PATH_CPU = 0, PATH_QUEUE = 1, PATH_WAIT = 2;

/** What an enum wait_reason is called: "disks and files". @param {Model} model @param {number} reason @returns {string} */
export function reasonText(model, reason) {
	return model.head.reasons?.[reason]?.text || "what is not known";
}

/** "waited for a timer". @param {Model} model @param {Columns} path @param {number} i */
export function pathVerb(model, path, i) {
	const object = model.string(path.object[i]);

	switch (path.kind[i]) {
	case PATH_CPU:
		return "ran";
	case PATH_QUEUE:
		return "waited for a CPU";
	case PATH_WAIT:
		return "waited for " + reasonText(model, path.reason[i]) + (object ? ": " + object : "");
	default:
		return "did what is not known";
	}
}

/** Of which class a step is, for its colour. @param {Model} model @param {Columns} path @param {number} i @returns {string} */
export function pathClass(model, path, i) {
	if (path.kind[i] === PATH_WAIT)
		return "is-blocked";
	return path.kind[i] === PATH_CPU ? "is-running" : path.kind[i] === PATH_QUEUE ? "is-runnable" : "is-unknown";
}

/** The longest steps, in order of time. @param {Columns} path @param {number} n */
export function longestSteps(path, n) {
	const order = Array.from({ length: path.rows }, (_, i) => i);

	order.sort((a, b) => path.dur[b] - path.dur[a]);
	return order.slice(0, n).sort((a, b) => path.time[a] - path.time[b]);
}

/**
 * ns of the path on CPUs, in run queues, and waiting for each reason by its name.
 * @param {Model} model @param {Columns} path @returns {Record<string, number>}
 */
export function pathSums(model, path) {
	/** @type {Record<string, number>} */
	const sums = { cpu: 0, runqueue: 0, unknown: 0 };

	for (let i = 0; i < path.rows; i++) {
		const key = path.kind[i] === PATH_CPU ? "cpu" : path.kind[i] === PATH_QUEUE ? "runqueue" :
			path.kind[i] === PATH_WAIT ? model.head.reasons?.[path.reason[i]]?.name || "unknown" : "unknown";

		sums[key] = (sums[key] || 0) + path.dur[i];
	}
	return sums;
}

// --- steps of the sentences of `why` ---

/** By 1 + the number of a sentence. @param {Columns} path @param {Columns} shares @returns {LineSteps[]} */
function sortSteps(path, shares) {
	/** @type {LineSteps[]} */
	const lines = [];
	const add = (/** @type {number} */ line, /** @type {number} */ step, /** @type {number} */ ns) => {
		const found = lines[line] ||= { steps: [], longest: step, ns };

		found.steps.push(step);
		if (ns > found.ns)
			[found.longest, found.ns] = [step, ns];
	};

	for (let step = 0, share = 0; step < path.rows; step++) {
		if (path.line[step])
			add(path.line[step], step, path.dur[step]);
		for (; share < shares.rows && shares.step[share] === step; share++)
			add(shares.line[share], step, shares.ns[share]);
	}
	return lines;
}

/** By the columns that they are made of: each frame of the axis asks for them. @type {WeakMap<Columns, LineSteps[]>} */
const sortedSteps = new WeakMap();

/** The steps that a sentence counts, after load("path") and load("shares"); null: the page has none.
 * @param {Model} model @param {number} line @returns {LineSteps | null} */
export function stepsOfLine(model, line) {
	const path = model.get("path");
	let lines = sortedSteps.get(path);

	if (!lines)
		sortedSteps.set(path, lines = sortSteps(path, model.get("shares")));
	return lines[line + 1] || null;
}
