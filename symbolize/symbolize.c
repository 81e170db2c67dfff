/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses to names; see symbolize.h. Two caches: what an address of a process means, and for
 * which time that holds; and the frames of a place in a file, which do not depend on the process.
 */
#include "format/base/array.h"
#include "symbolize/symbolize.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "symbolize/base/func.h"
#include "symbolize/bundle.h"
#include "symbolize/collect.h"
#include "symbolize/dwarf/params.h"
#include "symbolize/files/objects.h"
#include "symbolize/deferred.h"
#include "symbolize/runtimes/jit.h"
#include "symbolize/runtimes/kernel.h"
#include "symbolize/runtimes/python.h"
#include "symbolize/spaces/addrspace.h"
#include "symbolize/variable.h"

/* Addresses that are remembered (88 bytes each). With more, all are forgotten: the frames are
 * still known by their place in the file. */
#define MAX_RESOLVED (1u << 17)

/* The "process" of kernel addresses; ADDRSPACE_NO_INCARNATION is that of unknown processes. */
#define INCARNATION_KERNEL (ADDRSPACE_NO_INCARNATION - 1)
#define INCARNATION_PYTHON (ADDRSPACE_NO_INCARNATION - 2)

struct resolved {
	uint64_t address;
	uint64_t from, to; /* it holds for from <= time < to */
	uint32_t incarnation;
	bool caller;
	struct sym_frames frames;
};

/* Frames at an offset of an object. */
struct place {
	uint64_t offset;  /* of the address itself, also for callers */
	uint64_t address; /* that it is linked to, where files say so */
	uint32_t object;
	bool caller;
	bool bundled; /* named by the trace itself */
	struct sym_frames frames;
};

struct sym {
	bool disabled; /* no file is opened that the trace does not have */
	bool nameless; /* nor does the trace name anything but functions of interpreters */
	struct addrspace *space;
	struct kernel *kernel;
	struct jit *jit;
	struct python *python;
	struct funcs funcs;
	struct objects objects;
	struct deferred *deferred;   /* made when first needed */
	struct variables *variables; /* likewise */
	struct collect collect;
	struct bundle *bundle; /* NULL: the trace has no names */
	bool bundle_read, no_inline;

	struct resolved *resolved;
	size_t n_resolved, resolved_capacity;
	struct ebt_map by_address;
	struct place *places;
	size_t n_places, places_capacity;
	struct ebt_map by_place;
};

DEFINE_CLEANUP(struct sym *, sym_destroy);

const char *sym_reason_name(enum sym_reason reason)
{
	switch (reason) {
	case SYM_OK:
		return "ok";
	case SYM_NO_MAPPING:
		return "no mapping";
	case SYM_ANONYMOUS:
		return "anonymous memory";
	case SYM_NO_FILE:
		return "no such file";
	case SYM_BUILD_ID_DIFFERS:
		return "build-id differs";
	case SYM_CONTENT_DIFFERS:
		return "content differs";
	case SYM_CHECKSUM_DIFFERS:
		return "checksum differs";
	case SYM_SERVER_LACKS:
		return "not on the server";
	case SYM_SERVER_SILENT:
		return "server timed out";
	case SYM_SERVER_FAILED:
		return "server failed";
	case SYM_SERVER_OTHER:
		return "server sent another file";
	case SYM_INTERRUPTED:
		return "fetching interrupted";
	case SYM_NO_BUILD_ID:
		return "no build-id";
	case SYM_BAD_FILE:
		return "unusable file";
	case SYM_NO_SYMBOL:
		return "no symbol";
	case SYM_NO_KERNEL:
		return "no kernel symbols";
	case SYM_NOT_READ:
		return "name not recorded";
	case SYM_DISABLED:
		return "symbols disabled";
	case SYM_TOO_LONG:
		return "takes too long";
	case SYM_N_REASONS:
		break;
	}
	return "unknown";
}

struct ebt_error *sym_create(struct ebt_reader *reader, const struct sym_options *options,
			     struct sym **ret)
{
	_cleanup_(sym_destroyp) struct sym *sym = calloc(1, sizeof(*sym));
	struct ebt_error *err;

	if (!sym)
		return &ebt_enomem;
	sym->disabled = options->disabled;
	sym->nameless = options->disabled && !options->own_names;
	sym->no_inline = options->no_inline;
	sym->bundle_read = options->no_bundle;
	funcs_init(&sym->funcs);
	err = addrspace_create(reader, &sym->space);
	if (err)
		return err;
	err = kernel_create(reader, &sym->kernel);
	if (err)
		return err;
	err = jit_create(reader, sym->space, &sym->jit);
	if (err)
		return err;
	err = python_create(reader, &sym->funcs, &sym->python);
	if (err)
		return err;
	err = objects_init(&sym->objects, reader, sym->space, &sym->funcs, options);
	if (err)
		return err;
	*ret = take_ptr(sym);
	return NULL;
}

void sym_destroy(struct sym *sym)
{
	if (!sym)
		return;
	deferred_destroy(sym->deferred);
	variables_destroy(sym->variables);
	collect_deinit(&sym->collect);
	bundle_destroy(sym->bundle);
	objects_deinit(&sym->objects);
	kernel_destroy(sym->kernel);
	jit_destroy(sym->jit);
	python_destroy(sym->python);
	addrspace_destroy(sym->space);
	funcs_deinit(&sym->funcs);
	ebt_map_deinit(&sym->by_address);
	ebt_map_deinit(&sym->by_place);
	free(sym->resolved);
	free(sym->places);
	free(sym);
}

size_t sym_n_objects(const struct sym *sym)
{
	return sym->objects.n;
}

struct ebt_error *sym_object(struct sym *sym, uint32_t number, struct sym_object *ret)
{
	return objects_describe(&sym->objects, number, sym->disabled, ret);
}

struct ebt_error *sym_expect(struct sym *sym, uint32_t number)
{
	return sym->disabled ? NULL : objects_expect(&sym->objects, number);
}

struct ebt_error *sym_locate(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
			     uint64_t address, bool caller, bool *ret_found, uint32_t *ret)
{
	uint32_t incarnation =
		task ? addrspace_incarnation(sym->space, task, time_ns) : ADDRSPACE_NO_INCARNATION;
	struct addrspace_place place = { 0 };
	struct ebt_error *err = NULL;

	if (incarnation != ADDRSPACE_NO_INCARNATION)
		err = addrspace_find(sym->space, incarnation, address - (caller && address),
				     time_ns, &place);
	*ret_found = !err && place.found;
	if (*ret_found)
		*ret = place.object;
	return err;
}

struct ebt_error *sym_variable(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
			       uint64_t address, struct sym_variable *ret)
{
	uint32_t incarnation =
		task ? addrspace_incarnation(sym->space, task, time_ns) : ADDRSPACE_NO_INCARNATION;
	struct ebt_error *err = NULL;

	*ret = (struct sym_variable){ 0 };
	if (incarnation == ADDRSPACE_NO_INCARNATION)
		return NULL;
	if (!sym->variables)
		err = variables_create(sym->space, &sym->objects, &sym->variables);
	return err ? err
		   : variables_find(sym->variables, incarnation, address, time_ns, sym->disabled,
				    ret);
}

/* The object of this build, or of this path; false: nobody had it mapped. */
static bool find_object(const struct sym *sym, const char *path, struct ebt_str build_id,
			uint32_t *ret)
{
	const struct addrspace_object *objects;
	size_t n;

	objects = addrspace_objects(sym->space, &n);
	for (size_t i = 0; i < n; i++) {
		bool same = build_id.len ? objects[i].id.len == build_id.len &&
						   !memcmp(objects[i].id.bytes, build_id.data,
							   build_id.len)
					 : !strcmp(objects[i].path, path);

		if (same) {
			*ret = (uint32_t)i;
			return true;
		}
	}
	return false;
}

struct ebt_error *sym_parameters(struct sym *sym, const char *path, struct ebt_str build_id,
				 uint64_t offset, struct sym_parameters *ret)
{
	const struct module_address place = { .offset = offset };
	struct object *object;
	struct ebt_error *err;
	uint64_t address;
	uint32_t number;

	*ret = (struct sym_parameters){ 0 };
	if (sym->disabled || !find_object(sym, path, build_id, &number))
		return NULL;
	err = objects_get(&sym->objects, number, &object);
	if (err || object->anonymous)
		return err;
	err = objects_open(&sym->objects, number);
	if (err)
		return err;
	err = module_need_names(object->module);
	if (err || !object->module->dwarf || !module_address(object->module, &place, &address))
		return err;
	return dwarf_info_parameters(object->module->dwarf, address, ret);
}

void sym_tally(struct sym *sym, struct sym_tally *ret)
{
	finder_tally(&sym->objects.finder, ret);
}

/* One frame that stays without a name: "OBJECT+0xNUMBER", or the number alone. */
static struct ebt_error *unnamed(struct sym *sym, enum sym_kind kind, enum sym_reason reason,
				 const struct object *object, const char *object_path,
				 uint64_t number, struct sym_frame *ret)
{
	struct sym_func key = {
		.kind = kind,
		.reason = reason,
		.object = object_path,
		.build_id = object ? object->build_id : "",
	};
	struct ebt_error *err = funcs_printf(&sym->funcs, &key.name, "%s%s0x%" PRIx64,
					     object ? object->name : "", object ? "+" : "", number);

	if (err)
		return err;
	*ret = (struct sym_frame){ 0 };
	return funcs_copy(&sym->funcs, key, &ret->func);
}

/* Keeps a copy of frames for good. */
static struct ebt_error *keep_frames(struct sym *sym, const struct sym_frame *frames, size_t n,
				     struct sym_frames *ret)
{
	struct ebt_error *err;
	void *memory;

	err = ebt_arena_alloc(&sym->funcs.arena, n * sizeof(*frames), &memory);
	if (err)
		return err;
	memcpy(memory, frames, n * sizeof(*frames));
	*ret = (struct sym_frames){ .frames = memory, .n = n };
	return NULL;
}

static struct ebt_error *name_frame(struct sym *sym, const struct object *object,
				    const struct module_frame *from, struct sym_frame *to)
{
	struct sym_func key = {
		.kind = object->kind,
		.object = object->path,
		.build_id = object->build_id,
	};
	struct ebt_error *err = funcs_demangle(&sym->funcs, from->name, from->name_len, &key.name);

	*to = (struct sym_frame){ .line = from->line };
	if (!err && from->plt)
		err = funcs_printf(&sym->funcs, &key.name, "%s@plt", key.name);
	if (!err && from->file)
		err = funcs_string(&sym->funcs, from->file, strlen(from->file), &to->file);
	return err ? err : funcs_copy(&sym->funcs, key, &to->func);
}

/* What the trace itself says about a place. */
static struct ebt_error *look_into_bundle(struct sym *sym, const struct place *place,
					  struct bundle_hit *ret)
{
	const struct addrspace_object *objects;
	struct ebt_error *err;
	size_t n;

	if (sym->nameless)
		return NULL;
	if (!sym->bundle_read) {
		err = bundle_create(sym->objects.reader, &sym->funcs, &sym->bundle);
		if (err)
			return err;
		sym->bundle_read = true;
	}
	objects = addrspace_objects(sym->space, &n);
	*ret = bundle_find(sym->bundle, &objects[place->object], place->offset, place->caller);
	return NULL;
}

/* The frames of a place by names of the trace. */
static struct ebt_error *name_by_bundle(struct sym *sym, const struct bundle_hit *hit,
					struct place *place)
{
	struct sym_frame frames[DWARF_MAX_FRAMES];
	struct sym_func key = { 0 };
	struct object *object;
	struct ebt_error *err = objects_get(&sym->objects, place->object, &object);
	size_t first = sym->no_inline ? hit->n - 1 : 0;

	for (size_t i = first; !err && i < hit->n; i++) {
		const struct bundle_frame *from = &hit->frames[i];

		key = (struct sym_func){
			.kind = object->kind,
			.name = from->name,
			.object = object->path,
			.build_id = object->build_id,
		};
		frames[i - first] = (struct sym_frame){
			.file = sym->no_inline ? NULL : from->file,
			.line = sym->no_inline ? 0 : from->line,
			.inlined = i + 1 < hit->n,
		};
		err = funcs_intern(&sym->funcs, &key, &frames[i - first].func);
	}
	return err ? err : keep_frames(sym, frames, hit->n - first, &place->frames);
}

/* The frames of a place in an object that is a file, by files that are here. */
static struct ebt_error *name_by_files(struct sym *sym, const struct module_address *where,
				       const struct bundle_hit *hit, struct place *place)
{
	struct module_frame found[DWARF_MAX_FRAMES];
	struct sym_frame frames[DWARF_MAX_FRAMES];
	struct module_address inside = *where;
	uint64_t address, shown = hit->there ? hit->address : where->offset;
	bool caller = place->caller;
	struct object *object;
	struct ebt_error *err;
	bool closed;
	size_t n = 0;

	err = objects_get(&sym->objects, place->object, &object);
	if (err)
		return err;
	closed = sym->disabled && (sym->nameless || !object->embedded);
	if (!closed)
		err = objects_open(&sym->objects, place->object);
	if (err)
		return err;
	/* A call can be the last instruction of a function: the next byte is another's. */
	inside.offset -= caller;
	if (!closed && module_address(object->module, &inside, &address)) {
		shown = address + caller;
		err = module_find(object->module, address, found, &n);
		if (err)
			return err;
		/* No call ends between two functions: the kernel put this address on the stack,
		 * which is where a signal handler returns to. */
		if (!n && caller && module_is_complete(object->module))
			err = module_find(object->module, address + 1, found, &n);
	}
	for (size_t i = 0; !err && i < n; i++) {
		err = name_frame(sym, object, &found[i], &frames[i]);
		frames[i].inlined = i + 1 < n;
	}
	if (err)
		return err;
	if (!n) {
		enum sym_reason reason = closed ? SYM_DISABLED
					 : !hit->there && object->module->reason
						 ? object->module->reason
						 : module_missing(object->module);

		n = 1;
		err = unnamed(sym, object->kind, reason, object, object->path, shown, frames);
	}
	place->address = shown;
	return err ? err : keep_frames(sym, frames, n, &place->frames);
}

static struct ebt_error *name_place(struct sym *sym, const struct module_address *where,
				    struct place *place)
{
	struct bundle_hit hit = { 0 };
	struct ebt_error *err = look_into_bundle(sym, place, &hit);

	if (err)
		return err;
	place->bundled = hit.n;
	place->address = place->offset;
	if (hit.n)
		return name_by_bundle(sym, &hit, place);
	err = name_by_files(sym, where, &hit, place);
	/* What has no name is in the trace once. */
	place->bundled = !err && hit.there && place->frames.frames[0].func->reason != SYM_OK;
	return err;
}

static struct ebt_error *find_place(struct sym *sym, uint32_t object,
				    const struct module_address *where, bool caller,
				    struct sym_frames *ret)
{
	uint64_t hash =
		ebt_hash_u64(ebt_hash_u64(0, where->offset), (uint64_t)object << 1 | caller);
	struct ebt_error *err;
	struct place *place;
	uint32_t found = ebt_map_search(&sym->by_place, hash, i,
					sym->places[i].offset == where->offset &&
						sym->places[i].object == object &&
						sym->places[i].caller == caller);

	if (found != EBT_MAP_NONE) {
		*ret = sym->places[found].frames;
		return NULL;
	}
	err = ebt_array_reserve(&sym->places, sym->n_places, &sym->places_capacity);
	if (err)
		return err;
	place = &sym->places[sym->n_places];
	*place = (struct place){ .offset = where->offset, .object = object, .caller = caller };
	err = name_place(sym, where, place);
	if (err)
		return err;
	place->frames.address = place->address;
	place->frames.offset = place->offset;
	err = ebt_map_insert(&sym->by_place, hash, sym->n_places);
	if (err)
		return err;
	sym->n_places++;
	*ret = place->frames;
	return NULL;
}

static struct ebt_error *keep_unnamed(struct sym *sym, enum sym_kind kind, enum sym_reason reason,
				      const char *object, struct resolved *resolved)
{
	struct sym_frame frame;
	struct ebt_error *err = unnamed(sym, kind, reason, NULL, object, resolved->address, &frame)
					?: keep_frames(sym, &frame, 1, &resolved->frames);

	resolved->frames.address = resolved->address;
	return err;
}

/* What the process itself says about code that no file names. */
static struct ebt_error *resolve_generated(struct sym *sym, uint64_t inside, uint64_t time,
					   struct resolved *resolved, bool *ret_found)
{
	struct sym_frame frame;
	struct jit_hit hit;
	struct ebt_error *err;

	*ret_found = false;
	if (sym->nameless)
		return NULL;
	err = jit_find(sym->jit, resolved->incarnation, inside, time, &hit);
	if (err)
		return err;
	resolved->from = hit.from > resolved->from ? hit.from : resolved->from;
	resolved->to = hit.to < resolved->to ? hit.to : resolved->to;
	if (!hit.name)
		return NULL;
	*ret_found = true;
	err = jit_name(&sym->funcs, &hit, &frame) ?: keep_frames(sym, &frame, 1, &resolved->frames);
	resolved->frames.address = resolved->address;
	return err;
}

static struct ebt_error *resolve_user(struct sym *sym, uint64_t time, struct resolved *resolved)
{
	uint64_t inside = resolved->address - (resolved->caller && resolved->address);
	struct addrspace_place place = { .to = UINT64_MAX };
	struct module_address where;
	struct object *object = NULL;
	struct ebt_error *err = NULL;
	bool found;

	if (resolved->incarnation != ADDRSPACE_NO_INCARNATION)
		err = addrspace_find(sym->space, resolved->incarnation, inside, time, &place);
	if (err)
		return err;
	if (place.found)
		err = objects_get(&sym->objects, place.object, &object);
	if (err)
		return err;
	resolved->from = place.from;
	resolved->to = place.to;
	if (object && !object->anonymous) {
		where = (struct module_address){
			.offset = place.offset + (resolved->address - inside),
			.pgoff = place.pgoff,
			.length = place.length,
		};
		err = find_place(sym, place.object, &where, resolved->caller, &resolved->frames);
		if (err || resolved->frames.frames[0].func->reason != SYM_NO_SYMBOL)
			return err;
	}
	/* A program may also name what it was linked with, or what it has written to a file. */
	err = resolve_generated(sym, inside, time, resolved, &found);
	if (err || found || (object && !object->anonymous))
		return err;
	return keep_unnamed(sym, object ? SYM_JIT : SYM_UNKNOWN,
			    object ? SYM_ANONYMOUS : SYM_NO_MAPPING, object ? object->path : "",
			    resolved);
}

static struct ebt_error *resolve_kernel(struct sym *sym, uint64_t time, struct resolved *resolved)
{
	uint64_t inside = resolved->address - (resolved->caller && resolved->address);
	struct object object = { .build_id = "", .kind = SYM_KERNEL };
	struct module_frame from = { 0 };
	struct sym_frame frame;
	struct kernel_hit hit;
	struct ebt_error *err;

	err = kernel_find(sym->kernel, inside, time, &hit);
	if (err)
		return err;
	resolved->from = hit.from;
	resolved->to = hit.to;
	if (sym->nameless || !hit.name)
		return keep_unnamed(sym, SYM_KERNEL,
				    sym->nameless		      ? SYM_DISABLED
				    : kernel_has_symbols(sym->kernel) ? SYM_NO_SYMBOL
								      : SYM_NO_KERNEL,
				    "[kernel]", resolved);
	err = funcs_printf(&sym->funcs, &object.path, "[%.*s]",
			   hit.module ? (int)hit.module_len : 6,
			   hit.module ? hit.module : "kernel");
	if (err)
		return err;
	if (hit.module)
		object.kind = SYM_MODULE;
	from.name = hit.name;
	from.name_len = hit.name_len;
	err = name_frame(sym, &object, &from, &frame)
		      ?: keep_frames(sym, &frame, 1, &resolved->frames);
	resolved->frames.address = resolved->address;
	return err;
}

static struct ebt_error *resolve_python(struct sym *sym, struct resolved *resolved)
{
	struct sym_frame frame;
	struct ebt_error *err = python_frame(sym->python, resolved->address, &frame);

	resolved->to = UINT64_MAX;
	return err ? err : keep_frames(sym, &frame, 1, &resolved->frames);
}

/* Room for one more resolved. What was found for another time is replaced. */
static struct ebt_error *add_resolved(struct sym *sym, const struct resolved *resolved,
				      uint64_t hash, struct resolved *old)
{
	struct ebt_error *err;

	if (old) {
		*old = *resolved;
		return NULL;
	}
	if (sym->n_resolved == MAX_RESOLVED) {
		sym->n_resolved = 0;
		ebt_map_deinit(&sym->by_address);
	}
	err = ebt_array_reserve(&sym->resolved, sym->n_resolved, &sym->resolved_capacity);
	if (err)
		return err;
	err = ebt_map_insert(&sym->by_address, hash, sym->n_resolved);
	if (err)
		return err;
	sym->resolved[sym->n_resolved++] = *resolved;
	return NULL;
}

static void answer(const struct resolved *resolved, struct sym_frames *ret,
		   struct sym_validity *ret_valid)
{
	*ret = resolved->frames;
	*ret_valid = (struct sym_validity){ resolved->incarnation, resolved->from, resolved->to };
}

struct ebt_error *sym_resolve(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
			      uint32_t attrs, uint64_t address, bool caller, struct sym_frames *ret)
{
	struct sym_validity valid;

	return sym_resolve_valid(sym, task, time_ns, attrs, address, caller, ret, &valid);
}

struct ebt_error *sym_resolve_valid(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
				    uint32_t attrs, uint64_t address, bool caller,
				    struct sym_frames *ret, struct sym_validity *ret_valid)
{
	struct resolved resolved = { .address = address,
				     .caller = caller,
				     .incarnation = INCARNATION_KERNEL };
	struct resolved *old = NULL;
	struct ebt_error *err;
	uint64_t hash;
	size_t at = 0;
	uint32_t i;

	if (attrs & EBT_STACK_USER && address & EBT_ENTRY_INTERP)
		resolved.incarnation = INCARNATION_PYTHON;
	else if (attrs & EBT_STACK_USER)
		resolved.incarnation = task ? addrspace_incarnation(sym->space, task, time_ns)
					    : ADDRSPACE_NO_INCARNATION;
	hash = ebt_hash_u64(ebt_hash_u64(0, address), (uint64_t)resolved.incarnation << 1 | caller);
	while ((i = ebt_map_next(&sym->by_address, hash, &at)) != EBT_MAP_NONE) {
		struct resolved *a = &sym->resolved[i];

		if (a->address != address || a->incarnation != resolved.incarnation ||
		    a->caller != caller)
			continue;
		if (a->from <= time_ns && time_ns < a->to) {
			answer(a, ret, ret_valid);
			return NULL;
		}
		old = a;
	}
	if (resolved.incarnation == INCARNATION_PYTHON)
		err = resolve_python(sym, &resolved);
	else
		err = resolved.incarnation == INCARNATION_KERNEL
			      ? resolve_kernel(sym, time_ns, &resolved)
			      : resolve_user(sym, time_ns, &resolved);
	if (err)
		return err;
	err = add_resolved(sym, &resolved, hash, old);
	if (err)
		return err;
	answer(&resolved, ret, ret_valid);
	return NULL;
}

struct ebt_error *sym_collect(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
			      uint32_t attrs, uint64_t address, bool caller)
{
	struct collect_seen key = { .address = address, .caller = caller };
	uint64_t back = caller && address;
	struct addrspace_place found;
	struct module_address where;
	struct bundle_hit hit = { 0 };
	struct object *object;
	struct ebt_error *err;

	if (sym->disabled || !task || !(attrs & EBT_STACK_USER))
		return NULL;
	key.incarnation = addrspace_incarnation(sym->space, task, time_ns);
	if (key.incarnation == ADDRSPACE_NO_INCARNATION)
		return NULL;
	err = collect_see(&sym->collect, sym->space, &key, time_ns, &found);
	if (err || !found.found)
		return err;
	err = objects_get(&sym->objects, found.object, &object);
	if (err || object->anonymous)
		return err;
	err = look_into_bundle(sym,
			       &(struct place){ .object = found.object,
						.offset = found.offset + back,
						.caller = caller },
			       &hit);
	if (err || hit.n)
		return err;
	where = (struct module_address){ found.offset, found.pgoff, found.length };
	return collect_add(&sym->collect, &sym->objects, found.object, &where);
}

struct ebt_error *sym_find_collected(struct sym *sym)
{
	return collect_find(&sym->collect);
}

struct ebt_error *sym_each_place(struct sym *sym, sym_place_fn *take, void *arg)
{
	size_t n;
	const struct addrspace_object *objects = addrspace_objects(sym->space, &n);
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < sym->n_places; i++) {
		const struct place *place = &sym->places[i];
		const struct addrspace_object *object = &objects[place->object];
		struct sym_place given = {
			.object = place->object,
			.path = object->path,
			.build_id = object->id.bytes,
			.build_id_len = object->id.len,
			.offset = place->offset,
			.address = place->address,
			.caller = place->caller,
		};

		if (place->bundled)
			continue;
		given.reason = place->frames.frames[0].func->reason;
		if (given.reason == SYM_OK)
			given.frames = place->frames;
		err = take(arg, &given);
	}
	return err;
}

struct ebt_error *sym_unwind_deferred(struct sym *sym, const struct ebt_task *task,
				      uint64_t time_ns, const struct ebt_stack *partial,
				      struct ebt_str dump, uint64_t *addresses,
				      struct ebt_stack *ret)
{
	uint32_t incarnation =
		task ? addrspace_incarnation(sym->space, task, time_ns) : ADDRSPACE_NO_INCARNATION;
	struct ebt_error *err = NULL;

	*ret = *partial;
	if (sym->disabled)
		return NULL;
	if (!sym->deferred)
		err = deferred_create(sym->space, &sym->objects, &sym->deferred);
	return err ? err
		   : deferred_unwind(sym->deferred, incarnation, time_ns, partial, dump, addresses,
				     ret);
}
