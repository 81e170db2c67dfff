/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the storages of container engines say about their containers: names, and layers. */
#ifndef SYMBOLIZE_SPACES_STORAGE_H
#define SYMBOLIZE_SPACES_STORAGE_H

#include "format/base/error.h"
#include "format/read/reader.h"
#include "symbolize/spaces/beneath.h"
#include "symbolize/spaces/mountinfo.h"

/* Ids are 64 hexadecimal digits. */
#define CONTAINER_ID_LEN 64

struct storages;

/* From the embedded files of a trace; JSON that cannot be understood is passed over. */
struct ebt_error *storages_create(struct ebt_reader *reader, struct storages **ret);
/* Accepts NULL. */
void storages_destroy(struct storages *storages);

/* Whether the container is the one that a person means: by the beginning of its id or by name. */
bool storages_is_called(const struct storages *storages, const char *container, const char *word);

/* How people call it; empty where that is not known. An image without name is called by its id.
 * Strings belong to the storages. */
struct storage_names {
	const char *name, *image;
};

void storages_describe(const struct storages *storages, const char *container,
		       struct storage_names *ret);

/* Adds the layers of a container, upper one first; none where it is not known. */
struct ebt_error *storages_layers(const struct storages *storages, const char *container,
				  struct layers *layers);

/* The first id of a container in a text (of /proc/PID/cgroup, of a mount's root); NULL: none. */
const char *container_id_in(const char *text);

#endif
