// SPDX-License-Identifier: GPL-2.0-or-later
// Draws the frames of a weighed tree on a canvas that is as large as what is seen of it.
import { isInlined, pathTo } from "./shapes.js";
import { hashOf } from "./text.js";
import { NODE_FOLDED, shortName } from "./tree.js";

/** @typedef {import("./shapes.js").Shape} Shape */
/** @typedef {import("./tree.js").CallTree} CallTree */
/** @typedef {{nodes: number[], x: number[], width: number[]}} FlameRow frames from left to right, in CSS pixels */

export const FLAME_ROW = 20; // five units of the page
const LEAST_WIDTH = 0.1;
const TEXT_PAD = 4;
const LEAST_TEXT = 24;
const MOST_ROWS = 4096;
const SHADES = [0, 0.14, -0.05, 0.26]; // towards white, or black

/** Names of the custom properties of kinds of code, by enum calltree_kind. */
const KIND_COLOURS = ["root", "user", "library", "kernel", "inlined", "jit", "python", "unresolved",
	"cpu", "queue", "off"];
const CHANGE_COLOURS = ["less-0", "less-1", "less-2", "less-3", "more-0", "more-1", "more-2", "more-3",
	"same"];
const OBJECT_COLOURS = ["object-0", "object-1", "object-2", "object-3", "object-4", "object-5",
	"object-6", "object-7"];
const OTHER_COLOURS = ["text", "light-text", "edge", "found", "line"];
const LIGHT = 110; // lightness, of 255, from which on text is dark

/** @param {string} colour "#rrggbb" @param {number} by */
function shaded(colour, by) {
	const value = parseInt(colour.slice(1), 16);
	const towards = by < 0 ? 0 : 255;
	const parts = [16, 8, 0].map((shift) => {
		const part = value >> shift & 255;

		return Math.round(part + (towards - part) * Math.abs(by));
	});

	return "rgb(" + parts.join() + ")";
}

/** How light a colour is to the eye, of 255. @param {string} colour "#rrggbb" */
function lightness(colour) {
	const value = parseInt(colour.slice(1), 16);

	return 0.3 * (value >> 16 & 255) + 0.59 * (value >> 8 & 255) + 0.11 * (value & 255);
}

/** Of "hsl()", as "#rrggbb". @param {number} hue @param {number} saturation @param {number} light percent */
function hexOf(hue, saturation, light) {
	const most = saturation / 100 * Math.min(light / 100, 1 - light / 100);

	return "#" + [0, 8, 4].map((turn) => {
		const k = (turn + hue / 30) % 12;
		const part = light / 100 - most * Math.max(-1, Math.min(k - 3, 9 - k, 1));

		return Math.round(255 * part).toString(16).padStart(2, "0");
	}).join("");
}

/** The same category has the colour that `ebreport flame --color category` gives it. @param {number} category */
function categoryColour(category) {
	return category ? hexOf(Math.trunc(category * 137508 / 1000) % 360, 45 + (category >> 2) % 2 * 30,
		56 + category % 4 * 8) : "#d8d6d0";
}

/** Colours of the style, so that it alone knows them; those of categories are made. @param {HTMLElement} element @param {number} categories */
function readColours(element, categories) {
	const style = getComputedStyle(element);
	/** @type {Record<string, string>} */
	const colours = {};
	/** @type {Record<string, string[]>} */
	const shades = {};

	for (const name of [...KIND_COLOURS, ...CHANGE_COLOURS, ...OBJECT_COLOURS, ...OTHER_COLOURS]) {
		colours[name] = style.getPropertyValue("--flame-" + name).trim() || "#888888";
		shades[name] = SHADES.map((by) => shaded(colours[name], by));
	}
	for (let i = 0; i < categories; i++) {
		colours["category-" + i] = categoryColour(i);
		shades["category-" + i] = SHADES.map(() => colours["category-" + i]); // neighbours are one
	}
	return { colours, shades, font: style.fontFamily };
}

/** Shades only help the eye to follow neighbours. @param {Shape} shape @param {number} node */
function shadeOf(shape, node) {
	return hashOf(shape.funcs.name(shape.func(node))) & 3;
}

/** @param {Shape} shape @param {number} node */
export function kindColour(shape, node) {
	return KIND_COLOURS[shape.kind(node)] || "unresolved";
}

/** Objects with a colour of their own, those with most frames first. @type {WeakMap<CallTree, Map<string, string>>} */
const OBJECTS = new WeakMap();

/** Their colours. They depend on the tree alone, so that another range does not change them. @param {CallTree} tree */
export function objectColours(tree) {
	const known = OBJECTS.get(tree);

	if (known)
		return known;

	const frames = new Uint32Array(tree.funcs.size);
	/** @type {Map<string, number>} */
	const sums = new Map();

	for (let i = 1; i < tree.n; i++)
		frames[tree.func[i]]++;
	for (let func = 0; func < frames.length; func++) {
		const object = frames[func] ? tree.funcs.object(func) : "";

		if (object)
			sums.set(object, (sums.get(object) || 0) + frames[func]);
	}

	const sorted = [...sums].sort((a, b) => b[1] - a[1]).slice(0, OBJECT_COLOURS.length);
	const colours = new Map(sorted.map(([object], i) => [object, OBJECT_COLOURS[i]]));

	OBJECTS.set(tree, colours);
	return colours;
}

/** The row behind this one: what frames call that is wide enough. @param {Shape} shape @param {FlameRow} row @param {number} scale @returns {FlameRow} */
function nextRow(shape, row, scale) {
	/** @type {FlameRow} */
	const next = { nodes: [], x: [], width: [] };

	for (let i = 0; i < row.nodes.length; i++) {
		let x = row.x[i];

		if (row.width[i] < LEAST_WIDTH)
			continue;
		for (const child of shape.children(row.nodes[i])) {
			const width = shape.total(child) * scale;

			if (width >= LEAST_WIDTH) {
				next.nodes.push(child);
				next.x.push(x);
				next.width.push(width);
			}
			x += width;
		}
	}
	return next;
}

/** Frames above the zoomed one are as wide as all. @param {Shape} shape @param {number} zoom @param {number} width @returns {FlameRow[]} */
function layoutFrames(shape, zoom, width) {
	const scale = width / (shape.total(zoom) || 1);
	const rows = [0, ...pathTo(shape, zoom)].map((node) =>
		/** @type {FlameRow} */ ({ nodes: [node], x: [0], width: [width] }));

	while (rows.length < MOST_ROWS) {
		const next = nextRow(shape, rows[rows.length - 1], scale);

		if (!next.nodes.length)
			break;
		rows.push(next);
	}
	return rows;
}

export class FlamePicture {
	/** @param {HTMLElement} scroller what it is seen through @param {number} categories that have a colour */
	constructor(scroller, categories) {
		this.scroller = scroller;
		this.categories = categories;
		this.canvas = document.createElement("canvas");
		this.space = document.createElement("div");
		this.space.className = "flame-space";
		this.canvas.className = "flame-canvas";
		this.canvas.setAttribute("aria-hidden", "true"); // what is selected is said in words
		this.space.append(this.canvas);
		scroller.append(this.space);
		/** @type {Shape | null} */
		this.shape = null;
		/** @type {FlameRow[]} */
		this.rows = [];
		/** @type {Uint8Array | null} by function */
		this.found = null;
		/** @type {Set<number>} nodes of a stack that is shown */
		this.stack = new Set();
		/** @type {(node: number) => string} name of a colour */
		this.colour = () => "user";
		this.marksInlined = false; // where the colour does not tell
		this.zoomed = 0;
		this.selected = -1;
		this.hovered = -1;
		this.func = -1;
		this.icicle = true;
		this.width = 0;
		this.planned = false;
		this.look = readColours(scroller, categories);
		/** @type {Map<string, number>} widths of names */
		this.measured = new Map();
		scroller.addEventListener("scroll", () => this.plan());
	}

	/** The style has changed. */
	restyle() {
		this.look = readColours(this.scroller, this.categories);
		this.measured.clear();
		this.plan();
	}

	/** @param {Shape} shape @param {number} zoomed */
	show(shape, zoomed) {
		this.shape = shape;
		this.zoomed = zoomed;
		this.layout();
	}

	layout() {
		const below = this.space.offsetHeight - this.scroller.scrollTop;

		this.width = this.scroller.clientWidth;
		this.rows = this.shape && this.width ? layoutFrames(this.shape, this.zoomed, this.width) : [];
		this.space.style.height = this.rows.length * FLAME_ROW + "px";
		if (!this.icicle) // what is in view stays there: the root is at the bottom
			this.scroller.scrollTop = this.space.offsetHeight - Math.max(below, this.scroller.clientHeight);
		this.plan();
	}

	/** @param {number[]} nodes from the outermost one on */
	showStack(nodes) {
		this.stack = new Set(nodes);
		for (let i = nodes.length - 1; i >= 0; i--) {
			if (this.placeOf(nodes[i])) { // the innermost one that is wide enough
				this.scrollTo(nodes[i]);
				break;
			}
		}
		this.plan();
	}

	/** Draws with the next frame of the screen. */
	plan() {
		if (this.planned)
			return;
		this.planned = true;
		requestAnimationFrame(() => {
			this.planned = false;
			this.draw();
		});
	}

	/** @param {number} row */
	top(row) {
		return FLAME_ROW * (this.icicle ? row : this.rows.length - 1 - row);
	}

	resize() {
		const scale = devicePixelRatio || 1;
		const height = Math.min(this.scroller.clientHeight, this.rows.length * FLAME_ROW);
		const wide = Math.round(this.width * scale), high = Math.round(height * scale);

		if (this.canvas.width !== wide || this.canvas.height !== high) {
			this.canvas.width = wide;
			this.canvas.height = high;
			this.canvas.style.width = this.width + "px";
			this.canvas.style.height = height + "px";
		}
		return { scale, height };
	}

	draw() {
		const context = this.canvas.getContext("2d");
		const { scale, height } = this.resize();
		const scrolled = this.scroller.scrollTop;

		if (!context || !this.shape)
			return;
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.clearRect(0, 0, this.width, height);
		context.font = "12px " + this.look.font;
		context.textBaseline = "middle";
		for (let row = 0; row < this.rows.length; row++) {
			const top = this.top(row) - scrolled;

			if (top > -FLAME_ROW && top < height)
				this.drawRow(context, row, top);
		}
		this.drawOutlines(context, scrolled);
	}

	/** @param {CanvasRenderingContext2D} context @param {number} row @param {number} top */
	drawRow(context, row, top) {
		const { nodes, x, width } = this.rows[row], shape = /** @type {Shape} */ (this.shape);
		const above = this.zoomed !== 0 && row < this.rowOf(this.zoomed);

		context.globalAlpha = above ? 0.55 : 1;
		for (let i = 0; i < nodes.length; i++) {
			const name = this.colourOf(nodes[i]);

			context.fillStyle = this.fillOf(nodes[i], name);
			// A line of the background between frames, where there is room for it.
			context.fillRect(x[i], top, width[i] > 2 ? width[i] - 1 : Math.max(width[i], 0.3), FLAME_ROW - 1);
			if (width[i] >= LEAST_TEXT)
				this.drawText(context, this.label(nodes[i]), x[i], top, width[i], name);
			if (this.marksInlined && width[i] > 8 && isInlined(shape, nodes[i])) {
				context.fillStyle = this.look.colours.edge;
				context.fillRect(x[i], top, 2, FLAME_ROW - 1);
			}
		}
		context.globalAlpha = 1;
	}

	/** Name of a frame's colour. @param {number} node */
	colourOf(node) {
		const shape = /** @type {Shape} */ (this.shape);

		if (this.found && node && this.found[shape.func(node)])
			return "found";
		return node ? this.colour(node) : "root";
	}

	/** @param {number} node @param {string} name of its colour */
	fillOf(node, name) {
		const isPlain = name === "found" || CHANGE_COLOURS.includes(name);

		return this.look.shades[name][isPlain ? 0 : shadeOf(/** @type {Shape} */ (this.shape), node)];
	}

	/** @param {number} node */
	label(node) {
		const shape = /** @type {Shape} */ (this.shape);

		if (!node)
			return "all";
		return shape.funcs.name(shape.func(node)) + (shape.flags(node) & NODE_FOLDED ? " ↻" : "");
	}

	/** @param {CanvasRenderingContext2D} context @param {string} text @param {number} x @param {number} top @param {number} width @param {string} ground name of the colour behind it */
	drawText(context, text, x, top, width, ground) {
		const room = width - 2 * TEXT_PAD - 1;
		const shown = this.fit(context, text, room);

		if (!shown)
			return;
		context.fillStyle = this.look.colours[lightness(this.look.colours[ground]) < LIGHT ? "light-text" : "text"];
		context.fillText(shown, x + TEXT_PAD, top + FLAME_ROW / 2);
	}

	/** @param {CanvasRenderingContext2D} context @param {string} name @param {number} room */
	fit(context, name, room) {
		const whole = shortName(name);
		let measured = this.measured.get(whole);

		if (measured === undefined) {
			measured = context.measureText(whole).width;
			this.measured.set(whole, measured);
		}
		if (measured <= room)
			return whole;

		const characters = Array.from(whole);
		let n = Math.floor(room / measured * characters.length);

		for (; n >= 2; n--) {
			const text = characters.slice(0, n).join("") + "…";

			if (context.measureText(text).width <= room)
				return text;
		}
		return "";
	}

	/** @param {CanvasRenderingContext2D} context @param {number} scrolled */
	drawOutlines(context, scrolled) {
		const shape = /** @type {Shape} */ (this.shape);

		for (let row = 0; row < this.rows.length; row++) {
			const { nodes, x, width } = this.rows[row], top = this.top(row) - scrolled;

			for (let i = 0; i < nodes.length; i++) {
				const chosen = nodes[i] === this.selected || nodes[i] === this.hovered;

				if (!chosen && !this.stack.has(nodes[i]) && !(nodes[i] && shape.func(nodes[i]) === this.func))
					continue;
				context.strokeStyle = this.look.colours.line;
				context.lineWidth = nodes[i] === this.selected ? 2 : this.stack.has(nodes[i]) ? 1.5 : 1;
				context.strokeRect(x[i] + 0.5, top + 0.5, Math.max(1, width[i] - 2), FLAME_ROW - 2);
			}
		}
	}

	/** How many frames are before this one on its way. @param {number} node */
	rowOf(node) {
		return this.shape ? pathTo(this.shape, node).length : 0;
	}

	/** The frame at a place of the window; -1: none. @param {number} clientX @param {number} clientY */
	nodeAt(clientX, clientY) {
		const box = this.space.getBoundingClientRect();
		const line = Math.floor((clientY - box.top) / FLAME_ROW);
		const row = this.rows[this.icicle ? line : this.rows.length - 1 - line];
		const x = clientX - box.left;

		if (!row)
			return -1;
		for (let low = 0, high = row.nodes.length - 1; low <= high;) {
			const middle = (low + high) >> 1;

			if (x < row.x[middle])
				high = middle - 1;
			else if (x >= row.x[middle] + Math.max(row.width[middle], 1))
				low = middle + 1;
			else
				return row.nodes[middle];
		}
		return -1;
	}

	/** Where a frame is drawn. @param {number} node @returns {{row: number, i: number} | null} */
	placeOf(node) {
		if (node < 0)
			return null;

		const row = this.rowOf(node), i = this.rows[row]?.nodes.indexOf(node) ?? -1;

		return i < 0 ? null : { row, i };
	}

	/** Brings a frame into view. @param {number} node */
	scrollTo(node) {
		const place = this.placeOf(node);

		if (!place)
			return;

		const top = this.top(place.row), { scrollTop, clientHeight } = this.scroller;

		if (top < scrollTop)
			this.scroller.scrollTop = top;
		else if (top + FLAME_ROW > scrollTop + clientHeight)
			this.scroller.scrollTop = top + FLAME_ROW - clientHeight;
	}

	/** Frames are drawn from their root on. */
	scrollToRoot() {
		this.scroller.scrollTop = this.icicle ? 0 : this.space.offsetHeight;
	}
}
