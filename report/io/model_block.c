/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting requests to block devices; see model_block.h. */
#include "report/io/model_block.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "format/base/array.h"

#define FLAGS_SYNC 0xdu /* synchronous, FUA, flush before: as the kernel says, like any read */

struct block_model {
	struct trace *trace;
	struct block_names *names;
	struct task_groups *tasks; /* NULL: BLOCK_BY_DEVICE */
	struct block_group *groups;
	size_t n_groups, groups_capacity;
	struct block_stat *stats;
	size_t n_stats, stats_capacity;
	struct ebt_map group_by_key, stat_by_key;
	bool depths;
	struct block_depth *depth; /* by device */
	size_t n_depth;
};

/* Of a row, what is counted. */
struct io {
	uint64_t op, bytes, flags, error, merges, requeues, state, cause;
	uint64_t total, device, waited;
	bool has_queue;
};

bool block_op_reads(uint64_t op)
{
	return op == EBT_V_block_io_op_read;
}

/* Write, secure erase, write zeroes, zone append. */
bool block_op_writes(uint64_t op)
{
	return op == EBT_V_block_io_op_write || op == EBT_V_block_io_op_secure_erase ||
	       op == EBT_V_block_io_op_write_zeroes || op == EBT_V_block_io_op_zone_append;
}

static void stat_deinit(struct block_stat *stat)
{
	histogram_deinit(&stat->total);
	histogram_deinit(&stat->queue);
	histogram_deinit(&stat->device);
}

void block_model_destroy(struct block_model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_groups; i++)
		stat_deinit(&m->groups[i].all);
	for (size_t i = 0; i < m->n_stats; i++)
		stat_deinit(&m->stats[i]);
	for (size_t i = 0; i < m->n_depth; i++)
		block_depth_deinit(&m->depth[i]);
	free(m->depth);
	free(m->groups);
	free(m->stats);
	ebt_map_deinit(&m->group_by_key);
	ebt_map_deinit(&m->stat_by_key);
	task_groups_destroy(m->tasks);
	block_names_destroy(m->names);
	free(m);
}

static struct ebt_error *group_of(struct block_model *m, uint32_t task, uint32_t device,
				  uint32_t *ret)
{
	struct ebt_error *err;

	err = ebt_array_reserve(&m->groups, m->n_groups, &m->groups_capacity);
	if (err)
		return err;
	err = ebt_map_add(&m->group_by_key, (uint64_t)task << 32 | device, (uint32_t)m->n_groups,
			  ret);
	if (!err && *ret == m->n_groups)
		m->groups[m->n_groups++] = (struct block_group){ .device = device, .task = task };
	return err;
}

/* Operations that are not known yet are counted together. */
static struct ebt_error *stat_of(struct block_model *m, uint32_t group, uint64_t op, uint32_t *ret)
{
	uint64_t key = (uint64_t)group << 8 | (op < 0xff ? op : 0xff);
	struct ebt_error *err;

	err = ebt_array_reserve(&m->stats, m->n_stats, &m->stats_capacity);
	if (err)
		return err;
	err = ebt_map_add(&m->stat_by_key, key, (uint32_t)m->n_stats, ret);
	if (!err && *ret == m->n_stats)
		m->stats[m->n_stats++] = (struct block_stat){ .group = group, .op = op };
	return err;
}

static struct ebt_error *count_stat(struct block_stat *stat, const struct io *io)
{
	struct ebt_error *err;

	if (io->state == EBT_V_block_io_state_in_flight) {
		stat->in_flight++;
		return NULL;
	}
	stat->bytes += io->bytes;
	stat->sync += block_op_reads(io->op) || io->flags & FLAGS_SYNC;
	stat->merges += io->merges;
	stat->requeues += io->requeues;
	stat->errors += io->error != 0;
	err = histogram_add(&stat->total, io->total);
	if (!err && io->device)
		err = histogram_add(&stat->device, io->device);
	if (!err && io->has_queue)
		err = histogram_add(&stat->queue,
				    io->total > io->device ? io->total - io->device : 0);
	return err;
}

static struct ebt_error *count_group(struct block_model *m, uint32_t task, uint32_t device,
				     const struct io *io)
{
	struct block_group *group;
	struct ebt_error *err;
	uint32_t g, s;

	err = group_of(m, task, device, &g);
	if (!err)
		err = stat_of(m, g, io->op, &s);
	if (!err)
		err = count_stat(&m->stats[s], io);
	if (err)
		return err;
	group = &m->groups[g];
	if (io->state != EBT_V_block_io_state_in_flight) {
		group->read_ios += block_op_reads(io->op);
		group->write_ios += block_op_writes(io->op);
		group->read_bytes += block_op_reads(io->op) ? io->bytes : 0;
		group->write_bytes += block_op_writes(io->op) ? io->bytes : 0;
		group->dirtier_ios += io->cause == EBT_V_block_io_cause_dirtier;
		group->unknown_ios += io->cause == EBT_V_block_io_cause_unknown;
		group->waited_ns += io->waited;
	}
	return count_stat(&group->all, io);
}

static struct ebt_error *add_depth(struct block_model *m, uint32_t device, uint64_t start,
				   uint64_t end)
{
	if (device >= m->n_depth) {
		size_t n = block_names_n(m->names);
		struct block_depth *grown = reallocarray(m->depth, n, sizeof(*grown));

		if (!grown)
			return &ebt_enomem;
		memset(grown + m->n_depth, 0, (n - m->n_depth) * sizeof(*grown));
		m->depth = grown;
		m->n_depth = n;
	}
	return block_depth_add(&m->depth[device], start, end);
}

static void read_io(const struct ebt_row *row, struct io *ret)
{
	*ret = (struct io){
		.op = ebt_block_io_op(row),
		.bytes = ebt_block_io_bytes(row),
		.flags = ebt_block_io_flags(row),
		.error = ebt_block_io_error(row),
		.merges = ebt_block_io_merges(row),
		.requeues = ebt_block_io_requeues(row),
		.state = ebt_block_io_state(row),
		.cause = ebt_block_io_cause(row),
		.total = ebt_block_io_duration(row),
		.device = ebt_block_io_device(row),
		.waited = ebt_block_io_waited(row),
	};
	ret->has_queue = ret->device && ebt_block_io_layer(row) == EBT_V_block_io_layer_request;
}

/* devices[1]: the disk, if the first is a partition of it. */
static struct ebt_error *find_devices(struct block_model *m, const struct ebt_row *row,
				      uint32_t devices[2], unsigned int *ret_n)
{
	struct ebt_error *err;

	err = block_names_of(m->names, (uint32_t)ebt_block_io_dev_major(row),
			     (uint32_t)ebt_block_io_dev_minor(row), &devices[0]);
	if (!err)
		err = block_names_of(m->names, (uint32_t)ebt_block_io_disk_major(row),
				     (uint32_t)ebt_block_io_disk_minor(row), &devices[1]);
	if (!err)
		*ret_n = devices[1] == devices[0] ? 1 : 2;
	return err;
}

static struct ebt_error *count_row(void *arg, const struct ebt_row *row)
{
	struct block_model *m = arg;
	const struct ebt_task *task = ebt_block_io_task(row);
	uint32_t devices[2], owner = UINT32_MAX;
	struct ebt_error *err;
	unsigned int n;
	struct io io;

	/* The cursor let it pass for its submitter too. */
	if (!trace_task_wanted(m->trace, task))
		return NULL;
	read_io(row, &io);
	err = find_devices(m, row, devices, &n);
	for (unsigned int i = 0; !err && m->depths && i < n; i++)
		err = add_depth(m, devices[i], row->time - (io.total < row->time ? io.total : 0),
				row->time);
	if (err || row->time >= trace_to_ns(m->trace))
		return err;
	if (m->tasks) {
		n = 1;
		err = task_groups_of(m->tasks, task, &owner);
	}
	for (unsigned int i = 0; !err && i < n; i++)
		err = count_group(m, owner, devices[i], &io);
	return err;
}

static struct ebt_error *read_rows(struct block_model *m)
{
	static const struct ebt_want want = {
		EBT_T_block_io,
		EBT_COL(block_io, task) | EBT_COL(block_io, cause) | EBT_COL(block_io, state) |
			EBT_COL(block_io, layer) | EBT_COL(block_io, dev_major) |
			EBT_COL(block_io, dev_minor) | EBT_COL(block_io, disk_major) |
			EBT_COL(block_io, disk_minor) | EBT_COL(block_io, op) |
			EBT_COL(block_io, flags) | EBT_COL(block_io, error) |
			EBT_COL(block_io, merges) | EBT_COL(block_io, requeues) |
			EBT_COL(block_io, bytes) | EBT_COL(block_io, duration) |
			EBT_COL(block_io, device) | EBT_COL(block_io, waited),
	};

	return trace_read_rows(m->trace, &want, 1, m->depths ? TRACE_TO_END : 0, count_row, m);
}

struct ebt_error *block_model_create(struct trace *trace, enum block_grouping grouping, bool depths,
				     struct block_model **ret)
{
	_cleanup_(block_model_destroyp) struct block_model *m = calloc(1, sizeof(*m));
	struct ebt_error *err;

	if (!m)
		return &ebt_enomem;
	m->trace = trace;
	m->depths = depths;
	err = block_names_create(trace, &m->names);
	if (!err && grouping != BLOCK_BY_DEVICE)
		err = task_groups_create(trace, grouping == BLOCK_BY_THREAD, &m->tasks);
	if (!err)
		err = read_rows(m);
	if (err)
		return err;
	*ret = take_ptr(m);
	return NULL;
}

const struct block_group *block_model_groups(const struct block_model *m, size_t *ret_n)
{
	*ret_n = m->n_groups;
	return m->groups;
}

const struct block_stat *block_model_stats(const struct block_model *m, size_t *ret_n)
{
	*ret_n = m->n_stats;
	return m->stats;
}

const struct task_groups *block_model_tasks(const struct block_model *m)
{
	return m->tasks;
}

const struct block_names *block_model_names(const struct block_model *m)
{
	return m->names;
}

struct block_depth *block_model_depth(struct block_model *m, uint32_t device)
{
	return device < m->n_depth ? &m->depth[device] : NULL;
}
