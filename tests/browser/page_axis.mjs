// SPDX-License-Identifier: GPL-2.0-or-later
// The time axis by keys and mouse: its lanes, its table against the reports, ranges, pins, moments
// and the view.
import { duration, timeText } from "../../report/page/text.js";
import { axe, check, close, eventually, loaded, open, report, run, same, set, setting, settle, state, window } from "./page.mjs";

const [NAME] = Object.keys(setting.pages);
const [TRACE] = setting.pages[NAME].traces;
const WHEELS = 60;
const LABELS = 220; // pixels, at the left of the canvas

/** The canvas on the screen. */
async function canvasOf(page) {
	await page.evaluate(() => document.getElementById("axis").style.height = "640px");
	await settle(page);
	return page.locator(".axis-canvas").boundingBox();
}

/** What a screen reader was told last. */
function said(page) {
	return page.evaluate(() => document.getElementById("live").textContent);
}

/** Presses a key until what is said has a text. @returns {Promise<boolean>} */
async function pressUntil(page, key, text, most) {
	for (let i = 0; i < most; i++) {
		await page.keyboard.press(key);
		if ((await said(page)).includes(text))
			return true;
	}
	return false;
}

/** Threads of the page, those with most CPU time first. */
function busiest(page) {
	return page.evaluate(() => {
		const { model } = globalThis.ebreportPage, threads = model.get("threads");

		return Array.from({ length: threads.rows }, (_, thread) => thread)
			.sort((a, b) => threads.cpu_ns[b] - threads.cpu_ns[a])
			.map((thread) => ({ thread, tid: threads.tid[thread], name: model.threadName(thread) }));
	});
}

// --- figures ---

/** The table of the time axis says what `ebreport sched` says of the same time. */
async function figures() {
	const page = await open(NAME);
	const { from, to } = await state(page, "view"), length = to - from;
	const part = { from: Math.round(from + length * 0.3), to: Math.round(from + length * 0.6) };

	await page.getByRole("button", { name: "Table", exact: true }).click();
	for (const range of [null, part]) {
		await set(page, { range });
		const shown = await page.$$eval(".axis-table tbody tr", (rows) => rows.map((row) =>
			[...row.children].map((cell) => cell.textContent)));

		for (const row of report(TRACE, "sched", ...window(range)).rows) {
			const found = shown.find(([label]) => label.endsWith("(" + row.tid + ")"));

			if (!found && !row.run_ns)
				continue;
			same(found?.slice(1, 3), [duration(row.run_ns), duration(row.wait_ns)],
				"running and waiting of " + row.tid + " in " + JSON.stringify(range));
		}
	}
	await axe(page, "the table of the time axis");
	await page.context().close();
}

// --- keys ---

async function keys() {
	const page = await open(NAME);
	const [first] = await busiest(page), whole = await state(page, "view");

	await canvasOf(page);
	await set(page, { text: String(first.tid) }); // few lanes are left
	await page.focus(".axis-canvas");
	check(await pressUntil(page, "ArrowDown", first.name + " " + first.tid + ": running ", 200),
		"the lane of " + first.name + " says what it did");
	await page.keyboard.press("Enter");
	same(await state(page, "thread"), first.thread, "Enter chooses the thread");
	const moment = await state(page, "moment"), middle = (whole.from + whole.to) / 2;
	const at = await page.evaluate(({ thread, time }) => {
		const { model, stateAt } = globalThis.ebreportPage;

		return stateAt(model, thread, time);
	}, { thread: first.thread, time: middle });

	if (at.row >= 0)
		same([moment?.kind, moment?.index], ["spell", at.row], "Enter chooses what it did in the middle");
	await page.keyboard.press("p");
	same(await state(page, "pins"), [first.thread], "P pins");
	await page.keyboard.press("p");
	same(await state(page, "pins"), [], "P unpins");
	await set(page, { text: "", pins: [1, first.thread, 2] });
	await page.keyboard.press("Shift+ArrowUp");
	same(await state(page, "pins"), [first.thread, 1, 2], "Shift moves a pinned thread");
	await set(page, { pins: [] });
	for (const key of ["w", "w", "d", "ArrowLeft", "s"])
		await page.keyboard.press(key);
	await eventually(page, "the address has the view", () => location.hash.includes("view="));
	await eventually(page, "W, W and S zoom by the same", (length) => { // the view settles after the last key
		const { view } = globalThis.ebreportPage.store.state;

		return Math.abs(view.to - view.from - length) < 2;
	}, (whole.to - whole.from) / 1.5);
	await page.keyboard.press("0");
	await eventually(page, "0 shows all", (length) => {
		const { view: now } = globalThis.ebreportPage.store.state;

		return now.to - now.from === length;
	}, whole.to - whole.from);
	await page.context().close();
}

async function goToTime() {
	const page = await open(NAME);
	const whole = await state(page, "view"), time = Math.round((whole.from + whole.to) / 2 / 1e6);

	await page.focus(".axis-canvas");
	await page.keyboard.press("g");
	await page.keyboard.type("soon");
	await page.keyboard.press("Enter");
	same(await page.getAttribute(".axis-time", "aria-invalid"), "true", "what is no time is refused");
	await page.fill(".axis-time", time + "ms");
	await page.keyboard.press("Enter");
	await eventually(page, "the time is in the middle", (middle) => {
		const { view } = globalThis.ebreportPage.store.state;

		return Math.abs((view.from + view.to) / 2 - middle) < 2;
	}, time * 1e6);
	check((await said(page)).includes(" s"), "the time is said");
	await page.context().close();
}

// --- mouse ---

async function drag(page, box, from, to) {
	await page.mouse.move(box.x + from, box.y + 60);
	await page.mouse.down();
	await page.mouse.move(box.x + to, box.y + 60, { steps: 3 });
	await page.mouse.up();
}

async function ranges() {
	const page = await open(NAME);
	const box = await canvasOf(page), view = await state(page, "view");

	await drag(page, box, 400, 600);
	const range = await state(page, "range");
	await page.keyboard.down("Shift");
	const moved = await canvasOf(page); // what is chosen is shown above
	await drag(page, moved, 700, 900);
	await page.keyboard.up("Shift");
	const other = await state(page, "range2");
	check(range && range.from > view.from && range.to < view.to, "a range by mouse: " + JSON.stringify(range));
	check(other && other.from > range.to, "another with Shift: " + JSON.stringify(other));
	close(range.to - range.from, other.to - other.from, "as many pixels are as much time", 2);
	same(await state(page, "range"), range, "the first stays");
	await page.focus(".axis-canvas");
	await page.keyboard.press("f");
	await eventually(page, "F shows the range with some room", (length) => {
		const { view: now } = globalThis.ebreportPage.store.state;

		return Math.abs(now.to - now.from - length) < 4;
	}, (range.to - range.from) * 1.2);
	await page.context().close();
}

/** A pointer that comes back to where it was pressed has chosen no range, and none is shown. */
async function brushBack() {
	const page = await open(NAME);
	const box = await canvasOf(page);
	const picture = () => page.$eval(".axis-canvas", (canvas) => canvas.toDataURL());

	await page.mouse.move(box.x + 400, box.y + 10); // the ruler: a click there chooses nothing
	await loaded(page, "losses", "events", "points");
	const before = await picture();

	await page.mouse.down();
	await page.mouse.move(box.x + 600, box.y + 10, { steps: 3 });
	await settle(page);
	check(await picture() !== before, "a range is shown while it is drawn");
	await page.mouse.move(box.x + 400, box.y + 10, { steps: 3 });
	await page.mouse.up();
	await settle(page);
	same(await state(page, "range"), null, "no range");
	check(await picture() === before, "no range is shown");
	await page.context().close();
}

/** The first place in some rows of pixels of which something is said; [] where nothing is. */
async function tipAt(page, box, x) {
	for (let y = 30; y < box.height - 10; y += 7) {
		await page.mouse.move(box.x + x, box.y + y);
		const lines = await page.$$eval(".axis-tip:not([hidden]) > *", (list) => list.map((line) => line.textContent));

		if (lines.length && lines[1]?.startsWith("State"))
			return [y, lines];
	}
	return [];
}

async function moments() {
	const page = await open(NAME);
	const box = await canvasOf(page);
	let y, lines;

	for (let x = 300; x < 1200 && !lines; x += 90)
		[y, lines] = await tipAt(page, box, x);
	check(lines, "something is said below the pointer");
	await page.mouse.down();
	await page.mouse.up();
	const moment = await state(page, "moment");
	same(moment?.kind, "spell", "a click at " + y + " chooses what is said: " + lines);
	const found = await page.evaluate(({ thread, time }) => {
		const { model, stateAt } = globalThis.ebreportPage, at = stateAt(model, thread, time);

		return [at.row, model.threadLabel(thread), at.from];
	}, moment);
	same([found[0], found[1]], [moment.index, lines[0]], "the row of the thread that was named");
	check(lines.some((line) => line === "From" + timeText(found[2]) + " s"), "since when: " + lines);
	await page.context().close();
}

/** The function with most samples, by number, and when it was sampled first. */
function mostSampled(page) {
	return page.evaluate(async () => {
		const { model } = globalThis.ebreportPage, sums = new Map();
		const [samples, nodes] = [await model.load("samples"), await model.load("nodes")];

		for (const node of samples.node)
			sums.set(nodes.func[node], (sums.get(nodes.func[node]) || 0) + 1);
		const [func] = [...sums].sort((a, b) => b[1] - a[1])[0];

		return [func, samples.time[samples.node.findIndex((node) => nodes.func[node] === func)]];
	});
}

/** Of a function that is chosen in the flame graph the axis shows the samples; one that is clicked on is a
 * moment with that function in its stack. */
async function samplesOfFrame() {
	const page = await open(NAME, "tab=flame");
	const [func, time] = await mostSampled(page), { from, to } = await state(page, "view");

	await set(page, { frame: func });
	await loaded(page, "nodes", "funcs", "samples");
	const box = await canvasOf(page);
	const x = LABELS + (time - from) / (to - from) * (box.width - LABELS);
	let found = false;

	for (let y = 30; y < box.height - 10 && !found; y += 3) {
		await page.mouse.move(box.x + x, box.y + y);
		found = await page.$$eval(".axis-tip:not([hidden]) > *", (list) => list.some((line) => line.textContent.startsWith("Sample")));
	}
	check(found, "a sample of the function is below the pointer somewhere");
	await page.mouse.down();
	await page.mouse.up();
	const moment = await state(page, "moment");

	same(moment?.kind, "sample", "a click chooses it");
	check(await page.evaluate(([index, wanted]) => {
		const { model } = globalThis.ebreportPage, nodes = model.get("nodes");
		let node = model.get("samples").node[index];

		while (node && nodes.func[node] !== wanted)
			node = nodes.parent[node];
		return node > 0;
	}, [moment.index, func]), "its stack has the function");
	await page.context().close();
}

/** As many steps out as in. */
async function zooming() {
	const page = await open(NAME);
	const box = await canvasOf(page), whole = await state(page, "view");

	await page.mouse.move(box.x + 700, box.y + 60);
	await page.keyboard.down("Control");
	for (let i = 0; i < WHEELS / 2; i++)
		await page.mouse.wheel(0, -40);
	await eventually(page, "in", ({ from, to }) => {
		const { view } = globalThis.ebreportPage.store.state;

		return view.to - view.from < (to - from) / 2;
	}, whole);
	for (let i = 0; i < WHEELS / 2; i++)
		await page.mouse.wheel(0, 40);
	await page.keyboard.up("Control");
	await eventually(page, "as far out as in", ({ from, to }) => {
		const { view } = globalThis.ebreportPage.store.state;

		return Math.abs(view.from - from) < 2 && Math.abs(view.to - to) < 2;
	}, whole);
	await page.context().close();
}

await run(figures, keys, goToTime, ranges, brushBack, moments, samplesOfFrame, zooming);
