/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading mount tables; see mountinfo.h. */
#include "format/base/array.h"
#include "symbolize/spaces/mountinfo.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"

/* The kernel's own limit for a namespace (fs.mount-max). */
#define MAX_MOUNTS 100000

/* Of one device, and at one place, that are found. */
#define MAX_OF_DEVICE 64
#define MAX_OF_POINT  1024

/* Of a path: no program has so deep a tree. */
#define MAX_COMPONENTS 256

/* The kernel's limit for an overlay. */
#define MAX_LAYERS 512

DEFINE_CLEANUP(struct mount_table *, mount_table_destroy);

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* \040 and the like, in place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && is_octal(from[2]) &&
		    is_octal(from[3])) {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static bool parse_u32(const char *text, char end, uint32_t *ret, const char **ret_end)
{
	uint64_t v = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9' && v <= UINT32_MAX; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	if (p == text || *p != end || v > UINT32_MAX)
		return false;
	*ret = (uint32_t)v;
	*ret_end = p + 1;
	return true;
}

/* 36 35 98:0 /root /point rw,noatime master:1 … - type source options */
static bool parse_line(char *line, struct mount *ret)
{
	char *fields[6], *rest = line, *word;
	const char *end;

	for (size_t i = 0; i < 6; i++) {
		fields[i] = strsep(&rest, " ");
		if (!fields[i] || !rest)
			return false;
	}
	if (!parse_u32(fields[0], '\0', &ret->id, &end) ||
	    !parse_u32(fields[1], '\0', &ret->parent, &end))
		return false;
	if (!parse_u32(fields[2], ':', &ret->major, &end) ||
	    !parse_u32(end, '\0', &ret->minor, &end))
		return false;
	while ((word = strsep(&rest, " ")) && strcmp(word, "-"))
		;
	if (!word || !rest)
		return false;
	ret->type = strsep(&rest, " ");
	word = strsep(&rest, " ");
	ret->options = rest ? rest : "";
	if (!word)
		return false;
	unescape(fields[3]);
	unescape(fields[4]);
	unescape(word);
	ret->root = fields[3];
	ret->point = fields[4];
	ret->source = word;
	return ret->root[0] == '/' && ret->point[0] == '/';
}

static uint64_t device_key(uint32_t major, uint32_t minor)
{
	return (uint64_t)major << 32 | minor;
}

static struct ebt_error *index_mount(struct mount_table *table, uint32_t i)
{
	const struct mount *m = &table->mounts[i];
	size_t len = strcmp(m->point, "/") ? strlen(m->point) : 0;
	uint64_t point = ebt_hash_bytes(0, m->point, len);
	uint64_t device = device_key(m->major, m->minor);
	struct ebt_error *err = NULL;

	if (!ebt_map_has(&table->by_point, point, MAX_OF_POINT))
		err = ebt_map_insert(&table->by_point, point, i);
	if (!err && !ebt_map_has(&table->by_device, device, MAX_OF_DEVICE))
		err = ebt_map_insert(&table->by_device, device, i);
	return err;
}

struct ebt_error *mount_table_create(const char *text, size_t len, struct mount_table **ret)
{
	_cleanup_(mount_table_destroyp) struct mount_table *table = calloc(1, sizeof(*table));
	struct ebt_error *err = NULL;
	size_t lines = 1;
	char *rest, *line;

	if (!table)
		return &ebt_enomem;
	table->text = malloc(len + 1);
	if (!table->text)
		return &ebt_enomem;
	memcpy(table->text, text, len);
	table->text[len] = '\0';
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	if (lines > MAX_MOUNTS)
		lines = MAX_MOUNTS;
	table->mounts = calloc(lines, sizeof(*table->mounts));
	if (!table->mounts)
		return &ebt_enomem;
	rest = table->text;
	while (!err && table->n < lines && (line = strsep(&rest, "\n"))) {
		if (parse_line(line, &table->mounts[table->n]))
			err = index_mount(table, table->n++);
	}
	if (err)
		return err;
	*ret = take_ptr(table);
	return NULL;
}

void mount_table_destroy(struct mount_table *table)
{
	if (!table)
		return;
	ebt_map_deinit(&table->by_point);
	ebt_map_deinit(&table->by_device);
	free(table->mounts);
	free(table->text);
	free(table);
}

const struct mount *mount_table_find(const struct mount_table *table, const char *path,
				     const char **ret_tail)
{
	size_t depth = 0;

	for (size_t len = strlen(path);; len--) {
		const struct mount *best = NULL;
		uint64_t hash;
		size_t at = 0;
		uint32_t i;

		if (path[len] != '\0' && path[len] != '/')
			continue;
		if (++depth > MAX_COMPONENTS)
			return NULL;
		hash = ebt_hash_bytes(0, path, len);
		while ((i = ebt_map_next(&table->by_point, hash, &at)) != EBT_MAP_NONE) {
			const struct mount *m = &table->mounts[i];
			size_t point_len = strcmp(m->point, "/") ? strlen(m->point) : 0;

			if (point_len == len && !memcmp(m->point, path, len) && (!best || m > best))
				best = m;
		}
		if (best)
			*ret_tail = path + len;
		if (best || !len)
			return best;
	}
}

const struct mount *mount_table_device(const struct mount_table *table, uint32_t major,
				       uint32_t minor, size_t *at)
{
	uint32_t i = ebt_map_next(&table->by_device, device_key(major, minor), at);

	return i == EBT_MAP_NONE ? NULL : &table->mounts[i];
}

const char *path_below(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	while (len && prefix[len - 1] == '/')
		len--;
	if (strncmp(path, prefix, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

/* --- layers --- */

void layers_deinit(struct layers *layers)
{
	for (size_t i = 0; i < layers->n; i++)
		free(layers->dirs[i]);
	free(layers->dirs);
	*layers = (struct layers){ 0 };
}

struct ebt_error *layers_add(struct layers *layers, const char *base, const char *dir, size_t len)
{
	struct ebt_error *err;
	char *path;

	if (!len || layers->n == MAX_LAYERS || memchr(dir, '\0', len))
		return NULL;
	err = ebt_array_reserve(&layers->dirs, layers->n, &layers->capacity);
	if (err)
		return err;
	if (dir[0] == '/' || !base)
		base = "";
	err = ebt_format(&path, "%s%s%.*s", base, *base ? "/" : "", (int)len, dir);
	if (!err)
		layers->dirs[layers->n++] = path;
	return err;
}

/* One directory of an option: absolute, or relative to something that is known. */
static struct ebt_error *add_dir(struct layers *layers, const char *base, const char *dir)
{
	return dir[0] == '/' || base ? layers_add(layers, base, dir, strlen(dir)) : NULL;
}

/* a:b::c, where a backslash takes its meaning from what follows. What is behind "::" has data
 * only, which is looked for as in any other layer. In place. */
static struct ebt_error *add_lower_dirs(struct layers *layers, const char *base, char *value)
{
	struct ebt_error *err = NULL;
	char *from = value;

	while (!err && *from) {
		char *to = from, *dir = from;

		for (; *from && *from != ':'; from++) {
			if (*from == '\\' && from[1])
				from++;
			*to++ = *from;
		}
		if (*from)
			from++;
		*to = '\0';
		err = add_dir(layers, base, dir);
	}
	return err;
}

/* The value of an option, or NULL. */
static char *value_of(char *option, const char *name)
{
	size_t len = strlen(name);

	return strncmp(option, name, len) || option[len] != '=' ? NULL : option + len + 1;
}

static struct ebt_error *add_option(struct layers *layers, const char *base, char *option,
				    bool upper)
{
	static const char *const single[] = { "lowerdir+", "datadir+" };
	char *value = value_of(option, upper ? "upperdir" : "lowerdir");

	if (value) {
		unescape(value);
		return upper ? add_dir(layers, base, value) : add_lower_dirs(layers, base, value);
	}
	for (size_t i = 0; !upper && i < sizeof(single) / sizeof(single[0]); i++) {
		value = value_of(option, single[i]);
		if (!value)
			continue;
		unescape(value);
		return add_dir(layers, base, value);
	}
	return NULL;
}

struct ebt_error *mount_layers(const char *options, const char *base, struct layers *layers)
{
	struct ebt_error *err = NULL;

	for (int pass = 0; !err && pass < 2; pass++) {
		_cleanup_free_ char *copy = strdup(options);
		char *rest = copy, *option;

		if (!copy)
			return &ebt_enomem;
		/* A comma of a path is an octal escape here. */
		while (!err && (option = strsep(&rest, ",")))
			err = add_option(layers, base, option, pass == 0);
	}
	return err;
}
