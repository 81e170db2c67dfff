// SPDX-License-Identifier: GPL-2.0-or-later
// Two weighed trees compared, as `ebreport diff` does: functions are matched by name and by the
// last part of the object's path, frames by these on the same way from the root.
import { FuncTable, KIND_ROOT, TreeBuilder } from "./tree.js";
import { sumOf } from "./weights.js";

/** @typedef {import("./tree.js").CallTree} CallTree */
/** @typedef {import("./weights.js").Weights} Weights */
/** @typedef {{weights: Weights, total: Float64Array, sample: number, scale: number}} Side */
/** @typedef {{tree: CallTree, before: Side, after: Side}} Comparison weights of both, by node of one tree */

/** Of 100 functions that did not change, one differs by more than so many standard errors. */
const ERRORS = 2.576;
/** From these shares of the picture on, a change is of the next colour. */
const CHANGE_LEVELS = [0, 0.01, 0.03, 0.1];

/** @param {string} path */
export function baseName(path) {
	return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * Where the nodes of a tree are in the one that is made of both.
 * @param {CallTree} tree @param {TreeBuilder} builder @param {Map<string, number>} numbers
 */
function mergeTree(tree, builder, numbers) {
	const nodes = new Uint32Array(tree.n), funcs = new Int32Array(tree.funcs.size).fill(-1);

	for (let i = 1; i < tree.n; i++) {
		const func = tree.func[i];

		if (funcs[func] < 0)
			funcs[func] = mergeFunc(tree.funcs, func, builder.funcs, numbers);
		nodes[i] = builder.place(nodes[tree.parent[i]], funcs[func], tree.flags[i], 0, 0, tree.category[i]);
	}
	return nodes;
}

/** @param {FuncTable} from @param {number} func @param {FuncTable} to @param {Map<string, number>} numbers */
function mergeFunc(from, func, to, numbers) {
	const name = from.name(func), object = from.object(func);
	const key = name + "\n" + baseName(object);
	let number = numbers.get(key);

	if (number === undefined) {
		number = to.add(name, object, from.kind(func));
		numbers.set(key, number);
	}
	return number;
}

/** @typedef {{tree: CallTree, before: Uint32Array, after: Uint32Array}} Merged */

/** @param {CallTree} before @param {CallTree} after @returns {Merged} */
export function mergeTrees(before, after) {
	const builder = new TreeBuilder(new FuncTable(null));
	/** @type {Map<string, number>} */
	const numbers = new Map();

	builder.funcs.add("", "", KIND_ROOT); // of the root of all
	const first = mergeTree(before, builder, numbers), second = mergeTree(after, builder, numbers);

	return { tree: builder.finish(), before: first, after: second };
}

/** @param {Weights} weights @param {Uint32Array} nodes @param {number} n @returns {Weights} */
export function moveWeights(weights, nodes, n) {
	const moved = { self: new Float64Array(n), count: new Float64Array(n) };

	for (let i = 0; i < nodes.length; i++) {
		moved.self[nodes[i]] += weights.self[i];
		moved.count[nodes[i]] += weights.count[i];
	}
	return moved;
}

/** @param {CallTree} tree @param {Weights} weights @param {boolean} sampled @returns {Side} */
function sideOf(tree, weights, sampled) {
	const stacks = sumOf(weights.count);

	return {
		weights, total: tree.totals(weights.self), scale: 1,
		sample: sampled && stacks ? sumOf(weights.self) / stacks : 0,
	};
}

/**
 * @param {CallTree} tree @param {Weights} before @param {Weights} after
 * @param {{sampled: boolean, per: string, durations: [number, number]}} how per: "nothing", "total", "duration"
 * @returns {Comparison}
 */
export function compareWeights(tree, before, after, how) {
	const sides = [sideOf(tree, before, how.sampled), sideOf(tree, after, how.sampled)];
	const [was, is] = how.per === "duration" ? how.durations : sides.map((side) => side.total[0]);

	if (how.per !== "nothing" && was && is)
		sides[0].scale = is / was;
	return { tree, before: sides[0], after: sides[1] };
}

/** Variance of a scaled weight: samples are counted as events of chance are. @param {Side} side @param {number} weight */
function variance(side, weight) {
	const sample = side.sample * side.scale;

	return sample > 0 ? sample * sample * (weight / sample + 1) : 0;
}

/**
 * @param {Comparison} comparison @param {number} before scaled @param {number} after
 * @returns {number} standard error of the difference
 */
export function changeError(comparison, before, after) {
	return Math.sqrt(variance(comparison.before, before) + variance(comparison.after, after));
}

/** May the change be none? @param {number} change @param {number} error */
export function isWithinError(change, error) {
	return Math.abs(change) < ERRORS * error;
}

/** @param {Comparison} comparison @param {number} node */
export function nodeChange(comparison, node) {
	const before = comparison.before.total[node] * comparison.before.scale;
	const after = comparison.after.total[node] * comparison.after.scale;

	return { before, after, change: after - before, error: changeError(comparison, before, after) };
}

/** Name of the colour of a frame. @param {Comparison} comparison @param {number} node @param {number} whole weight of the picture */
export function changeColour(comparison, node, whole) {
	const { change, error } = nodeChange(comparison, node);
	const share = Math.abs(change) / (whole || 1);
	let level = 0;

	if (!change || isWithinError(change, error))
		return "same";
	while (level + 1 < CHANGE_LEVELS.length && share >= CHANGE_LEVELS[level + 1])
		level++;
	return (change > 0 ? "more-" : "less-") + level;
}

/**
 * Functions of both sides.
 * @param {Comparison} comparison @param {boolean} byTotal with what they call, else themselves
 */
export function compareFuncs(comparison, byTotal) {
	const { tree, before, after } = comparison;
	const was = new Float64Array(tree.funcs.size), is = new Float64Array(tree.funcs.size);
	const rows = [];

	for (let i = 1; i < tree.n; i++) {
		if (byTotal && !tree.outermost[i])
			continue;
		was[tree.func[i]] += (byTotal ? before.total : before.weights.self)[i] * before.scale;
		is[tree.func[i]] += (byTotal ? after.total : after.weights.self)[i] * after.scale;
	}
	for (let func = 0; func < was.length; func++) {
		if ((!was[func] && !is[func]) || tree.funcs.kind(func) === KIND_ROOT)
			continue;

		const error = changeError(comparison, was[func], is[func]), change = is[func] - was[func];

		rows.push({
			func, before: was[func], after: is[func], change, error,
			note: isWithinError(change, error) ? "within sampling error" :
				!was[func] ? "new" : !is[func] ? "gone" : "",
		});
	}
	return rows;
}
