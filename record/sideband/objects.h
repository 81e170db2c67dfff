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

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/sideband/context.h"

struct objects;

struct ebt_error *objects_create(struct sideband_context *context, struct objects **ret);
/* Accepts NULL. */
void objects_destroy(struct objects *objects);
DEFINE_CLEANUP(struct objects *, objects_destroy);

/* A process has mapped this: also as on_mapping of a context. */
struct ebt_error *objects_on_mapping(void *objects, const struct mapping *mapping);

/* Goes on with what is to be hashed and embedded. last: no later call will. */
struct ebt_error *objects_work(struct objects *objects, bool last);

/* Called about once a second: have files been deleted since they were mapped? They are embedded
 * while a process still has them. last: of all files, not of some in turn. */
struct ebt_error *objects_check(struct objects *objects, bool last);

/* An epoch begins: files that are mapped again are told again. */
void objects_next_epoch(struct objects *objects);

#endif
