// SPDX-License-Identifier: GPL-2.0-or-later
// What the flame graph paints: stacks are made whose functions have a known kind (painted.py), and
// their pixels have the colours that the style has for it, in both themes.
import { COLOUR_SCHEMES, colours, isNear, pixels } from "./canvas.mjs";
import { check, close, eventually, loaded, open, run, same, set, setting, settle } from "./page.mjs";

const NAME = "painted", CANVAS = ".flame-canvas";
const PLAN = setting.plans[NAME];
const ROW = 20, STEP = 4; // pixels: of a frame, and between places that are asked for
/** Frames from the outermost on: name, kind and share of all samples of the trace. */
const FRAMES = PLAN.frames;
const KINDS = ["root", "user", "library", "kernel", "inlined", "jit", "unresolved", "cpu", "queue", "off"];
const CHANGES = ["less-3", "more-3", "same"];

async function inThemes(hash, test) {
	for (const colorScheme of COLOUR_SCHEMES) {
		const page = await open(NAME, hash, { colorScheme });

		await shown(page);
		await test(page, await flameColours(page), colorScheme);
		await page.context().close();
	}
}

function flameColours(page) {
	return colours(page, ".flame", [...KINDS, ...CHANGES, "found"].map((name) => "flame-" + name));
}

/** Until the picture is there, without the pointer. */
async function shown(page) {
	await page.mouse.move(2, 2);
	await loaded(page, "samples", "spells", "nodes", "funcs");
	await eventually(page, "the flame graph is drawn", (selector) => document.querySelector(selector)?.width > 300, CANVAS);
	await settle(page);
}

/** The widest frame of each name that is said below the pointer: its row, and from where to where it is. The
 * pointer is moved by events of the page's own: there are thousands. */
async function framesOf(page) {
	const found = await page.evaluate(([row, step]) => {
		const canvas = document.querySelector(".flame-canvas"), tooltip = document.querySelector(".flame-tooltip");
		const { left, top, width, height } = canvas.getBoundingClientRect(), frames = {};

		for (let y = row / 2; y < height; y += row)
			for (let x = 1, last = {}; x < width; x += step) {
				canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: left + x, clientY: top + y, bubbles: true }));
				const name = tooltip.hidden ? "" : tooltip.querySelector("strong").textContent;

				if (name !== last.name)
					last = { name, from: x, to: x, top: y - row / 2 };
				last.to = x;
				if (name && !(frames[name]?.to - frames[name]?.from > last.to - last.from))
					frames[name] = last;
			}
		canvas.closest(".flame-scroller").dispatchEvent(new PointerEvent("pointerleave"));
		return { frames, width };
	}, [ROW, STEP]);

	await settle(page);
	return found;
}

/** Pixels of frames, by their names: at the upper edge, above the text. */
async function pixelsOf(page, frames) {
	const names = Object.keys(frames);
	const lists = await pixels(page, CANVAS, names.map((name) => [frames[name].to - 6, frames[name].top + 1, 4, 3]));

	return Object.fromEntries(names.map((name, i) => [name, lists[i]]));
}

/** As it is said. */
function shownName({ name, kind }) {
	return name + (kind === "inlined" ? " (inlined)" : "");
}

/** The colours that neighbours of a kind have: its own, and that with white or black. */
function shadesOf(colour) {
	return [[0, 255], [0.14, 255], [0.05, 0], [0.26, 255]].map(([share, towards]) =>
		colour.map((part) => part + (towards - part) * share));
}

function isShade(list, colour) {
	return shadesOf(colour).some((shade) => list.every((pixel) => isNear(pixel, shade, 1)));
}

/** Each kind has its colour; what is inlined is said, too. */
async function kinds() {
	await inThemes("tab=flame", async (page, colour, theme) => {
		const { frames, width } = await framesOf(page), found = await pixelsOf(page, frames);

		same(Object.keys(frames).sort(), FRAMES.map(shownName).sort(), theme + ": frames");
		for (const one of FRAMES) {
			const what = theme + ": " + one.name, frame = frames[shownName(one)], list = found[shownName(one)];

			if (!check(frame, what + " is there"))
				continue;
			for (const kind of new Set(FRAMES.map((other) => other.kind)))
				same(isShade(list, colour["flame-" + kind]), kind === one.kind, what + ", " + one.kind + ", has the colour of " + kind + ": " + list[0]);
			close(frame.to - frame.from, one.share * width, what + ": its width", 2 * STEP);
		}
	});
}

/** Of one thread: on a CPU, waiting for one, and off the CPUs. */
async function states() {
	const wanted = { lock: { "[on CPU]": "cpu", "[run queue]": "queue", "[waits for locks]": "off" }, filler: { "[preempted]": "queue" } };

	await inThemes("tab=flame&weight=wall", async (page, colour, theme) => {
		for (const thread of Object.keys(wanted)) {
			await page.evaluate((name) => {
				const { model, store } = globalThis.ebreportPage, { rows } = model.get("threads");

				store.set({ thread: Array.from({ length: rows }, (_, i) => i).find((i) => model.threadName(i) === name) });
			}, thread);
			await shown(page);
			const found = await pixelsOf(page, (await framesOf(page)).frames);

			for (const [name, kind] of Object.entries(wanted[thread]))
				check(found[name] && isShade(found[name], colour["flame-" + kind]), theme + ": " + name + " has the colour of " + kind + ": " +
					found[name]?.[0] + ", of " + Object.keys(found));
		}
	});
}

/** What matches a search has one colour, and nothing else has it. */
async function search() {
	await inThemes("tab=flame", async (page, colour, theme) => {
		const { frames } = await framesOf(page);

		for (const [text, matches] of [["more", ["lib_more", "kernel_more"]], ["tiny", ["tiny"]], ["nothing", []]]) {
			await set(page, { text });
			await shown(page);
			const found = await pixelsOf(page, frames);

			for (const one of FRAMES)
				same(found[shownName(one)]?.every((pixel) => isNear(pixel, colour["flame-found"], 0)), matches.includes(one.name),
					theme + ": " + one.name + " is marked when " + text + " is looked for");
		}
	});
}

/** Of two ranges: what runs in the second alone, in the first alone, and in both alike. */
async function difference() {
	const [range, range2] = PLAN.ranges.map(([from, to]) => ({ from, to }));
	const wanted = { lib_more: "more-3", kernel_more: "more-3", less: "less-3", "tiny (inlined)": "less-3", made_even: "same", main: "same" };

	await inThemes("tab=flame", async (page, colour, theme) => {
		const met = new Set();

		// Each picture is of what one side has.
		for (const flame of ["", "before"]) {
			await set(page, { range, range2, flame });
			await shown(page);
			const found = await pixelsOf(page, (await framesOf(page)).frames);

			for (const [name, change] of Object.entries(wanted)) {
				const list = found[name];

				if (!list)
					continue; // the other picture has it
				met.add(name);
				check(list.every((pixel) => isNear(pixel, colour["flame-" + change], 0)), theme + ": " + name + " has the colour of " + change + ": " + list[0]);
			}
		}
		same([...met].sort(), Object.keys(wanted).sort(), theme + ": frames that were compared");
	});
}

await run(kinds, states, search, difference);
