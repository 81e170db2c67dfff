// SPDX-License-Identifier: GPL-2.0-or-later
// Script of a chart of marks: zooms and moves along the axis of time. It is part of each picture, the
// same in all: names come from the recorded machine, so they are read as text and set as text only.
"use strict";
(function () {
	const CHARACTER = 6.2, TICKS = 12, SHORTEST = 100; // ns that can fill the picture
	const NS = "http://www.w3.org/2000/svg";
	const svg = document.documentElement;
	const number = (name) => Number(svg.dataset[name]);
	const left = number("left"), plot = number("plot"), top = number("top");
	const bottom = number("bottom"), length = number("length"), offset = number("offset");
	const axis = document.getElementById("axis");
	let from = 0, to = length, due = false;

	const boxes = Array.from(document.getElementById("marks").children, (g) => ({
		g: g, rect: g.querySelector("rect"), text: g.querySelector("text"),
		start: Number(g.dataset.s), end: Number(g.dataset.e), label: g.dataset.t || "",
		least: Number(g.dataset.w),
	}));

	// --- drawing ---

	function place(box) {
		const scale = plot / (to - from);
		const begin = Math.max(0, (box.start - from) * scale);
		const width = Math.max(box.least, Math.min(plot, (box.end - from) * scale) - begin);
		const shown = box.end >= from && box.start <= to;
		const room = Math.floor((width - 6) / CHARACTER);

		box.g.style.display = shown ? "" : "none";
		if (!shown)
			return;
		box.rect.setAttribute("x", (left + Math.min(begin, plot - width)).toFixed(2));
		box.rect.setAttribute("width", width.toFixed(2));
		if (!box.text)
			return;
		const fits = box.label.length <= room;
		box.text.setAttribute("x", (left + begin + 3).toFixed(2));
		box.text.textContent = fits ? box.label : room < 8 ? "" :
			Array.from(box.label).slice(0, room - 2).join("") + "..";
	}

	function add(name, attributes, words) {
		const node = document.createElementNS(NS, name);

		for (const key in attributes)
			node.setAttribute(key, attributes[key]);
		node.textContent = words;
		axis.appendChild(node);
	}

	function tick(at, digits) {
		const x = left + (at - offset - from) / (to - from) * plot;
		const words = (at / 1e9).toFixed(digits) + " s";

		add("line", { class: "grid", x1: x, y1: top, x2: x, y2: bottom }, "");
		add("text", { class: "tick", x: x, y: top - 6 }, words);
		add("text", { class: "tick", x: x, y: bottom + 14 }, words);
	}

	function drawAxis() {
		const power = 10 ** Math.floor(Math.log10((to - from) / TICKS));
		const step = Math.max(1, [1, 2, 5, 10].find(
			(n) => (to - from) / (n * power) <= TICKS) * power);
		const digits = Math.max(0, Math.ceil(9 - Math.log10(step)));

		axis.textContent = "";
		for (let n = Math.ceil((offset + from) / step); n * step <= offset + to; n++)
			tick(n * step, digits);
	}

	function draw() {
		due = false;
		boxes.forEach(place);
		drawAxis();
	}

	function show(a, b) {
		const wide = Math.min(length, Math.max(Math.min(SHORTEST, length), b - a));

		from = Math.max(0, Math.min(a, length - wide));
		to = from + wide;
		if (!due)
			requestAnimationFrame(draw);
		due = true;
	}

	// --- controls ---

	// Pixels of the picture to ns.
	function time(x) {
		const box = svg.getBoundingClientRect();
		const share = ((x - box.left) / box.width * svg.viewBox.baseVal.width - left) / plot;

		return from + Math.max(0, Math.min(1, share)) * (to - from);
	}

	function zoom(at, factor) {
		show(at - (at - from) * factor, at + (to - at) * factor);
	}

	svg.addEventListener("wheel", (event) => {
		if (!event.ctrlKey) // it scrolls
			return;
		event.preventDefault();
		zoom(time(event.clientX), 2 ** (event.deltaY / 300));
	}, { passive: false });

	let grabbed = null;
	svg.addEventListener("mousedown", (event) => {
		grabbed = { x: event.clientX, from: from, to: to, ns: time(event.clientX + 1) - time(event.clientX) };
		event.preventDefault();
	});
	window.addEventListener("mousemove", (event) => {
		if (!grabbed)
			return;
		const ns = (grabbed.x - event.clientX) * grabbed.ns;
		show(grabbed.from + ns, grabbed.to + ns);
	});
	window.addEventListener("mouseup", () => { grabbed = null; });

	// What is clicked twice fills the picture.
	svg.addEventListener("dblclick", (event) => {
		const g = event.target.closest ? event.target.closest("#marks > g") : null;
		const box = g ? boxes.find((b) => b.g === g) : null;

		if (box)
			show(box.start - (box.end - box.start) * 0.1, box.end + (box.end - box.start) * 0.1);
	});

	const keys = {
		"+": () => zoom((from + to) / 2, 0.5),
		"-": () => zoom((from + to) / 2, 2),
		ArrowLeft: () => show(from - (to - from) / 4, to - (to - from) / 4),
		ArrowRight: () => show(from + (to - from) / 4, to + (to - from) / 4),
		Escape: () => show(0, length),
	};
	document.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key))
			return;
		event.preventDefault();
		keys[event.key]();
	});
	document.getElementById("help").style.display = "";
})();
