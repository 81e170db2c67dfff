// SPDX-License-Identifier: GPL-2.0-or-later
// The frame of the page: time axis, tabs with their panels, the panel of a moment. A view is made
// when it is first shown, and is told of changes while it is shown.
import { el, fill, put, isTyping, announce } from "./dom.js";
import { createHeader, rangeText } from "./header.js";
import { openHelp } from "./help.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./state.js").View} View */
/**
 * @typedef {Object} Place
 * @property {string} id
 * @property {string} label
 * @property {string[]} sections what has to be decoded before
 * @property {boolean} [early] it needs no names
 * @property {(app: App) => View} create
 * @property {(app: App) => boolean} [shown] without it: always
 */
/** @typedef {{place: Place, element: HTMLElement, view: View | null, making: Promise<void> | null, changed: Set<string>}} Slot */

const LEAST_AXIS = 80;
const AXIS_SHARE = 0.4; // of the window, as in the style sheet
const SHELL_KEYS = /** @type {[string, string][]} */ ([
	["/", "search"], ["1 2 …", "tabs"], ["R", "what the time axis shows becomes the range"],
	["Shift R", "likewise the range that it is compared with"], ["[ ]", "interval of the thread before, and behind"],
	["Escape", "close the panel of a moment, then no range"], ["?", "this list"],
]);

const MOUSE = /** @type {[string, string][]} */ ([
	["Drag", "choose a range"], ["Shift Drag", "choose one to compare it with"],
	["Click", "what it was, with its stack"], ["Ctrl Wheel", "zoom"], ["Shift Wheel", "earlier, later"],
]);

export class Shell {
	/**
	 * @param {App} app @param {Promise<void>} names loaded, which views need
	 * @param {Place} axis @param {Place[]} tabs @param {Place} moment
	 */
	constructor(app, names, axis, tabs, moment) {
		this.app = app;
		this.names = names;
		this.axis = this.slot(axis, el("section", { class: "axis", id: "axis", "aria-label": axis.label }));
		this.moment = this.slot(moment, el("aside", { class: "moment", id: "moment", "aria-label": moment.label, hidden: true }));
		this.tabs = tabs.map((tab) => this.slot(tab, el("div", {
			class: "panel", id: "panel-" + tab.id, role: "tabpanel", "aria-labelledby": "tab-" + tab.id,
			tabindex: "0", hidden: true,
		})));
		this.buttons = tabs.map((tab) => this.tabButton(tab));
		this.header = createHeader(app, () => this.keys());
		this.layOut();
		app.store.subscribe((changed) => this.update(changed));
		document.addEventListener("keydown", (event) => this.onKey(event));
	}

	/** @param {Place} place @param {HTMLElement} element @returns {Slot} */
	slot(place, element) {
		return { place, element, view: null, making: null, changed: new Set() };
	}

	layOut() {
		const body = /** @type {HTMLElement} */ (document.getElementById("body"));
		const list = el("div", { class: "tabs", role: "tablist", "aria-label": "Views",
			onkeydown: (/** @type {KeyboardEvent} */ event) => this.onTabKey(event) }, ...this.buttons);

		fill(body, this.axis.element,
			el("main", { class: "main" }, this.resizer(), list,
				el("div", { class: "work" },
					el("div", { class: "panels", id: "panels", tabindex: "-1" },
						...this.tabs.map((slot) => slot.element)),
					this.moment.element)));
		document.getElementById("skip")?.addEventListener("click", (event) => {
			event.preventDefault(); // the hash is not for places
			document.getElementById("panels")?.focus();
		});
	}

	// --- the height of the axis ---

	resizer() {
		const handle = el("div", {
			class: "resizer", role: "separator", tabindex: "0", "aria-orientation": "horizontal",
			"aria-label": "Height of the time axis", "aria-controls": "axis", "aria-valuemin": "0",
			"aria-valuenow": Math.round(AXIS_SHARE * innerHeight), "aria-valuemax": innerHeight,
			title: "Drag, or Up and Down; Enter folds the time axis",
		});
		let before = 0;

		handle.addEventListener("pointerdown", (event) => {
			handle.setPointerCapture(event.pointerId);
			event.preventDefault();
			handle.focus();
		});
		handle.addEventListener("pointermove", (event) => {
			if (handle.hasPointerCapture(event.pointerId))
				this.setAxisHeight(event.clientY - this.axis.element.getBoundingClientRect().top);
		});
		handle.addEventListener("dblclick", () => before = this.foldAxis(before));
		handle.addEventListener("keydown", (event) => {
			const step = event.key === "ArrowUp" ? -24 : event.key === "ArrowDown" ? 24 : 0;

			if (step)
				this.setAxisHeight(this.axis.element.offsetHeight + step);
			else if (event.key === "Enter")
				before = this.foldAxis(before);
			else
				return;
			event.preventDefault();
			event.stopPropagation();
		});
		this.handle = handle;
		return handle;
	}

	/** @param {number} before height to come back to @returns {number} the height now */
	foldAxis(before) {
		const height = this.axis.element.offsetHeight;

		this.setAxisHeight(height ? 0 : before || 300);
		return height;
	}

	/** @param {number} height px; what is too low folds it */
	setAxisHeight(height) {
		const most = innerHeight - 160;
		const shown = height < LEAST_AXIS / 2 ? 0 : Math.max(LEAST_AXIS, Math.min(most, height));

		this.axis.element.style.height = shown + "px";
		this.axis.element.classList.toggle("folded", !shown);
		this.handle?.setAttribute("aria-valuenow", String(Math.round(shown)));
		this.handle?.setAttribute("aria-valuemax", String(Math.round(most)));
	}

	// --- tabs ---

	/** @param {Place} tab */
	tabButton(tab) {
		return el("button", {
			type: "button", role: "tab", id: "tab-" + tab.id, "aria-controls": "panel-" + tab.id,
			onclick: () => this.app.store.set({ tab: tab.id }),
		}, tab.label);
	}

	/** Tabs that there are now. */
	shownTabs() {
		return this.tabs.filter((slot) => !slot.place.shown || slot.place.shown(this.app));
	}

	/** The tab of the state, or the first. @returns {Slot} */
	current() {
		const tabs = this.shownTabs();

		return tabs.find((slot) => slot.place.id === this.app.store.state.tab) || tabs[0];
	}

	/** Arrow keys go from tab to tab. @param {KeyboardEvent} event */
	onTabKey(event) {
		const tabs = this.shownTabs(), at = tabs.indexOf(this.current());
		const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + tabs.length, Home: 0, End: tabs.length - 1 }[event.key];

		if (to === undefined)
			return;
		const { id } = tabs[to % tabs.length].place;

		event.preventDefault();
		event.stopPropagation();
		this.app.store.set({ tab: id });
		document.getElementById("tab-" + id)?.focus();
	}

	showTabs() {
		const current = this.current(), shown = this.shownTabs();

		this.tabs.forEach((slot, i) => {
			const isCurrent = slot === current;

			slot.element.hidden = !isCurrent;
			this.buttons[i].hidden = !shown.includes(slot);
			this.buttons[i].setAttribute("aria-selected", String(isCurrent));
			this.buttons[i].tabIndex = isCurrent ? 0 : -1;
		});
		return this.show(current);
	}

	// --- views ---

	/** Makes a view, or tells it what has changed since it was shown. @param {Slot} slot */
	async show(slot) {
		if (!slot.making)
			slot.making = this.make(slot);
		await slot.making;
		if (slot.view && slot.changed.size) {
			const { changed } = slot;

			slot.changed = new Set();
			slot.view.update(changed);
		}
	}

	/** @param {Slot} slot */
	async make(slot) {
		const wait = setTimeout(() => fill(slot.element, el("p", { class: "muted" }, "Reading …")), 100);

		try {
			if (!slot.place.early)
				await this.names;
			await Promise.all(slot.place.sections.map((name) => this.app.model.load(name)));
			slot.view = slot.place.create(this.app);
			slot.changed.clear();
			fill(slot.element, slot.view.element);
		} catch (error) {
			console.error(error);
			fill(slot.element, el("p", { class: "message", role: "alert" },
				slot.place.label + " cannot be shown. The page's data may be damaged: " +
				(error instanceof Error ? error.message : error) + "."));
		}
		clearTimeout(wait);
	}

	/** All that is in view. */
	async showAll() {
		this.header.update(new Set(["theme", "text"]));
		await this.showTabs();
		await this.names;
		this.header.update(new Set(["process", "thread", "frame"]));
		await this.show(this.axis);
		await this.showMoment();
	}

	async showMoment() {
		const open = this.app.store.state.moment !== null;

		this.moment.element.hidden = !open;
		if (open)
			await this.show(this.moment);
	}

	/** @param {Set<string>} changed */
	update(changed) {
		if (changed.has("trace")) {
			location.reload();
			return;
		}
		for (const slot of [this.axis, this.moment, ...this.tabs])
			changed.forEach((key) => slot.changed.add(key));
		this.header.update(changed);
		this.show(this.axis);
		this.showTabs();
		if (changed.has("moment") || !this.moment.element.hidden)
			this.showMoment();
		this.tell(changed);
	}

	/** @param {Set<string>} changed */
	tell(changed) {
		const { range } = this.app.store.state;

		if (changed.has("range"))
			announce(range ? "Range " + rangeText(range) : "No range");
		else if (changed.has("tab"))
			announce(this.current().place.label);
	}

	// --- keys ---

	/** @returns {[string, [string, string][]][]} */
	keys() {
		/** @type {[string, [string, string][]][]} */
		const groups = [["Everywhere", SHELL_KEYS]];

		for (const slot of [this.axis, this.moment, ...this.tabs])
			if (slot.view?.keys)
				groups.push([slot.place.label, slot.view.keys]);
		groups.push(["Mouse on the time axis", MOUSE]);
		return groups;
	}

	/** @param {KeyboardEvent} event */
	onKey(event) {
		if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey ||
				isTyping(event) || document.querySelector("dialog[open]"))
			return;
		const tab = this.shownTabs()[Number(event.key) - 1];

		if (event.key === "/")
			document.getElementById("search")?.focus();
		else if (event.key === "?")
			openHelp(this.keys());
		else if (event.key === "Escape")
			this.goBack();
		else if (event.key.toLowerCase() === "r")
			this.app.store.set({ [event.shiftKey ? "range2" : "range"]: { ...this.app.store.state.view } });
		else if (tab)
			this.app.store.set({ tab: tab.place.id });
		else
			return;
		event.preventDefault();
	}

	goBack() {
		if (this.app.store.state.moment !== null)
			this.app.store.set({ moment: null });
		else
			this.app.store.set({ range: null, range2: null });
	}
}

/** Says in the page why there is no page. @param {string} text */
export function showFailure(text) {
	const body = document.getElementById("body") || document.body;

	body.replaceChildren();
	put(body, el("p", { class: "message", role: "alert" }, text));
}
