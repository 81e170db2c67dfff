/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Containers by the files of their storages; see storage.h. */
#include "storage.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

/* Of one file, and of values in it: what a hostile one costs is some 100 MiB. */
#define MAX_JSON     (8u << 20)
#define MAX_VALUES   500000u

#define MAX_STORAGES 256

/* Layers of a container; containers/storage allows 500. */
#define MAX_DEPTH 512

/* The files of one storage. */
struct storage {
	char *root; /* directory that has "overlay" in it */
	json_t *containers[2], *layers[2];
};

/* A container of docker. */
struct mounted {
	char *root; /* directory that has "overlay2" in it */
	char *container, *layer;
};

struct storages {
	struct storage *items;
	size_t n;
	struct mounted *mounted;
	size_t n_mounted;
};

DEFINE_CLEANUP(struct storages *, storages_destroy);

void storages_destroy(struct storages *storages)
{
	if (!storages)
		return;
	for (size_t i = 0; i < storages->n; i++) {
		struct storage *storage = &storages->items[i];

		for (size_t j = 0; j < 2; j++) {
			json_decref(storage->containers[j]);
			json_decref(storage->layers[j]);
		}
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

static json_t *parse(const char *text, size_t len)
{
	json_error_t error;
	size_t values = 0;
	json_t *json;

	for (size_t i = 0; i < len; i++)
		values += text[i] == ',' || text[i] == '[' || text[i] == '{';
	if (len > MAX_JSON || values > MAX_VALUES)
		return NULL;
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
	struct storage *items;

	*ret = NULL;
	for (size_t i = 0; root && i < storages->n; i++) {
		if (!strcmp(storages->items[i].root, root)) {
			*ret = &storages->items[i];
			return NULL;
		}
	}
	if (!root || storages->n == MAX_STORAGES)
		return NULL;
	items = reallocarray(storages->items, storages->n + 1, sizeof(*items));
	if (!items)
		return &ebt_enomem;
	storages->items = items;
	*ret = &items[storages->n++];
	**ret = (struct storage){ .root = take_ptr(root) };
	return NULL;
}

static struct ebt_error *add_json(struct storages *storages, const struct ebt_file *file,
				  bool containers, const char *text, size_t len)
{
	struct storage *storage;
	struct ebt_error *err = get_storage(storages, file->path, &storage);
	json_t **slots, *json;

	if (err || !storage)
		return err;
	slots = containers ? storage->containers : storage->layers;
	json = parse(text, len);
	if (slots[0] && slots[1]) {
		/* Later ones of the same files are newer. */
		json_decref(slots[0]);
		slots[0] = slots[1];
		slots[1] = NULL;
	}
	slots[slots[0] ? 1 : 0] = json;
	return NULL;
}

/* …/image/overlay2/layerdb/mounts/ID/mount-id has the name of a folder of overlay2. */
static struct ebt_error *add_mount_id(struct storages *storages, const struct ebt_file *file,
				      const char *text)
{
	const char *container = container_id_in(file->path);
	struct mounted *items, *mounted;

	if (!container || storages->n_mounted == MAX_STORAGES * 16)
		return NULL;
	items = reallocarray(storages->mounted, storages->n_mounted + 1, sizeof(*items));
	if (!items)
		return &ebt_enomem;
	storages->mounted = items;
	mounted = &items[storages->n_mounted++];
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
	bool containers = !strcmp(file->role, "containers_json") ||
			  !strcmp(file->role, "volatile_containers_json");
	bool layers = !strcmp(file->role, "layers_json");
	_cleanup_free_ char *text = NULL;
	struct ebt_error *err;
	size_t len;

	if (!containers && !layers && strcmp(file->role, "docker_mount_id"))
		return NULL;
	err = ebt_reader_file_content(reader, file->id, &text, &len);
	if (err && (err->code == EBT_ERR_CORRUPT || err->code == EBT_ERR_LIMIT)) {
		ebt_error_destroy(err);
		return NULL;
	}
	if (err)
		return err;
	return containers || layers ? add_json(storages, file, containers, text, len)
				    : add_mount_id(storages, file, text);
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

/* The object of an array that has this id. */
static const json_t *by_id(const json_t *array, const char *id)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(array, i, entry)
	{
		const char *found = json_string_value(json_object_get(entry, "id"));

		if (found && !strcmp(found, id))
			return entry;
	}
	return NULL;
}

static const json_t *find(json_t *const arrays[2], const char *id)
{
	const json_t *found = by_id(arrays[0], id);

	return found ? found : by_id(arrays[1], id);
}

bool storages_is_called(const struct storages *storages, const char *container, const char *word)
{
	if (strlen(word) >= 3 && !strncmp(container, word, strlen(word)))
		return true;
	for (size_t i = 0; i < storages->n; i++) {
		const json_t *names =
				     json_object_get(find(storages->items[i].containers, container),
						     "names"),
			     *name;
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

	if (asprintf(&dir, "%s/%s/%s/diff", root, below, id) < 0) {
		dir = NULL;
		return &ebt_enomem;
	}
	return layers_add(layers, NULL, dir, strlen(dir));
}

struct ebt_error *storages_layers(const struct storages *storages, const char *container,
				  struct layers *layers)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < storages->n && !layers->n; i++) {
		const struct storage *storage = &storages->items[i];
		const char *id = json_string_value(
			json_object_get(find(storage->containers, container), "layer"));

		for (int n = 0; !err && n < MAX_DEPTH && is_layer_id(id); n++) {
			err = add_layer(storage->root, "overlay", id, layers);
			id = json_string_value(
				json_object_get(find(storage->layers, id), "parent"));
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
