/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identity of mapped files: table object. Each file is looked at once, through a process that maps
 * it, so that deleted files, memfds and those of other mount namespaces count. A file that nobody
 * can get again (deleted, or without build-id) is hashed, and embedded where it is small; that is
 * done a piece at a time, because the thread that does it has a side-band to read.
 */
#ifndef RECORD_SIDEBAND_OBJECTS_H
#define RECORD_SIDEBAND_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/write/writer.h"
#include "record/base/identity.h"
#include "record/base/mapping.h"

struct objects;

/* stream, and the number of the trace's latest embedded file (embed.h), must live longer. */
struct ebt_error *objects_create(struct ebt_stream *stream, uint64_t *last_file_id,
				 struct objects **ret);
/* Accepts NULL. */
void objects_destroy(struct objects *objects);

/*
 * Told of each file when it is met first. *ret: tell again of each mapping of a file of this name
 * and build-id, as it may be a copy of it.
 */
struct objects_listener {
	struct ebt_error *(*fn)(void *arg, int fd, const struct mapping *mapping,
				const struct identity *identity, bool *ret);
	void *arg;
};

void objects_listen(struct objects *objects, struct objects_listener listener);

/* A process has mapped this: a mapping_listener's function, with objects as argument. */
struct ebt_error *objects_on_mapping(void *objects, const struct mapping *mapping);

/* Goes on with what is to be hashed and embedded. last: no later call will. */
struct ebt_error *objects_work(struct objects *objects, bool last);

/* Called about once a second: have files been deleted since they were mapped? They are embedded
 * while a process still has them. last: of all files, not of some in turn. */
struct ebt_error *objects_check(struct objects *objects, bool last);

/* An epoch begins: files that are mapped again are told again. */
void objects_next_epoch(struct objects *objects);

#endif
