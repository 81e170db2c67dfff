// SPDX-License-Identifier: GPL-2.0-or-later
// How much several threads ran together until any time: for the line of a group that is closed.
import { lastAt, lastFrom } from "./spans.js";

/** @typedef {import("./spans.js").Spans} Spans */
/** @typedef {{time: Float64Array, rate: Float64Array, moment: Float64Array}} Edges rate, moment: sums before each, moment of rate times time */

export class GroupRuns {
	/** @param {Spans} spans @param {number[]} threads */
	constructor(spans, threads) {
		const { run_ns } = spans.spells;
		/** @type {number[]} */
		const rows = [];

		for (const thread of threads)
			for (let i = spans.first[thread]; i < spans.first[thread + 1]; i++)
				if (run_ns[i])
					rows.push(i);
		const rate = (/** @type {number} */ row) => run_ns[row] / (spans.end[row] - spans.beginOf(row));

		this.threads = threads;
		this.origin = spans.model.from; // products of small numbers are exact
		this.begins = this.edges(rows, (row) => spans.beginOf(row), rate);
		this.ends = this.edges(rows, (row) => spans.end[row], rate);
		// What sums of this size cannot tell from 0.
		this.noise = this.ends.moment[rows.length] * 2 ** -50;
		this.begin = -1; // last edges before the time
		this.end = -1;
	}

	/** @param {number[]} rows @param {(row: number) => number} timeOf @param {(row: number) => number} rateOf @returns {Edges} */
	edges(rows, timeOf, rateOf) {
		const n = rows.length, order = [...rows].sort((a, b) => timeOf(a) - timeOf(b));
		const time = new Float64Array(n), rate = new Float64Array(n + 1), moment = new Float64Array(n + 1);

		for (let i = 0; i < n; i++) {
			time[i] = timeOf(order[i]) - this.origin;
			rate[i + 1] = rate[i] + rateOf(order[i]);
			moment[i + 1] = moment[i] + rateOf(order[i]) * time[i];
		}
		return { time, rate, moment };
	}

	/** Begins at a time; until() goes on from there. @param {number} time */
	seek(time) {
		this.begin = lastAt(this.begins.time, time - this.origin, 0, this.begins.time.length);
		this.end = lastAt(this.ends.time, time - this.origin, 0, this.ends.time.length);
		return this.sum(time - this.origin);
	}

	/** ns that all of them ran until a time, which is not before that of the last call. @param {number} time */
	until(time) {
		this.begin = nextEdge(this.begins.time, time - this.origin, this.begin);
		this.end = nextEdge(this.ends.time, time - this.origin, this.end);
		return this.sum(time - this.origin);
	}

	/** @param {number} time since the origin */
	sum(time) {
		return time * (this.begins.rate[this.begin + 1] - this.ends.rate[this.end + 1]) -
			(this.begins.moment[this.begin + 1] - this.ends.moment[this.end + 1]);
	}
}

/** @param {Float64Array} times @param {number} time @param {number} at */
function nextEdge(times, time, at) {
	return at < 0 ? lastAt(times, time, 0, times.length) : lastFrom(times, time, at, times.length);
}
