// SPDX-License-Identifier: GPL-2.0-or-later
// What the tests of the page share: a browser with pages that must stay silent, checks, and reports
// of `ebreport --json` to compare with. check_page.py starts a test with a file that says where
// programs, pages and traces are.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Model } from "../../report/page/model.js";
import { gunzip } from "../../report/page/provider.js";

/** @typedef {{node_modules: string, chromium: string, ebreport: string, pages: Record<string, {html: string, traces: string[]}>}} Setting */

/** @type {Setting} */
export const setting = JSON.parse(readFileSync(process.argv[2], "utf8"));

const require = createRequire(join(setting.node_modules, "x.js"));
export const WAIT = 240000; // ms, far more than anything needs
let failed = 0, checked = 0;

// --- checks ---

export function check(condition, what) {
	checked++;
	if (condition)
		return true;
	failed++;
	console.log("FAILED: " + what);
	return false;
}

export function same(got, wanted, what) {
	const [a, b] = [got, wanted].map((value) => JSON.stringify(value));

	return check(a === b, what + ": " + String(a).slice(0, 2000) + ", not " + String(b).slice(0, 2000));
}

/** Numbers that are as large, but for rounding. */
export function close(got, wanted, what, off = 1) {
	return check(Math.abs(got - wanted) <= off, what + ": " + got + ", not " + wanted);
}

/** Runs the parts of a test, of which each may fail, and ends. */
export async function run(...parts) {
	for (const part of parts) {
		const begin = Date.now();

		try {
			await part();
		} catch (error) {
			check(false, part.name + ": " + (error instanceof Error ? error.stack : error));
		}
		console.log(part.name + ": " + ((Date.now() - begin) / 1000).toFixed(1) + " s");
	}
	await closeBrowser();
	console.log(failed ? failed + " of " + checked + " checks failed" : checked + " checks passed");
	process.exit(failed || !checked ? 1 : 0);
}

// --- reports ---

/** The JSON object of a report. */
export function report(trace, command, ...options) {
	const text = execFileSync(setting.ebreport, [command, "--json", ...options, "--no-symbol-cache", trace], {
		encoding: "utf8", maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "ignore"],
	});

	return JSON.parse(text);
}

/** As --from and --to take it. */
export function window(range) {
	return range ? ["--from", Math.round(range.from) + "ns", "--to", Math.round(range.to) + "ns"] : [];
}

// --- what a page carries, without a browser ---

const ELEMENT = /<script type="[^"]*" id="([^"]*)">([^<]*)<\/script>/g;

/** The models of a page, with all sections. */
export async function modelsIn(path) {
	const text = readFileSync(path, "utf8");
	const elements = new Map([...text.matchAll(ELEMENT)].map((match) => [match[1], match[2]]));
	const head = JSON.parse(elements.get("head"));
	const provider = {
		head: async () => head,
		section: async (number, section) =>
			gunzip(new Uint8Array(Buffer.from(elements.get("s-" + number + "-" + section), "base64"))),
	};
	const models = head.traces.map((trace, i) => new Model(trace, provider, i));

	for (const model of models)
		for (const section of Object.keys(model.head.sections))
			await model.load(section);
	return models;
}

/** The same sequence each time, so that a failure can be looked at: 0 to 1. */
export function randomOf(seed) {
	let state = seed;

	return () => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return state / 2 ** 32;
	};
}

// --- the browser ---

let browser = null;

async function launch() {
	const { chromium } = require("playwright-core");
	const args = ["--disable-gpu", "--disable-background-networking", "--disable-component-update"];

	if (process.getuid?.() === 0)
		args.push("--no-sandbox");
	browser ||= await chromium.launch({ executablePath: setting.chromium, args, timeout: WAIT });
	return browser;
}

async function closeBrowser() {
	await browser?.close();
}

/**
 * A page of a trace, ready. Whatever it says to the console, asks for or loads is a failure.
 * @param {string} name of setting.pages @param {string} [hash]
 * @param {any} [options] of browser.newContext
 */
export function open(name, hash = "", options = {}) {
	return openFile(setting.pages[name].html, name, hash, options);
}

/** The same of another file. @param {RegExp} [said] what its console may say */
export async function openFile(path, name, hash = "", options = {}, said = /^$/) {
	const url = "file://" + path;
	const page = await newPage(name, options, said, (asked) => asked.split("#")[0] === url);

	await page.goto(url + (hash ? "#" + hash.replace(/^#/, "") : ""));
	await ready(page);
	return page;
}

/** A page that may ask for what `allowed` says, and for nothing else. */
export async function newPage(name, options, said, allowed) {
	const context = await (await launch()).newContext({ viewport: { width: 1280, height: 900 }, ...options });
	const page = await context.newPage();

	page.setDefaultTimeout(WAIT);
	watch(page, name, said, allowed);
	return page;
}

function watch(page, name, said, allowed) {
	page.on("console", (message) => check(said.test(message.text()),
		name + ": console: " + message.text().slice(0, 1000)));
	page.on("pageerror", (error) => check(false, name + ": " + error.stack));
	page.on("dialog", (dialog) => {
		check(false, name + ": a dialog: " + dialog.message().slice(0, 1000));
		dialog.dismiss();
	});
	page.on("popup", (popup) => check(false, name + ": a window: " + popup.url()));
	page.on("request", (request) => check(allowed(request.url()),
		name + ": it loads " + request.url().slice(0, 1000)));
}

export async function ready(page) {
	await page.waitForFunction(() => document.documentElement.dataset.ready === "1");
}

/** Until what was set is drawn, also what is read for it. */
export async function settle(page) {
	await page.evaluate(async () => {
		for (let i = 0; i < 3; i++)
			await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
	});
}

/** Changes the state of the page as its views do. */
export async function set(page, patch) {
	await page.evaluate((change) => globalThis.ebreportPage.store.set(change), patch);
	await settle(page);
}

/** Waits until sections are there that views read when they are shown already, and drawn. */
export async function loaded(page, ...sections) {
	await page.evaluate(async (names) => {
		await Promise.all(names.map((name) => globalThis.ebreportPage.model.load(name)));
	}, sections);
	await settle(page);
}

/** A member of the state. */
export function state(page, key) {
	return page.evaluate((name) => globalThis.ebreportPage.store.state[name], key);
}

/** Waits until an expression of the page is true, and checks that. */
export async function eventually(page, what, condition, argument) {
	try {
		await page.waitForFunction(condition, argument, { timeout: 60000 });
		check(true, what);
	} catch {
		check(false, what);
	}
}

/** Names of tabs that are there. */
export function tabs(page) {
	return page.$$eval("[role=tab]:not([hidden])", (list) => list.map((tab) => tab.id.replace(/^tab-/, "")));
}

/** Shows a tab, as a click on it does. */
export async function showTab(page, tab) {
	await page.click("#tab-" + tab);
	await page.waitForFunction((id) => {
		const panel = document.getElementById("panel-" + id);

		return panel && !panel.hidden && panel.childElementCount && !panel.textContent?.startsWith("Reading …");
	}, tab);
	await settle(page);
}

/** Moments of each kind that the page has rows of: the first, one between, the last. */
export function someMoments(page) {
	return page.evaluate(async () => {
		const { model } = globalThis.ebreportPage;
		const sections = { spell: "spells", event: "events", path: "path", loss: "losses", sample: "samples" };
		const found = [];

		for (const [kind, section] of Object.entries(sections)) {
			const { rows } = await model.load(section);

			for (const index of new Set(rows ? [0, rows >> 1, rows - 1] : []))
				found.push({ kind, index });
		}
		return found;
	});
}

export async function axe(page, what) {
	const source = require.resolve("axe-core/axe.min.js");

	// Beside the page's own policy, which lets no other script in.
	await page.evaluate(readFileSync(source, "utf8") + "; undefined");
	const violations = await page.evaluate(async () => {
		const found = await globalThis.axe.run(document, { resultTypes: ["violations"] });

		return found.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
			.map((v) => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map((node) =>
				node.target.join(" ") + " (" + (node.any[0]?.message || node.all[0]?.message || "") + ")").join("; "));
	});

	same(violations, [], what + ": violations of accessibility");
}
