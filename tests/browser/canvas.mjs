// SPDX-License-Identifier: GPL-2.0-or-later
// What tests of canvases share: pixels of them, colours of the style, and where on the time axis what
// is. Lanes are found by what is said below the pointer.
import { loaded, settle } from "./page.mjs";

const LABELS = 220; // pixels, at the left of the time axis
const GAP = 2; // above what a thread did
export const SPAN = 16; // height of what it did
const RULER = 24;
export const COLOUR_SCHEMES = ["light", "dark"];

// --- pixels ---

/** Colours of rectangles [x, y, width, height] of a canvas, row by row: each [red, green, blue]. */
export async function pixels(page, selector, rects) {
	await settle(page);
	return page.evaluate(([where, list]) => {
		const canvas = document.querySelector(where);
		// A copy: reading from the page's own again and again would slow it down.
		const context = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });

		context.drawImage(canvas, 0, 0);
		return list.map(([x, y, width, height]) => {
			const { data } = context.getImageData(Math.round(x), Math.round(y), width, height);

			return Array.from({ length: width * height }, (_, i) => [...data.subarray(4 * i, 4 * i + 3)]);
		});
	}, [selector, rects]);
}

/** Keeps what a canvas shows, in the page, for changedPixels(). */
export async function keepPixels(page, selector) {
	await settle(page);
	await page.evaluate((where) => {
		const canvas = document.querySelector(where);

		globalThis.keptPixels = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
		globalThis.keptPixels.drawImage(canvas, 0, 0);
	}, selector);
}

/** What has changed since then: where, and [red, green, blue] before and now. */
export async function changedPixels(page, selector) {
	await settle(page);
	return page.evaluate((where) => {
		const { width, height } = document.querySelector(where);
		const now = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });

		now.drawImage(document.querySelector(where), 0, 0);
		const [before, after] = [globalThis.keptPixels, now].map((context) => context.getImageData(0, 0, width, height).data);
		const found = [];

		for (let i = 0; i < after.length; i += 4)
			if (before[i] !== after[i] || before[i + 1] !== after[i + 1] || before[i + 2] !== after[i + 2])
				found.push({ x: i / 4 % width, y: Math.floor(i / 4 / width), before: [...before.subarray(i, i + 3)], pixel: [...after.subarray(i, i + 3)] });
		return found;
	}, selector);
}

/** Custom properties of the style, by name, each [red, green, blue]. */
export function colours(page, selector, names) {
	return page.evaluate(([where, list]) => {
		const style = getComputedStyle(document.querySelector(where));

		return Object.fromEntries(list.map((name) => [name, [1, 3, 5].map((at) =>
			parseInt(style.getPropertyValue("--" + name).trim().slice(at, at + 2), 16))]));
	}, [selector, names]);
}

/** As it looks where so much of a colour lies over another one. */
export function blend(over, below, share) {
	return over.map((part, i) => part * share + below[i] * (1 - share));
}

export function isNear(got, wanted, off = 3) {
	return got.every((part, i) => Math.abs(part - wanted[i]) <= off);
}

/** How much of a colour lies over another one, of 1; NaN: it is not between them. */
export function shareOf(got, over, below) {
	const [at] = [0, 1, 2].sort((a, b) => Math.abs(over[b] - below[b]) - Math.abs(over[a] - below[a]));
	const share = (got[at] - below[at]) / (over[at] - below[at]);

	return share > -0.02 && share < 1.02 && isNear(got, blend(over, below, share)) ? share : NaN;
}

// --- the time axis ---

/** The canvas, so high that all lanes are in view. */
export async function axisOf(page) {
	await page.evaluate(() => document.getElementById("axis").style.height = "900px");
	await loaded(page, "spells", "losses", "events", "points", "path");
	return page.locator(".axis-canvas").boundingBox();
}

/** Where a time is, in pixels of the canvas. */
export async function xOf(page, box, time) {
	const { from, to } = await page.evaluate(() => globalThis.ebreportPage.store.state.view);

	return LABELS + (time - from) / (to - from) * (box.width - LABELS);
}

/** A view in which a time is at the left edge of a pixel, in the middle; 0.1 ms are one. */
export function viewAround(box, time) {
	const width = box.width - LABELS, left = Math.floor(width / 2);

	return { from: time - left * 1e5, to: time + (width - left) * 1e5 };
}

/** What is said below the pointer: a title, and texts by their labels; null: nothing. */
function tipOf(page) {
	return page.evaluate(() => {
		const tip = document.querySelector(".axis-tip");

		return tip.hidden ? null : { title: tip.querySelector(".axis-tip-title")?.textContent ?? "",
			rows: Object.fromEntries([...tip.querySelectorAll(".axis-tip-row")].map((row) => [...row.children].map((part) => part.textContent))) };
	});
}

export async function hover(page, box, x, y) {
	await page.mouse.move(box.x + x, box.y + y);
	return tipOf(page);
}

/** Away from it: what belongs to the pointer alone goes. */
export async function leave(page) {
	await page.mouse.move(2, 2);
	await settle(page);
}

/** What is said from top to bottom at one place: parts that follow each other, with where they begin. The
 * pointer is moved by events of the page's own: there are hundreds. */
export async function saidAlong(page, box, x) {
	const found = await page.evaluate(([at, top]) => {
		const canvas = document.querySelector(".axis-canvas"), tip = document.querySelector(".axis-tip");
		const { left, top: above, height } = canvas.getBoundingClientRect(), parts = [];

		for (let y = top; y < height; y += 2) { // heights are even
			canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: left + at, clientY: above + y, pointerType: "mouse" }));
			const text = tip.hidden ? "" : tip.textContent;

			if (parts[parts.length - 1]?.text !== text)
				parts.push({ text, top: y, tip: tip.hidden ? null : { title: tip.querySelector(".axis-tip-title")?.textContent ?? "",
					rows: Object.fromEntries([...tip.querySelectorAll(".axis-tip-row")].map((row) => [...row.children].map((part) => part.textContent))) } });
		}
		canvas.dispatchEvent(new PointerEvent("pointerleave"));
		return parts;
	}, [x, RULER]);

	await settle(page);
	return found.filter(({ tip }) => tip);
}

/** By id of a thread where its lane's bar begins: the pixels of what it did. */
export async function lanesOf(page, box) {
	const lanes = {};

	for (const { tip, top } of await saidAlong(page, box, LABELS / 2))
		lanes[tip.title.match(/\((\d+)\)$/)?.[1]] = top + GAP;
	return lanes;
}
