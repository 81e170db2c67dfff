/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Incarnations, images, segments; see incarnations.h. */
#include "symbolize/spaces/incarnations.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

/* How many incarnations of one pid are looked through: a pid comes back after 32,768 forks at the
 * earliest, but a hostile trace can use one for all. */
#define MAX_INCARNATIONS_SEARCHED 256

/* Where the newest incarnation of the pid is kept; made where there is none. */
static struct ebt_error *get_pid(struct addrspace *space, uint32_t pid, uint32_t **ret)
{
	struct ebt_error *err;
	uint32_t i;

	err = ebt_array_reserve(&space->newest, space->n_pids, &space->pids_capacity);
	if (err)
		return err;
	err = ebt_map_add(&space->by_pid, pid, space->n_pids, &i);
	if (err)
		return err;
	if (i == space->n_pids)
		space->newest[space->n_pids++] = INCARNATION_NONE;
	*ret = &space->newest[i];
	return NULL;
}

uint32_t incarnations_find(const struct addrspace *space, uint32_t pid, uint64_t start, bool leader)
{
	uint32_t i = INCARNATION_NONE, best = INCARNATION_NONE;

	if (ebt_map_find(&space->by_pid, pid, &i))
		i = space->newest[i];
	for (int n = 0; i != INCARNATION_NONE && n < MAX_INCARNATIONS_SEARCHED; n++) {
		const struct incarnation *incarnation = &space->incarnations[i];

		if (leader && start && incarnation->start == start)
			return i;
		/* A thread is never older than its process. */
		if (incarnation->start <= start &&
		    (best == INCARNATION_NONE ||
		     space->incarnations[best].start < incarnation->start))
			best = i;
		i = incarnation->before;
	}
	/* A leader's start is known exactly: another known one is another incarnation. */
	if (leader && start && best != INCARNATION_NONE && space->incarnations[best].start)
		return INCARNATION_NONE;
	return best;
}

static struct ebt_error *add_incarnation(struct addrspace *space, uint32_t pid, uint64_t start,
					 uint32_t *ret)
{
	struct ebt_error *err;
	struct incarnation *incarnation;
	uint32_t *newest;

	err = ebt_array_reserve(&space->incarnations, space->n_incarnations,
				&space->incarnations_capacity);
	if (err)
		return err;
	err = get_pid(space, pid, &newest);
	if (err)
		return err;
	incarnation = &space->incarnations[space->n_incarnations];
	*incarnation = (struct incarnation){
		.pid = pid,
		.before = *newest,
		.image = IMAGE_NONE,
		.start = start,
	};
	err = incarnations_add_image(space, space->n_incarnations, 0, &incarnation->image);
	if (err)
		return err;
	*newest = *ret = space->n_incarnations++;
	return NULL;
}

struct ebt_error *incarnations_get(struct addrspace *space, uint32_t pid, uint64_t start,
				   bool leader, uint32_t *ret)
{
	uint32_t i = incarnations_find(space, pid, start ? start : UINT64_MAX, leader && start);
	struct incarnation *incarnation = i == INCARNATION_NONE ? NULL : &space->incarnations[i];

	/* One that was known by its threads only: now it is known when it began, unless it is over
	 * and this is another. */
	if (incarnation && leader && start && !incarnation->start) {
		if (incarnation->dead)
			incarnation = NULL;
		else
			incarnation->start = start;
	}
	if (!incarnation)
		return add_incarnation(space, pid, leader ? start : 0, ret);
	*ret = i;
	return NULL;
}

struct ebt_error *incarnations_add_image(struct addrspace *space, uint32_t incarnation,
					 uint64_t from, uint32_t *ret)
{
	struct ebt_error *err =
		ebt_array_reserve(&space->images, space->n_images, &space->images_capacity);

	if (err)
		return err;
	space->images[space->n_images] = (struct image){
		.from = from,
		.before = space->incarnations[incarnation].image,
		.parent = IMAGE_NONE,
		.seen = TIMELINE_INIT,
		.base = TIMELINE_INIT,
		.vdso = TIMELINE_NONE,
	};
	*ret = space->n_images++;
	return NULL;
}

static bool is_object(const struct addrspace_object *object, struct ebt_str path, struct ebt_str id)
{
	return strlen(object->path) == path.len && object->id.len == id.len &&
	       !memcmp(object->path, path.data, path.len) &&
	       !memcmp(object->id.bytes, id.data, id.len);
}

static struct ebt_error *get_object(struct addrspace *space, struct ebt_str path, struct ebt_str id,
				    uint32_t *ret)
{
	uint64_t hash = ebt_hash_bytes(ebt_hash_bytes(0, path.data, path.len), id.data, id.len);
	struct addrspace_object *object;
	struct ebt_error *err;

	if (id.len > SYM_BUILD_ID_MAX)
		id.len = 0;
	*ret = ebt_map_search(&space->by_object, hash, i, is_object(&space->objects[i], path, id));
	if (*ret != EBT_MAP_NONE)
		return NULL;
	err = ebt_array_reserve(&space->objects, space->n_objects, &space->objects_capacity);
	if (err)
		return err;
	object = &space->objects[space->n_objects];
	*object = (struct addrspace_object){ .id.len = id.len };
	memcpy(object->id.bytes, id.data, id.len);
	object->path = strndup(path.data, path.len);
	if (!object->path)
		return &ebt_enomem;
	err = ebt_map_insert(&space->by_object, hash, space->n_objects);
	if (err) {
		free(object->path);
		return err;
	}
	*ret = space->n_objects++;
	return NULL;
}

struct ebt_error *incarnations_segment(struct addrspace *space, struct ebt_str path,
				       struct ebt_str id, uint64_t pgoff, uint32_t *ret)
{
	struct ebt_error *err;
	uint32_t object;
	uint64_t hash;

	err = get_object(space, path, id, &object);
	if (err)
		return err;
	hash = ebt_hash_u64(ebt_hash_u64(0, object), pgoff);
	*ret = ebt_map_search(&space->by_segment, hash, i,
			      space->segments[i].object == object &&
				      space->segments[i].pgoff == pgoff);
	if (*ret != EBT_MAP_NONE)
		return NULL;
	err = ebt_array_reserve(&space->segments, space->n_segments, &space->segments_capacity);
	if (err)
		return err;
	err = ebt_map_insert(&space->by_segment, hash, space->n_segments);
	if (err)
		return err;
	space->segments[space->n_segments] = (struct segment){ object, pgoff };
	*ret = space->n_segments++;
	return NULL;
}
