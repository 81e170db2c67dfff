// SPDX-License-Identifier: GPL-2.0-or-later
// The policy of the page holds: what is not its own style and script does not run, loads nothing and
// changes nothing, wherever it stands.
import { readFileSync, writeFileSync } from "node:fs";
import { check, open, openFile, run, same, setting } from "./page.mjs";

const REFUSED = /Content Security Policy/;
const HTML = setting.pages.work.html;

/** The page with something put in, which its policy has to stop. */
async function openWith(what, before, said = REFUSED) {
	const path = HTML.replace(/\.html$/, "_with.html");

	writeFileSync(path, readFileSync(HTML, "utf8").replace(before, () => what + before));
	return openFile(path, "with " + what.slice(0, 60), "", {}, said);
}

async function scripts() {
	const texts = ["<script>globalThis.ran = 1</script>", "<script type=\"module\">globalThis.ran = 1</script>",
		"<script src=\"data:text/javascript,globalThis.ran=1\"></script>",
		"<img src=\"data:,\" onerror=\"globalThis.ran = 1\">", "<svg onload=\"globalThis.ran = 1\"></svg>",
		"<iframe srcdoc=\"<script>parent.ran = 1</script>\"></iframe>",
		"<base href=\"https://example.org/\">"];
	const page = await openWith(texts.join("\n"), "</body>");

	await page.evaluate(() => new Promise((done) => setTimeout(done, 200)));
	same(await page.evaluate(() => globalThis.ran), undefined, "a script that is not the page's own has run");
	check((await page.evaluate(() => document.baseURI)).startsWith("file:"), "the base of addresses is the file");
	await page.context().close();
}

/** Also where a script of the page itself would put it. */
async function made() {
	const page = await openFile(HTML, "made", "", {}, REFUSED);

	await page.evaluate(async () => {
		const script = document.createElement("script"), style = document.createElement("style");

		script.textContent = "globalThis.ran = 1";
		style.textContent = "body { display: none }";
		document.body.append(script, style);
		document.body.insertAdjacentHTML("beforeend",
			"<img src='data:,' onerror='globalThis.ran = 1'><p id=styled style='display: none'>x</p>");
		await fetch("https://example.org/").catch(() => {});
		await new Promise((done) => setTimeout(done, 200));
	});
	same(await page.evaluate(() => globalThis.ran), undefined, "an inline script has run");
	same(await page.evaluate(() => ["body", "#styled"].map((name) =>
		getComputedStyle(document.querySelector(name)).display !== "none")), [true, true], "no style from elsewhere");
	await page.context().close();
}

/** Nothing but what the hashes say: a script that was changed does not run. */
async function changed() {
	const path = HTML.replace(/\.html$/, "_changed.html");
	const text = readFileSync(HTML, "utf8");
	const at = text.lastIndexOf("<script type=\"module\">") + "<script type=\"module\">".length;

	writeFileSync(path, text.slice(0, at) + " " + text.slice(at));
	const page = await (await open("work")).context().newPage();
	await page.goto("file://" + path);
	same(await page.evaluate(() => document.documentElement.dataset.ready), undefined, "a changed script has run");
	await page.context().close();
}

/** The page has one policy, which stands before all else. */
function policy() {
	const head = readFileSync(HTML, "utf8").slice(0, 1000);
	const [, text] = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(head) || [];
	const rules = Object.fromEntries((text || "").split("; ").map((rule) => [rule.split(" ")[0], rule]));

	same(rules["default-src"], "default-src 'none'", "what is not named is refused");
	same(rules["base-uri"], "base-uri 'none'", "base");
	same(rules["form-action"], "form-action 'none'", "forms");
	for (const name of ["script-src", "style-src"])
		check(new RegExp("^" + name + " 'sha256-[A-Za-z0-9+/=]{44}'$").test(rules[name]), name + ": " + rules[name]);
	check(!/unsafe|https?:|\*/.test(text || "unsafe"), "nothing is let in by and large: " + text);
}

await run(policy, scripts, made, changed);
