/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probes of a recording (sources uprobe, usdt, tp) and what each of them reads, numbered from 1
 * in one row. A source adds its probes when its worker is opened. They are written when all are
 * attached, since of those of a pattern some may be refused then.
 */
#ifndef RECORD_PROBES_LIST_H
#define RECORD_PROBES_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "record/base/buildid.h"
#include "record/config/source.h"

struct probe_arg {
	enum ebt_probe_arg_kind kind;
	uint32_t size, elements, position;
	char *name, *type; /* NULL is empty */
};

struct probe {
	enum ebt_probe_kind kind;
	uint64_t offset, semaphore;
	char *group, *name, *path; /* NULL is empty */
	struct buildid build_id;
	struct probe_arg *args;
	size_t n_args;
	uint32_t pattern; /* what stands for this function and others, from 1; 0: it was named */
	int refused;	  /* of a pattern: why the kernel does not take it, an errno; or 0 */
};

/* Where code is probed: a function, or the copies of a USDT probe. */
struct probe_place {
	uint32_t probe;
	uint64_t offset, semaphore; /* in the file; semaphore 0: there is none */
	bool span;		    /* from entry to return */
	bool memory;		    /* more than registers is read */
};

struct probe_list {
	struct probe *list; /* number n is at n - 1 */
	size_t n, capacity;
	struct probe_place *places; /* of uprobe and usdt, by number in map `probe_sites` */
	size_t n_places, places_capacity;
	bool attached; /* programs are at all of these */
};

void probe_list_deinit(struct probe_list *list);

/* Takes over what the probe refers to, and gives it a number. EBT_ERR_LIMIT: there are too many
 * probes or arguments; then everything is still the caller's. */
struct ebt_error *probe_list_add(struct probe_list *list, struct probe *probe,
				 uint32_t *ret_number);

/* *ret: its number. EBT_ERR_LIMIT: there are too many. */
struct ebt_error *probe_list_add_place(struct probe_list *list, const struct probe_place *place,
				       uint32_t *ret);

/* Frees what it refers to. */
void probe_deinit(struct probe *probe);

/* Rows of all probes but those that were refused. */
struct ebt_error *probe_list_write(const struct probe_list *list, struct ebt_stream *stream);

#endif
