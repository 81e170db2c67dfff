/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that makes large unwind tables, so that side-band and mappings are not held up
 * meanwhile: libLLVM's takes 30 ms. Its functions are for one other thread.
 */
#ifndef RECORD_UNWIND_BUILDER_H
#define RECORD_UNWIND_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

struct unwind_builder;
struct unwind_image;
struct unwind_table;

/* NULL: no memory. The thread starts with the first table. */
struct unwind_builder *unwind_builder_create(void);
/* Accepts NULL. */
void unwind_builder_destroy(struct unwind_builder *builder);

/* Takes the image, to make table `number` of it. False: the queue is full, or there is no thread;
 * then the image stays the caller's. */
bool unwind_builder_add(struct unwind_builder *builder, uint32_t number,
			struct unwind_image *image);

/* A table that is done, or NULL where the image gave none. False: there is none, and there will be
 * none or that time (CLOCK_MONOTONIC ns, UINT64_MAX: waits as long as it takes) has passed. */
bool unwind_builder_next(struct unwind_builder *builder, uint64_t until, uint32_t *ret_number,
			 struct unwind_table **ret);

#endif
