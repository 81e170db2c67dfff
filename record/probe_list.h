/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probes of a recording (sources uprobe, usdt, tp) and what each of them reads, numbered from 1
 * in one row. A source adds its probes when its worker is opened, and its worker writes them.
 */
#ifndef RECORD_PROBE_LIST_H
#define RECORD_PROBE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buildid.h"
#include "error.h"
#include "probe_kinds.h"
#include "source.h"

struct probe_arg {
	enum probe_arg_kind kind;
	uint32_t size, elements, position;
	char *name, *type; /* NULL is empty */
};

struct probe {
	enum probe_kind kind;
	uint64_t offset, semaphore;
	char *group, *name, *path; /* NULL is empty */
	struct buildid build_id;
	struct probe_arg *args;
	size_t n_args;
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
	size_t n;
	struct probe_place *places; /* of uprobe and usdt, by number in map `probe_sites` */
	size_t n_places;
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

/* A worker that writes the probes of one kind, when recording begins and at each epoch. */
struct probe_worker;

struct ebt_error *probe_worker_create(const struct probe_list *list, enum probe_kind kind,
				      struct probe_worker **ret);
void probe_worker_destroy(struct probe_worker *worker);

/* As work() and close() of struct source_worker. */
struct ebt_error *probe_worker_work(void *worker, struct ebt_stream *stream,
				    enum source_moment moment);
void probe_worker_close(void *worker);

#endif
