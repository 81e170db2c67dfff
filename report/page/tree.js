// SPDX-License-Identifier: GPL-2.0-or-later
// Trees of calls: how stacks of the trace stand in one tree by what they begin with, and sums of it.

/** @typedef {import("./model.js").Model} Model */

/** Values of funcs.kind, as enum calltree_kind. */
export const KIND_ROOT = 0, KIND_KERNEL = 3, KIND_INLINED = 4, KIND_UNRESOLVED = 7,
	KIND_ON_CPU = 8, KIND_QUEUED = 9, KIND_OFF_CPU = 10;
/** Bits of nodes.flags. */
export const NODE_INLINED = 1, NODE_FOLDED = 2;
/** Frames that are said once, where they stand several times one below the other. */
const LONGEST_CYCLE = 8;

/** Characters of a name that are shown: the trace may have it of any length. */
const LONGEST_NAME = 400;

/** @param {string} name */
export function shortName(name) {
	return name.length > LONGEST_NAME ? name.slice(0, LONGEST_NAME) + "…" : name;
}

/** Functions of a trace, and what stands in the place of one: a thread, a kind of time. */
export class FuncTable {
	/** @param {Model | null} model */
	constructor(model) {
		this.model = model;
		/** @type {import("./model.js").Columns} */
		this.funcs = model ? model.get("funcs") : { rows: 0 };
		this.own = this.funcs.rows;
		/** @type {{name: string, object: string, kind: number}[]} */
		this.more = [];
		/** @type {Map<string, number>} */
		this.numbers = new Map();
	}

	get size() {
		return this.own + this.more.length;
	}

	/** @param {number} func @returns {string} */
	name(func) {
		return func < this.own && this.model ?
			this.model.string(this.funcs.name[func]) || "?" : this.more[func - this.own].name;
	}

	/** @param {number} func @returns {string} */
	object(func) {
		return func < this.own && this.model ?
			this.model.string(this.funcs.object[func]) : this.more[func - this.own].object;
	}

	/** @param {number} func @returns {number} */
	kind(func) {
		return func < this.own ? this.funcs.kind[func] : this.more[func - this.own].kind;
	}

	/** A text of the trace, as the name of a file. @param {number} id @returns {string} */
	text(id) {
		return this.model?.string(id) || "";
	}

	/** @param {string} name @param {string} object @param {number} kind @returns {number} */
	add(name, object, kind) {
		const key = kind + "\n" + object + "\n" + name;
		let number = this.numbers.get(key);

		if (number === undefined) {
			number = this.size;
			this.numbers.set(key, number);
			this.more.push({ name, object, kind });
		}
		return number;
	}
}

/** @param {CallTree} tree */
function linkChildren({ n, parent, first, child }) {
	for (let i = 1; i < n; i++)
		first[parent[i] + 1]++;
	for (let i = 0; i < n; i++)
		first[i + 1] += first[i];

	const at = first.slice();

	for (let i = 1; i < n; i++)
		child[at[parent[i]]++] = i;
}

/** @param {CallTree} tree */
function findOutermost({ n, parent, func, first, child, outermost, funcs }) {
	const open = new Uint32Array(funcs.size);
	const next = first.slice(0, n); // the child of each that comes next
	let at = 0;

	for (;;) {
		if (next[at] < first[at + 1]) {
			at = child[next[at]++];
			outermost[at] = open[func[at]]++ ? 0 : 1;
		} else if (at) {
			open[func[at]]--;
			at = parent[at];
		} else {
			return;
		}
	}
}

/** A tree. Node 0 is the root of all, the index of a parent is less than those of its children. */
export class CallTree {
	/**
	 * @param {FuncTable} funcs
	 * @param {{parent: number[], func: number[], flags: number[], line: number[], file: number[],
	 *   category: number[]}} columns
	 */
	constructor(funcs, columns) {
		this.funcs = funcs;
		this.n = columns.parent.length;
		this.parent = Uint32Array.from(columns.parent);
		this.func = Uint32Array.from(columns.func);
		this.flags = Uint8Array.from(columns.flags);
		this.line = Uint32Array.from(columns.line);
		this.file = Uint32Array.from(columns.file); // numbers of texts
		this.category = Uint16Array.from(columns.category); // of stacks that end there
		/** Children of node i are child[first[i]] up to child[first[i + 1] - 1]. */
		this.first = new Uint32Array(this.n + 1);
		this.child = new Uint32Array(this.n);
		/** No frame on the way to the root is of the same function. */
		this.outermost = new Uint8Array(this.n);
		linkChildren(this);
		findOutermost(this);
	}

	/** With the weights of all that is below. @param {Float64Array} self @returns {Float64Array} */
	totals(self) {
		const total = self.slice();

		for (let i = this.n - 1; i > 0; i--)
			total[this.parent[i]] += total[i];
		return total;
	}

	/** What kind of code a frame is. @param {number} node */
	kind(node) {
		const kind = this.funcs.kind(this.func[node]);

		return this.flags[node] & NODE_INLINED && kind !== KIND_UNRESOLVED ? KIND_INLINED : kind;
	}
}

/** Makes a tree. */
export class TreeBuilder {
	/** @param {FuncTable} funcs */
	constructor(funcs) {
		this.funcs = funcs;
		this.columns = {
			parent: [0], func: [0], flags: [0], line: [0], file: [0], category: [0],
		};
		/** @type {Map<number, number>} */
		this.numbers = new Map();
	}

	/**
	 * The frame below this one.
	 * @param {number} parent @param {number} func @param {number} [flags] @param {number} [line]
	 * @param {number} [file] @param {number} [category] without it that of the parent
	 */
	place(parent, func, flags = 0, line = 0, file = 0, category = this.columns.category[parent]) {
		const inlined = flags & NODE_INLINED;
		const key = (parent * 2 ** 24 + func) * 2 + inlined;
		let node = this.numbers.get(key);

		if (node === undefined) {
			node = this.columns.parent.length;
			this.numbers.set(key, node);
			this.columns.parent.push(parent);
			this.columns.func.push(func);
			this.columns.flags.push(flags & ~NODE_FOLDED);
			this.columns.line.push(line);
			this.columns.file.push(file);
			this.columns.category.push(category);
		} else if (!this.columns.line[node]) {
			this.columns.line[node] = line;
			this.columns.file[node] = file;
		}
		return node;
	}

	/** Where the last frames are the same as those before them, the frame that stands for both. @param {number} node */
	fold(node) {
		const { parent, func, flags } = this.columns;
		let before = node;

		for (let length = 1; length <= LONGEST_CYCLE; length++) {
			let a = node, b, same = 0;

			before = parent[before];
			for (b = before; b && same < length && func[a] === func[b]; same++) {
				a = parent[a];
				b = parent[b];
			}
			if (same === length) {
				flags[before] |= NODE_FOLDED;
				return before;
			}
			if (!before)
				break;
		}
		return node;
	}

	finish() {
		return new CallTree(this.funcs, this.columns);
	}
}

/** Stacks as they stand in the trace, put into a tree by another first frame. */
export class Grouping {
	/** @param {Model} model @param {string} by @param {boolean} fold recursion */
	constructor(model, by, fold) {
		this.model = model;
		this.by = by;
		this.folds = fold;
		this.funcs = new FuncTable(model);
		this.builder = new TreeBuilder(this.funcs);
		this.nodes = model.get("nodes");
		/** Nodes that were placed, by the first frame. @type {Map<number, Map<number, number>>} */
		this.placed = new Map();
		/** The first frame of each thread, 1 + index. @type {Map<number, number>} */
		this.roots = new Map();
	}

	/** The name that stacks of a process begin with, of any of its nodes. @param {number} node */
	rootName(node) {
		while (this.nodes.parent[node])
			node = this.nodes.parent[node];
		return node ? this.funcs.name(this.nodes.func[node]) : "";
	}

	/** The first frame of a thread's stacks; -1: that of the stack itself. @param {number} thread 1 + index @param {number} node */
	rootOf(thread, node) {
		if (this.by === "name" || this.by === "none" || !thread)
			return -1;

		let root = this.roots.get(thread);

		if (root === undefined) {
			root = this.funcs.add(this.rootText(thread - 1, node), "", KIND_ROOT);
			this.roots.set(thread, root);
		}
		return root;
	}

	/** @param {number} thread @param {number} node */
	rootText(thread, node) {
		const threads = this.model.get("threads"), processes = this.model.get("processes");
		const process = threads.process[thread] - 1;
		const pid = process >= 0 ? processes.pid[process] : threads.tid[thread];

		if (this.by === "thread")
			return this.model.threadName(thread) + " (" + pid + "/" + threads.tid[thread] + ")";
		return (this.rootName(node) || this.model.threadName(thread)) + " (" + pid + ")";
	}

	/** The node of a thread's stack in the new tree. @param {number} thread 1 + index; 0: idle @param {number} node */
	place(thread, node) {
		const root = this.rootOf(thread, node);
		let placed = this.placed.get(root);

		if (!placed) {
			placed = new Map([[0, root < 0 ? 0 : this.builder.place(0, root)]]);
			this.placed.set(root, placed);
		}
		return this.placeBelow(placed, root, node);
	}

	/** @param {Map<number, number>} placed @param {number} root @param {number} node */
	placeBelow(placed, root, node) {
		const { parent, func, flags, line, file, category } = this.nodes;
		const path = [];
		let at = placed.get(node);

		while (at === undefined) {
			path.push(node);
			node = parent[node];
			at = placed.get(node);
		}
		while (path.length) {
			const next = /** @type {number} */ (path.pop());

			if (this.funcs.kind(func[next]) !== KIND_ROOT || (root < 0 && this.by !== "none"))
				at = this.builder.place(at, func[next], flags[next], line[next], file?.[next],
					category?.[next]);
			if (this.folds)
				at = this.builder.fold(at);
			placed.set(next, at);
		}
		return at;
	}

	/** Of a thread without a stack: its process. @param {number} thread index */
	placeThread(thread) {
		const threads = this.model.get("threads"), processes = this.model.get("processes");
		const process = threads.process[thread] - 1;
		const name = process >= 0 ? this.model.string(processes.name[process]) : this.model.threadName(thread);

		if (this.by === "none")
			return 0;
		return this.builder.place(0, this.by === "name" ? this.rootNamed(name) : this.rootOf(thread + 1, 0));
	}

	/** The function that is the root of this name. @param {string} name */
	rootNamed(name) {
		if (!this.named) {
			this.named = new Map();
			for (let func = 1; func < this.funcs.own; func++) {
				if (this.funcs.kind(func) === KIND_ROOT)
					this.named.set(this.funcs.name(func), func);
			}
		}
		return this.named.get(name) ?? this.funcs.add(name, "", KIND_ROOT);
	}
}

/** What is searched for, of the state. @typedef {{text: string, typed: boolean}} Search */

/** The expression between slashes; null: words are searched for. @param {string} text */
function expressionOf(text) {
	return /^\/(.*?)\/?$/.exec(text)?.[1] ?? null;
}

/** May an expression take for ever that nobody has typed here? @param {Search} search */
export function isHeldBack({ text, typed }) {
	return !typed && Boolean(expressionOf(text));
}

/**
 * What a search looks for.
 * @param {Search} search @returns {((name: string) => boolean) | null} null: nothing is searched for
 */
function matcherOf(search) {
	const { text } = search, expression = expressionOf(text), words = text.toLowerCase();

	if (!text || expression === "" || isHeldBack(search))
		return null;
	if (expression !== null) {
		try {
			const pattern = new RegExp(expression, "i");

			return (name) => pattern.test(name);
		} catch {
			return (name) => name.includes(expression); // not finished yet
		}
	}
	return (name) => name.toLowerCase().includes(words);
}

/** By function: does the search find it? @param {FuncTable} funcs @param {Search} search @returns {Uint8Array | null} */
export function matchFuncs(funcs, search) {
	const matches = matcherOf(search);

	if (!matches)
		return null;

	const found = new Uint8Array(funcs.size);

	for (let func = 0; func < funcs.size; func++)
		found[func] = matches(funcs.name(func)) ? 1 : 0;
	return found;
}
