// SPDX-License-Identifier: GPL-2.0-or-later
// A trace as the page has it: sections of columns, decoded to typed arrays when they are first
// needed. Times are ns since the start of the trace.

/** @typedef {import("./provider.js").Provider} Provider */
/** @typedef {{name: string, type: string, delta: boolean, zigzag: boolean, bytes: number}} Column */
/** @typedef {{rows: number, columns: Column[]}} Section */
/** @typedef {Record<string, any> & {rows: number}} Columns */

const ARRAYS = /** @type {Record<string, any>} */ ({
	u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, time: Float64Array,
});

/**
 * One number a row, each as a varint: seven bits a byte, the lowest first.
 * @param {Uint8Array} bytes @param {Column} column @param {number} rows
 */
function decodeVarints(bytes, column, rows) {
	const values = new ARRAYS[column.type](rows);
	let at = 0, last = 0;

	for (let i = 0; i < rows; i++) {
		let value = 0, scale = 1, byte = bytes[at++];

		while (byte >= 128) {
			value += (byte - 128) * scale;
			scale *= 128;
			byte = bytes[at++];
		}
		value += byte * scale;
		if (column.zigzag)
			value = value % 2 ? -(value + 1) / 2 : value / 2;
		if (column.delta)
			value = last += value;
		values[i] = value;
	}
	return values;
}

/** @param {Uint8Array} bytes @param {Column} column @param {number} rows */
function decodeColumn(bytes, column, rows) {
	if (column.type === "bytes")
		return bytes;
	if (column.type === "f64")
		return new Float64Array(bytes.slice().buffer, 0, rows);
	return decodeVarints(bytes, column, rows);
}

/** @param {Uint8Array} bytes @param {Section} section @returns {Columns} */
function decodeSection(bytes, section) {
	/** @type {Columns} */
	const columns = { rows: section.rows };
	let at = 0;

	for (const column of section.columns) {
		columns[column.name] = decodeColumn(bytes.subarray(at, at + column.bytes), column,
			section.rows);
		at += column.bytes;
	}
	return columns;
}

/**
 * The first index from `low` on whose value is not less than `value`, in a part of an array that is
 * in order.
 * @param {ArrayLike<number>} values @param {number} value @param {number} low @param {number} high
 */
export function lowerBound(values, value, low, high) {
	while (low < high) {
		const middle = (low + high) >> 1;

		if (values[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

export class Model {
	/** @param {any} head of this trace @param {Provider} provider @param {number} number */
	constructor(head, provider, number) {
		this.head = head;
		this.provider = provider;
		this.number = number;
		this.from = /** @type {number} */ (head.window.from_ns);
		this.to = /** @type {number} */ (head.window.to_ns);
		/** @type {Record<string, Columns>} */
		this.loaded = {};
		/** @type {Record<string, Promise<Columns>>} */
		this.loading = {};
		/** @type {string[]} */
		this.texts = [];
		this.decoder = new TextDecoder();
		/** @type {Uint32Array} */
		this.textAt = new Uint32Array(1);
	}

	/** Is there any row of it? @param {string} name */
	has(name) {
		return Object.hasOwn(this.head.sections, name) && this.head.sections[name].rows > 0;
	}

	/**
	 * The columns of a section, decoded once. Without such a section: no rows.
	 * @param {string} name @returns {Promise<Columns>}
	 */
	load(name) {
		if (!Object.hasOwn(this.loading, name))
			this.loading[name] = this.decode(name);
		return this.loading[name];
	}

	/** @param {string} name @returns {Promise<Columns>} */
	async decode(name) {
		const section = Object.hasOwn(this.head.sections, name) ? this.head.sections[name] : null;
		let columns = /** @type {Columns} */ ({ rows: 0 });

		if (section)
			columns = decodeSection(await this.provider.section(this.number, name), section);
		this.loaded[name] = columns;
		return columns;
	}

	/** What load() has got already. @param {string} name @returns {Columns} */
	get(name) {
		return Object.hasOwn(this.loaded, name) ? this.loaded[name] : { rows: 0 };
	}

	/** A text by its number, after load("strings"). @param {number} id @returns {string} */
	string(id) {
		const strings = this.get("strings");

		if (!strings.rows || id >= strings.rows)
			return "";
		if (this.textAt.length !== strings.rows + 1) {
			this.textAt = new Uint32Array(strings.rows + 1);
			for (let i = 0; i < strings.rows; i++)
				this.textAt[i + 1] = this.textAt[i] + strings.length[i];
		}
		if (this.texts[id] === undefined)
			this.texts[id] = this.decoder.decode(
				strings.text.subarray(this.textAt[id], this.textAt[id + 1]));
		return this.texts[id];
	}

	/** @param {number} thread @returns {string} */
	threadName(thread) {
		const threads = this.get("threads");

		return thread < threads.rows ? this.string(threads.name[thread]) || "?" : "?";
	}

	/** "cc1 (4711)" @param {number} thread */
	threadLabel(thread) {
		const threads = this.get("threads");

		return thread < threads.rows ?
			this.threadName(thread) + " (" + threads.tid[thread] + ")" : "?";
	}

	/** @param {number} process */
	processLabel(process) {
		const processes = this.get("processes");

		return process < processes.rows ?
			this.string(processes.name[process]) + " (" + processes.pid[process] + ")" : "?";
	}

	/** Function of a node. @param {number} node @returns {string} */
	nodeName(node) {
		return this.string(this.get("funcs").name[this.get("nodes").func[node]]);
	}
}

/** Models without data: what the head says. @param {Provider} provider @returns {Promise<Model[]>} */
export async function openModels(provider) {
	const head = await provider.head();

	return head.traces.map(
		(/** @type {any} */ trace, /** @type {number} */ i) => new Model(trace, provider, i));
}

/** What all views need: names, processes, threads. @param {Model[]} models */
export async function loadNames(models) {
	await Promise.all(models.flatMap((model) =>
		["strings", "processes", "threads"].map((name) => model.load(name))));
}
