/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Containers by the files of their storages; see storage.h. */
#include "symbolize/spaces/storage.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/read/damage.h"

/* Of one file, and of values in it: what a hostile one costs is some 100 MiB. */
#define MAX_JSON   (8u << 20)
#define MAX_VALUES 500000u
/* Of all files together. */
#define MAX_ALL	     2000000u

#define MAX_STORAGES 256

/* Layers of a container; containers/storage allows 500. */
#define MAX_DEPTH 512

enum storage_list { CONTAINERS, LAYERS, IMAGES, N_LISTS };

/* The files of one storage: the latest that any of them says of each id. */
struct storage {
	char *root; /* directory that has "overlay" in it */
	json_t *lists[N_LISTS];
};

/* A container of docker. */
struct mounted {
	char *root; /* directory that has "overlay2" in it */
	char *container, *layer;
};

struct storages {
	struct storage *items;
	size_t n, capacity;
	struct mounted *mounted;
	size_t n_mounted, mounted_capacity;
	size_t values; /* in what was read so far */
};

DEFINE_CLEANUP(struct storages *, storages_destroy);

void storages_destroy(struct storages *storages)
{
	if (!storages)
		return;
	for (size_t i = 0; i < storages->n; i++) {
		struct storage *storage = &storages->items[i];

		for (int list = 0; list < N_LISTS; list++)
			json_decref(storage->lists[list]);
		free(storage->root);
	}
	for (size_t i = 0; i < storages->n_mounted; i++) {
		free(storages->mounted[i].root);
		free(storages->mounted[i].container);
		free(storages->mounted[i].layer);
	}
	free(storages->mounted);
	free(storages->items);
	free(storages);
}

const char *container_id_in(const char *text)
{
	size_t run = 0;

	for (const char *p = text;; p++) {
		if (isxdigit((unsigned char)*p) && !isupper((unsigned char)*p)) {
			run++;
			continue;
		}
		if (run == CONTAINER_ID_LEN)
			return p - run;
		if (!*p)
			return NULL;
		run = 0;
	}
}

/* An id becomes part of a path. */
static bool is_layer_id(const char *id)
{
	return id && *id && strlen(id) <= CONTAINER_ID_LEN + 16 && !strchr(id, '/') && id[0] != '.';
}

/* The directory `up` levels above the file; NULL: it has none, or there is no memory. */
static char *directory_of(const char *path, int up)
{
	size_t len = strlen(path);

	while (up > 0 && len) {
		while (len && path[len - 1] != '/')
			len--;
		while (len && path[len - 1] == '/')
			len--;
		up--;
	}
	return len && path[0] == '/' ? strndup(path, len) : NULL;
}

/* *values: of files before; counted up. */
static json_t *parse(const char *text, size_t len, size_t *values_before)
{
	json_error_t error;
	size_t values = 0;
	json_t *json;

	for (size_t i = 0; i < len; i++)
		values += text[i] == ',' || text[i] == '[' || text[i] == '{';
	if (len > MAX_JSON || values > MAX_VALUES || values > MAX_ALL - *values_before)
		return NULL;
	*values_before += values;
	json = json_loadb(text, len, 0, &error);
	if (!json_is_array(json)) {
		json_decref(json);
		return NULL;
	}
	return json;
}

static struct ebt_error *get_storage(struct storages *storages, const char *path,
				     struct storage **ret)
{
	_cleanup_free_ char *root = directory_of(path, 2);
	struct ebt_error *err;

	*ret = NULL;
	for (size_t i = 0; root && i < storages->n; i++) {
		if (!strcmp(storages->items[i].root, root)) {
			*ret = &storages->items[i];
			return NULL;
		}
	}
	if (!root || storages->n == MAX_STORAGES)
		return NULL;
	err = ebt_array_reserve(&storages->items, storages->n, &storages->capacity);
	if (err)
		return err;
	*ret = &storages->items[storages->n++];
	**ret = (struct storage){ .root = take_ptr(root) };
	for (int list = 0; list < N_LISTS; list++) {
		(*ret)->lists[list] = json_object();
		if (!(*ret)->lists[list])
			return &ebt_enomem;
	}
	return NULL;
}

/* N_LISTS: the role is none of a list. */
static enum storage_list list_of(const char *role)
{
	if (!strcmp(role, "containers_json") || !strcmp(role, "volatile_containers_json"))
		return CONTAINERS;
	if (!strcmp(role, "layers_json"))
		return LAYERS;
	return strcmp(role, "images_json") ? N_LISTS : IMAGES;
}

/* A list that has changed is there several times: what was removed meanwhile is in an early one. */
static struct ebt_error *add_json(struct storages *storages, const struct ebt_file *file,
				  const char *text, size_t len)
{
	struct storage *storage;
	struct ebt_error *err = get_storage(storages, file->path, &storage);
	json_t *json, *entry;
	size_t i;

	if (err || !storage)
		return err;
	json = parse(text, len, &storages->values);
	json_array_foreach(json, i, entry)
	{
		const char *id = json_string_value(json_object_get(entry, "id"));

		if (id && json_object_set(storage->lists[list_of(file->role)], id, entry))
			err = &ebt_enomem;
	}
	json_decref(json);
	return err;
}

/* …/image/overlay2/layerdb/mounts/ID/mount-id has the name of a folder of overlay2. */
static struct ebt_error *add_mount_id(struct storages *storages, const struct ebt_file *file,
				      const char *text)
{
	const char *container = container_id_in(file->path);
	struct mounted *mounted;
	struct ebt_error *err;

	if (!container || storages->n_mounted == MAX_STORAGES * 16)
		return NULL;
	err = ebt_array_reserve(&storages->mounted, storages->n_mounted,
				&storages->mounted_capacity);
	if (err)
		return err;
	mounted = &storages->mounted[storages->n_mounted++];
	*mounted = (struct mounted){
		.root = directory_of(file->path, 6),
		.container = strndup(container, CONTAINER_ID_LEN),
		.layer = strndup(text, strcspn(text, "\n")),
	};
	return mounted->container && mounted->layer ? NULL : &ebt_enomem;
}

static struct ebt_error *add_file(struct storages *storages, struct ebt_reader *reader,
				  const struct ebt_file *file)
{
	bool list = list_of(file->role) != N_LISTS;
	_cleanup_free_ char *text = NULL;
	struct ebt_error *err;
	size_t len;

	if (!list && strcmp(file->role, "docker_mount_id"))
		return NULL;
	err = ebt_reader_file_content(reader, file->id, &text, &len);
	if (err)
		return ebt_damage_forgive(err);
	return list ? add_json(storages, file, text, len) : add_mount_id(storages, file, text);
}

struct ebt_error *storages_create(struct ebt_reader *reader, struct storages **ret)
{
	_cleanup_(storages_destroyp) struct storages *storages = calloc(1, sizeof(*storages));
	const struct ebt_file *files;
	struct ebt_error *err;
	size_t n;

	if (!storages)
		return &ebt_enomem;
	err = ebt_reader_files(reader, &files, &n);
	for (size_t i = 0; !err && i < n; i++)
		err = add_file(storages, reader, &files[i]);
	if (err)
		return err;
	*ret = take_ptr(storages);
	return NULL;
}

bool storages_is_called(const struct storages *storages, const char *container, const char *word)
{
	if (strlen(word) >= 3 && !strncmp(container, word, strlen(word)))
		return true;
	for (size_t i = 0; i < storages->n; i++) {
		const json_t *entry =
			json_object_get(storages->items[i].lists[CONTAINERS], container);
		const json_t *names = json_object_get(entry, "names"), *name;
		size_t at;

		json_array_foreach(names, at, name)
		{
			if (json_is_string(name) && !strcmp(json_string_value(name), word))
				return true;
		}
	}
	return false;
}

static struct ebt_error *add_layer(const char *root, const char *below, const char *id,
				   struct layers *layers)
{
	_cleanup_free_ char *dir = NULL;
	struct ebt_error *err = ebt_format(&dir, "%s/%s/%s/diff", root, below, id);

	return err ? err : layers_add(layers, NULL, dir, strlen(dir));
}

struct ebt_error *storages_layers(const struct storages *storages, const char *container,
				  struct layers *layers)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < storages->n && !layers->n; i++) {
		const struct storage *storage = &storages->items[i];
		const char *id = json_string_value(
			json_object_get(json_object_get(storage->lists[CONTAINERS], container),
					"layer"));

		for (int n = 0; !err && n < MAX_DEPTH && is_layer_id(id); n++) {
			err = add_layer(storage->root, "overlay", id, layers);
			id = json_string_value(
				json_object_get(json_object_get(storage->lists[LAYERS], id),
						"parent"));
		}
	}
	for (size_t i = 0; !err && i < storages->n_mounted && !layers->n; i++) {
		const struct mounted *mounted = &storages->mounted[i];

		if (mounted->root && !strcmp(mounted->container, container) &&
		    is_layer_id(mounted->layer))
			err = add_layer(mounted->root, "overlay2", mounted->layer, layers);
	}
	return err;
}

/* The first name, or an empty string. */
static const char *name_of(const json_t *entry)
{
	const char *name = json_string_value(json_array_get(json_object_get(entry, "names"), 0));

	return name ? name : "";
}

void storages_describe(const struct storages *storages, const char *container,
		       struct storage_names *ret)
{
	*ret = (struct storage_names){ "", "" };
	for (size_t i = 0; i < storages->n; i++) {
		const struct storage *storage = &storages->items[i];
		const json_t *entry = json_object_get(storage->lists[CONTAINERS], container);
		const char *image = json_string_value(json_object_get(entry, "image"));

		if (!entry)
			continue;
		ret->name = name_of(entry);
		if (!image)
			return;
		ret->image = name_of(json_object_get(storage->lists[IMAGES], image));
		if (!*ret->image)
			ret->image = image;
		return;
	}
}
