/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks, functions, files and texts of a profile; see firefox.h.
 *
 * A stack and its frame are a node of the tree each, and have its number less one: the root is
 * none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "report/base/text.h"
#include "report/export/firefox.h"

#define MOST_TEXTS (1u << 20)
#define LIBRARY	   1 /* resourceTable.type; see resource-type.ts */

struct ebt_error *firefox_text(struct firefox_tables *tables, struct ebt_str s, uint32_t *ret)
{
	struct ebt_error *err = NULL;

	*ret = INTERNED_NONE;
	if (tables->texts.n < MOST_TEXTS)
		err = interned_add(&tables->texts, s, ret);
	if (err || *ret != INTERNED_NONE)
		return err;
	tables->left_out++;
	return interned_add(&tables->texts, (struct ebt_str){ "", 0 }, ret);
}

static struct ebt_error *add_cstr(struct firefox_tables *tables, const char *s, uint32_t *ret)
{
	return firefox_text(tables, (struct ebt_str){ s, (uint32_t)strlen(s) }, ret);
}

void firefox_tables_deinit(struct firefox_tables *tables)
{
	interned_deinit(&tables->texts);
	free(tables->function_of);
	free(tables->lib_of);
	free(tables->first);
	free(tables->first_of_lib);
}

/* --- functions and libraries --- */

/* A function is one, wherever it was. */
static struct ebt_error *find_functions(struct firefox_tables *tables,
					const struct calltree_func *funcs, uint32_t n)
{
	_cleanup_(ebt_map_deinit) struct ebt_map by_sym = { 0 };
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; !err && i < n; i++) {
		const uint32_t next = tables->n_functions;

		tables->function_of[i] = next;
		if (funcs[i].sym)
			err = ebt_map_add(&by_sym, funcs[i].sym->id, next, &tables->function_of[i]);
		if (!err && tables->function_of[i] == next)
			tables->first[tables->n_functions++] = i;
	}
	return err;
}

/* What has a build-id is told apart by it. */
static struct ebt_error *find_libs(struct firefox_tables *tables, const struct calltree_func *funcs,
				   uint32_t n)
{
	_cleanup_(ebt_map_deinit) struct ebt_map by_key = { 0 };
	_cleanup_(interned_deinit) struct interned keys = { 0 };
	_cleanup_text_ struct text key = TEXT_INIT;
	struct ebt_error *err = NULL;

	for (uint32_t i = 0; !err && i < n; i++) {
		uint32_t number, lib;

		tables->lib_of[i] = -1;
		if (!*funcs[i].object)
			continue;
		text_clear(&key);
		text_cstr(&key, funcs[i].object);
		text_addc(&key, '\n');
		text_cstr(&key, funcs[i].sym ? funcs[i].sym->build_id : "");
		err = text_error(&key) ?: interned_add(&keys, text_str(&key), &number);
		if (err || number == INTERNED_NONE)
			continue;
		err = ebt_map_add(&by_key, number, tables->n_libs, &lib);
		if (err)
			continue;
		if (lib == tables->n_libs)
			tables->first_of_lib[tables->n_libs++] = i;
		tables->lib_of[i] = (int32_t)lib;
	}
	return err;
}

struct ebt_error *firefox_tables_make(struct firefox_tables *tables, const struct calltree *tree)
{
	const struct calltree_func *funcs;
	uint32_t n;

	tables->tree = tree;
	funcs = calltree_funcs(tree, &n);
	tables->function_of = calloc(n + 1u, sizeof(*tables->function_of));
	tables->first = calloc(n + 1u, sizeof(*tables->first));
	tables->lib_of = calloc(n + 1u, sizeof(*tables->lib_of));
	tables->first_of_lib = calloc(n + 1u, sizeof(*tables->first_of_lib));
	if (!tables->function_of || !tables->first || !tables->lib_of || !tables->first_of_lib)
		return &ebt_enomem;
	return find_functions(tables, funcs, n) ?: find_libs(tables, funcs, n);
}

/* --- meta and libs --- */

void firefox_put_categories(struct json *json)
{
	static const char *const colors[CALLTREE_N_KINDS] = {
		[CALLTREE_ROOT] = "grey",	 [CALLTREE_USER] = "yellow",
		[CALLTREE_LIBRARY] = "green",	 [CALLTREE_KERNEL] = "orange",
		[CALLTREE_INLINED] = "yellow",	 [CALLTREE_JIT] = "purple",
		[CALLTREE_PYTHON] = "lightblue", [CALLTREE_UNRESOLVED] = "transparent",
		[CALLTREE_ON_CPU] = "yellow",	 [CALLTREE_QUEUED] = "red",
		[CALLTREE_OFF_CPU] = "blue",
	};

	json_put(json, "categories", open_array);
	for (int i = 0; i <= FIREFOX_MARKERS; i++) {
		json_open_object(json);
		json_put(json, "name", cstr,
			 i == FIREFOX_OTHER	? "Other"
			 : i == FIREFOX_MARKERS ? "events"
						: calltree_kind_name((enum calltree_kind)i));
		json_put(json, "color", cstr, i == FIREFOX_MARKERS ? "brown" : colors[i]);
		json_put(json, "subcategories", open_array);
		json_cstr(json, "Other");
		json_end(json);
		json_end(json);
	}
	json_end(json);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Of a build-id: the first 16 bytes as a GUID of little-endian numbers, and an age of 0. */
static void put_breakpad_id(struct json *json, const char *build_id)
{
	static const unsigned char order[16] = { 3, 2, 1,  0,  5,  4,  7,  6,
						 8, 9, 10, 11, 12, 13, 14, 15 };
	char id[34] = "000000000000000000000000000000000";

	for (size_t i = 0; i < sizeof(order); i++) {
		if (2u * order[i] + 1 >= strlen(build_id))
			continue;
		for (size_t k = 0; k < 2; k++) {
			const char c = build_id[2u * order[i] + k];

			id[2 * i + k] = (char)(c >= 'a' && c <= 'f' ? c - 'a' + 'A' : c);
		}
	}
	json_put(json, "breakpadId", cstr, *build_id ? id : "");
}

void firefox_put_libs(const struct firefox_tables *tables, struct json *json)
{
	uint32_t n;
	const struct calltree_func *funcs = calltree_funcs(tables->tree, &n);

	json_put(json, "libs", open_array);
	for (uint32_t i = 0; i < tables->n_libs; i++) {
		const struct calltree_func *func = &funcs[tables->first_of_lib[i]];
		const char *build_id = func->sym ? func->sym->build_id : "";
		const char *name = base_name(func->object);

		json_newline(json);
		json_open_object(json);
		json_put(json, "arch", cstr, "");
		json_put(json, "name", cstr, name);
		json_put(json, "path", cstr, func->object);
		json_put(json, "debugName", cstr, name);
		json_put(json, "debugPath", cstr, func->object);
		put_breakpad_id(json, build_id);
		json_put(json, "codeId", cstr, *build_id ? build_id : NULL);
		json_end(json);
	}
	json_end(json);
}

/* --- shared tables --- */

/* Begins a table; columns follow, each with begin_column() and json_end(). */
static void begin_table(struct json *json, const char *name, uint32_t length)
{
	json_newline(json);
	json_put(json, name, open_object);
	json_put(json, "length", u64, length);
}

static void begin_column(struct json *json, const char *name)
{
	json_newline(json);
	json_put(json, name, open_array);
}

static void put_same(struct json *json, const char *name, uint32_t n, const char *value)
{
	begin_column(json, name);
	for (uint32_t i = 0; i < n; i++)
		json_written(json, value, strlen(value));
	json_end(json);
}

static void put_stacks(struct json *json, const struct calltree_node *nodes, uint32_t n)
{
	begin_table(json, "stackTable", n - 1);
	begin_column(json, "prefix");
	for (uint32_t i = 1; i < n; i++) {
		if (nodes[i].parent)
			json_u64(json, nodes[i].parent - 1u);
		else
			json_put_null(json);
	}
	json_end(json);
	begin_column(json, "frame");
	for (uint32_t i = 1; i < n; i++)
		json_u64(json, i - 1);
	json_end(json);
	json_end(json);
}

/* The function whose code a node is of. */
static uint32_t native_of(const struct firefox_tables *tables, const struct calltree_node *nodes,
			  uint32_t node)
{
	while (nodes[node].inlined && nodes[node].parent)
		node = nodes[node].parent;
	return tables->function_of[nodes[node].func];
}

static unsigned int inline_depth(const struct calltree_node *nodes, uint32_t node)
{
	unsigned int depth = 0;

	for (; nodes[node].inlined && nodes[node].parent; node = nodes[node].parent)
		depth++;
	return depth;
}

enum frame_column { FUNC, CATEGORY, LINE, ADDRESS, NATIVE, DEPTH };

static void put_frame_value(const struct firefox_tables *tables, struct json *json,
			    enum frame_column column, uint32_t node)
{
	uint32_t n, native;
	const struct calltree_node *nodes = calltree_nodes(tables->tree, &n);
	const struct calltree_func *func = &calltree_funcs(tables->tree, &n)[nodes[node].func];

	switch (column) {
	case FUNC:
		json_u64(json, tables->function_of[nodes[node].func]);
		return;
	case CATEGORY:
		json_u64(json, calltree_node_kind(tables->tree, node));
		return;
	case LINE:
		if (func->line)
			json_u64(json, func->line);
		else
			json_put_null(json);
		return;
	case ADDRESS:
		if (func->address <= INT64_C(1) << 53 && func->address)
			json_u64(json, func->address);
		else
			json_i64(json, -1);
		return;
	case NATIVE:
		native = native_of(tables, nodes, node);
		if (tables->lib_of[tables->first[native]] < 0)
			json_put_null(json);
		else
			json_u64(json, native);
		return;
	case DEPTH:
		json_u64(json, inline_depth(nodes, node));
	}
}

static void put_frames(const struct firefox_tables *tables, struct json *json, uint32_t n)
{
	static const char *const columns[] = {
		[FUNC] = "func",       [CATEGORY] = "category",	  [LINE] = "line",
		[ADDRESS] = "address", [NATIVE] = "nativeSymbol", [DEPTH] = "inlineDepth",
	};

	begin_table(json, "frameTable", n - 1);
	for (enum frame_column column = FUNC; column <= DEPTH; column++) {
		begin_column(json, columns[column]);
		for (uint32_t i = 1; i < n; i++)
			put_frame_value(tables, json, column, i);
		json_end(json);
	}
	put_same(json, "subcategory", n - 1, "0");
	put_same(json, "column", n - 1, "null");
	put_same(json, "innerWindowID", n - 1, "0");
	json_end(json);
}

/* Of each function a number, with which ends what fails. */
static struct ebt_error *put_texts_of(struct firefox_tables *tables, struct json *json,
				      const char *name, const struct calltree_func *funcs)
{
	struct ebt_error *err = NULL;
	uint32_t text;

	begin_column(json, name);
	for (uint32_t i = 0; !err && i < tables->n_functions; i++) {
		err = add_cstr(tables, funcs[tables->first[i]].name, &text);
		json_u64(json, text);
	}
	json_end(json);
	return err;
}

/* Files of functions, each once. of: by function 1 + its file; 0: not known. */
static struct ebt_error *put_sources(struct firefox_tables *tables, struct json *json,
				     const struct calltree_func *funcs, uint32_t *of)
{
	_cleanup_(interned_deinit) struct interned files = { 0 };
	struct ebt_error *err = NULL;
	uint32_t text;

	for (uint32_t i = 0; !err && i < tables->n_functions; i++) {
		const char *file = funcs[tables->first[i]].file;

		if (file)
			err = interned_add(&files, (struct ebt_str){ file, (uint32_t)strlen(file) },
					   &of[i]);
		if (file && of[i] != INTERNED_NONE)
			of[i]++;
		else
			of[i] = 0;
	}
	begin_table(json, "sources", (uint32_t)files.n);
	begin_column(json, "filename");
	for (uint32_t i = 0; !err && i < files.n; i++) {
		err = firefox_text(tables, interned_get(&files, i), &text);
		json_u64(json, text);
	}
	json_end(json);
	put_same(json, "id", (uint32_t)files.n, "null");
	put_same(json, "startLine", (uint32_t)files.n, "1");
	put_same(json, "startColumn", (uint32_t)files.n, "1");
	put_same(json, "sourceMapURL", (uint32_t)files.n, "null");
	json_end(json);
	return err;
}

static struct ebt_error *put_functions(struct firefox_tables *tables, struct json *json)
{
	const uint32_t n = tables->n_functions;
	_cleanup_free_ uint32_t *source_of = calloc(n + 1u, sizeof(*source_of));
	const struct calltree_func *funcs;
	struct ebt_error *err;
	uint32_t n_funcs;

	if (!source_of)
		return &ebt_enomem;
	funcs = calltree_funcs(tables->tree, &n_funcs);
	err = put_sources(tables, json, funcs, source_of);
	begin_table(json, "funcTable", n);
	err = err ?: put_texts_of(tables, json, "name", funcs);
	begin_column(json, "resource");
	for (uint32_t i = 0; i < n; i++)
		json_i64(json, tables->lib_of[tables->first[i]]);
	json_end(json);
	begin_column(json, "source");
	for (uint32_t i = 0; i < n; i++) {
		if (source_of[i])
			json_u64(json, source_of[i] - 1);
		else
			json_put_null(json);
	}
	json_end(json);
	put_same(json, "isJS", n, "false");
	put_same(json, "relevantForJS", n, "false");
	put_same(json, "lineNumber", n, "null");
	put_same(json, "columnNumber", n, "null");
	json_end(json);
	return err;
}

/* A resource is a library, and has its number. */
static struct ebt_error *put_resources(struct firefox_tables *tables, struct json *json)
{
	struct ebt_error *err = NULL;
	uint32_t n, text;
	const struct calltree_func *funcs = calltree_funcs(tables->tree, &n);

	begin_table(json, "resourceTable", tables->n_libs);
	begin_column(json, "lib");
	for (uint32_t i = 0; i < tables->n_libs; i++)
		json_u64(json, i);
	json_end(json);
	begin_column(json, "name");
	for (uint32_t i = 0; !err && i < tables->n_libs; i++) {
		err = add_cstr(tables, base_name(funcs[tables->first_of_lib[i]].object), &text);
		json_u64(json, text);
	}
	json_end(json);
	put_same(json, "host", tables->n_libs, "null");
	begin_column(json, "type");
	for (uint32_t i = 0; i < tables->n_libs; i++)
		json_u64(json, LIBRARY);
	json_end(json);
	json_end(json);
	return err;
}

/* Of each function one, so that it has the number. What is in no library, no frame names. */
static struct ebt_error *put_native_symbols(struct firefox_tables *tables, struct json *json)
{
	uint32_t n;
	const struct calltree_func *funcs = calltree_funcs(tables->tree, &n);
	struct ebt_error *err;

	begin_table(json, "nativeSymbols", tables->n_functions);
	begin_column(json, "libIndex");
	for (uint32_t i = 0; i < tables->n_functions; i++) {
		const int32_t lib = tables->lib_of[tables->first[i]];

		json_i64(json, lib < 0 ? 0 : lib);
	}
	json_end(json);
	begin_column(json, "address");
	for (uint32_t i = 0; i < tables->n_functions; i++) {
		const uint64_t address = funcs[tables->first[i]].address;

		json_u64(json, address > INT64_C(1) << 53 ? 0 : address);
	}
	json_end(json);
	put_same(json, "functionSize", tables->n_functions, "null");
	err = put_texts_of(tables, json, "name", funcs);
	json_end(json);
	return err;
}

struct ebt_error *firefox_put_shared(struct firefox_tables *tables, struct json *json)
{
	struct ebt_error *err;
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(tables->tree, &n);

	json_put(json, "shared", open_object);
	put_stacks(json, nodes, n);
	put_frames(tables, json, n);
	err = put_functions(tables, json) ?: put_resources(tables, json)
		      ?: put_native_symbols(tables, json);
	begin_column(json, "stringArray");
	for (uint32_t i = 0; i < tables->texts.n; i++) {
		const struct ebt_str s = interned_get(&tables->texts, i);

		json_str(json, s.data, s.len);
	}
	json_end(json);
	json_end(json);
	return err;
}
