/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names as programs write them:
 *
 *	py::Class.method:/path/file.py		CPython
 *	JS:*name file:///path/file.js:12:3	V8; `*`, `~`, … say how it was compiled
 *
 * Of the former the path becomes the object, so that functions of the same name stay apart where
 * their files do. The latter is shown as it is, since functions without a name are known by their
 * place only; it gives the line besides.
 */
#include "symbolize/runtimes/jit_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"

/* Regular expressions and generated sources get into names. */
#define MAX_NAME 512u

static const char object_jit[] = "[jit]";

struct name_parts {
	const char *name, *file;
	size_t name_len, file_len;
	uint32_t line;
};

/* The last c of the text, or NULL. */
static const char *find_last(const char *text, size_t len, char c)
{
	return memrchr(text, c, len);
}

static bool take_python(const char *name, size_t len, struct name_parts *ret)
{
	static const char prefix[] = "py::";
	const size_t skip = strlen(prefix);
	const char *colon;

	if (len <= skip || memcmp(name, prefix, skip))
		return false;
	/* A path may have colons too: the file begins behind the first. */
	colon = memchr(name + skip, ':', len - skip);
	if (!colon || colon == name + skip || colon + 1 == name + len)
		return false;
	ret->name = name + skip;
	ret->name_len = colon - ret->name;
	ret->file = colon + 1;
	ret->file_len = name + len - ret->file;
	return true;
}

/* ":12" at the end: false where there is none. */
static bool take_number(const char *text, size_t *len, uint32_t *ret)
{
	const char *colon = find_last(text, *len, ':');
	uint32_t value = 0;
	size_t digits = colon ? text + *len - colon - 1 : 0;

	if (!digits || digits > 9)
		return false;
	for (const char *p = colon + 1; p < text + *len; p++) {
		if (*p < '0' || *p > '9')
			return false;
		value = value * 10 + (uint32_t)(*p - '0');
	}
	*len = colon - text;
	*ret = value;
	return true;
}

/* The place at the end of a name, " FILE:LINE:COLUMN". */
static void find_place(const char *name, size_t len, struct name_parts *ret)
{
	static const char scheme[] = "file://";
	const char *file = memchr(name, ' ', len);
	uint32_t line, column;
	size_t file_len;

	if (!file || ++file == name + len)
		return;
	file_len = name + len - file;
	if (!take_number(file, &file_len, &column) || !take_number(file, &file_len, &line))
		return;
	if (file_len > strlen(scheme) && !memcmp(file, scheme, strlen(scheme))) {
		file += strlen(scheme);
		file_len -= strlen(scheme);
	}
	if (!file_len)
		return;
	ret->file = file;
	ret->file_len = file_len;
	ret->line = line;
}

/* "name (file.py)": what a name means depends on where it is. */
static struct ebt_error *python_name(struct funcs *funcs, const struct name_parts *parts,
				     const char **ret)
{
	const char *slash = find_last(parts->file, parts->file_len, '/');
	const char *base = slash ? slash + 1 : parts->file;
	_cleanup_free_ char *text = NULL;
	int len = asprintf(&text, "%.*s (%.*s)", (int)parts->name_len, parts->name,
			   (int)(parts->file + parts->file_len - base), base);

	if (len < 0) {
		text = NULL;
		return &ebt_enomem;
	}
	return funcs_string(funcs, text, len, ret);
}

struct ebt_error *jit_name(struct funcs *funcs, const struct jit_hit *hit, struct sym_frame *ret)
{
	const size_t len = hit->name_len < MAX_NAME ? hit->name_len : MAX_NAME;
	struct name_parts parts = {
		.name = hit->name,
		.name_len = len,
		.file = hit->file,
		.file_len = hit->file_len,
		.line = hit->line,
	};
	struct sym_func key = { .kind = SYM_JIT, .object = object_jit, .build_id = "" };
	struct sym_frame frame = { 0 };
	struct ebt_error *err;

	if (take_python(hit->name, len, &parts)) {
		err = python_name(funcs, &parts, &key.name);
		if (err)
			return err;
		err = funcs_string(funcs, parts.file, parts.file_len, &key.object);
	} else {
		if (!parts.file)
			find_place(hit->name, len, &parts);
		err = funcs_demangle(funcs, parts.name, parts.name_len, &key.name);
	}
	if (err)
		return err;
	if (parts.file)
		err = funcs_string(funcs, parts.file,
				   parts.file_len < MAX_NAME ? parts.file_len : MAX_NAME,
				   &frame.file);
	if (err)
		return err;
	err = funcs_copy(funcs, key, &frame.func);
	if (err)
		return err;
	frame.line = parts.line;
	*ret = frame;
	return NULL;
}
