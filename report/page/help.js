// SPDX-License-Identifier: GPL-2.0-or-later
// The dialog that lists the keys.
import { el, fill, button } from "./dom.js";

/** @param {[string, string][]} keys */
function keyList(keys) {
	return el("dl", { class: "keys" }, ...keys.map(([key, text]) => el("div", null,
		el("dt", null, ...key.split(" ").map((part) => part === "…" ? " …" : el("kbd", null, part))), el("dd", null, text))));
}

/** @param {[string, [string, string][]][]} groups title and keys */
export function openHelp(groups) {
	let dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById("help"));

	if (!dialog) {
		dialog = el("dialog", { id: "help", "aria-labelledby": "help-title" });
		document.body.append(dialog);
	}
	const shown = dialog;

	fill(dialog,
		el("div", { class: "panel-head" }, el("h2", { id: "help-title" }, "Keys"),
			button("Close", () => shown.close(), { autofocus: true })),
		el("div", { class: "key-groups" }, ...groups.map(([title, keys]) =>
			el("section", null, el("h3", null, title), keyList(keys)))),
		el("p", { class: "muted" }, "The address holds what is shown and chosen, so that a link to it can be kept, or sent along with the page."));
	if (!dialog.open)
		dialog.showModal();
}
