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

/**
 * What a server has sent of one trace (page_write_data()): the head, and sections in its order,
 * each behind its length.
 * @param {Uint8Array} sent @returns {Provider}
 */
export function sentProvider(sent) {
	const lengths = new DataView(sent.buffer, sent.byteOffset, sent.byteLength);
	let at = 0;
	const next = () => {
		const from = at + 4;

		at = from + lengths.getUint32(at, true);
		if (at > sent.length)
			throw new Error("the server's answer is cut short");
		return sent.subarray(from, at);
	};
	const head = JSON.parse(new TextDecoder().decode(next()));
	/** @type {Map<string, Uint8Array>} */
	const sections = new Map();

	for (const name of Object.keys(head.traces[0].sections))
		sections.set(name, next());
	return {
		head: async () => head,
		section: async (_trace, name) => {
			const packed = sections.get(name) || new Uint8Array();

			sections.delete(name); // decoded once
			return gunzip(packed);
		},
	};
}
