/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to block devices counted: by process or thread and device, or by device, and operation.
 * Times go into histograms, so that memory depends on the number of keys; only depths, which need
 * beginnings in order, take 16 bytes a request. Prints nothing.
 */
#ifndef REPORT_IO_MODEL_BLOCK_H
#define REPORT_IO_MODEL_BLOCK_H

#include "report/base/histogram.h"
#include "report/io/block_depth.h"
#include "report/io/block_names.h"
#include "report/trace/task_groups.h"
#include "report/trace/trace.h"

enum block_grouping { BLOCK_BY_PROCESS, BLOCK_BY_THREAD, BLOCK_BY_DEVICE };

struct block_stat {
	uint32_t group; /* index in groups */
	uint64_t op;	/* as in table block_io */
	uint64_t bytes;
	uint64_t sync, merges, requeues, errors;
	uint64_t in_flight;	 /* when recording ended; in no other figure */
	struct histogram total;	 /* its count is the number of requests */
	struct histogram queue;	 /* until the driver got it, of those that were seen to begin */
	struct histogram device; /* from then on */
};

struct block_group {
	uint32_t device; /* of block_names */
	uint32_t task;	 /* of task_groups; BLOCK_BY_DEVICE: none */
	uint64_t read_bytes, write_bytes, read_ios, write_ios; /* as /proc/diskstats has them */
	uint64_t dirtier_ios, unknown_ios;		       /* by cause */
	uint64_t waited_ns; /* for a request, before total begins */
	struct block_stat all;
};

struct block_model;

/* Reads the rows that pass the filters. depths: also those of requests that end behind the window.
 */
struct ebt_error *block_model_create(struct trace *trace, enum block_grouping grouping, bool depths,
				     struct block_model **ret);
void block_model_destroy(struct block_model *model);
DEFINE_CLEANUP(struct block_model *, block_model_destroy);

/* In order of first appearance. These belong to the model. */
const struct block_group *block_model_groups(const struct block_model *model, size_t *ret_n);
const struct block_stat *block_model_stats(const struct block_model *model, size_t *ret_n);
const struct task_groups *block_model_tasks(const struct block_model *model);
const struct block_names *block_model_names(const struct block_model *model);
/* Of a device of block_names, or NULL. */
struct block_depth *block_model_depth(struct block_model *model, uint32_t device);

/* Is this a read or a write as /proc/diskstats counts them? The rest is neither. */
bool block_op_reads(uint64_t op);
bool block_op_writes(uint64_t op);

#endif
