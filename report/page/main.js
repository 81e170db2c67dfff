// SPDX-License-Identifier: GPL-2.0-or-later
// Puts the page together. `globalThis.ebreportPage` is for tests: what the page holds and shows.
import { openProvider } from "./served.js";
import { openModels, loadNames } from "./model.js";
import { Store, correctState } from "./state.js";
import { Shell, showFailure } from "./shell.js";
import { createOverview } from "./overview.js";
import { createProcesses } from "./processes.js";
import { createTables } from "./tables.js";
import { createFlame } from "./flame.js";
import { createFunctions } from "./functions.js";
import { createMoment } from "./moment.js";
import { createAxis } from "./axis.js";
import { stateAt } from "./spans.js";

/** @typedef {import("./shell.js").Place} Place */

const AXIS = /** @type {Place} */ ({
	id: "axis", label: "Time axis", sections: ["spells", "path", "shares"], create: createAxis,
});
const TABS = /** @type {Place[]} */ ([
	{ id: "overview", label: "Overview", sections: [], early: true, create: createOverview },
	{ id: "flame", label: "Flame graph", sections: [], create: createFlame },
	{ id: "functions", label: "Functions", sections: [], create: createFunctions },
	{ id: "tables", label: "Tables", sections: ["tables", "spells", "losses"], create: createTables },
	{ id: "processes", label: "Processes", sections: [], create: createProcesses },
]);
const MOMENT = /** @type {Place} */ ({
	id: "moment", label: "Moment", sections: ["spells", "nodes", "funcs", "path", "shares", "events", "losses", "samples"], create: createMoment,
});

/** @param {import("./model.js").Model} model @returns {import("./state.js").State} */
function initialState(model) {
	return {
		tab: "overview", view: { from: model.from, to: model.to }, range: null, range2: null,
		process: null, thread: null, text: "", typed: false, weight: "cpu", inverted: false, by: "name",
		frame: null, pins: [], moment: null, theme: "auto", table: "", flame: "", trace: 0,
	};
}

/** The trace that the address names, of `ebreport html A B`. @param {number} n of traces */
function chosenTrace(n) {
	const match = /(?:^#|&)trace=(\d+)/.exec(location.hash);

	return match && Number(match[1]) < n ? Number(match[1]) : 0;
}

/** What the head says is seen before anything is unpacked. A tab in the background paints nothing. */
async function painted() {
	await new Promise((resolve) => {
		requestAnimationFrame(() => setTimeout(resolve, 0));
		setTimeout(resolve, 100);
	});
}

async function start() {
	if (!("DecompressionStream" in globalThis)) {
		showFailure("This browser cannot unpack the page's data: it lacks DecompressionStream. " +
			"Chromium 80, Firefox 113, Safari 16.4 and later have it.");
		return;
	}
	const provider = await openProvider();

	if (!provider) {
		document.documentElement.dataset.ready = "1";
		return;
	}
	const models = await openModels(provider);
	const model = models[chosenTrace(models.length)];
	const store = new Store(initialState(model), (patch) => correctState(patch, model));
	const app = { model, models, store };
	const shell = new Shell(app, painted().then(() => loadNames(models)), AXIS, TABS, MOMENT);

	globalThis.addEventListener("hashchange", () => store.readHash());
	/** @type {any} */ (globalThis).ebreportPage = { ...app, shell, stateAt };
	await shell.showAll();
	document.documentElement.dataset.ready = "1";
}

start().catch((error) => {
	console.error(error);
	showFailure("The page's data are damaged or cut short (" + (error instanceof Error ? error.message : error) +
		"). Make the page anew with `ebreport html`, or copy it again.");
});
