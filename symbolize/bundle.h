/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that travel in the trace (tables name_object and name_frame, made by `ebreport bundle`),
 * found by the file's build-id, or by its path where none was recorded, and the offset in it.
 */
#ifndef SYMBOLIZE_BUNDLE_H
#define SYMBOLIZE_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "symbolize/base/func.h"
#include "symbolize/spaces/addrspace.h"

struct bundle;

struct bundle_frame {
	const char *name, *file; /* of the funcs; file NULL: not known */
	uint32_t line;
};

/* What the trace says about a place. */
struct bundle_hit {
	bool there;
	uint64_t address; /* that it is linked to, where it has no name */
	const struct bundle_frame *frames;
	size_t n; /* 0: whoever had the file found no name */
};

/* *ret is NULL where the trace has no names. The funcs must live longer. */
struct ebt_error *bundle_create(struct ebt_reader *reader, struct funcs *funcs,
				struct bundle **ret);
/* Accepts NULL. */
void bundle_destroy(struct bundle *bundle);

/* bundle may be NULL: nothing is there. */
struct bundle_hit bundle_find(const struct bundle *bundle, const struct addrspace_object *object,
			      uint64_t offset, bool caller);

#endif
