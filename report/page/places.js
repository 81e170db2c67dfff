// SPDX-License-Identifier: GPL-2.0-or-later
// Where links to a time lead.

/** @typedef {import("./state.js").App} App */

/** @param {App} app @param {number} time in the middle @param {number} length of what is shown then */
function showAround(app, time, length) {
	const { model, store } = app;
	const from = Math.round(Math.max(model.from, Math.min(model.to - length, time - length / 2)));

	store.set({ view: { from, to: Math.min(model.to, from + Math.max(2, Math.round(length))) } });
}

/** Has a time in view, in the middle if it was outside. @param {App} app @param {number} time */
export function showTime(app, time) {
	const { view } = app.store.state;

	if (time < view.from || time > view.to)
		showAround(app, time, view.to - view.from);
}

/** Has a time in the middle, with a hundredth of the recording around it, or less. @param {App} app @param {number} time */
export function goToTime(app, time) {
	const { model, store } = app, { view } = store.state;

	showAround(app, time, Math.min(view.to - view.from, (model.to - model.from) / 100));
}
