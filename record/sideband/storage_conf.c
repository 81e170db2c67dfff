/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file is TOML. Of it, `key = "value"` and `key = [ "value", … ]` are read, over several lines
 * too; the keys that count are unique, so that sections do not matter.
 */
#include "record/sideband/storage_conf.h"

#include <linux/limits.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	enum storage_conf_key key;
} keys[] = {
	{ "graphroot", STORAGE_CONF_GRAPHROOT },
	{ "rootless_storage_path", STORAGE_CONF_ROOTLESS },
	{ "additionalimagestores", STORAGE_CONF_IMAGES },
};

static const char *next_line(const char *at)
{
	at += strcspn(at, "\n");
	return *at ? at + 1 : at;
}

/* Behind "key =", if that is where we are. */
static const char *value_of(const char *line, const char *name)
{
	const size_t len = strlen(name);

	line += strspn(line, " \t");
	if (strncmp(line, name, len))
		return NULL;
	line += len;
	line += strspn(line, " \t");
	return *line == '=' ? line + 1 : NULL;
}

/* A quoted value at `at`; *ret empty where it does not fit. Returns what is behind it. */
static const char *quoted(const char *at, char ret[PATH_MAX])
{
	const char end[] = { *at, '\n', '\0' };
	const size_t len = strcspn(at + 1, end);

	ret[0] = '\0';
	if (len < PATH_MAX && at[1 + len] == *at)
		snprintf(ret, PATH_MAX, "%.*s", (int)len, at + 1);
	at += 1 + len;
	return *at && *at != '\n' ? at + 1 : at;
}

static void values(const char *at, enum storage_conf_key key, storage_conf_fn *fn, void *arg)
{
	char value[PATH_MAX];
	bool list = false;

	for (;;) {
		at += strspn(at, list ? " \t\r\n," : " \t");
		if (*at == '[' && !list) {
			list = true;
			at++;
		} else if (*at == '#' && list) {
			at = next_line(at);
		} else if (*at == '"' || *at == '\'') {
			at = quoted(at, value);
			if (value[0])
				fn(arg, key, value);
			if (!list)
				return;
		} else {
			return;
		}
	}
}

void storage_conf_parse(const char *text, storage_conf_fn *fn, void *arg)
{
	for (const char *line = text; *line; line = next_line(line)) {
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			const char *at = value_of(line, keys[i].name);

			if (at)
				values(at, keys[i].key, fn, arg);
		}
	}
}

/* The length of the variable's name in *ret_len, braces included; NULL: not one of ours. */
static const char *variable(const char *at, const struct storage_conf_user *user, char number[16],
			    size_t *ret_len)
{
	const char *const names[] = { "HOME", "USER", "UID" };
	const char *const found[] = { user->home, user->name, number };

	snprintf(number, 16, "%u", user->uid);
	for (size_t i = 0; i < 3; i++) {
		const size_t len = strlen(names[i]);

		if (!strncmp(at, names[i], len) && strspn(at + len, "/") + !at[len]) {
			*ret_len = len;
			return found[i];
		}
		if (*at == '{' && !strncmp(at + 1, names[i], len) && at[len + 1] == '}') {
			*ret_len = len + 2;
			return found[i];
		}
	}
	return NULL;
}

bool storage_conf_expand(const char *value, const struct storage_conf_user *user, char *ret,
			 size_t size)
{
	size_t to = 0;

	for (const char *at = value; *at;) {
		char number[16];
		const char *text = at;
		size_t len = 1, skip = 1;

		if (*at == '$') {
			text = variable(at + 1, user, number, &skip);
			if (!text)
				return false;
			len = strlen(text);
			skip++;
		}
		if (len >= size - to)
			return false;
		memcpy(ret + to, text, len);
		to += len;
		at += skip;
	}
	ret[to] = '\0';
	return ret[0] == '/';
}
