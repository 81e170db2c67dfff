// SPDX-License-Identifier: GPL-2.0-or-later
// For everyone: rules of accessibility in both themes, the keyboard alone, narrow screens, paper.
import { axe, check, open, run, same, set, setting, settle, showTab, tabs } from "./page.mjs";

const COLORS = ["light", "dark"];

/** Something that a moment is of: the middle of a row of spells. */
function moment(page) {
	return page.evaluate(async () => {
		const { model } = globalThis.ebreportPage;
		const spells = await model.load("spells");

		return { kind: "spell", index: spells.rows >> 1, thread: spells.thread[spells.rows >> 1] };
	});
}

async function everyView(page, what) {
	for (const tab of await tabs(page)) {
		await showTab(page, tab);
		await axe(page, what + ", " + tab);
	}
}

async function accessible() {
	for (const colorScheme of COLORS) {
		const page = await open("work", "", { colorScheme });

		await everyView(page, colorScheme);
		await set(page, { range: { from: 200e6, to: 700e6 }, text: "serve", moment: await moment(page) });
		await everyView(page, colorScheme + " with a range, a search and a moment");
		await page.keyboard.press("Escape");
		await page.keyboard.press("?");
		await axe(page, colorScheme + ", help");
		await page.context().close();
	}
}

async function accessibleOthers() {
	for (const name of Object.keys(setting.pages)) {
		const page = await open(name);

		await everyView(page, name);
		await page.context().close();
	}
}

/** The background of what is in view, and whether text on it is lighter. */
function colors(page) {
	return page.evaluate(() => {
		const style = getComputedStyle(document.body);
		const light = (color) => color.match(/[\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);

		return light(style.color) > light(style.backgroundColor) ? "dark" : "light";
	});
}

/** As the system has it, or as is chosen; what is chosen stays with the address. */
async function themes() {
	for (const colorScheme of COLORS) {
		const page = await open("work", "", { colorScheme });
		const other = COLORS.find((color) => color !== colorScheme);

		same(await colors(page), colorScheme, "the system's theme");
		await page.getByLabel("Theme").selectOption(other);
		await settle(page);
		same(await colors(page), other, "the chosen theme");
		await page.reload();
		await page.waitForFunction(() => document.documentElement.dataset.ready === "1");
		same(await colors(page), other, "the chosen theme, from the address");
		await page.context().close();
	}
}

/** What goes beyond the width of the window, but for what scrolls for itself. */
function tooWide(page) {
	return page.evaluate(() => {
		const root = document.documentElement;

		if (root.scrollWidth <= root.clientWidth)
			return [];
		const wide = [...document.querySelectorAll("body *")].filter((element) => element.getBoundingClientRect().right > root.clientWidth + 1 &&
			!element.parentElement.closest(".scroll"));

		return ["scrolls: " + root.scrollWidth, ...wide.slice(0, 5).map((element) => element.tagName + "." + element.className)];
	});
}

async function narrow() {
	for (const width of [390, 320, 768]) {
		const page = await open("work", "", { viewport: { width, height: 844 }, isMobile: width < 500, hasTouch: width < 500 });

		for (const tab of await tabs(page)) {
			await showTab(page, tab);
			same(await tooWide(page), [], tab + " at " + width + " px");
		}
		await set(page, { moment: await moment(page) });
		same(await tooWide(page), [], "a moment at " + width + " px");
		await page.context().close();
	}
}

/** On paper: dark on light, and all of a table that is in view. */
async function paper() {
	const page = await open("work", "", { colorScheme: "dark" });

	for (const tab of await tabs(page)) {
		await showTab(page, tab);
		await page.emulateMedia({ media: "print" });
		same(await colors(page), "light", tab + " on paper");
		const cut = await page.evaluate(() => [...document.querySelectorAll("[role=tabpanel]:not([hidden]) .scroll")]
			.filter((element) => element.scrollHeight > element.clientHeight + 1 && getComputedStyle(element).overflowY !== "visible").length);

		same(cut, 0, tab + " on paper: what is cut off");
		await page.emulateMedia({ media: null });
	}
	const pdf = await page.pdf({ format: "A4" });

	check(pdf.length > 10000, "a PDF");
	await page.context().close();
}

/** From the address bar on, with Tab alone: each control is met once, and shows that it is. */
async function focus() {
	const page = await open("work");
	const met = [];

	for (let i = 0; i < 80; i++) {
		await page.keyboard.press("Tab");
		const at = await page.evaluate(() => {
			const element = document.activeElement;

			if (!element || element === document.body)
				return null;
			const style = getComputedStyle(element);

			return { name: element.tagName + "#" + element.id + "." + element.className + ":" + (element.textContent || "").slice(0, 30),
				shown: style.outlineStyle !== "none" || style.boxShadow !== "none",
				hidden: !element.getClientRects().length };
		});

		if (!at)
			break;
		if (met.length && at.name === met[0].name)
			break;
		met.push(at);
	}
	check(met.length >= 5, "controls that Tab meets: " + met.map((at) => at.name).join(", "));
	same(met.filter((at) => !at.shown || at.hidden).map((at) => at.name), [], "controls that do not show that they have the focus");
	check(met.some((at) => at.name.includes("#tab-")), "tabs are met");
	check(met.some((at) => at.name.includes("#search")), "the search is met");
	await page.context().close();
}

/** Tables have headings, pictures have words, parts have names. */
async function structure() {
	const page = await open("work");

	for (const tab of await tabs(page)) {
		await showTab(page, tab);
		const found = await page.evaluate(() => ({
			h1: document.querySelectorAll("h1").length,
			tables: [...document.querySelectorAll("[role=tabpanel]:not([hidden]) table")].filter((table) => !table.querySelector("th")).length,
			canvases: [...document.querySelectorAll("canvas")].filter((canvas) => !canvas.getAttribute("aria-label") &&
				!canvas.getAttribute("aria-labelledby") && canvas.getAttribute("aria-hidden") !== "true").length,
		}));

		same(found, { h1: 1, tables: 0, canvases: 0 }, tab + ": first headings, tables without headings, pictures without words");
	}
	await page.context().close();
}

/** Pages of two traces, and of one that has something to warn of, are looked at by a test of their own. */
await run(...(setting.pages.work ? [accessible, themes, narrow, paper, focus, structure] : [accessibleOthers]));
