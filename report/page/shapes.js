// SPDX-License-Identifier: GPL-2.0-or-later
// A weighed tree as it is drawn: from the outermost function inwards, or turned over. A turned tree
// is made frame by frame, as far as it is looked at: whole it would be many times as large.
import { KIND_ROOT, NODE_INLINED } from "./tree.js";

/** @typedef {import("./tree.js").CallTree} CallTree */
/** @typedef {import("./weights.js").Weights} Weights */
/** @typedef {PlainShape | TurnedShape} Shape */

/** By name, or by weight: then names of frames that weigh the same are not looked up, they are many. @param {Shape} shape @param {number[]} nodes @param {boolean} byName */
function sortFrames(shape, nodes, byName) {
	const { funcs } = shape;

	if (!byName)
		return nodes.sort((a, b) => shape.total(b) - shape.total(a) || shape.func(a) - shape.func(b));

	const names = nodes.map((node) => ({ node, name: funcs.name(shape.func(node)) }));

	names.sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : a.node - b.node);
	return names.map(({ node }) => node);
}

/** As stacks are. */
export class PlainShape {
	/** @param {CallTree} tree @param {Weights} weights @param {boolean} byName order of children */
	constructor(tree, weights, byName) {
		this.tree = tree;
		this.funcs = tree.funcs;
		this.selfs = weights.self;
		this.counts = weights.count;
		this.weights = tree.totals(weights.self);
		this.byName = byName;
		/** @type {Map<number, number[]>} */
		this.sorted = new Map();
	}

	/** @param {number} node */
	func(node) { return this.tree.func[node]; }
	/** @param {number} node */
	total(node) { return this.weights[node]; }
	/** @param {number} node */
	self(node) { return this.selfs[node]; }
	/** @param {number} node */
	parent(node) { return this.tree.parent[node]; }
	/** @param {number} node */
	flags(node) { return this.tree.flags[node]; }
	/** @param {number} node */
	line(node) { return this.tree.line[node]; }
	/** @param {number} node */
	file(node) { return this.funcs.text(this.tree.file[node]); }
	/** @param {number} node */
	kind(node) { return this.tree.kind(node); }
	/** That of stacks that end there. @param {number} node */
	category(node) { return this.tree.category[node]; }

	/** Samples or spans below. @param {number} node */
	count(node) {
		if (!this.stacks)
			this.stacks = this.tree.totals(this.counts);
		return this.stacks[node];
	}

	/** Those that weigh anything. @param {number} node @returns {number[]} */
	children(node) {
		const { first, child } = this.tree;
		let children = this.sorted.get(node);

		if (!children) {
			children = [];
			for (let i = first[node]; i < first[node + 1]; i++) {
				if (this.weights[child[i]] > 0)
					children.push(child[i]);
			}
			children = sortFrames(this, children, this.byName);
			this.sorted.set(node, children);
		}
		return children;
	}

	/**
	 * Weight of the stacks below a node with a frame, below it too, that is found. A stack counts
	 * once, however many of its frames match.
	 * @param {Uint8Array} found by function @param {number} below
	 */
	matched(found, below) {
		const { parent, func, n } = this.tree;
		const state = new Uint8Array(n); // 1: below, 2: and below one that is found
		let sum = below && found[func[below]] ? this.weights[below] : 0;

		state[below] = below && found[func[below]] ? 2 : 1;
		for (let i = below + 1; i < n; i++) {
			state[i] = state[parent[i]];
			if (state[i] === 1 && found[func[i]]) {
				sum += this.weights[i];
				state[i] = 2;
			}
		}
		return sum;
	}
}

/** The innermost function first; what stacks begin with stays the first frame. */
export class TurnedShape {
	/** @param {CallTree} tree @param {Weights} weights @param {boolean} byName */
	constructor(tree, weights, byName) {
		this.tree = tree;
		this.funcs = tree.funcs;
		this.source = weights;
		this.byName = byName;
		/** Of the nodes that were made. `ends`: nodes of the tree where its stacks end; `at`: where
		 * these are in them. @type {{func: number, parent: number, total: number, self: number,
		 *   count: number, line: number, file: number, ends: number[], at: number[]}[]} */
		this.nodes = [];
		/** @type {Map<number, number[]>} */
		this.made = new Map();
		/** By function: the node of it that was made last. */
		this.latest = new Uint32Array(tree.funcs.size);
		this.addRoot();
	}

	/** @param {number} node */
	func(node) { return this.nodes[node].func; }
	/** @param {number} node */
	total(node) { return this.nodes[node].total; }
	/** @param {number} node */
	self(node) { return this.nodes[node].self; }
	/** @param {number} node */
	parent(node) { return this.nodes[node].parent; }
	/** @param {number} node */
	line(node) { return this.nodes[node].line; }
	/** @param {number} node */
	file(node) { return this.funcs.text(this.nodes[node].file); }
	/** @param {number} node */
	count(node) { return this.nodes[node].count; }
	/** Inlined into another than its parent, it would be a lie. */
	flags() { return 0; }
	/** @param {number} node */
	kind(node) { return this.funcs.kind(this.nodes[node].func); }
	/** None: its stacks have one each. */
	category() { return -1; }

	addRoot() {
		const { n } = this.tree, { self, count } = this.source;
		const node = this.emptyNode(0, 0);

		for (let i = 0; i < n; i++) {
			if (self[i] > 0)
				this.addEnd(node, i, i, count[i], self[i]);
		}
		this.nodes.push(node);
	}

	/** @param {number} func @param {number} parent */
	emptyNode(func, parent) {
		return {
			func, parent, total: 0, self: 0, count: 0, line: 0, file: 0,
			ends: /** @type {number[]} */ ([]), at: /** @type {number[]} */ ([]),
		};
	}

	/** @param {ReturnType<TurnedShape["emptyNode"]>} node @param {number} end @param {number} at
	 * @param {number} count @param {number} weight */
	addEnd(node, end, at, count, weight) {
		node.ends.push(end);
		node.at.push(at);
		node.total += weight;
		node.count += count;
		if (!node.line) {
			node.line = this.tree.line[at];
			node.file = this.tree.file[at];
		}
	}

	/** The first frame of each node, where that is no function; 0: there is none. */
	firsts() {
		const { tree } = this;

		if (!this.rootOf) {
			this.rootOf = new Uint32Array(tree.n);
			for (let i = 1; i < tree.n; i++)
				this.rootOf[i] = tree.parent[i] ? this.rootOf[tree.parent[i]] :
					tree.funcs.kind(tree.func[i]) === KIND_ROOT ? i : 0;
		}
		return this.rootOf;
	}

	/**
	 * Where the next frame of a stack is in the tree; 0: there is none.
	 * @param {number} node that has the stack @param {number} i which of its stacks
	 */
	nextFrame(node, i) {
		const { ends, at } = this.nodes[node], root = this.firsts()[ends[i]];

		if (!node)
			return root || ends[i];
		if (at[i] === root && ends[i] !== root)
			return this.nodes[node].parent === 0 ? ends[i] : 0;

		const next = this.tree.parent[at[i]];

		return next === root ? 0 : next;
	}

	/** @param {number} node @returns {number[]} */
	children(node) {
		const known = this.made.get(node);

		if (known)
			return known;

		const children = sortFrames(this, this.makeChildren(node), this.byName);

		this.made.set(node, children);
		return children;
	}

	/** @param {number} node */
	makeChildren(node) {
		const { tree, source } = this, { ends } = this.nodes[node];
		const children = [];
		const before = this.nodes.length;
		let rest = this.nodes[node].total;

		for (let i = 0; i < ends.length; i++) {
			const next = this.nextFrame(node, i);

			if (!next)
				continue;

			const func = tree.func[next];
			let child = this.latest[func];

			if (child < before) {
				child = this.latest[func] = this.nodes.length;
				this.nodes.push(this.emptyNode(func, node));
				children.push(child);
			}
			this.addEnd(this.nodes[child], ends[i], next, source.count[ends[i]], source.self[ends[i]]);
			rest -= source.self[ends[i]];
		}
		this.nodes[node].self = rest;
		return children;
	}

	/** As of a plain tree. @param {Uint8Array} found @param {number} below */
	matched(found, below) {
		const { tree } = this, { ends, at } = this.nodes[below], firsts = this.firsts();
		let sum = 0;

		for (let i = 0; i < ends.length; i++) {
			const root = firsts[ends[i]];
			const isFirst = !below || (at[i] === root && this.nodes[below].parent === 0);
			let frame = isFirst ? ends[i] : at[i];

			while (frame && frame !== root && !found[tree.func[frame]])
				frame = tree.parent[frame];
			if (frame && (frame !== root || (isFirst && found[tree.func[root]])))
				sum += this.source.self[ends[i]];
		}
		return sum;
	}
}

/** The frames from the root of all to a node, outermost first. @param {Shape} shape @param {number} node */
export function pathTo(shape, node) {
	const path = [];

	for (; node; node = shape.parent(node))
		path.unshift(node);
	return path;
}

/**
 * The node that has the same names as one of another shape, as far as there is one.
 * @param {Shape} shape @param {string[]} names outermost first
 */
export function findPath(shape, names) {
	let node = 0;

	for (const name of names) {
		const next = shape.children(node).find((child) => shape.funcs.name(shape.func(child)) === name);

		if (next === undefined)
			break;
		node = next;
	}
	return node;
}

/** Is a frame inlined into its caller? @param {Shape} shape @param {number} node */
export function isInlined(shape, node) {
	return (shape.flags(node) & NODE_INLINED) !== 0;
}
