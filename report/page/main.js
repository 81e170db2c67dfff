// SPDX-License-Identifier: GPL-2.0-or-later
// Puts the page together.
import { embeddedProvider } from "./provider.js";
import { loadModels } from "./model.js";
import { Store } from "./state.js";
import { duration } from "./text.js";

async function start() {
	const models = await loadModels(embeddedProvider());
	const model = models[0];
	const store = new Store({
		tab: "overview", view: { from: model.from, to: model.to }, range: null, range2: null,
		process: null, thread: null, text: "", weight: "cpu", inverted: false, by: "name",
		frame: null, pins: [], moment: null, theme: "auto", table: "",
	});
	const app = document.getElementById("app");

	if (app)
		app.textContent = model.get("threads").rows + " threads, " + duration(model.to - model.from) + ", " + store.state.tab;
	document.documentElement.dataset.ready = "1";
}

start();
