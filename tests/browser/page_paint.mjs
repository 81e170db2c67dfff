// SPDX-License-Identifier: GPL-2.0-or-later
// What the time axis paints, pixel by pixel, in both themes: a trace is made of which it is known who
// did what and when (painted.py), and colours are those of the style.
import {
	axisOf, blend, changedPixels, COLOUR_SCHEMES, colours, hover, isNear, keepPixels, lanesOf, leave, pixels, saidAlong, shareOf, SPAN, xOf,
} from "./canvas.mjs";
import { check, close, eventually, open, report, run, same, set, setting, settle, state } from "./page.mjs";

const NAME = "painted", AXIS = ".axis-canvas";
const [TRACE] = setting.pages[NAME].traces;
const PLAN = setting.plans[NAME];
const [COMMAND, BOSS] = [200, 100];

/** By reason: the property of its colour, and how high its line is. */
const REASONS = {
	disk: ["disk", 6], freeze: ["disk", 6], lock: ["lock", 6], condition: ["lock", 6], thread: ["lock", 6], filelock: ["lock", 6],
	semaphore: ["lock", 6], network: ["network", 4], pipe: ["pipe", 4], queue: ["pipe", 4], poll: ["poll", 2], timer: ["timer", 2],
	child: ["child", 2], terminal: ["other", 2], signal: ["other", 2], memory: ["other", 2], kernel: ["other", 2],
	stopped: ["other", 2], unknown: ["other", 2],
};
const NAMES = ["bg", "text", "running", "runnable", "mark", "path", "loss", "range", "range2",
	...new Set(Object.values(REASONS).map(([name]) => "blocked-" + name)),
	...Array.from({ length: 10 }, (_, i) => "process-" + i)];

/** The page in each theme. */
async function inThemes(test) {
	for (const colorScheme of COLOUR_SCHEMES) {
		const page = await open(NAME, "", { colorScheme, viewport: { width: 1280, height: 1300 } });
		const box = await axisOf(page);

		await test(page, box, await colours(page, AXIS, NAMES), colorScheme);
		await page.context().close();
	}
}

// --- what threads did ---

/** Pixels of a thread's bar, row by row. @returns {number[][][]} */
function rowsOf(list, width) {
	return Array.from({ length: SPAN }, (_, y) => list.slice(y * width, (y + 1) * width));
}

function allNear(rows, colour) {
	return rows.every((row) => row.every((pixel) => isNear(pixel, colour)));
}

function checkBlocked(rows, phase, colour, what) {
	const [name, height] = REASONS[phase.reason];

	check(allNear(rows.slice(-height), colour["blocked-" + name]), what + " has the colour of " + name + ": " + rows[SPAN - 1][0]);
	check(allNear(rows.slice(0, -height), colour.bg), what + " is a line of " + height + " pixels");
}

/** Oblique lines, between which the ground is seen. */
function checkRunnable(rows, colour, what) {
	const shares = rows.slice(SPAN / 2).flat().map((pixel) => shareOf(pixel, colour.runnable, colour.bg));

	check(allNear(rows.slice(0, SPAN / 2), colour.bg), what + " fills the lower half");
	check(!shares.some(Number.isNaN) && Math.max(...shares) > 0.6 && Math.min(...shares) < 0.2,
		what + " is hatched in its colour: " + shares.map((share) => share.toFixed(2)).slice(0, 16));
}

async function states() {
	await inThemes(async (page, box, colour, theme) => {
		const lanes = await lanesOf(page, box), rects = [], width = { running: 3, blocked: 3, runnable: 6 };

		same(Object.keys(lanes).length, new Set(PLAN.phases.map(({ tid }) => tid)).size, theme + ": lanes of threads");
		for (const { tid, what, from, to } of PLAN.phases)
			// A quarter: where no line of the ruler is.
			rects.push([await xOf(page, box, from + (to - from) / 4) - 1, lanes[tid], width[what], SPAN]);
		(await pixels(page, AXIS, rects)).forEach((list, i) => {
			const phase = PLAN.phases[i], rows = rowsOf(list, width[phase.what]);
			const what = theme + ": " + phase.tid + " " + phase.what + " " + (phase.reason || "") + " at " + phase.from / 1e6 + " ms";

			if (phase.what === "running")
				check(allNear(rows, colour.running), what + " has the colour: " + rows[8][0]);
			else if (phase.what === "runnable")
				checkRunnable(rows, colour, what);
			else
				checkBlocked(rows, phase, colour, what);
		});
	});
	same([...new Set(PLAN.phases.map(({ reason }) => reason))].filter(Boolean).sort(), Object.keys(REASONS).sort(), "reasons that were painted");
}

/** Where a CPU's lane is: what is said of who runs there comes before the threads' own lanes. */
async function cpuLanes(page, box, time) {
	const said = await saidAlong(page, box, await xOf(page, box, time)), lanes = [];

	for (const { tip, top } of said)
		if (tip.rows.CPU !== undefined)
			lanes[tip.rows.CPU] ??= top + 2;
	return lanes;
}

/** A CPU has the colour of the process that runs: one of ten, the same each time. */
async function cpus() {
	const found = {};

	await inThemes(async (page, box, colour, theme) => {
		const runs = PLAN.phases.filter(({ what }) => what === "running"), rects = [];
		const lanes = await cpuLanes(page, box, runs.find(({ cpu }) => cpu === 1).from + 5e6);

		same(lanes.length, 2, theme + ": lanes of CPUs");
		for (const { cpu, from, to } of runs)
			rects.push([await xOf(page, box, from + (to - from) * 3 / 4), lanes[cpu], 1, SPAN]);
		found[theme] = (await pixels(page, AXIS, rects)).map((list, i) => {
			const number = Array.from({ length: 10 }, (_, n) => n).findIndex((n) => list.every((pixel) => isNear(pixel, colour["process-" + n], 0)));

			check(number >= 0, theme + ": CPU " + runs[i].cpu + " at " + runs[i].from / 1e6 + " ms: " + list[8]);
			return [Math.min(runs[i].tid, COMMAND), number]; // those that wait are threads of one process
		});
	});
	same(found.dark, found.light, "colours of processes are the same ones in both themes");
	const pairs = [...new Set(found.light.map(([pid, number]) => pid + " " + number))];

	same(pairs.length, 3, "each process has one colour: " + pairs);
	same(new Set(found.light.map(([, number]) => number)).size, 3, "these processes differ: " + pairs);
}

// --- what lies above ---

/** Marks nest, and have their colour. */
async function marks() {
	await inThemes(async (page, box, colour, theme) => {
		for (const { name, from, to } of PLAN.marks) {
			const x = await xOf(page, box, (from + to) / 2);
			const part = (await saidAlong(page, box, x)).find(({ tip }) => tip.title.startsWith(name + " "));

			same(part?.tip.rows.Kind, "mark", theme + ": the mark " + name + " is there");
			if (!part)
				continue;
			const end = await xOf(page, box, to);
			const [inside, behind] = await pixels(page, AXIS, [[end - 4, part.top, 2, 14], [end + 2, part.top, 2, 14]]);

			check(inside.every((pixel) => isNear(pixel, colour.mark, 0)), theme + ": the mark " + name + " has its colour: " + inside[0]);
			check(behind.every((pixel) => isNear(pixel, colour.bg, 0)), theme + ": behind " + name + " there is none: " + behind[0]);
		}
	});
}

/** The critical path leads along the lanes that `ebreport why` names. */
async function path() {
	const segments = report(TRACE, "why", "--path").rows.filter((row) => row.duration_ns > 2e6);

	await inThemes(async (page, box, colour, theme) => {
		const lanes = await lanesOf(page, box), others = { [BOSS]: COMMAND, [COMMAND]: BOSS };

		await set(page, { view: { from: 0, to: 150e6 } });
		for (const { tid, time_ns: from, duration_ns: ns, kind } of segments) {
			const x = await xOf(page, box, from + ns / 2), what = theme + ": the path at " + (from + ns / 2) / 1e6 + " ms, " + kind;
			const [own, other] = await pixels(page, AXIS, [lanes[tid], lanes[others[tid]]].map((top) => [x, top + SPAN, 1, 2]));

			check(own.every((pixel) => isNear(pixel, colour.path, 0)), what + " is below " + tid + ": " + own);
			check(!other.some((pixel) => isNear(pixel, colour.path, 60)), what + " is not below " + others[tid] + ": " + other);
		}
		const woken = segments.find(({ tid }) => tid === COMMAND).time_ns;
		const between = lanes[COMMAND] - lanes[BOSS];
		const [column] = await pixels(page, AXIS, [[await xOf(page, box, woken) - 2, lanes[BOSS] + SPAN, 4, between]]);

		for (let y = 0; y < between; y++)
			check(column.slice(4 * y, 4 * y + 4).some((pixel) => shareOf(pixel, colour.path, colour.bg) > 0.6 || isNear(pixel, colour.path)),
				theme + ": a line leads from lane to lane, " + y + " px below the waker's");
	});
	check(new Set(segments.map(({ tid }) => tid)).size === 2, "the path has two threads: " + JSON.stringify(segments));
}

/** When rows were lost there are oblique lines over all lanes. */
async function losses() {
	await inThemes(async (page, box, colour, theme) => {
		const [{ from, to }] = PLAN.losses, x = [await xOf(page, box, from), await xOf(page, box, to)], width = Math.floor(x[1] - x[0]) - 2;
		const y = box.height - 20; // below all lanes
		const [inside, before, behind] = await pixels(page, AXIS, [[x[0] + 1, y, width, 16], [x[0] - 10, y, 8, 16], [x[1] + 2, y, 8, 16]]);
		const shares = inside.map((pixel) => shareOf(pixel, colour.loss, colour.bg));

		check(!shares.some(Number.isNaN) && Math.max(...shares) > 0.4 && Math.max(...shares) < 0.6 && Math.min(...shares) < 0.1,
			theme + ": the loss is hatched in its colour, which lets through what is below: " + Math.max(...shares));
		check([...before, ...behind].every((pixel) => isNear(pixel, colour.bg, 0)), theme + ": there is none beside it");
	});
}

// --- ranges ---

async function drag(page, box, from, to) {
	await page.mouse.move(box.x + from, box.y + 60);
	await page.mouse.down();
	await page.mouse.move(box.x + to, box.y + 60, { steps: 3 });
}

/** Edges in its colour, and a veil of it between them, where no lane is; in the ruler a line. */
async function checkRange(page, box, [from, to], colour, bg, what) {
	const y = box.height - 20;
	const [left, middle, right, outside, ruler, beside] = await pixels(page, AXIS, [[from, y, 1, 8], [(from + to) / 2 + 7, y, 1, 8], [to - 1, y, 1, 8],
		[to + 6, y, 1, 8], [(from + to) / 2, 21, 1, 1], [to + 6, 21, 1, 1]]);

	for (const [name, list] of [["left edge", left], ["right edge", right], ["line of the ruler", ruler]])
		check(list.every((pixel) => isNear(pixel, colour, 0)), what + ": its " + name + ": " + list[0] + ", not " + colour);
	check(middle.every((pixel) => isNear(pixel, blend(colour, bg, 0.12), 2)), what + ": what is in it: " + middle[0]);
	check([...outside, ...beside].every((pixel) => !isNear(pixel, colour, 20)), what + ": beside it: " + outside[0] + ", " + beside[0]);
}

/** Both are in their colours, while they are drawn and when they are chosen. */
async function brushes() {
	await inThemes(async (page, box, colour, theme) => {
		const first = [400, 500], second = [700, 900];

		await drag(page, box, ...first);
		await checkRange(page, box, first, colour.range, colour.bg, theme + ": the brush");
		await page.mouse.up();
		await settle(page);
		same(await state(page, "range2"), null, theme + ": no second range yet");
		const moved = await axisOf(page); // what is chosen is shown above

		await page.keyboard.down("Shift");
		await drag(page, moved, ...second);
		await checkRange(page, moved, second, colour.range2, colour.bg, theme + ": the second brush");
		await page.mouse.up();
		await page.keyboard.up("Shift");
		await settle(page);
		const last = await axisOf(page), edges = [];

		for (const key of ["range", "range2"])
			edges.push(await Promise.all(Object.values(await state(page, key)).map((time) => xOf(page, last, time))));
		[first, second].forEach((drawn, i) => drawn.forEach((x, k) => close(edges[i][k], x, theme + ": edge of a range", 0.01)));
		await checkRange(page, last, first, colour.range, colour.bg, theme + ": the range");
		await checkRange(page, last, second, colour.range2, colour.bg, theme + ": the second range");
		await checkMap(page, colour, theme);
	});
}

/** The strip above the axis shows both, too, at its lower edge. */
async function checkMap(page, colour, theme) {
	for (const key of ["range", "range2"]) {
		const { from, to } = await state(page, key), { width, height } = await page.locator(".axis-map").boundingBox();
		const [list] = await pixels(page, ".axis-map", [[(from + to) / 2 / PLAN.whole * width, height - 3, 1, 2]]);

		check(list.every((pixel) => isNear(pixel, colour[key], 0)), theme + ": " + key + " in the strip: " + list[0]);
	}
}

// --- who woke whom ---

/** Of an arrow from a lane down to another one: a line all the way, and nothing beside it. */
function checkArrow(changed, [x, from, to], text, what) {
	const [left, right] = [Math.min(...changed.map((one) => one.x)), Math.max(...changed.map((one) => one.x))];
	const [top, bottom] = [Math.min(...changed.map((one) => one.y)), Math.max(...changed.map((one) => one.y))];

	check(left >= x - 6 && right <= x + 6, what + ": the arrow is where it was woken, at " + x + ": " + left + " to " + right);
	check(Math.abs(top - from) <= 5 && Math.abs(bottom - to) <= 2, what + ": it leads from " + from + " to " + to + ": " + top + " to " + bottom);
	for (let y = Math.round(from); y < to - 8; y++)
		check(changed.some((one) => one.y === y && shareOf(one.pixel, text, one.before) > 0.6), what + ": it is drawn at " + y);
	const widths = [8, 5, 3].map((up) => new Set(changed.filter((one) => one.y === Math.round(to) - up).map((one) => one.x)).size);

	check(widths[0] > widths[1] && widths[1] > widths[2] && widths[0] >= 7, what + ": its head is at who was woken: " + widths);
}

/** Below the pointer each thread that the boss woke has an arrow from the boss, and says so. */
async function arrows() {
	await inThemes(async (page, box, colour, theme) => {
		const lanes = await lanesOf(page, box);

		await keepPixels(page, AXIS);
		for (const { tid, from, to, waker, reason } of PLAN.phases.filter(({ what }) => what === "blocked").filter((_, i) => i % 6 === 0)) {
			const what = theme + ": " + reason, ends = [waker, tid].map((id) => lanes[id] + SPAN / 2);
			const tip = await hover(page, box, await xOf(page, box, (from + to) / 2), ends[1]);

			same(tip?.rows["Woken by"], "boss (" + waker + ")", what + ": who woke it");
			checkArrow(await changedPixels(page, AXIS), [await xOf(page, box, to), ...ends], colour.text, what);
			await leave(page);
			same((await changedPixels(page, AXIS)).length, 0, what + ": pixels of an arrow without the pointer");
		}
		// What it did before was begun by an interrupt: nobody is there to point at.
		const first = PLAN.phases.find(({ tid, what }) => tid === COMMAND && what === "running");
		const tip = await hover(page, box, await xOf(page, box, (first.from + first.to) / 2), lanes[COMMAND] + SPAN / 2);

		same(tip?.rows.State, "running", theme + ": what it did first");
		same((await changedPixels(page, AXIS)).length, 0, theme + ": pixels of an arrow from nobody");
	});
}

/** One that is clicked on has its arrow for good. */
async function clickedArrow() {
	await inThemes(async (page, box, colour, theme) => {
		const lanes = await lanesOf(page, box);
		const { tid, from, to, waker } = PLAN.phases.find(({ reason }) => reason === "lock");

		await page.mouse.click(box.x + await xOf(page, box, (from + to) / 2), box.y + lanes[tid] + SPAN / 2);
		await eventually(page, theme + ": the moment is of it", () => globalThis.ebreportPage.store.state.moment?.kind === "spell");
		const moved = await axisOf(page), now = await lanesOf(page, moved), x = await xOf(page, moved, to);
		const [column] = await pixels(page, AXIS, [[x - 1, now[waker] + SPAN + 1, 3, now[tid] - now[waker] - SPAN - 9]]);

		for (let y = 0; y < column.length / 3; y++)
			check(column.slice(3 * y, 3 * y + 3).some((pixel) => isNear(pixel, colour.text, 110)), theme + ": the arrow at " + y);
	});
}

/** A theme that is chosen later repaints all. */
async function chosenTheme() {
	const page = await open(NAME, "", { colorScheme: "light", viewport: { width: 1280, height: 1300 } });
	const box = await axisOf(page), lanes = await lanesOf(page, box);
	const { tid, from, to } = PLAN.phases.find(({ what }) => what === "running");
	const rect = [await xOf(page, box, (from + to) / 2), lanes[tid] + 4, 1, 1];
	const light = await colours(page, AXIS, NAMES);

	await page.getByLabel("Theme").selectOption("dark");
	await settle(page);
	const dark = await colours(page, AXIS, NAMES), [[pixel]] = await pixels(page, AXIS, [rect]);

	same(pixel, dark.running, "running, in the theme that was chosen");
	check(!isNear(dark.running, light.running, 0), "themes differ");
	await page.context().close();
}

await run(states, cpus, marks, path, losses, brushes, arrows, clickedArrow, chosenTheme);
