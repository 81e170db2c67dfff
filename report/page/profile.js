// SPDX-License-Identifier: GPL-2.0-or-later
// What the flame graph and the tables of functions show: the weights of what is chosen. It is
// worked out once for both.
import { chosenCommand, shellWord } from "./command.js";
import { compareWeights, mergeTrees, moveWeights } from "./difference.js";
import { matchFuncs } from "./tree.js";
import { count, duration } from "./text.js";
import { selectionOf, sumOf, weighingOf, weightKinds, weightSections } from "./weights.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./state.js").App} App */
/** @typedef {import("./state.js").Range} Range */
/** @typedef {import("./tree.js").CallTree} CallTree */
/** @typedef {import("./weights.js").Weights} Weights */
/** @typedef {import("./difference.js").Comparison} Comparison */
/** @typedef {import("./difference.js").Merged} Merged */
/**
 * @typedef {Object} Profile
 * @property {CallTree} tree
 * @property {Weights} weights of the picture: of two, those that widths are of
 * @property {number} total
 * @property {number} rows samples or spans
 * @property {Comparison | null} comparison
 * @property {(kind: string, row: number) => number} place node of a moment
 * @property {string[]} sides what is compared, in words; empty: nothing is
 */

/** Choices of the flame graph that are not those of other views; state.flame has those that are not usual. */
export const FLAME_WORDS = ["upwards", "byname", "object", "category", "unfolded", "only", "before", "pertotal",
	"perduration", "single"];

/** @param {App} app @param {string} word */
export function flameChoice(app, word) {
	return (app.store.state.flame || "").split(".").includes(word);
}

/** @param {App} app @param {Record<string, boolean>} choices */
export function chooseFlame(app, choices) {
	app.store.set({
		flame: FLAME_WORDS.filter((word) => choices[word] ?? flameChoice(app, word)).join("."),
	});
}

/** What can be compared: "traces", "ranges" or "". @param {App} app */
export function comparable(app) {
	const { range, range2 } = app.store.state;

	return range && range2 ? "ranges" : app.models.length > 1 ? "traces" : "";
}

/** @param {App} app */
export function isCompared(app) {
	return comparable(app) !== "" && !flameChoice(app, "single");
}

/** Traces that are needed. @param {App} app */
function modelsOf(app) {
	return isCompared(app) && comparable(app) === "traces" ? app.models.slice(0, 2) : [app.model];
}

/** @param {App} app */
function sectionsOf(app) {
	return modelsOf(app).flatMap((model) =>
		weightSections(app.store.state.weight).map((name) => ({ model, name })));
}

/**
 * Is all of it here already? If not, it is read, and shown then.
 * @param {App} app @param {HTMLElement} said what is said meanwhile @param {() => void} show
 */
export function isLoaded(app, said, show) {
	const sections = sectionsOf(app);

	if (sections.every(({ model, name }) => Object.hasOwn(model.loaded, name)))
		return true;
	said.textContent = "Reading stacks …";
	Promise.all(sections.map(({ model, name }) => model.load(name))).then(show, (error) => {
		said.textContent = "Stacks cannot be shown. The page's data may be damaged: " + error.message + ".";
	});
	return false;
}

/**
 * Leaves the weights of stacks with a function that is searched for.
 * @param {CallTree} tree @param {Weights} weights @param {import("./tree.js").Search} search
 */
function keepFound(tree, weights, search) {
	const found = matchFuncs(tree.funcs, search);
	const within = new Uint8Array(tree.n);

	if (!found)
		return;
	for (let i = 0; i < tree.n; i++) {
		within[i] = (i && found[tree.func[i]]) || within[tree.parent[i]];
		if (!within[i])
			weights.self[i] = weights.count[i] = 0;
	}
}

/** @type {WeakMap<Model, Map<string, Merged>>} */
const MERGED = new WeakMap();

/** @param {App} app @param {string} key @param {CallTree[]} trees */
function mergedOf(app, key, trees) {
	const known = MERGED.get(app.models[0]) || new Map();

	if (!known.has(key))
		known.set(key, mergeTrees(trees[0], trees[1]));
	MERGED.set(app.models[0], known);
	return /** @type {Merged} */ (known.get(key));
}

/** The same process or thread in another trace is one of that name. @param {App} app @param {Model} model */
function stateIn(app, model) {
	const { state } = app.store, shown = app.model;

	if (model === shown || (state.process === null && state.thread === null))
		return state;
	return { ...state, process: sameName(shown, model, "processes", state.process),
		thread: sameName(shown, model, "threads", state.thread) };
}

/** @param {Model} from @param {Model} to @param {string} section @param {number | null} index */
function sameName(from, to, section, index) {
	if (index === null)
		return null;

	const name = from.string(from.get(section).name[index]), there = to.get(section);

	for (let i = 0; i < there.rows; i++) {
		if (to.string(there.name[i]) === name)
			return i;
	}
	return there.rows; // none
}

/** @param {App} app */
function compareTraces(app) {
	const { weight, by, range } = app.store.state;
	const models = app.models.slice(0, 2), fold = !flameChoice(app, "unfolded");
	// Numbers of processes are other ones in another trace.
	const roots = by === "none" ? by : "name";
	const weighings = models.map((model) => weighingOf(model, weight, roots, fold));
	const merged = mergedOf(app, [weight, roots, fold].join(), weighings.map((w) => w.tree));
	const nodes = [merged.before, merged.after];
	const weights = weighings.map((weighing, i) => moveWeights(
		weighing.weigh(selectionOf(models[i], stateIn(app, models[i]), range)), nodes[i], merged.tree.n));

	return {
		tree: merged.tree, weights, place: () => 0,
		durations: models.map((model) => (range || model).to - (range || model).from),
		sides: models.map((model) => model.head.name),
	};
}

/** @param {App} app */
function compareRanges(app) {
	const { state } = app.store;
	const model = app.model, ranges = [/** @type {Range} */ (state.range), /** @type {Range} */ (state.range2)];
	const weighing = weighingOf(model, state.weight, state.by, !flameChoice(app, "unfolded"));
	const seconds = (/** @type {number} */ ns) => (ns / 1e9).toFixed(3);

	return {
		tree: weighing.tree, place: weighing.place,
		weights: ranges.map((range) => weighing.weigh(selectionOf(model, state, range))),
		durations: ranges.map((range) => range.to - range.from),
		sides: ranges.map((range) => seconds(range.from) + "–" + seconds(range.to) + " s"),
	};
}

/** @param {App} app @returns {Profile} */
function makeComparison(app) {
	const both = comparable(app) === "traces" ? compareTraces(app) : compareRanges(app);
	const { tree, weights, place, sides } = both;

	if (flameChoice(app, "only"))
		weights.forEach((side) => keepFound(tree, side, app.store.state));

	const comparison = compareWeights(tree, weights[0], weights[1], {
		sampled: app.store.state.weight === "cpu",
		per: flameChoice(app, "pertotal") ? "total" : flameChoice(app, "perduration") ? "duration" : "nothing",
		durations: [both.durations[0], both.durations[1]],
	});
	const { scale, weights: picture } = flameChoice(app, "before") ? comparison.before : comparison.after;
	const scaled = { self: picture.self.map((weight) => weight * scale), count: picture.count };

	return { tree, weights: scaled, total: sumOf(scaled.self), rows: sumOf(scaled.count), comparison, place, sides };
}

/** @param {App} app @returns {Profile} */
function makeProfile(app) {
	const { state } = app.store, model = app.model;

	if (isCompared(app))
		return makeComparison(app);

	const { tree, weigh, place } = weighingOf(model, state.weight, state.by, !flameChoice(app, "unfolded"));
	const weights = weigh(selectionOf(model, state, state.range));

	if (flameChoice(app, "only"))
		keepFound(tree, weights, state);
	return { tree, weights, total: sumOf(weights.self), rows: sumOf(weights.count), comparison: null, place, sides: [] };
}

/** The last one that was made. @type {WeakMap<App, {key: string, profile: Profile}>} */
const PROFILES = new WeakMap();

/** What it depends on. @param {App} app */
function profileKey(app) {
	const { range, range2, process, thread, weight, by, text, typed } = app.store.state;

	return JSON.stringify([range, range2, process, thread, weight, by,
		flameChoice(app, "only") ? [text, typed] : "",
		["unfolded", "only", "before", "pertotal", "perduration", "single"].map((word) => flameChoice(app, word))]);
}

/** Of what is loaded. @param {App} app @returns {Profile} */
export function profileOf(app) {
	const key = profileKey(app), known = PROFILES.get(app);

	if (known?.key === key)
		return known.profile;

	const profile = makeProfile(app);

	PROFILES.set(app, { key, profile });
	return profile;
}

/** Does a change of the state change it? @param {Set<string>} changed */
export function changesProfile(changed) {
	return ["range", "range2", "process", "thread", "weight", "by", "flame", "text", "typed"].some(
		(key) => changed.has(key));
}

/** The kind of weight that is chosen. @param {App} app */
function kindOf(app) {
	const kinds = weightKinds(app.model);

	return kinds.find((kind) => kind.name === app.store.state.weight) ||
		{ name: app.store.state.weight, label: "", unit: "ns", noun: "intervals" };
}

/** What is counted. @param {App} app */
export function nounOf(app) {
	return kindOf(app).noun;
}

/** A weight as text. @param {App} app @param {number} weight */
export function amountOf(app, weight) {
	return kindOf(app).unit === "ns" ? duration(weight) : count(weight);
}

/** What there is of it all. @param {App} app @param {Profile} profile */
export function sumText(app, profile) {
	const { comparison, sides } = profile;

	if (comparison)
		return [comparison.before, comparison.after].map((side, i) => (i ? "after: " : "Before: ") + sides[i] + ", " +
			amountOf(app, side.total[0]) + (side.scale === 1 ? "" : " × " + side.scale.toPrecision(3))).join("; ");

	const counted = count(profile.rows) + " " + nounOf(app);

	return kindOf(app).unit === "ns" ? duration(profile.total) + " in " + counted : counted;
}

/** Where parts of rows that were put together are counted by their share. @param {App} app */
export function inexactNote(app) {
	const { range, weight } = app.store.state, summarised = app.model.head.summarised || {};
	const within = weight === "cpu" ? summarised.samples_ns : summarised.spells_ns;

	return !within || !(range || weight !== "cpu") || weight.includes(":") ? "" :
		(weight === "cpu" ? "samples" : "intervals") + " within " + duration(within) + " were put together" +
		(weight === "cpu" ? ": at the ends of the range some may be missing, or too many" :
			" and are shown where the longest of them stopped: exact with --from and --to");
}

/** What prints the same; "": nothing does. @param {App} app @param {"flame" | "callgraph"} command */
export function profileCommand(app, command) {
	const { weight, by, inverted } = app.store.state, { model } = app;
	const options = [];

	if (isCompared(app) && comparable(app) === "traces")
		return ["ebreport diff", shellWord(app.models[0].head.name), shellWord(app.models[1].head.name),
			weight === "offcpu" ? "--event offcpu" : "", command === "flame" ? "--flame -o diff.svg" : ""].filter(Boolean).join(" ");
	if (isCompared(app))
		return "";
	if (weight === "wall")
		return chosenCommand(app, "wall");
	if (weight.startsWith("mark:"))
		return chosenCommand(app, "marks");
	if (weight !== "cpu")
		options.push("--event " + shellWord(weight.split(":")[0]), weight.endsWith(":rows") ? "--weight rows" : "");
	if (command === "flame")
		options.push(by === "name" ? "" : "--by " + shellWord(by), inverted ? "--bottom-up" : "",
			flameChoice(app, "category") && !inverted ? "--color category" : "", flameChoice(app, "byname") ? "" : "--left-heavy",
			flameChoice(app, "upwards") ? "" : "--icicle", "-o " + shellWord(model.head.name.replace(/\.ebt$/, "") + ".svg"));
	return chosenCommand(app, [command, ...options].filter(Boolean).join(" "));
}

/** Why there is nothing, and what to do. @param {App} app @returns {{text: string, command: string}} */
export function whyEmpty(app) {
	const { state } = app.store, isCpu = state.weight === "cpu";

	if (isCpu && !app.model.has("samples"))
		return {
			text: "This trace has no CPU samples. They are among the default sources of the recorder:",
			command: "ebrec -e default -o t.ebt -- COMMAND",
		};
	if (!weightKinds(app.model).some((kind) => kind.name === state.weight))
		return state.weight.includes(":") ? { text: "This trace has no such events with stacks. What can be recorded:", command: "ebrec --list-events" } : {
			text: "This trace has no switches of threads, so that nothing is known of time off the CPUs. They are among " +
				"the default sources of the recorder:",
			command: "ebrec -e default -o t.ebt -- COMMAND",
		};
	if (state.text && flameChoice(app, "only"))
		return { text: "No stack of what is chosen has a function that matches the search.", command: "" };
	return {
		text: isCpu ? "No sample was taken in what is chosen: its threads did not run, or for too short a time." :
			"Nothing of what is chosen has any weight of this kind.",
		command: "",
	};
}
