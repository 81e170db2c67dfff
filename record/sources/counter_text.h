/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters that the kernel prints as tables: processors, memory, disks, interfaces, pressure. */
#ifndef RECORD_SOURCES_COUNTER_TEXT_H
#define RECORD_SOURCES_COUNTER_TEXT_H

#include "format/base/cleanup.h"
#include "record/sources/counter_set.h"

struct counter_texts;

/* root: "" or, for tests, a folder that has a /proc and a /sys. missing gets the names of what is
 * not there. */
struct ebt_error *counter_texts_create(struct counter_set *set, const char *root,
				       struct counter_texts **ret);
/* Accepts NULL. */
void counter_texts_destroy(struct counter_texts *texts);
DEFINE_CLEANUP(struct counter_texts *, counter_texts_destroy);

/* The nth file that is not there, or NULL. */
const char *counter_texts_missing(const struct counter_texts *texts, size_t n);

/* Reads all of them. No memory is taken but for an instance that has not been seen before. */
struct ebt_error *counter_texts_read(struct counter_texts *texts);

#endif
