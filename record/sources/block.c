/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `block`. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/bpf/block.h"
#include "record/config/skeleton.h"
#include "record/config/source.h"
#include "record/sources/block_devices.h"

/* Until 5.11 a queue comes first, unless a stable release took it out. */
static uint32_t find_args(const struct kernel *kernel)
{
	uint32_t args = 0;

	if (kernel_tracepoint_args(kernel, "block_rq_issue") > 1)
		args |= EBREC_BLOCK_RQ_SECOND;
	if (kernel_tracepoint_args(kernel, "block_bio_queue") > 1)
		args |= EBREC_BLOCK_BIO_SECOND;
	if (!kernel_has_tracepoint(kernel, "block_io_start"))
		args |= EBREC_BLOCK_NO_START;
	if (kernel_tracepoint_arg_is(kernel, "block_rq_complete", 1, "int"))
		args |= EBREC_BLOCK_ERRNO;
	return args;
}

static void configure(struct source_context *context)
{
	context->skel->rodata->block_args = find_args(context->kernel);
}

/* --- in user space: names of devices, and what is in flight at the end --- */

struct block_worker {
	struct block_devices *devices;
	int requests; /* the map; belongs to the skeleton */
};

static void close_worker(void *arg)
{
	struct block_worker *worker = arg;

	block_devices_destroy(worker->devices);
	free(worker);
}

static struct ebt_error *open_worker(const struct source_context *context,
				     struct source_state *state, void **ret)
{
	struct block_worker *worker = calloc(1, sizeof(*worker));
	struct ebt_error *err;

	(void)state;
	if (!worker)
		return &ebt_enomem;
	worker->requests = bpf_map__fd(context->skel->maps.block_requests);
	err = block_devices_create(&worker->devices);
	if (err) {
		close_worker(worker);
		return err;
	}
	*ret = worker;
	return NULL;
}

static int worker_fd(void *arg)
{
	const struct block_worker *worker = arg;

	return block_devices_fd(worker->devices);
}

static struct ebt_error *add_in_flight(const struct ebrec_block_request *r, uint64_t now,
				       struct ebt_stream *stream)
{
	struct ebt_wire_block_io row = {
		.head = { .time = now, .len = sizeof(row), .table = EBT_T_block_io }
	};

	ebrec_block_fill(&row, r, now);
	row.state = EBT_V_block_io_state_in_flight;
	row.bytes = r->expected;
	return ebt_stream_add(stream, &row, sizeof(row));
}

/* Programs may still be at work on the map, but the gate is closed: nothing is added. */
static struct ebt_error *add_all_in_flight(struct block_worker *worker, struct ebt_stream *stream)
{
	struct ebrec_block_request request;
	uint64_t now = clocks_now(), key, *last = NULL;
	struct ebt_error *err = NULL;

	for (unsigned int i = 0; !err && i < EBREC_BLOCK_REQUESTS; i++) {
		if (bpf_map_get_next_key(worker->requests, last, &key))
			break;
		last = &key;
		if (!bpf_map_lookup_elem(worker->requests, &key, &request))
			err = add_in_flight(&request, now, stream);
	}
	return err;
}

static struct ebt_error *work(void *arg, struct ebt_stream *stream, enum source_moment moment)
{
	struct block_worker *worker = arg;

	switch (moment) {
	case SOURCE_BEGIN:
	case SOURCE_EPOCH:
		return block_devices_add_all(worker->devices, stream);
	case SOURCE_READY:
		return block_devices_add_changed(worker->devices, stream);
	case SOURCE_SECOND:
		return NULL;
	case SOURCE_END:
		return add_all_in_flight(worker, stream);
	}
	return NULL;
}

static const struct source_worker worker = {
	.open = open_worker,
	.fd = worker_fd,
	.work = work,
	.close = close_worker,
};

const struct ebrec_source source_block = {
	.name = "block",
	.doc = "disk requests: who caused each, device, bytes, time in the queue and in the device",
	.cost = "about 1.5 us for each request, 0.3 us for each page that is dirtied",
	.tables = (const uint16_t[]){ EBT_T_block_io, EBT_T_block_device, 0 },
	.late_tasks = true,
	.needs = (const char *const[]){ "block_bio_queue", "block_rq_issue", "block_rq_complete",
					NULL },
	.wants = (const struct source_want[]){ { "writeback_dirty_folio",
						 "dirtiers, writeback is blamed on kernel threads",
						 .other = "writeback_dirty_page" },
					       { NULL } },
	.programs = (const char *const[]){ "ebrec_block_", NULL },
	.maps = (const char *const[]){ "block_", NULL },
	.configure = configure,
	.worker = &worker,
};
