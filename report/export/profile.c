/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of profiles; see profile.h. */
#include "report/export/profile.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "report/export/message.h"

#define PAGE	   UINT64_C(0x1000)
#define RANGE_BITS 32 /* of the addresses of a file */

static struct ebt_error *too_many(const char *what)
{
	return ebt_error_create(EBT_ERR_LIMIT, "there are too many %s: use a filter", what);
}

/* --- texts --- */

struct ebt_error *profile_text(struct profile *profile, struct ebt_str s, uint32_t *ret)
{
	struct ebt_error *err;

	text_clear(&profile->text);
	text_utf8(&profile->text, s);
	err = text_error(&profile->text)
		      ?: interned_add(&profile->texts, text_str(&profile->text), ret);
	if (err || *ret != INTERNED_NONE)
		return err;
	export_leave_out(profile->e, "names", 1);
	*ret = 0;
	return NULL;
}

struct ebt_error *profile_cstr(struct profile *profile, const char *s, uint32_t *ret)
{
	return profile_text(profile, ebt_str_of(s), ret);
}

const char *profile_get_text(struct profile *profile, uint32_t number)
{
	const struct ebt_str s = interned_get(&profile->texts, number);

	text_clear(&profile->text);
	text_add(&profile->text, s.data, s.len);
	return text_get(&profile->text);
}

/* --- tables --- */

struct ebt_error *profile_init(struct profile *profile, struct export *e)
{
	uint32_t none;

	profile->e = e;
	profile->n_functions = profile->n_mappings = profile->n_locations = profile->n_used = 1;
	return profile_cstr(profile, "", &none)
		       ?: ebt_array_reserve(&profile->functions, 1, &profile->functions_capacity)
		       ?: ebt_array_reserve(&profile->mappings, 1, &profile->mappings_capacity)
		       ?: ebt_array_reserve(&profile->locations, 1, &profile->locations_capacity)
		       ?: ebt_array_reserve(&profile->used, 1, &profile->used_capacity);
}

void profile_deinit(struct profile *profile)
{
	interned_deinit(&profile->texts);
	free(profile->functions);
	free(profile->mappings);
	free(profile->locations);
	export_threads_deinit(&profile->threads);
	free(profile->used);
	free(profile->stack);
	free(profile->location_of);
	ebt_map_deinit(&profile->by_function);
	ebt_map_deinit(&profile->by_object);
	ebt_map_deinit(&profile->by_place);
	text_deinit(&profile->text);
}

struct ebt_str profile_thread_name(const struct profile *profile, const struct ebt_task *task)
{
	return task ? text_comm(names_task(profile->e->names, task))
		    : (struct ebt_str){ "idle", 4 };
}

static struct ebt_error *find_function(struct profile *profile, const struct calltree_func *func,
				       uint32_t *ret)
{
	struct profile_function function;
	struct ebt_error *err =
		profile_cstr(profile, func->name, &function.name)
			?: profile_cstr(profile, func->file ? func->file : "", &function.file);

	err = err ?: ebt_array_reserve(&profile->functions, profile->n_functions,
				       &profile->functions_capacity)
		  ?: ebt_map_add(&profile->by_function,
				 (uint64_t)function.name << 32 | function.file,
				 (uint32_t)profile->n_functions, ret);
	if (err || *ret < profile->n_functions)
		return err;
	profile->functions[profile->n_functions++] = function;
	return NULL;
}

static bool is_in_file(const struct sym_func *sym)
{
	return sym->kind == SYM_USER || sym->kind == SYM_VDSO || sym->kind == SYM_KERNEL ||
	       sym->kind == SYM_MODULE;
}

static struct ebt_error *find_mapping(struct profile *profile, const struct sym_func *sym,
				      uint32_t *ret)
{
	const uint64_t hash = ebt_hash_bytes(ebt_hash_bytes(0, sym->object, strlen(sym->object)),
					     sym->build_id, strlen(sym->build_id));
	struct ebt_error *err;

	*ret = ebt_map_search(&profile->by_object, hash, i,
			      strcmp(profile->mappings[i].sym->object, sym->object) == 0 &&
				      strcmp(profile->mappings[i].sym->build_id, sym->build_id) ==
					      0);
	if (*ret != EBT_MAP_NONE)
		return NULL;
	if (profile->n_mappings == PROFILE_MOST)
		return too_many("files");
	*ret = (uint32_t)profile->n_mappings;
	err = ebt_array_reserve(&profile->mappings, profile->n_mappings,
				&profile->mappings_capacity)
		      ?: ebt_map_insert(&profile->by_object, hash, *ret);
	if (!err)
		profile->mappings[profile->n_mappings++] =
			(struct profile_mapping){ .sym = sym, .least = UINT64_MAX };
	return err;
}

/* What is in no file has no mapping. */
static struct ebt_error *place_in_file(struct profile *profile, const struct calltree_func *func,
				       uint32_t *ret)
{
	struct profile_mapping *mapping;
	struct ebt_error *err;

	*ret = 0;
	if (!func->sym || !*func->sym->object || !is_in_file(func->sym))
		return NULL;
	err = find_mapping(profile, func->sym, ret);
	if (err)
		return err;
	mapping = &profile->mappings[*ret];
	if (func->address < mapping->least)
		mapping->least = func->address;
	if (func->address > mapping->most)
		mapping->most = func->address;
	mapping->functions |= func->reason == SYM_OK;
	mapping->files |= func->file != NULL;
	mapping->lines |= func->line != 0;
	mapping->program |= func->kind == CALLTREE_USER;
	return NULL;
}

/* --- stacks --- */

static struct ebt_error *find_location(struct profile *profile, uint32_t outer, uint32_t func,
				       uint32_t *ret)
{
	struct profile_location location = { .outer = outer, .func = func };
	const struct calltree_func *funcs;
	struct ebt_error *err;
	uint32_t n;

	err = ebt_array_reserve(&profile->locations, profile->n_locations,
				&profile->locations_capacity)
		      ?: ebt_map_add(&profile->by_place, (uint64_t)outer << 32 | func,
				     (uint32_t)profile->n_locations, ret);
	if (err || *ret < profile->n_locations)
		return err;
	if (profile->n_locations == PROFILE_MOST)
		return too_many("places in programs");
	funcs = calltree_funcs(profile->e->tree, &n);
	profile->locations[profile->n_locations++] = location;
	err = find_function(profile, &funcs[func], &location.function)
		      ?: place_in_file(profile, &funcs[func], &location.mapping);
	profile->locations[*ret] = location;
	return err;
}

/* Appends the location to the stack. */
static struct ebt_error *use(struct profile *profile, uint32_t number, size_t *n)
{
	struct profile_location *location = &profile->locations[number];
	struct ebt_error *err =
		ebt_array_reserve(&profile->used, profile->n_used, &profile->used_capacity);

	if (!err && !location->number) {
		location->number = (uint32_t)profile->n_used;
		profile->used[profile->n_used++] = number;
	}
	profile->stack[(*n)++] = location->number;
	return err;
}

/* From the root on, as what is inlined stands behind what it is inlined into. */
static struct ebt_error *find_locations(struct profile *profile, const uint32_t *path, size_t n)
{
	uint32_t n_nodes;
	const struct calltree_node *nodes = calltree_nodes(profile->e->tree, &n_nodes);
	struct ebt_error *err = NULL;
	uint32_t outer = 0;

	while (!err && n--) {
		const struct calltree_node *node = &nodes[path[n]];

		err = ebt_array_reserve_zeroed(&profile->location_of, path[n],
					       &profile->n_location_of);
		if (!err && !profile->location_of[path[n]])
			err = find_location(profile, node->inlined ? outer : 0, node->func,
					    &profile->location_of[path[n]]);
		if (!err)
			outer = profile->location_of[path[n]];
	}
	return err;
}

struct ebt_error *profile_stack(struct profile *profile, uint32_t node, const uint32_t **ret,
				size_t *ret_n)
{
	uint32_t n_nodes;
	const struct calltree_node *nodes = calltree_nodes(profile->e->tree, &n_nodes);
	struct ebt_error *err = NULL;
	size_t depth = 0, n = 0;
	bool inside = false; /* what the frame before was inlined into */

	for (uint32_t at = node; !err && at; at = nodes[at].parent) {
		err = ebt_array_reserve(&profile->stack, depth, &profile->stack_capacity);
		if (!err)
			profile->stack[depth++] = at;
	}
	err = err ?: find_locations(profile, profile->stack, depth);
	/* There are no more locations than nodes: those that follow are not written over. */
	for (size_t i = 0; !err && i < depth; i++) {
		const uint32_t at = profile->stack[i];

		if (!inside)
			err = use(profile, profile->location_of[at], &n);
		inside = nodes[at].inlined;
	}
	*ret = profile->stack;
	*ret_n = n;
	return err;
}

struct ebt_error *profile_lines(struct profile *profile, const struct profile_location *location,
				const uint32_t **ret, size_t *ret_n)
{
	uint32_t number = profile->used[location->number];
	size_t n = 0;

	while (number) {
		struct ebt_error *err =
			ebt_array_reserve(&profile->stack, n, &profile->stack_capacity);

		if (err)
			return err;
		profile->stack[n++] = number;
		number = profile->locations[number].outer;
	}
	*ret = profile->stack;
	*ret_n = n;
	return NULL;
}

/* --- addresses --- */

static bool is_kernel(const struct profile_mapping *mapping)
{
	return mapping->sym->kind == SYM_KERNEL || mapping->sym->kind == SYM_MODULE;
}

/* The kernel is where it was. A file of addresses that no linker gives has those. */
void profile_finish(struct profile *profile)
{
	for (size_t i = 1; i < profile->n_mappings; i++) {
		struct profile_mapping *mapping = &profile->mappings[i];
		const uint64_t end = mapping->most | (PAGE - 1);
		const bool moved = !is_kernel(mapping) && !(end >> RANGE_BITS);

		mapping->start = moved ? (uint64_t)i << RANGE_BITS : 0;
		if (!moved && is_kernel(mapping))
			mapping->start = mapping->least & ~(PAGE - 1);
		mapping->limit = (moved ? mapping->start : 0) + end;
		if (mapping->limit < UINT64_MAX)
			mapping->limit++;
	}
}

uint64_t profile_address(const struct profile *profile, const struct profile_location *location)
{
	uint32_t n;
	const uint64_t address = calltree_funcs(profile->e->tree, &n)[location->func].address;
	const struct profile_mapping *mapping = &profile->mappings[location->mapping];

	return location->mapping && !is_kernel(mapping) ? mapping->start + address : address;
}

uint64_t profile_realtime(const struct profile *profile, uint64_t time)
{
	const struct ebt_reader_info *info = ebt_reader_info(trace_reader(profile->e->trace));

	return info->start_realtime_ns + (time - info->start_ns);
}
