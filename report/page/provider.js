// SPDX-License-Identifier: GPL-2.0-or-later
// Where the page gets its data from. A provider gives the head, and the bytes of sections.

/**
 * @typedef {Object} Provider
 * @property {() => Promise<any>} head
 * @property {(trace: number, name: string) => Promise<Uint8Array>} section
 */

/** @param {string} text @returns {Uint8Array} */
function bytesOfBase64(text) {
	const binary = atob(text.trim());
	const bytes = new Uint8Array(binary.length);

	for (let i = 0; i < binary.length; i++)
		bytes[i] = binary.charCodeAt(i);
	return bytes;
}

/** @param {Uint8Array} bytes @returns {Promise<Uint8Array>} */
export async function gunzip(bytes) {
	const stream = new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(
		new DecompressionStream("gzip"));

	try {
		return new Uint8Array(await new Response(stream).arrayBuffer());
	} catch {
		throw new Error("they cannot be unpacked"); // a browser tells of a failed fetch
	}
}

/** What stands in the page itself. @returns {Provider} */
export function embeddedProvider() {
	return {
		head: async () => JSON.parse(document.getElementById("head")?.textContent || "{}"),
		section: async (trace, name) => {
			const element = document.getElementById("s-" + trace + "-" + name);
			const text = element?.textContent || "";

			element?.remove(); // the text is not needed twice
			return gunzip(bytesOfBase64(text));
		},
	};
}
