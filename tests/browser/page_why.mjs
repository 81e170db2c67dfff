// SPDX-License-Identifier: GPL-2.0-or-later
// The answer of `why`: each sentence leads to the steps of the critical path that it counts.
import { execFileSync } from "node:child_process";
import { axe, check, eventually, open, ready, run, same, set, setting, settle, state } from "./page.mjs";

const [NAME] = Object.keys(setting.pages);
const [TRACE] = setting.pages[NAME].traces;
const LABELS = 220; // pixels, at the left of the canvas
const IN_REPORT = 6; // sentences, the page has more

/** Of each sentence, as the sections say: its steps, from when to when, the longest, whose. */
function sentencesOf(page) {
	return page.evaluate(async () => {
		const { model } = globalThis.ebreportPage;
		const [path, shares] = [await model.load("path"), await model.load("shares")];

		return model.head.why.lines.map(({ text, percent }, line) => {
			const counted = new Map();

			for (const [step, of] of path.line.entries())
				if (of === line + 1)
					counted.set(step, path.dur[step]);
			for (const [i, of] of (shares.line || []).entries())
				if (of === line + 1)
					counted.set(shares.step[i], shares.ns[i]);
			const steps = [...counted.keys()].sort((a, b) => a - b), last = steps[steps.length - 1];
			const most = Math.max(...counted.values());
			const longest = steps.find((step) => counted.get(step) === most);

			return { text, percent, steps, longest, from: path.time[steps[0]], to: path.time[last] + path.dur[last],
				time: path.time[longest], dur: path.dur[longest], thread: path.thread[longest] - 1,
				label: model.threadLabel(path.thread[longest] - 1) };
		});
	});
}

function linksOf(page) {
	return page.locator(".why .bars button");
}

async function openPage(hash = "") {
	const page = await open(NAME, hash);

	await linksOf(page).first().waitFor();
	return page;
}

/** The axis is low, and shows its end: most lanes are out of view. */
async function scrollAway(page) {
	await page.evaluate(() => {
		document.getElementById("axis").style.height = "220px";
		document.querySelector(".axis-scroll").scrollTop = 1e6;
	});
	await settle(page);
}

/** Threads whose labels are in view. */
async function lanesInView(page) {
	const box = await page.locator(".axis-canvas").boundingBox(), found = new Set();

	for (let y = 26; y < box.height - 2; y += 6) {
		await page.mouse.move(box.x + 60, box.y + y);
		const [first] = await page.$$eval(".axis-tip:not([hidden]) > *", (list) => list.map((line) => line.textContent));

		found.add(first);
	}
	await page.mouse.move(0, 0);
	return found;
}

/** Pixels of the colour of the path, at a time. */
function pathPixels(page, time) {
	return page.evaluate(({ at, labels }) => {
		const canvas = document.querySelector(".axis-canvas"), { view } = globalThis.ebreportPage.store.state;
		const x = Math.floor(labels + (at - view.from) / (view.to - view.from) * (canvas.clientWidth - labels));
		const colour = getComputedStyle(canvas).getPropertyValue("--path").trim();
		const copy = Object.assign(document.createElement("canvas"), { width: 1, height: canvas.height });
		const context = copy.getContext("2d", { willReadFrequently: true });

		context.drawImage(canvas, -x, 0);
		const { data } = context.getImageData(0, 0, 1, canvas.height);
		let n = 0;

		for (let i = 0; i < data.length; i += 4)
			n += Number("#" + [...data.slice(i, i + 3)].map((value) => value.toString(16).padStart(2, "0")).join("") === colour);
		return n;
	}, { at: time, labels: LABELS });
}

// --- the answer ---

/** The page has the sentences that the report has. */
async function answer() {
	const page = await openPage();
	const printed = execFileSync(setting.ebreport, ["why", "--no-symbol-cache", TRACE], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
		.replace(/\s+/g, " ");
	const shown = await page.$$eval(".why .bars li", (list) => list.map((line) => line.textContent));
	const sentences = await sentencesOf(page);

	same(await linksOf(page).allTextContents(), sentences.map(({ text }) => text), "sentences that lead somewhere");
	same(shown, sentences.map(({ text, percent }) => percent.toFixed(1) + " %" + text), "sentences with their share");
	check(sentences.length > IN_REPORT, "sentences: " + sentences.length);
	for (const { text, percent } of sentences.slice(0, IN_REPORT))
		check(printed.includes(percent.toFixed(1) + " % " + text + " "), "the report says, too: " + text);
	await page.context().close();
}

// --- where they lead ---

/** What a sentence shows: all of its steps with little beside, and of the longest its thread. */
async function checkShown(page, sentence, line, what) {
	const { from, to } = sentence, view = await state(page, "view"), moment = await state(page, "moment");
	const whole = await page.evaluate(() => [globalThis.ebreportPage.model.from, globalThis.ebreportPage.model.to]);
	const room = Math.max(to - from, (whole[1] - whole[0]) / 1000) / 20;
	const wanted = { from: Math.round(Math.max(whole[0], from - room)), to: Math.round(Math.min(whole[1], to + room)) };

	same(view, wanted, what + ": its steps are in view, from " + from + " to " + to);
	same(moment, { kind: "path", index: sentence.longest, thread: sentence.thread, time: sentence.time, line }, what + ": the longest");
	same(await state(page, "tab"), "overview", what + ": the tab");
	const hash = decodeURIComponent(await page.evaluate(() => location.hash));

	check(hash.includes("moment=" + JSON.stringify(moment)), what + ": the address has the step: " + hash);
	check(hash.includes("view=" + view.from + "-" + view.to) || JSON.stringify([view.from, view.to]) === JSON.stringify(whole),
		what + ": the address has the view: " + hash);
	await eventually(page, what + ": the panel says which of its steps it is", (text) =>
		document.getElementById("moment").innerText.includes(text),
	sentence.text + "; step " + (sentence.steps.indexOf(sentence.longest) + 1) + " of " + sentence.steps.length);
}

async function leads() {
	const page = await openPage(), sentences = await sentencesOf(page);
	let hidden = 0;

	for (const [line, sentence] of sentences.entries()) {
		const link = linksOf(page).nth(line), what = (line % 2 ? "Enter" : "a click") + " on '" + sentence.text + "'";

		await set(page, { moment: null, view: { from: 1000, to: 2000 } });
		await scrollAway(page);
		hidden += Number(!(await lanesInView(page)).has(sentence.label));
		if (line % 2) {
			await link.focus();
			await page.keyboard.press("Enter");
		} else {
			await link.click();
		}
		await settle(page);
		await checkShown(page, sentence, line, what);
		const lanes = await lanesInView(page);
		check(lanes.has(sentence.label), what + ": the lane of " + sentence.label + " is in view, of " + [...lanes]);
		check((await page.textContent("#live")).startsWith(sentence.steps.length + " step"), what + ": it is said how many steps");
	}
	check(hidden > 0, "a lane was out of view before");
	await axe(page, "a sentence that was followed");
	await page.context().close();
}

/** Its steps stand out on the path. */
async function standsOut() {
	const page = await openPage(), sentences = await sentencesOf(page);

	for (const line of [0, sentences.findIndex(({ text }) => text.includes("waited for a CPU"))]) {
		const { text, time, dur, longest, steps } = sentences[line], middle = time + dur / 2;
		const near = { from: Math.round(time - dur), to: Math.round(time + 2 * dur) };

		await linksOf(page).nth(line).click();
		const moment = await state(page, "moment");

		await set(page, { view: near });
		same(await pathPixels(page, middle), 4, text + ": pixels of the path, while it stands out");
		await set(page, { moment: { ...moment, line: sentences.findIndex((other) => !other.steps.includes(longest)) } });
		same(await pathPixels(page, middle), 0, text + ": pixels of the path, while another stands out");
		await page.keyboard.press("Escape");
		await settle(page);
		same(await state(page, "moment"), null, text + ": Escape leaves the step");
		same(await pathPixels(page, middle), 2, text + ": pixels of the path, while nothing stands out");
		check(steps.includes(longest), text);
	}
	await page.context().close();
}

/** The step before, and behind, are those of the sentence. */
async function neighbours() {
	const page = await openPage(), sentences = await sentencesOf(page);
	const line = sentences.findIndex(({ steps }) => steps.length > 3 && steps.some((step, i) => i && step > steps[i - 1] + 1));
	const { steps, longest } = sentences[line], at = steps.indexOf(longest);
	const index = async () => (await state(page, "moment")).index;

	await linksOf(page).nth(line).click();
	await page.locator("#moment .panel-head").waitFor(); // it has the keys
	await page.locator("body").click({ position: { x: 1, y: 1 } });
	for (let i = at - 1; i >= Math.max(0, at - 3); i--) {
		await page.keyboard.press("[");
		same(await index(), steps[i], "[ goes to the step before");
	}
	await set(page, { moment: { ...await state(page, "moment"), index: steps[0] } });
	check(await page.getByRole("button", { name: "The one before" }).isDisabled(), "before the first there is none");
	for (const step of steps.slice(1, 5)) {
		await page.keyboard.press("]");
		same(await index(), step, "] goes to the step behind");
		same((await state(page, "moment")).line, line, "it is still that of the sentence");
	}
	await set(page, { moment: { ...await state(page, "moment"), index: steps[steps.length - 1] } });
	check(await page.getByRole("button", { name: "The one behind" }).isDisabled(), "behind the last there is none");
	await page.context().close();
}

// --- addresses ---

async function addresses() {
	const page = await openPage(), sentences = await sentencesOf(page), line = 1;

	await linksOf(page).nth(line).click();
	const before = [await state(page, "view"), await state(page, "moment")];
	const other = await openPage(await page.evaluate(() => location.hash));

	same([await state(other, "view"), await state(other, "moment")], before, "what the address shows");
	await checkShown(other, sentences[line], line, "the address");
	for (const moment of [{ kind: "path", index: 0, line: sentences.length }, { kind: "path", index: 0, line: "__proto__" },
		{ kind: "path", index: 0, line: -1 }, { kind: "spell", index: 0, line: 0 }]) {
		await other.evaluate((text) => {
			location.hash = "moment=" + encodeURIComponent(text);
		}, JSON.stringify(moment));
		await eventually(other, "the address " + JSON.stringify(moment) + " is taken, without its sentence", ({ kind }) => {
			const now = globalThis.ebreportPage.store.state.moment;

			return now?.index === 0 && now.kind === kind && now.line === undefined;
		}, moment);
	}
	await other.reload();
	await ready(other);
	same((await state(other, "moment"))?.index, 0, "it is taken when the page is opened, too");
	for (const one of [page, other])
		await one.context().close();
}

await run(answer, leads, standsOut, neighbours, addresses);
