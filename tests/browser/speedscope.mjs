// SPDX-License-Identifier: GPL-2.0-or-later
// Opens files in speedscope and has it save what it understood, in its own format: check_speedscope.py
// starts this with a file that says where browser, speedscope and files are.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const setting = JSON.parse(readFileSync(process.argv[2], "utf8"));
const require = createRequire(join(setting.node_modules, "x.js"));
const { chromium } = require("playwright-core");
const WAIT = 240000; // ms, far more than anything needs

const browser = await chromium.launch({ executablePath: setting.chromium, args: ["--no-sandbox"] });
let failed = 0;

/** As its command line does: a script beside the file hands it over. */
async function convert(path) {
	const page = await browser.newPage({ acceptDownloads: true });
	const index = pathToFileURL(join(setting.node_modules, "node_modules/speedscope/dist/release/index.html"));
	const complaints = [];

	writeFileSync(path + ".js", "speedscope.loadFileFromBase64(" + JSON.stringify(basename(path)) + ", " +
		JSON.stringify(readFileSync(path).toString("base64")) + ")");
	index.hash = "#localProfilePath=" + encodeURIComponent(path + ".js");
	page.on("dialog", (dialog) => { complaints.push("dialog: " + dialog.message()); dialog.dismiss(); });
	page.on("pageerror", (error) => complaints.push("error: " + error));
	page.on("console", (message) => {
		if (/^(error|warning)$/.test(message.type()) && !message.text().startsWith("[.WebGL") ||
				message.text().startsWith("Failed"))
			complaints.push(message.text());
	});
	await page.goto(index.href, { timeout: WAIT });
	await page.waitForFunction(() => / - speedscope$/.test(document.title) ||
		document.body.innerText.includes("Something went wrong"), null, { timeout: WAIT });
	if (!(await page.title()).endsWith(" - speedscope")) {
		await page.close();
		return [...complaints, "Something went wrong."];
	}
	const [download] = await Promise.all([page.waitForEvent("download", { timeout: WAIT }),
		page.keyboard.press("Control+s")]);

	await download.saveAs(path + ".saved");
	await page.close();
	return complaints;
}

for (const path of setting.files) {
	try {
		for (const complaint of new Set(await convert(path))) {
			console.log("FAILED: speedscope says of " + basename(path) + ": " + complaint);
			failed++;
		}
	} catch (error) {
		console.log("FAILED: " + basename(path) + ": " + error);
		failed++;
	}
}
await browser.close();
process.exit(failed ? 1 : 0);
