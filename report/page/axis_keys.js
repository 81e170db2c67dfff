// SPDX-License-Identifier: GPL-2.0-or-later
// Keys of the time axis: moves in time as Perfetto has them, and from lane to lane.

/** @typedef {import("./axis.js").Axis} Axis */

/** For the list of keys. */
export const AXIS_KEYS = /** @type {[string, string][]} */ ([
	["W S", "zoom in, zoom out"], ["A D", "earlier, later"], ["← →", "earlier, later"],
	["↑ ↓", "lane above, below"], ["Enter", "choose the lane; open or close a group"],
	["P", "pin the thread, or not"], ["Shift ↑ ↓", "move a pinned thread"], ["0", "show all of the time"],
	["F", "show the range or the interval that is chosen"], ["G", "go to a time"],
]);

const PAN = 0.2; // of what is shown
const ZOOM = 1.5;

const ACTIONS = /** @type {Record<string, (axis: Axis) => void>} */ ({
	w: (axis) => axis.zoom(1 / ZOOM, axis.pointerTime()),
	"+": (axis) => axis.zoom(1 / ZOOM, axis.pointerTime()),
	s: (axis) => axis.zoom(ZOOM, axis.pointerTime()),
	"-": (axis) => axis.zoom(ZOOM, axis.pointerTime()),
	a: (axis) => axis.pan(-PAN),
	d: (axis) => axis.pan(PAN),
	arrowleft: (axis) => axis.pan(-PAN),
	arrowright: (axis) => axis.pan(PAN),
	arrowup: (axis) => axis.focusLane(-1),
	arrowdown: (axis) => axis.focusLane(1),
	enter: (axis) => axis.chooseLane(),
	p: (axis) => axis.togglePin(axis.focusedThread()),
	0: (axis) => axis.showAll(),
	home: (axis) => axis.showAll(),
	f: (axis) => axis.showChosen(),
	g: (axis) => axis.goTo(),
});
const SHIFTED = /** @type {Record<string, (axis: Axis) => void>} */ ({
	arrowup: (axis) => axis.movePin(-1),
	arrowdown: (axis) => axis.movePin(1),
});

/** @param {Axis} axis @param {KeyboardEvent} event */
export function onAxisKey(axis, event) {
	const key = event.key.toLowerCase();
	const actions = event.shiftKey && Object.hasOwn(SHIFTED, key) ? SHIFTED : ACTIONS;

	if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented)
		return;
	if (key === "escape" && !axis.hasChoice())
		axis.showAll();
	else if (Object.hasOwn(actions, key))
		actions[key](axis);
	else
		return;
	event.preventDefault();
	event.stopPropagation();
}
