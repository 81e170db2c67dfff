// SPDX-License-Identifier: GPL-2.0-or-later
// The page from `ebreport serve`: the same views with the same numbers as the file has, of the whole
// and of a part, and a folder of traces. It asks nobody but its server.
import { spawn } from "node:child_process";
import { dirname } from "node:path";
import { axe, check, newPage, open, ready, run, same, set, setting, showTab, tabs } from "./page.mjs";

const [NAME] = Object.keys(setting.pages);
const [TRACE] = setting.pages[NAME].traces;

/** A server, and the address that it prints. */
async function serve(path) {
	const child = spawn(setting.ebreport, ["serve", "--no-open", "--no-symbol-cache", path],
		{ stdio: ["ignore", "pipe", "inherit"] });
	let text = "";

	for await (const bytes of child.stdout) {
		text += bytes;
		if (text.includes("\n"))
			return { child, url: text.split("\n")[0] };
	}
	throw new Error("the server ended: " + child.exitCode);
}

async function stop({ child }) {
	child.kill("SIGINT");
	if (child.exitCode === null)
		await new Promise((done) => child.once("exit", done));
}

function openServed(server) {
	const { origin } = new URL(server.url);

	return newPage("served", {}, /^$/, (asked) => asked.startsWith(origin + "/") || asked.startsWith("data:"));
}

/** Samples and times of what the page has. */
function figures(page) {
	return page.evaluate(async () => {
		const { model } = globalThis.ebreportPage;
		const [samples, spells] = [await model.load("samples"), await model.load("spells")];
		const sum = (list) => (list || []).reduce((all, value) => all + value, 0);

		return { threads: model.get("threads").rows, samples: samples.rows, weight: sum(samples.weight),
			run: sum(spells.run_ns), off: sum(spells.off_ns), queue: sum(spells.queue_ns) };
	});
}

async function whole() {
	const server = await serve(TRACE), page = await openServed(server), file = await open(NAME);

	await page.goto(server.url);
	await ready(page);
	same(await figures(page), await figures(file), "the served page has what the file has");
	const names = await tabs(page);

	same(names, await tabs(file), "views of both");
	for (const tab of names) {
		await showTab(page, tab);
		await axe(page, "served, " + tab);
	}
	await set(page, { tab: "functions", range: { from: 1e8, to: 3e8 } });
	await set(file, { tab: "functions", range: { from: 1e8, to: 3e8 } });
	const rows = (of) => of.$$eval(".functions-grid tbody tr", (list) => list.map((row) => row.textContent));

	same(await rows(page), await rows(file), "functions of a range");
	await page.context().close();
	await file.context().close();
	await stop(server);
}

/** The address works once. */
async function token() {
	const server = await serve(TRACE), page = await openServed(server);

	await page.goto(server.url);
	await ready(page);
	const other = await newPage("another browser", {}, /401|403/, () => true);

	await other.goto(server.url);
	check(!await other.evaluate(() => "ebreportPage" in globalThis), "another browser gets nothing by the same address");
	await other.context().close();
	await page.reload();
	await ready(page);
	check(await page.evaluate(() => globalThis.ebreportPage.model.get("threads").rows) > 0, "the first goes on");
	await page.context().close();
	await stop(server);
}

/** Each trace of a folder opens from its list. */
async function folder() {
	const server = await serve(dirname(TRACE)), page = await openServed(server);

	await page.goto(server.url);
	await page.getByRole("link", { name: NAME + ".ebt" }).click();
	await ready(page);
	check(await page.evaluate(() => globalThis.ebreportPage.model.get("threads").rows) > 0, "the trace of the list is shown");
	await page.context().close();
	await stop(server);
}

await run(whole, token, folder);
