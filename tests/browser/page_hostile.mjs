// SPDX-License-Identifier: GPL-2.0-or-later
// Names that want to break out of where they are shown: in every view they are text. Pages of kinds of
// such names, see HOSTILE of traces.py.
import { check, open, run, same, set, setting, showTab, someMoments, tabs } from "./page.mjs";

/** Elements that the page makes. Others come from a name that became markup. */
const ALLOWED = new Set(("html head meta title style script body a header h1 h2 h3 h4 h5 h6 div p noscript main section aside nav " +
	"footer ul ol li dl dt dd span b strong em i code pre kbd bdi bdo small mark time abbr button input select option optgroup " +
	"label fieldset legend form output progress meter table caption colgroup col thead tbody tfoot tr th td canvas figure " +
	"figcaption details summary dialog hr br wbr datalist search svg path rect line g text").split(" "));
const LONGEST = 3000000; // characters of a view, though names have 1 MiB

/** What is in the document that must not be there. */
function strange(page) {
	return page.evaluate((allowed) => {
		const elements = [...document.querySelectorAll("*")];
		const attributes = elements.flatMap((element) => [...element.attributes].map((a) => ({ element, a })));

		return {
			elements: elements.filter((e) => !allowed.includes(e.localName)).map((e) => e.localName),
			scripts: elements.filter((e) => e.localName === "script" && !e.id && e.type !== "module").length,
			handlers: attributes.filter(({ a }) => /^on/i.test(a.name)).map(({ a }) => a.name + "=" + a.value.slice(0, 100)),
			links: attributes.filter(({ a }) => /^(href|src|action|formaction|srcdoc|data|xlink:href)$/i.test(a.name) &&
				!/^(#|data:)/.test(a.value)).map(({ a }) => a.name + "=" + a.value.slice(0, 100)),
			inputs: elements.filter((e) => e.localName === "b" && e.hasAttribute("onclick")).length,
		};
	}, [...ALLOWED]);
}

const NOTHING = { elements: [], scripts: 0, handlers: [], links: [], inputs: 0 };

/** Moves over and clicks on what draws names itself. */
async function touchCanvases(page) {
	for (const canvas of await page.$$("canvas:visible")) {
		const box = await canvas.boundingBox();

		if (!box || box.width < 20 || box.height < 20)
			continue;
		for (const [x, y] of [[0.3, 0.2], [0.6, 0.5], [0.5, 0.8]])
			await page.mouse.move(box.x + box.width * x, box.y + Math.min(box.height, 400) * y);
		await page.mouse.click(box.x + box.width * 0.5, box.y + Math.min(box.height, 400) * 0.5);
	}
}

async function moments(page) {
	for (const moment of await someMoments(page)) {
		await set(page, { moment });
		same(await strange(page), NOTHING, "the panel of " + moment.kind + " " + moment.index);
	}
	await set(page, { moment: null });
}

/** Chooses each table in turn, where tables are. */
async function everyTable(page, kind) {
	const choices = page.locator(".choices button.choice");

	for (let i = 0; i < await choices.count(); i++) {
		await choices.nth(i).click();
		same(await strange(page), NOTHING, kind + ", table " + i);
	}
}

async function hostile(kind) {
	const page = await open(kind);

	for (const tab of await tabs(page)) {
		await showTab(page, tab);
		await touchCanvases(page);
		if (tab === "tables")
			await everyTable(page, kind);
		same(await strange(page), NOTHING, kind + ", " + tab);
		check(await page.evaluate(() => document.body.innerText.length) < LONGEST, kind + ", " + tab + ": it is short enough to be shown");
		check(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
			kind + ", " + tab + ": the page is no wider than the window");
	}
	await moments(page);
	for (const text of ["<script>", "(", "\\", "__proto__", "\u202e", "x".repeat(500)]) {
		await set(page, { text });
		same(await strange(page), NOTHING, kind + ", search for " + text.slice(0, 20));
	}
	await set(page, { text: "", process: 0, thread: 0 });
	same(await strange(page), NOTHING, kind + ", with a process chosen");
	same(await page.evaluate(() => globalThis.ran ?? Object.prototype.ran ?? null), null, kind + ": something has run");
	await page.context().close();
}

/** A name is shown as it is, without what turns the text around it. */
async function shown() {
	const page = await open("markup");
	const text = await page.evaluate(() => document.body.textContent);

	check(text.includes("<script>alert('host')</script>"), "the name of the host is there as text");
	await page.context().close();
}

/** Addresses from strangers: what they hold is not believed either. */
async function addresses() {
	for (const hash of ["tab=%3Cscript%3E&view=NaN-Infinity&thread=-1&moment=%7B%22kind%22%3A%22spell%22%2C%22index%22%3A99999999%7D",
		"view=9-1&range=0-99999999999999999999&thread=99999999&process=1e9&moment=%7B%22kind%22%3A%22__proto__%22%7D&pins=1.2.99999.-5.x",
		"__proto__=1&constructor=x&theme=%22%3E&weight=__proto__&by=constructor&frame=99999999&table=__proto__&moment=[]",
		"%&text=%FF&trace=7&inverted=2&inverted=3&&==&=&moment=1&range2=5-&table=" + "a".repeat(100000)]) {
		const page = await open("work", hash);

		for (const tab of await tabs(page))
			await showTab(page, tab);
		same(await strange(page), NOTHING, "address " + hash.slice(0, 60));
		await page.context().close();
	}
}

/** An expression that takes for ever on names of the page does not stop who only follows a link. */
async function expressions() {
	const page = await open(kinds[0], "tab=flame&flame=only&text=" + encodeURIComponent("/^(.*)*\u0007\u0007$/"));

	for (const tab of await tabs(page))
		await showTab(page, tab);
	check((await page.locator(".chips").innerText()).includes("does not run by itself"), "the page says that the expression is not run");
	await page.context().close();
}

const kinds = Object.keys(setting.pages).filter((name) => name !== "work");

await run(...kinds.map((kind) => Object.defineProperty(() => hostile(kind), "name", { value: kind })), shown, addresses, expressions);
