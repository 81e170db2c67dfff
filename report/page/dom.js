// SPDX-License-Identifier: GPL-2.0-or-later
// Elements of the page. Texts of a trace become text nodes here, and never markup.

/**
 * An element. A property that begins with "on" is a listener, `true` an attribute without a value;
 * null, undefined and false leave the attribute out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any> | null} [properties]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, properties, ...children) {
	const element = document.createElement(tag);

	for (const [name, value] of Object.entries(properties || {})) {
		if (name.startsWith("on"))
			element.addEventListener(name.slice(2), value);
		else if (value !== null && value !== undefined && value !== false)
			element.setAttribute(name, value === true ? "" : String(value));
	}
	put(element, ...children);
	return element;
}

/** Adds children. @param {Node} element @param {...(Node | string | null | undefined | false)} children */
export function put(element, ...children) {
	for (const child of children) {
		if (child)
			element.appendChild(typeof child === "string" ? document.createTextNode(child) : child);
	}
}

/** Has these children, and no others. @param {Element} element @param {...(Node | string | null | undefined | false)} children */
export function fill(element, ...children) {
	element.replaceChildren();
	put(element, ...children);
}

/**
 * A button. Its type is said, because a button of a form would send it.
 * @param {string} label @param {() => void} onclick
 * @param {Record<string, any>} [properties]
 */
export function button(label, onclick, properties) {
	return el("button", { type: "button", onclick, ...properties }, label);
}

/**
 * Makes the children of an element anew. The button that has the focus is gone then: the one in its
 * place gets it.
 * @param {Element} element @param {() => void} render
 */
export function keepFocus(element, render) {
	const at = [...element.querySelectorAll("button")].findIndex((one) => one === document.activeElement);

	render();
	if (at >= 0)
		element.querySelectorAll("button")[at]?.focus();
}

/** One of several values. @param {string} label @param {[string, string][]} options value and text
 * @param {string} value @param {(value: string) => void} onchange */
export function select(label, options, value, onchange) {
	const list = el("select", { onchange: () => onchange(list.value) },
		...options.map(([key, text]) => el("option", { value: key }, text)));

	list.value = value;
	return el("label", { class: "field" }, el("span", null, label), list);
}

/** Are letters for the page now, or for a field? @param {KeyboardEvent} event */
export function isTyping(event) {
	const target = event.target instanceof Element ? event.target : null;

	return Boolean(target?.closest("input, textarea, select, [contenteditable]"));
}

/** Says something to who does not see the page. @param {string} text */
export function announce(text) {
	const live = document.getElementById("live");

	if (live)
		live.textContent = text;
}

/** A bar of so many percent. @param {number} value 0 to 100 */
export function bar(value) {
	const inner = el("span", { class: "bar-part" });

	inner.style.width = Math.max(0, Math.min(100, value)) + "%";
	return el("span", { class: "bar", "aria-hidden": "true" }, inner);
}
