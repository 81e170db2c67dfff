// SPDX-License-Identifier: GPL-2.0-or-later
// Part `page` of tests/bench/run: what a page costs in Chromium. Prints a line of figures as JSON.
import { readFileSync } from "node:fs";
import { open, run, set, setting, showTab, tabs } from "../browser/page.mjs";

const [NAME] = Object.keys(setting.pages);
const INTERVALS = 100000; // in view while it is zoomed
const STEPS = 120;        // of the wheel, in and out again

/** Time of the page and of its tasks that took longer than 50 ms. */
function watchFrames() {
	const found = { tasks: [], frames: [], last: 0, on: false };
	const frame = (now) => {
		if (found.on && found.last)
			found.frames.push(now - found.last);
		found.last = now;
		requestAnimationFrame(frame);
	};

	globalThis.benchFrames = found;
	new PerformanceObserver((list) => list.getEntries().forEach((entry) => found.tasks.push(entry.duration)))
		.observe({ type: "longtask", buffered: true });
	requestAnimationFrame(frame);
}

/** A part of the time, in the middle, that so many intervals begin in. */
function partOf(n) {
	const { model } = globalThis.ebreportPage;
	const spells = model.get("spells"), times = new Float64Array(spells.rows);

	for (let i = 0, end = 0; i < spells.rows; i++) {
		if (!i || spells.thread[i] !== spells.thread[i - 1])
			end = model.from;
		times[i] = end + spells.gap[i];
		end = times[i] + spells.off_ns[i] + spells.queue_ns[i] + spells.run_ns[i];
	}
	times.sort();
	const half = Math.min(n, spells.rows) / 2, middle = spells.rows / 2;

	return { from: times[Math.max(0, Math.floor(middle - half))], to: times[Math.min(spells.rows - 1, Math.floor(middle + half))],
		n: Math.min(n, spells.rows) };
}

/** Memory of the tab's process, in bytes. */
async function memoryOf(page) {
	const browser = page.context().browser();
	const session = await browser.newBrowserCDPSession();
	const { processInfo } = await session.send("SystemInfo.getProcessInfo");
	const sizes = processInfo.filter(({ type }) => type === "renderer")
		.map(({ id }) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync("/proc/" + id + "/status", "utf8"))?.[1] || 0) * 1024);

	return Math.max(0, ...sizes);
}

async function zoom(page) {
	const box = await page.locator(".axis-canvas").boundingBox();
	const { n, ...view } = await page.evaluate(partOf, INTERVALS);

	await set(page, { view });
	await page.mouse.move(box.x + box.width / 2, box.y + Math.min(box.height, 300) / 2);
	await page.evaluate(() => Object.assign(globalThis.benchFrames, { on: true, frames: [], tasks: [], last: 0 }));
	for (let i = 0; i < STEPS; i++)
		await page.mouse.wheel(0, i < STEPS / 2 ? -30 : 30);
	await page.evaluate(() => new Promise((done) => setTimeout(done, 300)));
	const { frames, tasks } = await page.evaluate(() => Object.assign(globalThis.benchFrames, { on: false }));

	frames.sort((a, b) => a - b);
	return { intervals: n, frames: frames.length, median_ms: frames[frames.length >> 1], p99_ms: frames[Math.floor(frames.length * 0.99)],
		worst_ms: frames[frames.length - 1], over_50: frames.filter((ms) => ms > 50).length, long_tasks: tasks.length };
}

async function figures() {
	const empty = await open(NAME); // so that the browser itself is warm
	await empty.context().close();
	const begin = performance.now(), page = await open(NAME);
	const ready = performance.now() - begin;
	const first = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0);

	await page.evaluate(watchFrames);
	await page.evaluate(() => new Promise((done) => setTimeout(done, 500)));
	const loading = await page.evaluate(() => globalThis.benchFrames.tasks.slice());
	const zoomed = await zoom(page);
	const views = {};

	for (const tab of await tabs(page)) {
		const from = performance.now();

		await showTab(page, tab);
		views[tab] = performance.now() - from;
	}
	console.log("figures " + JSON.stringify({ first_ms: first, ready_ms: ready, loading_tasks_ms: loading, zoomed, views,
		bytes: await memoryOf(page) }));
	await page.context().close();
}

await run(figures);
