/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that come in the order of time and are wanted thread by thread: they go to a temporary
 * file, and each key's are read back in the order in which they came.
 *
 * Memory: up to 32 records for each key, and 8 bytes for each 32 records.
 */
#ifndef REPORT_EXPORT_SPOOL_H
#define REPORT_EXPORT_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"

struct spool;

/* size: of a record, in bytes. */
struct ebt_error *spool_create(size_t size, struct spool **ret);
/* Accepts NULL. */
void spool_destroy(struct spool *spool);
DEFINE_CLEANUP(struct spool *, spool_destroy);

/* Keys are small numbers. The record is copied. */
struct ebt_error *spool_add(struct spool *spool, uint32_t key, const void *record);
/* Keys are below this. */
uint32_t spool_n_keys(const struct spool *spool);
/* How many records a key has. */
uint64_t spool_count(const struct spool *spool, uint32_t key);
/* May be called again. */
struct ebt_error *spool_each(struct spool *spool, uint32_t key,
			     struct ebt_error *(*take)(void *arg, const void *record), void *arg);

#endif
