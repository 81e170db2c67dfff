/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that processes of a trace had mapped, and the modules that stand for them here. */
#ifndef SYMBOLIZE_FILES_OBJECTS_H
#define SYMBOLIZE_FILES_OBJECTS_H

#include "format/base/error.h"
#include "symbolize/base/func.h"
#include "symbolize/base/types.h"
#include "symbolize/files/module.h"
#include "symbolize/spaces/addrspace.h"

struct object {
	enum sym_kind kind;
	bool expected;	       /* fetching has begun, if it has to be */
	bool anonymous;	       /* memory without a file */
	bool embedded;	       /* the trace has the file */
	const char *path;      /* as recorded */
	const char *name;      /* the last part of it, for frames without a name */
	const char *build_id;  /* hexadecimal, or "" */
	struct module *module; /* NULL: no address of it was asked for */
};

struct objects {
	struct ebt_reader *reader;
	const struct addrspace *space;
	struct funcs *funcs;
	struct finder finder;
	struct sym_cache *cache; /* or NULL */
	bool no_dwarf;

	struct object *items; /* as many as the space has; path NULL: not looked at yet */
	size_t n;
	/* Objects with the same build-id share a module. */
	struct build {
		struct sym_build_id id;
		struct module *module;
		char *image;	     /* of a vdso, or NULL */
		const char **copies; /* paths of its other objects */
	} * builds;
	size_t n_builds, builds_capacity;
	struct ebt_map by_id;
	struct ebt_map copies; /* objects by build-id */
	bool copies_indexed;
};

struct ebt_error *objects_init(struct objects *objects, struct ebt_reader *reader,
			       const struct addrspace *space, struct funcs *funcs,
			       const struct sym_options *options);
void objects_deinit(struct objects *objects);

/* The object with its number in the space. */
struct ebt_error *objects_get(struct objects *objects, uint32_t number, struct object **ret);

/* Looks for the object's files. disabled: does not. */
struct ebt_error *objects_describe(struct objects *objects, uint32_t number, bool disabled,
				   struct sym_object *ret);

/* Begins to fetch what opening the object will want, if servers may be asked. */
struct ebt_error *objects_expect(struct objects *objects, uint32_t number);

/* Opens the object's module, once. Where many have open files, those are closed. Not for anonymous
 * memory. */
struct ebt_error *objects_open(struct objects *objects, uint32_t number);

#endif
