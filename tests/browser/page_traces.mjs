// SPDX-License-Identifier: GPL-2.0-or-later
// Pages of traces that are not as usual: a thousand threads, one that lost rows, one that is cut short,
// one with values at their limits.
import { check, loaded, open, run, same, set, showTab, someMoments, tabs } from "./page.mjs";

async function everyTab(page) {
	for (const tab of await tabs(page))
		await showTab(page, tab);
}

/** In which text of the page a word is. */
function hasText(page, text) {
	return page.evaluate((word) => document.body.innerText.includes(word), text);
}

/** Each of a thousand threads can be chosen and found. */
async function crowd() {
	const page = await open("crowd");
	const threads = await page.evaluate(() => globalThis.ebreportPage.model.get("threads").rows);

	same(threads, 1000, "threads of the model");
	check(await hasText(page, "no command was recorded"), "why there is no critical path, though there are switches");
	await everyTab(page);
	for (const thread of [0, 499, 999]) {
		await set(page, { thread });
		const label = await page.evaluate((i) => globalThis.ebreportPage.model.threadLabel(i), thread);

		check(await hasText(page, label), "the chosen thread is named: " + label);
	}
	await page.context().close();
}

/** What was lost is said, and when. */
async function lossy() {
	const page = await open("lossy");

	check(await hasText(page, "lost"), "what is first seen tells that rows were lost");
	await everyTab(page);
	await set(page, { moment: { kind: "loss", index: 0 } });
	const text = await page.evaluate(() => document.getElementById("moment").innerText);

	check(/sched_switch/.test(text) && /0\.600/.test(text) && /0\.800/.test(text), "which rows were lost, and when: " + text);
	await page.context().close();
}

/** The time axis shows them where they are: what is said below the pointer, from pixel to pixel. */
async function lossOnAxis() {
	const page = await open("lossy");

	await set(page, { range: { from: 0, to: 1e9 }, range2: null });
	await loaded(page, "losses", "events", "points");
	const box = await page.locator(".axis-canvas").boundingBox(), y = box.y + box.height - 6;

	await page.mouse.move(box.x + 500, y);
	await page.mouse.down();
	await page.mouse.move(box.x + 900, y, { steps: 3 });
	await page.mouse.up();
	const { from, to } = await page.evaluate(() => globalThis.ebreportPage.store.state.range);
	const scale = (to - from) / 400, seen = [];

	for (let x = 230; x < box.width - 10; x += 3) {
		await page.mouse.move(box.x + x, y);
		if ((await page.locator(".axis-tip").textContent()).startsWith("Rows were lost") &&
			await page.locator(".axis-tip").isVisible())
			seen.push(from + (x - 500) * scale);
	}
	check(seen.length > 10, "losses are seen: " + seen.length);
	check(Math.abs(seen[0] - 6e8) < 6 * scale, "they begin at 0.6 s: " + seen[0]);
	check(Math.abs(seen[seen.length - 1] - 8e8) < 6 * scale, "and end at 0.8 s: " + seen[seen.length - 1]);
	await page.context().close();
}

async function cut() {
	const page = await open("cut");
	const warnings = await page.evaluate(() => globalThis.ebreportPage.model.head.warnings);

	check(warnings.length > 0, "a warning of the cut");
	for (const warning of warnings)
		check(await hasText(page, warning), "the page tells: " + warning);
	await everyTab(page);
	await page.context().close();
}

/** Of any number in any field. */
async function kinds() {
	const page = await open("kinds");

	await everyTab(page);
	for (const moment of await someMoments(page))
		await set(page, { moment });
	await set(page, { view: { from: 1000, to: 1001 }, range: { from: 0, to: 1 } });
	await everyTab(page);
	await page.context().close();
}

await run(crowd, lossy, lossOnAxis, cut, kinds);
