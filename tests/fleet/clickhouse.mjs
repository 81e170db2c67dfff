// SPDX-License-Identifier: GPL-2.0-or-later
// ClickHouse's own engine behind the part of its HTTP interface that `upload` speaks:
//
//     node clickhouse.mjs NODE_MODULES FOLDER
//
// FOLDER keeps the tables, in a database `ebt`. The first line printed is the port. `query` of the
// address, and with it the body as data, or the body alone; `param_NAME` are parameters. `broken=N`
// in the address of a GET: after N more inserts half of the data arrives, and then nothing does.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { unlinkSync, writeFileSync } from "node:fs";

const [modules, folder] = process.argv.slice(2);
const { Session } = createRequire(join(modules, "node_modules/"))("chdb");
const session = new Session(join(folder, "data"));
const file = join(folder, "data.native");
let left = Infinity;

function insert(query, data) {
	const [, table] = /^INSERT INTO (\w+) FORMAT Native$/.exec(query);
	const whole = --left >= 0;

	writeFileSync(file, whole ? data : data.subarray(0, data.length / 2));
	try {
		// As a server's client does: blocks stay as they are.
		session.query(`INSERT INTO ebt.${table} SELECT * FROM file('${file}', 'Native') ` +
			"SETTINGS max_threads = 1, min_insert_block_size_rows = 0, min_insert_block_size_bytes = 0");
	} finally {
		unlinkSync(file);
	}
	if (!whole)
		throw new Error("the connection has broken");
	return "";
}

function answer(url, data) {
	const parameters = {};

	for (const [name, value] of url.searchParams) {
		if (name.startsWith("param_"))
			parameters[name.slice("param_".length)] = value;
	}
	if (url.searchParams.has("broken")) {
		left = Number(url.searchParams.get("broken"));
		return "";
	}
	if (url.searchParams.has("query") && data.length)
		return insert(url.searchParams.get("query"), data);
	return session.queryBind(url.searchParams.get("query") ?? data.toString(), parameters, "TSV");
}

session.query("CREATE DATABASE ebt");
session.query("USE ebt");
const server = createServer(async (request, response) => {
	const parts = [];

	for await (const part of request)
		parts.push(part);
	try {
		response.end(answer(new URL(request.url, "http://localhost"), Buffer.concat(parts)));
	} catch (error) {
		response.writeHead(500);
		response.end(String(error));
	}
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
