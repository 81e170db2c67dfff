// SPDX-License-Identifier: GPL-2.0-or-later
// What a selection weighs, by node of a tree: CPU samples, time off the CPUs, all of the time, or
// rows of a table with stacks. Sums are those of `ebreport callgraph --from A --to B`.
import { lowerBound } from "./model.js";
import { spansOf } from "./spans.js";
import { Grouping, KIND_OFF_CPU, KIND_ON_CPU, KIND_QUEUED } from "./tree.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("./tree.js").CallTree} CallTree */
/** @typedef {{from: number, to: number, end: number, threads: Uint8Array | null}} Selection to: of rows; end: of time; threads: by 1 + thread; null: all */
/** @typedef {{self: Float64Array, count: Float64Array}} Weights by node */
/** @typedef {{tree: CallTree, unit: string, weigh: (selection: Selection) => Weights,
 *   place: (kind: string, row: number) => number}} Weighing place: the node of a moment; 0: it has none */

const SLEEPS = { runnable: 0, fresh: 5 }; // enum sched_why
const THREAD_KERNEL = 1;
const EVENTS_JOINED = 4; // their value is the sum of their times

/** @typedef {{name: string, label: string, unit: string, noun: string}} WeightKind noun: what is counted */

/** The kinds of weight that this trace has. @param {Model} model @returns {WeightKind[]} */
export function weightKinds(model) {
	/** @type {WeightKind[]} */
	const kinds = [];

	if (model.has("samples"))
		kinds.push({ name: "cpu", label: "On CPU", unit: "ns", noun: "samples" });
	if (model.has("spells"))
		kinds.push({ name: "offcpu", label: "Off CPU", unit: "ns", noun: "intervals" },
			{ name: "wall", label: "Wall clock", unit: "ns", noun: "samples and intervals" });
	for (const weight of Array.isArray(model.head.weights) ? model.head.weights : [])
		kinds.push({
			name: weight.kind + ":" + weight.unit, unit: weight.unit, noun: weight.name,
			label: weight.name.charAt(0).toUpperCase() + weight.name.slice(1) + (weight.unit === "ns" ? ", time" : ""),
		});
	return kinds;
}

/** Sections that a kind of weight is made of. @param {string} weight */
export function weightSections(weight) {
	const sections = /** @type {Record<string, string[]>} */ ({
		cpu: ["samples"], offcpu: ["spells"], wall: ["samples", "spells"],
	});

	return ["funcs", "nodes", ...(Object.hasOwn(sections, weight) ? sections[weight] : ["events"])];
}

/**
 * Threads that are chosen, by 1 + index; null: all, and idle CPUs.
 * @param {Model} model @param {{process: number | null, thread: number | null}} state
 * @param {boolean} kernel are threads of the kernel wanted where none is chosen?
 */
function chosenThreads(model, state, kernel) {
	const threads = model.get("threads");
	const chosen = new Uint8Array(threads.rows + 1);

	if (state.thread !== null) {
		chosen[state.thread + 1] = 1;
		return chosen;
	}
	if (state.process === null && kernel)
		return null;
	for (let i = 0; i < threads.rows; i++)
		chosen[i + 1] = state.process !== null ? Number(threads.process[i] === state.process + 1) :
			Number(!(threads.flags[i] & THREAD_KERNEL));
	return chosen;
}

/** @param {Model} model @param {State} state @param {{from: number, to: number} | null} range @returns {Selection} */
export function selectionOf(model, state, range) {
	return {
		// A range ends before its end; the whole has the last row, too.
		from: range ? range.from : model.from, to: range ? range.to : Infinity,
		end: range ? range.to : model.to,
		threads: chosenThreads(model, state, state.weight !== "offcpu" && state.weight !== "wall"),
	};
}

/** How much of one span lies in another: spells may last beyond the time of the page.
 * @param {number} from @param {number} to @param {Selection} within */
function overlap(from, to, within) {
	return Math.max(0, Math.min(to, within.end) - Math.max(from, within.from));
}

/** @param {CallTree} tree @returns {Weights} */
function noWeights(tree) {
	return { self: new Float64Array(tree.n), count: new Float64Array(tree.n) };
}

/** @param {Model} model @param {Selection} selection */
function samplesWithin(model, selection) {
	const samples = model.get("samples");

	if (!samples.rows)
		return { low: 0, high: 0 };
	return {
		low: lowerBound(samples.time, selection.from, 0, samples.rows),
		high: lowerBound(samples.time, selection.to, 0, samples.rows),
	};
}

/** @param {Grouping} grouping @returns {Uint32Array} */
function placeSamples(grouping) {
	const { rows, thread, node } = grouping.model.get("samples");
	const at = new Uint32Array(rows);

	for (let i = 0; i < rows; i++)
		at[i] = grouping.place(thread[i], node[i]);
	return at;
}

/** Samples, each with the time that it stands for. @param {Grouping} grouping @returns {Weighing} */
function weighSamples(grouping) {
	const { model } = grouping;
	const samples = model.get("samples"), at = placeSamples(grouping);
	const tree = grouping.builder.finish();

	return {
		tree, unit: "ns", place: (kind, row) => kind === "sample" ? at[row] : 0,
		weigh: (selection) => {
			const weights = noWeights(tree);
			const { low, high } = samplesWithin(model, selection);

			for (let i = low; i < high; i++) {
				if (selection.threads && !selection.threads[samples.thread[i]])
					continue;
				weights.self[at[i]] += samples.weight[i];
				weights.count[at[i]] += samples.count[i];
			}
			return weights;
		},
	};
}

/** Time from a stop until the thread ran again. @param {Grouping} grouping @returns {Weighing} */
function weighOffCpu(grouping) {
	const { model } = grouping;
	const { spells, stop, start } = spansOf(model);
	const at = new Uint32Array(spells.rows);

	for (let i = 0; i < spells.rows; i++) {
		if (start[i] > stop[i])
			at[i] = grouping.place(spells.thread[i] + 1, spells.node[i]);
	}

	const tree = grouping.builder.finish();

	return {
		tree, unit: "ns", place: (kind, row) => kind === "spell" ? at[row] : 0,
		weigh: (selection) => {
			const weights = noWeights(tree);

			for (let i = 0; i < spells.rows; i++) {
				if (selection.threads && !selection.threads[spells.thread[i] + 1])
					continue;
				addSpan(weights, at[i], stop[i], start[i], spells.count[i], selection);
			}
			return weights;
		},
	};
}

/**
 * A span, or several that were put together: of these a part counts for its share.
 * @param {Weights} weights @param {number} node @param {number} from @param {number} to
 * @param {number} count @param {Selection} selection
 */
function addSpan(weights, node, from, to, count, selection) {
	const ns = overlap(from, to, selection);

	if (ns <= 0)
		return;
	weights.self[node] += ns;
	weights.count[node] += count === 1 ? 1 : Math.max(1, Math.round(count * ns / (to - from)));
}

/** Frames that stand for kinds of time. @param {Grouping} grouping */
function timeFrames(grouping) {
	const { funcs, model } = grouping;

	return {
		cpu: funcs.add("[on CPU]", "", KIND_ON_CPU),
		queue: funcs.add("[run queue]", "", KIND_QUEUED),
		preempted: funcs.add("[preempted]", "", KIND_QUEUED),
		waits: (model.head.reasons || []).map((/** @type {{text: string}} */ reason) =>
			funcs.add("[waits for " + reason.text + "]", "", KIND_OFF_CPU)),
		waits_else: funcs.add("[waits]", "", KIND_OFF_CPU),
	};
}

/** All that threads did. @param {Grouping} grouping @returns {Weighing} */
function weighWall(grouping) {
	const { model, builder } = grouping;
	const frames = timeFrames(grouping), spells = model.get("spells");
	const at = placeSamples(grouping).map((node) => builder.place(node, frames.cpu));
	const off = new Uint32Array(spells.rows), queue = new Uint32Array(spells.rows);

	for (let i = 0; i < spells.rows; i++) {
		const node = grouping.place(spells.thread[i] + 1, spells.node[i]);
		const wait = frames.waits[spells.reason[i]] ?? frames.waits_else;

		if (spells.why[i] === SLEEPS.runnable)
			off[i] = queue[i] = builder.place(node, frames.preempted);
		else if (spells.off_ns[i] && spells.why[i] !== SLEEPS.fresh)
			off[i] = builder.place(node, wait);
		if (!queue[i] && (spells.queue_ns[i] || spells.why[i] === SLEEPS.fresh))
			queue[i] = builder.place(node, frames.queue);
		if (!off[i])
			off[i] = queue[i];
	}

	const bare = placeBareThreads(grouping, frames.cpu);
	const tree = builder.finish();

	return {
		tree, unit: "ns", place: (kind, row) => kind === "sample" ? at[row] : kind === "spell" ? off[row] : 0,
		weigh: (selection) => {
			const weights = noWeights(tree);
			const run = weighSpells(model, selection, weights, off, queue);

			shareOut(model, selection, run, at, bare, weights);
			return weights;
		},
	};
}

/** Events with stacks, of the tracks of one kind: their number or how long they took. They count where they begin. @param {Grouping} grouping @param {string} weight @returns {Weighing} */
function weighEvents(grouping, weight) {
	const { model } = grouping, [kind, unit] = weight.split(":");
	const tracks = /** @type {{kind: string, thread: number | null}[]} */ (model.head.tracks || []);
	const threads = tracks.map((track) => track.kind !== kind ? -1 : Number.isInteger(track.thread) ? Number(track.thread) + 1 : 0);
	const events = model.get("events"), at = new Uint32Array(events.rows);

	for (let i = 0; i < events.rows; i++) {
		const thread = threads[events.track[i]] ?? -1;

		if (thread >= 0 && events.node[i])
			at[i] = grouping.place(thread, events.node[i]);
	}

	const tree = grouping.builder.finish();

	return {
		tree, unit, place: (kind, row) => kind === "event" ? at[row] : 0,
		weigh: (selection) => {
			const weights = noWeights(tree);

			for (let i = 0; i < events.rows; i++) {
				const end = events.time[i] + events.dur[i];

				if (!at[i] || end < selection.from || end >= selection.to ||
						(selection.threads && !selection.threads[threads[events.track[i]]]))
					continue;
				weights.self[at[i]] += unit !== "ns" ? events.count[i] :
					events.flags[i] & EVENTS_JOINED ? events.value[i] : events.dur[i];
				weights.count[at[i]] += events.count[i];
			}
			return weights;
		},
	};
}

/** Where threads ran that no sample met. @param {Grouping} grouping @param {number} frame */
function placeBareThreads(grouping, frame) {
	const threads = grouping.model.get("threads");
	const bare = new Uint32Array(threads.rows);

	for (let i = 0; i < threads.rows; i++) {
		if (threads.cpu_ns[i])
			bare[i] = grouping.builder.place(grouping.placeThread(i), frame);
	}
	return bare;
}

/**
 * Adds time off the CPUs. Returns the time that each thread ran.
 * @param {Model} model @param {Selection} selection @param {Weights} weights
 * @param {Uint32Array} off @param {Uint32Array} queue
 */
function weighSpells(model, selection, weights, off, queue) {
	const { spells, stop, ready, start, end } = spansOf(model);
	const run = new Float64Array(model.get("threads").rows);

	for (let i = 0; i < spells.rows; i++) {
		const thread = spells.thread[i];

		if (selection.threads && !selection.threads[thread + 1])
			continue;
		addSpan(weights, off[i], stop[i], ready[i], spells.count[i], selection);
		addSpan(weights, queue[i], ready[i], start[i], spells.count[i], selection);
		run[thread] += overlap(start[i], end[i], selection);
	}
	return run;
}

/**
 * Samples share out the time that a thread ran, so that all shares together are that time.
 * @param {Model} model @param {Selection} selection @param {Float64Array} run by thread
 * @param {Uint32Array} at @param {Uint32Array} bare @param {Weights} weights
 */
function shareOut(model, selection, run, at, bare, weights) {
	const { thread } = model.get("samples");
	const { low, high } = samplesWithin(model, selection);
	const samples = new Uint32Array(run.length), shared = new Uint32Array(run.length);
	const share = (/** @type {number} */ t) => shared[t] === samples[t] ? run[t] :
		Math.floor(run[t] * shared[t] / samples[t]);

	for (let i = low; i < high; i++) {
		if (thread[i])
			samples[thread[i] - 1]++;
	}
	for (let i = low; i < high; i++) {
		const t = thread[i] - 1;

		if (t < 0 || !run[t])
			continue;

		const before = shared[t] ? share(t) : 0;

		shared[t]++;
		weights.self[at[i]] += share(t) - before;
		weights.count[at[i]]++;
	}
	for (let t = 0; t < run.length; t++) {
		if (run[t] && !samples[t])
			weights.self[bare[t]] += run[t];
	}
}

/** What was made for this page already. @type {WeakMap<Model, Map<string, Weighing>>} */
const WEIGHINGS = new WeakMap();

/**
 * The tree of all stacks that weights of this kind stand in, and what weighs them. After
 * weightSections() are loaded.
 * @param {Model} model @param {string} weight @param {string} by @param {boolean} fold
 * @returns {Weighing}
 */
export function weighingOf(model, weight, by, fold) {
	const makers = /** @type {Record<string, (grouping: Grouping) => Weighing>} */ ({
		cpu: weighSamples, offcpu: weighOffCpu, wall: weighWall,
	});
	const made = WEIGHINGS.get(model) || new Map();
	const key = [weight, by, fold].join();
	let weighing = made.get(key);

	if (!weighing) {
		const grouping = new Grouping(model, by, fold);

		weighing = Object.hasOwn(makers, weight) ? makers[weight](grouping) : weighEvents(grouping, weight);
		made.set(key, weighing);
		WEIGHINGS.set(model, made);
	}
	return weighing;
}

/** @param {Float64Array} values */
export function sumOf(values) {
	let sum = 0;

	for (let i = 0; i < values.length; i++)
		sum += values[i];
	return sum;
}
