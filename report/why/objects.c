/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What waits were for; see objects.h. */
#include "report/why/objects.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "report/base/interned.h"
#include "report/base/net_text.h"
#include "report/calls/calls.h"
#include "report/calls/object.h"
#include "report/io/block_names.h"
#include "report/trace/inode_paths.h"

struct wait_object {
	uint32_t name, device; /* of names; 0: none */
};

struct why_objects {
	struct trace *trace;
	const struct syscall_machine *machine;
	struct why_thread *threads;
	uint32_t n_threads;
	struct wait_object *list; /* the first is none */
	size_t n, capacity;
	struct ebt_map by_parts;
	struct interned names; /* the first is empty */
	uint64_t unnamed;      /* rows whose name had no room */
	struct text text;
	struct calls *calls;
	struct block_names *devices;
	struct inode_paths *paths;
	struct ebt_map by_cookie; /* names of connections */
};

void why_objects_destroy(struct why_objects *objects)
{
	if (!objects)
		return;
	calls_destroy(objects->calls);
	block_names_destroy(objects->devices);
	inode_paths_destroy(objects->paths);
	free(objects->list);
	ebt_map_deinit(&objects->by_parts);
	ebt_map_deinit(&objects->by_cookie);
	interned_deinit(&objects->names);
	text_deinit(&objects->text);
	free(objects);
}

/* *ret 0: there is no room for more names. */
static struct ebt_error *name_number(struct why_objects *objects, uint32_t *ret)
{
	struct ebt_error *err =
		text_error(&objects->text)
			?: interned_add(&objects->names, text_str(&objects->text), ret);

	if (!err && *ret == INTERNED_NONE) {
		*ret = 0;
		objects->unnamed++;
	}
	return err;
}

static struct ebt_error *give(struct why_objects *objects, struct why_spell *spell,
			      struct wait_object object)
{
	uint32_t i;
	struct ebt_error *err =
		ebt_map_element(&objects->by_parts, (uint64_t)object.name << 32 | object.device,
				&objects->list, &objects->n, &objects->capacity, &i);

	if (err)
		return err;
	objects->list[i] = object;
	spell->object = i;
	return NULL;
}

static struct why_thread *thread_of(const struct why_objects *objects, const struct ebt_task *task)
{
	return task && task->id < objects->n_threads ? &objects->threads[task->id] : NULL;
}

/* --- by system calls --- */

static bool named_by_call(enum wait_reason reason)
{
	switch (reason) {
	case WAIT_LOCK:
	case WAIT_CONDITION:
	case WAIT_THREAD:
	case WAIT_SEMAPHORE:
	case WAIT_CHILD:
	case WAIT_TIMER:
	case WAIT_SIGNAL:
	case WAIT_STOPPED:
	case WAIT_RECORDER:
		return false;
	default:
		return true;
	}
}

/* 0: the call had none. */
static struct ebt_error *name_of_call(struct why_objects *objects, const struct call *call,
				      uint32_t *ret)
{
	_cleanup_text_ struct text itself = TEXT_INIT;

	text_clear(&objects->text);
	call_object_add(objects->calls, objects->machine, call, &objects->text);
	text_cstr(&itself, "[");
	syscall_name_add(&itself, objects->machine, call->compat, (uint32_t)call->nr);
	text_cstr(&itself, "]");
	*ret = 0;
	if (!strcmp(text_get(&objects->text), text_get(&itself)))
		return text_error(&itself);
	return name_number(objects, ret);
}

static struct ebt_error *take_call(struct why_objects *objects, const struct call *call)
{
	struct why_thread *thread = thread_of(objects, call->task);
	struct wait_object object = { 0 };
	struct ebt_error *err = NULL;
	bool known = false;
	size_t i = thread ? why_thread_at(thread, call->exit) : 0;

	for (; !err && i && thread->spells[i - 1].stop >= call->entry; i--) {
		struct why_spell *spell = &thread->spells[i - 1];

		if (spell->why == SCHED_RUNNABLE || !named_by_call((enum wait_reason)spell->reason))
			continue;
		if (!known)
			err = name_of_call(objects, call, &object.name);
		known = true;
		if (!err && object.name)
			err = give(objects, spell, object);
	}
	return err;
}

static struct ebt_error *read_calls(struct why_objects *objects)
{
	const struct call *call;
	struct ebt_error *err;

	if (!trace_has_rows(objects->trace, EBT_T_fd))
		return NULL;
	err = calls_create(objects->trace, objects->machine, TRACE_ALL_TASKS | TRACE_ALL_CPUS,
			   &objects->calls)
		      ?: calls_next(objects->calls, &call);
	while (!err && call)
		err = take_call(objects, call) ?: calls_next(objects->calls, &call);
	calls_destroy(objects->calls);
	objects->calls = NULL;
	return err;
}

/* --- by requests to disks --- */

/* The wait that a request ended, if it was one: the thread is woken after that. */
static struct why_spell *wait_for_disk(const struct why_objects *objects,
				       const struct ebt_task *task, uint64_t time)
{
	struct why_thread *thread = thread_of(objects, task);
	const size_t i = thread ? why_thread_at(thread, time) : 0;
	struct why_spell *spell = i ? &thread->spells[i - 1] : NULL;

	return spell && spell->reason == WAIT_DISK &&
			       (spell->runnable ? spell->runnable : spell->start) >= time
		       ? spell
		       : NULL;
}

static struct ebt_error *device_number(struct why_objects *objects, const struct ebt_row *row,
				       uint32_t *ret)
{
	uint32_t device;
	struct ebt_error *err =
		block_names_of(objects->devices, (uint32_t)ebt_block_io_dev_major(row),
			       (uint32_t)ebt_block_io_dev_minor(row), &device);

	if (err)
		return err;
	text_clear(&objects->text);
	text_add(&objects->text, objects->devices->devices[device].name.data,
		 objects->devices->devices[device].name.len);
	return name_number(objects, ret);
}

static struct ebt_error *take_request(void *arg, const struct ebt_row *row)
{
	struct why_objects *objects = arg;
	struct why_spell *spell =
		wait_for_disk(objects, ebt_block_io_submitter(row), row->time)
			?: wait_for_disk(objects, ebt_block_io_task(row), row->time);
	const struct inode_key key = {
		.inode = ebt_block_io_inode(row),
		.dev_major = (uint32_t)ebt_block_io_file_major(row),
		.dev_minor = (uint32_t)ebt_block_io_file_minor(row),
		.generation = (uint32_t)ebt_block_io_generation(row),
	};
	struct wait_object object;
	struct ebt_error *err;

	if (!spell)
		return NULL;
	/* Of several the last one ended the wait. */
	object = objects->list[spell->object];
	err = device_number(objects, row, &object.device);
	if (!err && key.inode && inode_paths_is_named(objects->paths, &key)) {
		text_clear(&objects->text);
		inode_paths_add(objects->paths, &key, &objects->text);
		err = name_number(objects, &object.name);
	}
	return err ? err : give(objects, spell, object);
}

static struct ebt_error *read_requests(struct why_objects *objects)
{
	static const struct ebt_want want =
		EBT_WANT(block_io, task, submitter, dev_major, dev_minor, file_major, file_minor,
			 generation, inode);

	if (!trace_has_rows(objects->trace, EBT_T_block_io))
		return NULL;
	return block_names_create(objects->trace, &objects->devices) ?:
	       inode_paths_create(objects->trace, &objects->paths) ?:
	       trace_read_rows(objects->trace, &want, 1, TRACE_ALL_TASKS | TRACE_ALL_CPUS,
			       take_request, objects);
}

/* --- by locks --- */

/* Waits of the thread that ended since, for a lock. */
static struct ebt_error *name_waits(struct why_objects *objects, const struct ebt_row *row,
				    const struct ebt_task *task, uint64_t duration,
				    const char *what, uint64_t address)
{
	struct why_thread *thread = thread_of(objects, task);
	struct wait_object object = { 0 };
	struct ebt_error *err = NULL;
	size_t i = thread ? why_thread_at(thread, row->time) : 0;

	for (; !err && i && thread->spells[i - 1].stop >= row->time - duration; i--) {
		struct why_spell *spell = &thread->spells[i - 1];

		if (spell->why == SCHED_RUNNABLE)
			continue;
		if (!object.name) {
			text_clear(&objects->text);
			text_printf(&objects->text, "%s 0x%" PRIx64, what, address);
			err = name_number(objects, &object.name);
		}
		if (!err)
			err = give(objects, spell, object);
	}
	return err;
}

static struct ebt_error *take_lock(void *arg, const struct ebt_row *row)
{
	if (row->batch->table->id == EBT_T_futex_wait)
		return name_waits(arg, row, ebt_futex_wait_task(row), ebt_futex_wait_duration(row),
				  "futex", ebt_futex_wait_address(row));
	return name_waits(arg, row, ebt_lock_wait_task(row), ebt_lock_wait_duration(row),
			  "kernel lock", ebt_lock_wait_address(row));
}

static struct ebt_error *read_locks(struct why_objects *objects)
{
	static const struct ebt_want wants[] = {
		EBT_WANT(futex_wait, task, address, duration),
		EBT_WANT(lock_wait, task, address, duration),
	};

	if (!trace_has_rows(objects->trace, EBT_T_futex_wait) &&
	    !trace_has_rows(objects->trace, EBT_T_lock_wait))
		return NULL;
	return trace_read_rows(objects->trace, wants, 2, TRACE_ALL_TASKS | TRACE_ALL_CPUS,
			       take_lock, objects);
}

/* --- by connections --- */

static struct ebt_error *take_connection(void *arg, const struct ebt_row *row)
{
	struct why_objects *objects = arg;
	const struct ebt_str here = ebt_net_connection_saddr(row);
	const struct ebt_str there = ebt_net_connection_daddr(row);
	uint32_t number;
	struct ebt_error *err;

	text_clear(&objects->text);
	text_cstr(&objects->text, "TCP:[");
	net_add_endpoint(&objects->text, here.data, here.len, ebt_net_connection_sport(row));
	text_cstr(&objects->text, "->");
	net_add_endpoint(&objects->text, there.data, there.len, ebt_net_connection_dport(row));
	text_cstr(&objects->text, "]");
	err = name_number(objects, &number);
	if (err || !number || ebt_map_has(&objects->by_cookie, ebt_net_connection_cookie(row), 1))
		return err;
	return ebt_map_insert(&objects->by_cookie, ebt_net_connection_cookie(row), number);
}

/* Who receives had waited for that, if it waited since it received before. */
static struct ebt_error *take_transfer(void *arg, const struct ebt_row *row)
{
	struct why_objects *objects = arg;
	struct why_thread *thread = thread_of(objects, ebt_net_transfer_task(row));
	const size_t i = thread ? why_thread_at(thread, row->time) : 0;
	struct why_spell *spell = i ? &thread->spells[i - 1] : NULL;
	struct wait_object object = { 0 };

	if (!spell || spell->object ||
	    ebt_net_transfer_direction(row) != EBT_V_net_transfer_direction_receive ||
	    (spell->reason != WAIT_NETWORK && spell->reason != WAIT_POLL) ||
	    !ebt_map_find(&objects->by_cookie, ebt_net_transfer_cookie(row), &object.name))
		return NULL;
	return give(objects, spell, object);
}

/* A connection may have been made long before the window. */
static struct ebt_error *read_net(struct why_objects *objects)
{
	static const struct ebt_want connections =
		EBT_WANT(net_connection, cookie, sport, dport, saddr, daddr);
	static const struct ebt_want transfers = EBT_WANT(net_transfer, task, cookie, direction);

	if (!trace_has_rows(objects->trace, EBT_T_net_transfer))
		return NULL;
	return trace_read_rows(objects->trace, &connections, 1, TRACE_UNFILTERED, take_connection,
			       objects)
		       ?: trace_read_rows(objects->trace, &transfers, 1,
					  TRACE_ALL_TASKS | TRACE_ALL_CPUS, take_transfer, objects);
}

/* --- all of it --- */

struct ebt_error *why_objects_create(struct trace *trace, const struct syscall_machine *machine,
				     struct why_thread *threads, uint32_t n,
				     struct why_objects **ret)
{
	_cleanup_(why_objects_destroyp) struct why_objects *objects = calloc(1, sizeof(*objects));
	struct why_spell none = { 0 };
	uint32_t empty;
	struct ebt_error *err;

	if (!objects)
		return &ebt_enomem;
	objects->trace = trace;
	objects->machine = machine;
	objects->threads = threads;
	objects->n_threads = n;
	err = name_number(objects, &empty) ?: give(objects, &none, (struct wait_object){ 0 });
	if (!err && n)
		err = read_calls(objects) ?:
		      read_requests(objects) ?:
		      read_locks(objects) ?:
		      read_net(objects);
	if (!err && objects->unnamed)
		err = trace_warn(trace,
				 "what %" PRIu64 " rows of waits name is left out: there are more "
				 "than %u names",
				 objects->unnamed, INTERNED_MAX);
	if (!err)
		*ret = take_ptr(objects);
	return err;
}

uint32_t why_objects_n(const struct why_objects *objects)
{
	return (uint32_t)objects->n;
}

struct ebt_str why_object_name(const struct why_objects *objects, uint32_t object)
{
	const struct wait_object *it = &objects->list[object];

	return interned_get(&objects->names, it->name ? it->name : it->device);
}

struct ebt_str why_object_device(const struct why_objects *objects, uint32_t object)
{
	return interned_get(&objects->names, objects->list[object].device);
}
