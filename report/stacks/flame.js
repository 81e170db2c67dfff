// SPDX-License-Identifier: GPL-2.0-or-later
// Script of a flame graph: zoom, search, icicle, keyboard. It is part of each picture, the same in
// all: names come from the recorded machine, so they are read as text and set as text only.
"use strict";
(function () {
	const ROW = 16, CHARACTER = 6.7, PAD = 10;
	const svg = document.documentElement;
	const byId = (id) => document.getElementById(id);
	const total = Number(svg.dataset.total);
	const rows = Number(svg.dataset.rows);
	const top = Number(svg.dataset.top);
	let width = Number(svg.dataset.width);
	let icicle = svg.dataset.icicle === "1";
	let zoomed = null, selected = null, pattern = null;

	// Frames stand in the file parent first, children from left to right.
	const frames = [];
	const path = [];
	for (const g of byId("frames").children) {
		const depth = Number(g.dataset.d);
		const label = g.querySelector("title").textContent;
		const frame = {
			g: g, rect: g.querySelector("rect"), text: g.querySelector("text"),
			start: Number(g.dataset.s), weight: Number(g.dataset.v), depth: depth,
			name: label.split("\n")[0], more: label.split("\n").slice(2).join(", "),
			parent: depth ? path[depth - 1] : null, children: [], match: false,
		};
		if (frame.parent)
			frame.parent.children.push(frame);
		path[depth] = frame;
		frames.push(frame);
		g.flame = frame;
	}
	if (!frames.length)
		return;
	zoomed = frames[0];

	const sizes = {
		ns: [["s", 1e9], ["ms", 1e6], ["µs", 1e3]],
		bytes: [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]],
	};

	function amount(weight) {
		const unit = svg.dataset.unit;

		for (const [name, size] of Object.hasOwn(sizes, unit) ? sizes[unit] : [])
			if (weight >= size)
				return (weight / size).toPrecision(4) + " " + name;
		return weight + " " + unit;
	}

	function percent(part, whole) {
		return (whole ? 100 * part / whole : 0).toFixed(2) + " %";
	}

	function within(frame, other) {
		return frame.start >= other.start && frame.depth >= other.depth &&
			frame.start + frame.weight <= other.start + other.weight;
	}

	// --- layout ---

	function fit(text, name, room) {
		const n = Math.floor((room - 6) / CHARACTER);
		const characters = Array.from(name.length > 4 * n ? name.slice(0, 4 * n + 4) : name);
		let shown = "";

		if (n >= 3)
			shown = characters.length <= n ? name : characters.slice(0, n - 2).join("") + "..";
		text.textContent = shown;
	}

	function place(frame) {
		const above = frame.depth < zoomed.depth && within(zoomed, frame);
		const shown = above || within(frame, zoomed);
		const scale = (width - 2 * PAD) / (zoomed.weight || 1);
		const x = above ? PAD : PAD + (frame.start - zoomed.start) * scale;
		const w = above ? width - 2 * PAD : frame.weight * scale;
		const y = top + ROW * (icicle ? frame.depth : rows - 1 - frame.depth);

		frame.g.classList.toggle("hidden", !shown);
		frame.g.classList.toggle("above", above);
		if (!shown)
			return;
		frame.rect.setAttribute("x", x.toFixed(2));
		frame.rect.setAttribute("width", w.toFixed(2));
		frame.rect.setAttribute("y", y);
		frame.text.setAttribute("x", (x + 3).toFixed(2));
		frame.text.setAttribute("y", y + 11.5);
		fit(frame.text, frame.name, w);
	}

	function layout() {
		frames.forEach(place);
		byId("reset").style.display = zoomed === frames[0] ? "none" : "";
	}

	// The head stays in view; a flame begins at the bottom.
	function follow() {
		byId("head").setAttribute("transform",
			"translate(" + window.scrollX + " " + window.scrollY + ")");
	}

	function showRoot() {
		window.scrollTo(0, icicle ? 0 : Number(svg.getAttribute("height")));
		follow();
	}

	function resize() {
		const view = window.visualViewport; // without scroll bars

		width = Math.max(640, view ? Math.floor(view.width) : window.innerWidth);
		svg.setAttribute("width", width);
		svg.removeAttribute("viewBox");
		for (const node of document.querySelectorAll("[data-place]")) {
			const [side, offset] = node.dataset.place.split(" ");
			const origin = side === "middle" ? width / 2 : side === "right" ? width : 0;
			node.setAttribute("x", origin + Number(offset));
		}
		layout();
	}

	function zoom(frame) {
		zoomed = frame;
		layout();
		tell();
	}

	// --- what is said about a frame, and about what was searched for ---

	function details(frame) {
		const parts = [frame.name, amount(frame.weight),
			percent(frame.weight, total) + " of all"];

		if (frame.parent)
			parts.push(percent(frame.weight, frame.parent.weight) + " of its caller");
		if (zoomed !== frames[0])
			parts.push(percent(frame.weight, zoomed.weight) + " of the frame in view");
		if (frame.more)
			parts.push(frame.more);
		byId("details").textContent = parts.join(", ");
	}

	function select(frame) {
		if (selected)
			selected.g.classList.remove("selected");
		selected = frame;
		if (frame) {
			frame.g.classList.add("selected");
			details(frame);
		} else {
			byId("details").textContent = "";
		}
	}

	// A stack counts once, however many of its frames match.
	function matched(below) {
		let sum = 0, end = -1;

		for (const frame of frames) {
			if (!frame.match || !within(frame, below) || frame.start < end)
				continue;
			sum += frame.weight;
			end = frame.start + frame.weight;
		}
		return sum;
	}

	function tell() {
		let text = "";

		if (pattern) {
			const all = matched(frames[0]);

			text = "matched " + percent(all, total) + " (" + amount(all) + ")";
			if (zoomed !== frames[0])
				text += ", " + percent(matched(zoomed), zoomed.weight) + " of the frame in view";
		}
		byId("matched").textContent = text;
	}

	function search(words) {
		pattern = null;
		if (words) {
			try {
				pattern = new RegExp(words, "i");
			} catch (e) {
				pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
			}
		}
		for (const frame of frames) {
			frame.match = pattern !== null && frame !== frames[0] && pattern.test(frame.name);
			frame.g.classList.toggle("match", frame.match);
		}
		tell();
	}

	// --- controls ---

	const box = document.createElementNS("http://www.w3.org/2000/svg", "foreignObject");
	const input = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
	box.setAttribute("data-place", "right -200");
	box.setAttribute("y", 8);
	box.setAttribute("width", 190);
	box.setAttribute("height", 24);
	input.setAttribute("id", "query");
	input.setAttribute("type", "search");
	input.setAttribute("placeholder", "search (Ctrl-F), words or regexp");
	input.setAttribute("aria-label", "search");
	box.appendChild(input);
	byId("head").appendChild(box);
	input.addEventListener("input", () => search(input.value));

	function clear() {
		input.value = "";
		search("");
	}

	function reset() {
		select(null);
		zoom(frames[0]);
		byId("reset").blur(); // it is hidden now, and keys are for the frames again
	}

	function turn() {
		icicle = !icicle;
		byId("turn").querySelector("text").textContent = icicle ? "flame" : "icicle";
		layout();
		showRoot();
	}

	function control(id, action) {
		byId(id).addEventListener("click", action);
		byId(id).addEventListener("keydown", (event) => {
			if (event.key === "Enter" || event.key === " ") {
				event.preventDefault();
				event.stopPropagation();
				action();
			}
		});
	}
	control("reset", reset);
	control("turn", turn);
	byId("controls").style.display = "";

	function frameOf(event) {
		const g = event.target.closest ? event.target.closest("#frames > g") : null;

		return g ? g.flame : null;
	}

	byId("frames").addEventListener("mouseover", (event) => {
		const frame = frameOf(event);

		if (frame)
			details(frame);
	});
	byId("frames").addEventListener("mouseout", () => {
		if (selected)
			details(selected);
		else
			byId("details").textContent = "";
	});
	byId("frames").addEventListener("click", (event) => {
		const frame = frameOf(event);

		if (frame) {
			select(frame);
			zoom(frame);
		}
	});

	// --- keyboard ---

	function neighbour(step) {
		const peers = selected.parent ? selected.parent.children : [selected];

		return peers[peers.indexOf(selected) + step] || selected;
	}

	function move(key) {
		const outward = icicle ? "ArrowUp" : "ArrowDown";

		if (!selected)
			return zoomed;
		if (key === "ArrowLeft")
			return neighbour(-1);
		if (key === "ArrowRight")
			return neighbour(1);
		if (key === outward)
			return selected.parent || selected;
		return selected.children.reduce(
			(best, frame) => !best || frame.weight > best.weight ? frame : best, null) || selected;
	}

	function key(event) {
		if ((event.ctrlKey || event.metaKey) && event.key === "f" || event.key === "/") {
			input.focus();
			input.select();
		} else if (event.ctrlKey || event.metaKey || event.altKey) {
			return;
		} else if (event.key.startsWith("Arrow")) {
			select(move(event.key));
		} else if (event.key === "Enter" && selected) {
			zoom(selected);
		} else if (event.key === "Escape") {
			clear();
			reset();
		} else if (event.key === "i") {
			turn();
		} else {
			return;
		}
		event.preventDefault();
	}
	document.addEventListener("keydown", (event) => {
		if (event.target !== input)
			key(event);
		else if (event.key === "Escape")
			clear();
	});

	window.addEventListener("resize", resize);
	window.addEventListener("scroll", follow);
	resize();
	showRoot();
})();
