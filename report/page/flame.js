// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph of what is chosen: choices, keys and what is said about frames. flame_canvas.js
// draws it.
import { commandBox } from "./command.js";
import { announce, button, el, fill, select } from "./dom.js";
import { baseName, changeColour, isWithinError, nodeChange } from "./difference.js";
import { FlamePicture, kindColour, objectColours } from "./flame_canvas.js";
import {
	amountOf, changesProfile, chooseFlame, comparable, flameChoice, inexactNote, isCompared, isLoaded,
	nounOf, profileCommand, profileOf, sumText, whyEmpty,
} from "./profile.js";
import { findPath, isInlined, pathTo, PlainShape, TurnedShape } from "./shapes.js";
import { count, percent } from "./text.js";
import { KIND_ROOT, matchFuncs, shortName } from "./tree.js";
import { weightKinds } from "./weights.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./shapes.js").Shape} Shape */
/** @typedef {import("./profile.js").Profile} Profile */

const FIRST_FRAMES = /** @type {[string, string][]} */ ([
	["name", "Process name"], ["process", "Process"], ["thread", "Thread"], ["none", "All merged"],
]);
const COLOUR_TEXTS = /** @type {Record<string, string>} */ ({
	user: "program", library: "library", kernel: "kernel", inlined: "inlined", jit: "JIT", python: "Python",
	unresolved: "no name", cpu: "on CPU", queue: "run queue", off: "off CPU", root: "process, thread",
});

const MOST_CATEGORIES = 24; // in the legend

/** One after the other, of a group. @param {string} label @param {(Node | false)[]} children */
function group(label, children) {
	return el("div", { class: "flame-group", role: "group", "aria-label": label }, ...children);
}

/** @param {Shape} shape @param {number} node */
function colourOfCategory(shape, node) {
	return shape.kind(node) === KIND_ROOT ? "root" : "category-" + shape.category(node);
}

/** @param {Shape} shape @param {number} node */
function colourOfObject(shape, node) {
	const object = shape.funcs.object(shape.func(node));

	return object ? objectColours(shape.tree).get(object) || "unresolved" : "root";
}

/** Names of colours, by what they tell. */
const COLOURS = /** @type {Record<string, (shape: Shape, node: number) => string>} */ ({
	kind: kindColour, object: colourOfObject, category: colourOfCategory,
});

class FlameView {
	/** @param {App} app */
	constructor(app) {
		this.app = app;
		this.element = el("section", { class: "flame", "aria-label": "Flame graph" });
		this.controls = el("div", { class: "flame-controls" });
		this.scroller = el("div", {
			class: "flame-scroller", tabindex: "0", role: "application",
			"aria-label": "Flame graph: arrows move, Enter zooms, Escape shows all",
		});
		this.empty = el("div", { class: "flame-empty" });
		this.said = el("p", { class: "flame-said muted" });
		this.legend = el("ul", { class: "flame-legend", "aria-label": "Colours" });
		this.command = el("div");
		this.tooltip = el("div", { class: "flame-tooltip", hidden: true, "aria-hidden": "true" });
		this.matched = el("span", { class: "flame-matched", role: "status" });
		this.element.append(el("div", { class: "flame-head" }, this.controls, this.said), this.scroller, this.empty,
			el("div", { class: "flame-foot" }, this.legend, this.command), this.tooltip);
		this.picture = new FlamePicture(this.scroller, this.categories().length);
		/** @type {Profile | null} */
		this.profile = null;
		/** @type {Shape | null} */
		this.shape = null;
		/** @type {string[]} names of the frames down to the zoomed one */
		this.zoomNames = [];
		this.shapeKey = "";
		this.listen();
	}

	// --- what is shown ---

	start() {
		new ResizeObserver(() => {
			this.picture.restyle(); // the style is known now that it is in the document
			this.picture.layout();
			this.showLegend(); // of what is seen now
		}).observe(this.scroller);
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
		this.showControls();
		this.showAll();
	}

	/** @returns {string[]} */
	categories() {
		const { categories } = this.app.model.head;

		return Array.isArray(categories) ? categories : [];
	}

	/** What colours can tell. Turned over, a function has other callers in each stack. */
	colourings() {
		const choices = /** @type {[string, string][]} */ ([["kind", "Kind of code"], ["object", "Object"]]);

		if (this.categories().length && !this.app.store.state.inverted)
			choices.push(["category", "Category of work"]);
		return choices;
	}

	/** What they tell: "kind", "object" or "category". */
	colouredBy() {
		if (isCompared(this.app))
			return "kind";
		return this.colourings().find(([word]) => flameChoice(this.app, word))?.[0] || "kind";
	}

	restyle() {
		this.picture.restyle();
		this.showLegend();
	}

	/** @param {Set<string>} changed */
	update(changed) {
		if (changed.has("theme"))
			this.restyle();
		if (changesProfile(changed) || changed.has("inverted")) {
			this.showControls();
			this.showAll();
		} else if (changed.has("moment") || changed.has("frame")) {
			this.showChosen();
		}
	}

	showAll() {
		if (!isLoaded(this.app, this.said, () => this.showAll()))
			return;
		this.makeShape();
		this.showSearch();
		this.showPicture();
		this.showChosen();
		this.showLegend();

		const command = profileCommand(this.app, "flame");

		fill(this.command, command && commandBox(command));
	}

	makeShape() {
		const { state } = this.app.store, profile = profileOf(this.app);
		const byName = flameChoice(this.app, "byname");
		const key = [state.inverted, byName].join();

		if (this.profile === profile && this.shapeKey === key && this.shape)
			return;
		this.profile = profile;
		this.shapeKey = key;
		// Of two, all frames of one path are needed to tell what changed: these are not turned over.
		this.shape = state.inverted && !profile.comparison ?
			new TurnedShape(profile.tree, profile.weights, byName) :
			new PlainShape(profile.tree, profile.weights, byName);
		this.picture.selected = this.picture.hovered = -1;
	}

	showPicture() {
		const { picture, profile, shape } = this;
		const by = this.colouredBy();

		if (!profile || !shape)
			return;

		picture.icicle = !flameChoice(this.app, "upwards");
		picture.colour = (node) => profile.comparison ? changeColour(profile.comparison, node, profile.total) :
			COLOURS[by](shape, node);
		picture.marksInlined = by !== "kind";
		this.scroller.hidden = !profile.total;
		this.empty.hidden = profile.total > 0;
		if (!profile.total)
			this.showEmpty();
		picture.show(shape, findPath(shape, this.zoomNames));
		if (!picture.icicle)
			picture.scrollToRoot();
		this.say();
	}

	showEmpty() {
		const why = whyEmpty(this.app), { range, process, thread } = this.app.store.state;
		const chosen = range || process !== null || thread !== null;

		fill(this.empty, el("p", null, why.text), why.command && el("code", null, why.command),
			chosen && button("Show all of the trace", () =>
				this.app.store.set({ range: null, process: null, thread: null })));
	}

	showSearch() {
		if (!this.shape)
			return;
		this.picture.found = matchFuncs(this.shape.funcs, this.app.store.state);
		this.picture.plan();
	}

	showMatched() {
		const { found, zoomed } = this.picture, { shape } = this;
		let text = "";

		if (found && shape) {
			const all = shape.matched(found, 0);

			text = "matched " + percent(all, shape.total(0));
			if (zoomed)
				text += ", " + percent(shape.matched(found, zoomed), shape.total(zoomed)) + " of the zoom";
		}
		this.matched.textContent = text;
	}

	/** A function that was chosen somewhere, and the stack of a sample. */
	showChosen() {
		const { state } = this.app.store, { picture, profile } = this;

		picture.func = profile?.comparison ? -1 : state.frame ?? -1;
		picture.showStack(this.nodesOfMoment());
	}

	/** @returns {number[]} */
	nodesOfMoment() {
		const { moment } = this.app.store.state, { profile, shape } = this;
		const node = (moment && profile?.place(moment.kind, moment.index)) || 0;

		return node && shape instanceof PlainShape ? pathTo(shape, node) : [];
	}

	// --- what is said ---

	/** @param {number} weight */
	amount(weight) {
		return amountOf(this.app, weight);
	}

	say() {
		const { profile, shape } = this, { zoomed } = this.picture;

		this.showMatched();
		if (!profile || !shape || !profile.total) {
			this.said.textContent = "";
			return;
		}

		const parts = [sumText(this.app, profile)];

		if (inexactNote(this.app))
			parts.push(inexactNote(this.app));
		if (zoomed)
			parts.push("zoomed to " + this.nameOf(zoomed) + ", " + this.amount(shape.total(zoomed)) + " (" +
				percent(shape.total(zoomed), profile.total) + ")");
		fill(this.said, parts.join("; "), zoomed > 0 && " ",
			zoomed > 0 && button("Show all", () => this.zoom(0), { class: "link" }));
	}

	/** @param {number} node */
	nameOf(node) {
		const { shape } = this;

		return node && shape ? shortName(shape.funcs.name(shape.func(node))) : "all";
	}

	/** Lines about a frame, the first is its name. @param {number} node @returns {string[]} */
	details(node) {
		const shape = /** @type {Shape} */ (this.shape), profile = /** @type {Profile} */ (this.profile);
		const { zoomed } = this.picture, total = shape.total(node), line = shape.line(node);
		const category = this.categories()[shape.category(node)];
		const shares = [percent(total, profile.total) + " of all"];
		const lines = [this.nameOf(node) + (isInlined(shape, node) ? " (inlined)" : "")];

		if (node && shape.funcs.object(shape.func(node)))
			lines.push(shortName(shape.funcs.object(shape.func(node))));
		if (line)
			lines.push(shortName(shape.file(node)) + ":" + line);
		if (node && category && shape.kind(node) !== KIND_ROOT)
			lines.push(category);
		if (zoomed)
			shares.push(percent(total, shape.total(zoomed)) + " of the zoom");
		if (node)
			shares.push(percent(total, shape.total(shape.parent(node))) + " of its parent");
		shape.children(node); // tells of a turned frame what its own part is
		lines.push(this.amount(total) + " total, " + this.amount(shape.self(node)) + " self, " +
			count(shape.count(node)) + " " + nounOf(this.app));
		lines.push(shares.join(", "));
		if (profile.comparison)
			lines.push(this.changeText(node));
		return lines;
	}

	/** @param {number} node */
	changeText(node) {
		const comparison = /** @type {import("./difference.js").Comparison} */ (this.profile?.comparison);
		const { before, after, change, error } = nodeChange(comparison, node);
		const sign = change < 0 ? "−" : "+";

		return this.amount(before) + " before, " + this.amount(after) + " after: " + sign +
			this.amount(Math.abs(change)) + (isWithinError(change, error) ? ", within sampling error" : "");
	}

	/** @param {number} node @param {number} clientX @param {number} clientY */
	showTooltip(node, clientX, clientY) {
		const { tooltip } = this;

		tooltip.hidden = node < 0;
		if (node < 0)
			return;

		const [name, ...lines] = this.details(node);

		fill(tooltip, el("strong", null, el("bdi", null, name)), ...lines.map((line) => el("bdi", null, line)));

		const left = Math.min(clientX + 12, innerWidth - tooltip.offsetWidth - 8);
		const top = clientY + 20 + tooltip.offsetHeight > innerHeight ? clientY - tooltip.offsetHeight - 12 : clientY + 20;

		tooltip.style.left = Math.max(8, left) + "px";
		tooltip.style.top = Math.max(8, top) + "px";
	}

	// --- choices ---

	showControls() {
		const { app } = this, { store } = app, { state } = store;
		// Controls are made anew; the one that is used keeps the focus.
		const focused = this.controls.contains(document.activeElement) ?
			document.activeElement?.closest("label")?.textContent : null;
		const kinds = weightKinds(app.model);

		fill(this.controls,
			group("What is weighed", [
				kinds.length > 1 && select("Weight", kinds.map((kind) => /** @type {[string, string]} */ ([kind.name, kind.label])), state.weight,
					(weight) => store.set({ weight })),
				select("First frame", FIRST_FRAMES, state.by, (by) => store.set({ by })),
			]),
			group("Difference", this.differenceControls()),
			group("Layout", [
				this.check("Innermost first", state.inverted, (inverted) => store.set({ inverted }), isCompared(app)),
				this.choice("Sort by name", "byname"), this.choice("Upwards", "upwards"),
				this.choice("Fold recursion", "unfolded", true),
			]),
			isCompared(app) ? null : group("Colours", [this.colourControl()]),
			state.text ? group("Search", [this.choice("Only matches", "only"), this.matched]) : null);
		if (focused)
			/** @type {HTMLElement | null | undefined} */ ([...this.controls.querySelectorAll("label")].find(
				(label) => label.textContent === focused)?.querySelector("input, select"))?.focus();
	}

	colourControl() {
		return select("Colours", this.colourings(), this.colouredBy(), (by) =>
			chooseFlame(this.app, { object: by === "object", category: by === "category" }));
	}

	differenceControls() {
		const { app } = this;

		if (!comparable(app))
			return [];
		return [
			this.choice(comparable(app) === "traces" ? "Compare the traces" : "Compare the ranges", "single", true),
			...(!isCompared(app) ? [] : [
				this.choice("Widths before", "before"),
				select("Scaled by", [["nothing", "Nothing"], ["total", "Total"], ["duration", "Duration"]],
					flameChoice(app, "pertotal") ? "total" : flameChoice(app, "perduration") ? "duration" : "nothing",
					(per) => chooseFlame(app, { pertotal: per === "total", perduration: per === "duration" })),
			]),
		];
	}

	/** @param {string} label @param {boolean} value @param {(value: boolean) => void} onchange @param {boolean} [disabled] */
	check(label, value, onchange, disabled) {
		const box = el("input", { type: "checkbox", disabled, onchange: () => onchange(box.checked) });

		box.checked = value;
		return el("label", { class: "flame-check" }, box, label);
	}

	/** @param {string} label @param {string} word @param {boolean} [reverse] ticked without the word */
	choice(label, word, reverse) {
		return this.check(label, flameChoice(this.app, word) !== Boolean(reverse),
			(value) => chooseFlame(this.app, { [word]: value !== Boolean(reverse) }));
	}

	showLegend() {
		const names = this.legendNames();

		fill(this.legend, ...names.map(([name, text]) => {
			const patch = el("span", { class: "flame-patch", "aria-hidden": "true" });

			patch.style.backgroundColor = this.picture.look.colours[name];
			return el("li", null, patch, text);
		}));
	}

	/** Colours that stand in the picture. @returns {[string, string][]} */
	legendNames() {
		const { shape, profile } = this;
		const used = new Set();

		if (!shape || !profile?.total)
			return [];
		if (profile.comparison)
			return [["less-3", "less"], ["less-1", ""], ["same", "unchanged, or within sampling error"],
				["more-1", ""], ["more-3", "more"]];
		if (this.colouredBy() === "category")
			return this.categoryNames(profile);
		if (this.colouredBy() === "object")
			return [["root", "process, thread"], ...[...objectColours(shape.tree)].map(([object, colour]) =>
				/** @type {[string, string]} */ ([colour, shortName(baseName(object))])), ["unresolved", "other objects"]];
		for (const { nodes } of this.picture.rows)
			for (const node of nodes)
				used.add(kindColour(shape, node));
		return Object.entries(COLOUR_TEXTS).filter(([name]) => used.has(name));
	}

	/** Those that most of the time belongs to, with their shares. @param {Profile} profile @returns {[string, string][]} */
	categoryNames({ tree, weights, total }) {
		const names = this.categories(), sums = new Float64Array(names.length);

		for (let i = 1; i < tree.n; i++)
			sums[tree.category[i]] += weights.self[i];

		const most = names.map((_, i) => i).filter((i) => sums[i] > 0).sort((a, b) => sums[b] - sums[a]);

		return most.slice(0, MOST_CATEGORIES).map((i) =>
			["category-" + i, names[i] + " " + percent(sums[i], total)]);
	}

	// --- zoom and keys ---

	/** @param {number} node */
	zoom(node) {
		const { shape } = this;

		if (!shape)
			return;
		this.zoomNames = pathTo(shape, node).map((at) => this.nameOf(at));
		this.picture.show(shape, node);
		this.say();
	}

	/** @param {number} node */
	choose(node) {
		const shape = /** @type {Shape} */ (this.shape), func = shape.func(node);
		const isFunction = node > 0 && !this.profile?.comparison && func < this.app.model.get("funcs").rows &&
			shape.funcs.kind(func) !== KIND_ROOT;

		this.picture.selected = node;
		this.app.store.set({ frame: isFunction ? func : null });
		this.picture.plan();
	}

	/** @param {number} node */
	select(node) {
		this.picture.selected = node;
		this.picture.scrollTo(node);
		this.picture.plan();
		announce(this.details(node).join(", "));

		const place = this.picture.placeOf(node), box = this.picture.space.getBoundingClientRect();

		if (place)
			this.showTooltip(node, box.left + Math.max(0, this.picture.rows[place.row].x[place.i]),
				box.top + this.picture.top(place.row));
	}

	/** @param {string} key */
	move(key) {
		const shape = /** @type {Shape} */ (this.shape), { picture } = this;
		const from = picture.placeOf(picture.selected);
		const outward = picture.icicle ? "ArrowUp" : "ArrowDown";

		if (!from)
			return picture.zoomed;
		if (key === "ArrowLeft" || key === "ArrowRight")
			return picture.rows[from.row].nodes[from.i + (key === "ArrowLeft" ? -1 : 1)] ?? picture.selected;
		if (key === outward)
			return shape.parent(picture.selected);

		const inner = shape.children(picture.selected).filter((node) => picture.placeOf(node));

		return inner.length ? inner.reduce((best, node) => shape.total(node) > shape.total(best) ? node : best) :
			picture.selected;
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		const { selected } = this.picture;

		if (event.ctrlKey || event.metaKey || event.altKey || !this.shape)
			return;
		if (event.key.startsWith("Arrow")) {
			this.select(this.move(event.key));
		} else if (event.key === "Enter" && selected >= 0) {
			this.choose(selected);
			this.zoom(selected);
			this.select(selected);
		} else if (event.key === "Escape" && (selected >= 0 || this.picture.zoomed)) {
			this.showTooltip(-1, 0, 0);
			this.picture.selected = -1;
			this.app.store.set({ frame: null });
			this.zoom(0);
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	listen() {
		const { scroller, picture } = this;

		scroller.addEventListener("keydown", (event) => this.key(event));
		scroller.addEventListener("pointermove", (event) => {
			const node = picture.nodeAt(event.clientX, event.clientY);

			if (node !== picture.hovered)
				picture.plan();
			picture.hovered = node;
			this.showTooltip(node, event.clientX, event.clientY);
		});
		scroller.addEventListener("pointerleave", () => {
			picture.hovered = -1;
			picture.plan();
			this.showTooltip(-1, 0, 0);
		});
		scroller.addEventListener("blur", () => this.showTooltip(-1, 0, 0));
		scroller.addEventListener("click", (event) => {
			const node = picture.nodeAt(event.clientX, event.clientY);

			if (node < 0)
				return;
			this.choose(node);
			this.zoom(node);
		});
	}
}

/** @param {App} app @returns {{element: HTMLElement, update: (changed: Set<string>) => void, keys: [string, string][]}} */
export function createFlame(app) {
	const view = new FlameView(app);

	view.start();
	return {
		element: view.element, update: (changed) => view.update(changed),
		keys: [["Arrows", "from frame to frame"], ["Enter", "zoom to the frame"], ["Escape", "show all frames"]],
	};
}
