/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names that a trace carries; see bundle.h. Read once, when the first name is asked for. */
#include "symbolize/bundle.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/array.h"
#include "format/base/map.h"
#include "symbolize/dwarf/info.h"
#include "symbolize/elf/symlist.h"

/* Frames that are kept, some 70 bytes each with their place; what is beyond has no name. */
#define MAX_FRAMES (4u << 20)

struct named_object {
	const char *path;
	struct sym_build_id build_id;
};

struct named_place {
	uint64_t offset, address;
	uint32_t object; /* the first with the same identity */
	uint32_t first, n;
	bool caller;
};

struct bundle {
	struct funcs *funcs;
	struct named_object *objects;
	struct named_place *places;
	struct bundle_frame *frames;
	size_t n_objects, n_places, n_frames;
	size_t objects_capacity, places_capacity, frames_capacity;
	struct ebt_map by_id, by_identity, by_place;
	struct named_place *current; /* that the rows before belong to, or NULL */
};

DEFINE_CLEANUP(struct bundle *, bundle_destroy);

void bundle_destroy(struct bundle *b)
{
	if (!b)
		return;
	free(b->objects);
	free(b->places);
	free(b->frames);
	ebt_map_deinit(&b->by_id);
	ebt_map_deinit(&b->by_identity);
	ebt_map_deinit(&b->by_place);
	free(b);
}

/* --- objects --- */

static uint64_t identity_hash(const char *path, const struct sym_build_id *id)
{
	return id->len ? ebt_hash_bytes(0, id->bytes, id->len)
		       : ebt_hash_bytes(1, path, strlen(path));
}

/* The first object with this identity, or EBT_MAP_NONE. */
static uint32_t find_identity(const struct bundle *b, const char *path,
			      const struct sym_build_id *id)
{
	return ebt_map_search(&b->by_identity, identity_hash(path, id), i,
			      id->len ? sym_build_id_equal(&b->objects[i].build_id, id)
				      : !b->objects[i].build_id.len &&
						!strcmp(b->objects[i].path, path));
}

/* The object that rows call by this number, or EBT_MAP_NONE. */
static uint32_t find_id(const struct bundle *b, uint64_t id)
{
	uint32_t i;

	if (!ebt_map_find(&b->by_id, id, &i))
		return EBT_MAP_NONE;
	return find_identity(b, b->objects[i].path, &b->objects[i].build_id);
}

static struct ebt_error *take_object(void *arg, const struct ebt_row *row)
{
	struct bundle *b = arg;
	uint64_t number = ebt_name_object_object_id(row);
	struct named_object object = { 0 };
	struct ebt_str path = ebt_name_object_path(row);
	struct ebt_str id = ebt_name_object_build_id(row);
	struct ebt_error *err;

	if (id.len > SYM_BUILD_ID_MAX || find_id(b, number) != EBT_MAP_NONE)
		return NULL;
	memcpy(object.build_id.bytes, id.data, id.len);
	object.build_id.len = (uint8_t)id.len;
	err = funcs_string(b->funcs, path.data, path.len, &object.path);
	if (err)
		return err;
	err = ebt_array_reserve(&b->objects, b->n_objects, &b->objects_capacity);
	if (err)
		return err;
	b->objects[b->n_objects] = object;
	if (find_identity(b, object.path, &object.build_id) == EBT_MAP_NONE)
		err = ebt_map_insert(&b->by_identity, identity_hash(object.path, &object.build_id),
				     b->n_objects);
	return err ? err : ebt_map_insert(&b->by_id, number, b->n_objects++);
}

/* --- places --- */

static uint64_t place_hash(uint32_t object, uint64_t offset, bool caller)
{
	return ebt_hash_u64(ebt_hash_u64(0, offset), (uint64_t)object << 1 | caller);
}

static bool is_at(const struct named_place *place, uint32_t object, uint64_t offset, bool caller)
{
	return place->object == object && place->offset == offset && place->caller == caller;
}

static struct named_place *find_place(const struct bundle *b, uint32_t object, uint64_t offset,
				      bool caller)
{
	uint32_t found = ebt_map_search(&b->by_place, place_hash(object, offset, caller), i,
					is_at(&b->places[i], object, offset, caller));

	return found == EBT_MAP_NONE ? NULL : &b->places[found];
}

/* The place that a row of depth 0 begins. One that was there is begun again: the last counts. */
static struct ebt_error *begin_place(struct bundle *b, uint32_t object, uint64_t offset,
				     bool caller, struct named_place **ret)
{
	struct named_place *place = find_place(b, object, offset, caller);
	struct ebt_error *err;

	if (!place) {
		err = ebt_array_reserve(&b->places, b->n_places, &b->places_capacity);
		if (err)
			return err;
		err = ebt_map_insert(&b->by_place, place_hash(object, offset, caller), b->n_places);
		if (err)
			return err;
		place = &b->places[b->n_places++];
	}
	*place = (struct named_place){ .object = object, .offset = offset, .caller = caller };
	place->first = (uint32_t)b->n_frames;
	*ret = place;
	return NULL;
}

static struct ebt_error *take_frame(void *arg, const struct ebt_row *row)
{
	struct bundle *b = arg;
	uint32_t object = find_id(b, ebt_name_frame_object_id(row));
	uint64_t offset = ebt_name_frame_offset(row);
	uint64_t depth = ebt_name_frame_depth(row);
	bool caller = ebt_name_frame_caller(row);
	struct ebt_str name = ebt_name_frame_name(row);
	struct ebt_str file = ebt_name_frame_file(row);
	struct named_place *place = b->current;
	struct bundle_frame frame = { .line = (uint32_t)ebt_name_frame_line(row) };
	struct ebt_error *err = NULL;

	b->current = NULL;
	if (object == EBT_MAP_NONE || b->n_frames == MAX_FRAMES)
		return NULL;
	if (!depth)
		err = begin_place(b, object, offset, caller, &place);
	else if (!place || place->n != depth || depth >= DWARF_MAX_FRAMES ||
		 !is_at(place, object, offset, caller))
		return NULL;
	if (err)
		return err;
	b->current = place;
	place->address = ebt_name_frame_address(row);
	if (!name.len)
		return NULL;
	err = funcs_string(b->funcs, name.data, name.len < SYM_MAX_NAME ? name.len : SYM_MAX_NAME,
			   &frame.name);
	if (err)
		return err;
	if (file.len)
		err = funcs_string(b->funcs, file.data, file.len, &frame.file);
	if (err)
		return err;
	err = ebt_array_reserve(&b->frames, b->n_frames, &b->frames_capacity);
	if (err)
		return err;
	b->frames[b->n_frames++] = frame;
	place->n++;
	return NULL;
}

struct ebt_error *bundle_create(struct ebt_reader *reader, struct funcs *funcs, struct bundle **ret)
{
	_cleanup_(bundle_destroyp) struct bundle *b = calloc(1, sizeof(*b));
	struct ebt_error *err;

	if (!b)
		return &ebt_enomem;
	b->funcs = funcs;
	err = ebt_read_table(reader, EBT_T_name_object, take_object, b);
	if (err)
		return err;
	if (b->n_objects)
		err = ebt_read_table(reader, EBT_T_name_frame, take_frame, b);
	if (err)
		return err;
	*ret = b->n_places ? take_ptr(b) : NULL;
	return NULL;
}

struct bundle_hit bundle_find(const struct bundle *b, const struct addrspace_object *object,
			      uint64_t offset, bool caller)
{
	const struct named_place *place = NULL;
	uint32_t i = EBT_MAP_NONE;

	if (b)
		i = find_identity(b, object->path, &object->id);
	if (i != EBT_MAP_NONE)
		place = find_place(b, i, offset, caller);
	if (!place)
		return (struct bundle_hit){ 0 };
	return (struct bundle_hit){
		.there = true,
		.address = place->address,
		.frames = place->n ? b->frames + place->first : NULL,
		.n = place->n,
	};
}
