/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order matters. A process is read at a time that is taken before: an exec or a mapping that
 * comes in between is seen by task events and side-band with a later time, and wins. Processes
 * that are forked while others are read are found by listing all tasks again.
 */
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/base/procfs.h"
#include "record/base/procmaps.h"
#include "record/base/rows.h"
#include "record/sideband/containers.h"
#include "record/sideband/snapshot_state.h"
#include "record/sideband/tasks.h"

#define MAX_FILES (1u << 18)

/* PROC_PID_INIT_INO of the kernel. */
#define FIRST_PID_NS 0xEFFFFFFCu

/* Listing again finds fewer each time; a fork bomb finds us stopping. */
#define MAX_PASSES 4

/* Containers that come are looked at no more often than this. */
#define COLLECT_EVERY 200000000u

/* Events have the pids of the first namespace; /proc has to have the same. */
static struct ebt_error *check_namespace(uint64_t pid_ns)
{
	if (pid_ns == FIRST_PID_NS)
		return NULL;
	if (!pid_ns)
		return ebt_error_create(EBT_ERR_UNSUPPORTED, "/proc is not mounted");
	return ebt_error_create(EBT_ERR_UNSUPPORTED,
				"this is a pid namespace, where /proc does not show the pids that "
				"events have: run on the host, or in a container with the host's "
				"pid namespace (--pid=host)");
}

struct ebt_error *snapshot_create(struct sideband_context *context, struct snapshot_state **ret)
{
	const uint64_t pid_ns = procfs_ns(AT_FDCWD, "/proc/self/ns/pid");
	_cleanup_(snapshot_destroyp) struct snapshot_state *state = NULL;
	struct ebt_error *err = check_namespace(pid_ns);
	const void *vdso;
	size_t len;

	if (err)
		return err;
	state = calloc(1, sizeof(*state));
	if (!state)
		return &ebt_enomem;
	state->context = context;
	state->ids.max = BUILDID_MAX_FILES;
	state->files.max = MAX_FILES;
	state->pid_ns = pid_ns;
	state->own_mnt_ns = procfs_ns(AT_FDCWD, "/proc/self/ns/mnt");
	if (vdso_image(&vdso, &len))
		buildid_of_memory(vdso, len, &state->vdso);
	task_lister_init(&state->lister, context->task_iterator);
	err = containers_create(context, &state->containers);
	if (err)
		return err;
	*ret = take_ptr(state);
	return NULL;
}

void snapshot_destroy(struct snapshot_state *state)
{
	if (!state)
		return;
	task_lister_deinit(&state->lister);
	buildid_map_deinit(&state->ids);
	buildid_map_deinit(&state->files);
	snapshot_mounts_deinit(state);
	snapshot_programs_deinit(state);
	containers_destroy(state->containers);
	keymap_deinit(&state->vdsos);
	free(state);
}

struct ebt_error *snapshot_lost(const struct snapshot_state *state, uint32_t reason, uint64_t from,
				uint64_t count, const char *detail)
{
	const struct lost_row lost = {
		.from = from,
		.count = count,
		.table_id = EBT_T_process,
		.reason = reason,
		.source = "snapshot",
		.detail = detail,
	};

	return add_lost(state->context->stream, clocks_now(), &lost);
}

/* A row of lost for what could not be read, if anything. No event is lost by it: the table that
 * is named is that of the processes, whose state is not complete. */
static struct ebt_error *emit_unread(const struct snapshot_state *state, struct unread *unread,
				     const char *what)
{
	const uint64_t n = unread->n;
	char detail[128];

	if (!n)
		return NULL;
	snprintf(detail, sizeof(detail), "%s, last of process %u: %s", what, unread->pid,
		 strerror(unread->errnum));
	memset(unread, 0, sizeof(*unread));
	return snapshot_lost(state, EBT_V_lost_reason_cannot_be_read, clocks_now(), n, detail);
}

/* All threads of one process, n of them. */
static struct ebt_error *emit_group(struct snapshot_state *state, const struct ebrec_task *tasks,
				    size_t n, uint64_t list_time)
{
	const struct ebrec_task *first = tasks, *alive = NULL;
	_cleanup_close_ int dir = -1;
	struct process_row process = { 0 };
	struct process_texts texts;
	struct ebt_error *err;
	uint64_t time;

	/* A first thread that has ended has no address space any more, while others go on. */
	for (size_t i = 0; i < n; i++) {
		if (tasks[i].tid == tasks[i].pid)
			first = &tasks[i];
		if (!tasks[i].exit_state && (!alive || tasks[i].tid == tasks[i].pid))
			alive = &tasks[i];
	}
	err = snapshot_threads(state->context->stream, tasks, n, first, list_time);
	if (err)
		return err;
	time = clocks_now();
	if (alive && !first->kernel)
		dir = procfs_open(alive->tid);
	process.pid = first->pid;
	process.ppid = first->ppid;
	process.uid = first->uid;
	process.kernel = first->kernel;
	if (dir >= 0)
		snapshot_read_process(state, dir, &process, &texts);
	err = snapshot_add_process(state, dir, &process, time);
	if (err || dir < 0)
		return err;
	return snapshot_maps(state, dir, alive->tid, process.mnt_ns, time);
}

static struct ebt_error *add_tasks(struct tasks *tasks, const struct ebrec_task *list, size_t n,
				   uint64_t time)
{
	for (size_t i = 0; i < n; i++) {
		struct ebt_task_id id = {
			.tid = list[i].tid,
			.pid = list[i].pid,
			.start_ns = list[i].start,
		};
		struct ebt_error *err;

		memcpy(id.comm, list[i].comm, sizeof(list[i].comm));
		err = tasks_add(tasks, &id, time);
		if (err)
			return err;
	}
	return NULL;
}

struct ebt_error *snapshot_learn(struct snapshot_state *state)
{
	_cleanup_(task_list_deinit) struct task_list list = { 0 };
	const uint64_t time = clocks_now();
	struct ebt_error *err = task_lister_read(&state->lister, &list);

	return err ? err : add_tasks(state->context->tasks, list.tasks, list.n, time);
}

struct sweep {
	struct snapshot_state *state;
	struct keymap seen; /* pid and start time of processes */
	size_t fresh;	    /* processes wanted that this pass found first */
};

static struct ebt_error *sweep_process(struct sweep *sweep, const struct ebrec_task *tasks,
				       size_t n, uint64_t time)
{
	const struct sideband_context *context = sweep->state->context;
	const uint64_t key[2] = { tasks[0].pid, tasks[0].start };
	uint64_t known;
	struct ebt_error *err = add_tasks(context->tasks, tasks, n, time);

	if (err || keymap_find(&sweep->seen, key, sizeof(key), &known))
		return err;
	if (!keymap_put(&sweep->seen, key, sizeof(key), 1))
		return &ebt_enomem;
	if (!context->wanted(context->arg, tasks[0].pid))
		return NULL;
	sweep->fresh++;
	tasks_follow(context->tasks, tasks[0].pid);
	return emit_group(sweep->state, tasks, n, time);
}

static struct ebt_error *sweep_once(struct sweep *sweep)
{
	_cleanup_(task_list_deinit) struct task_list list = { 0 };
	const uint64_t time = clocks_now();
	struct ebt_error *err = task_lister_read(&sweep->state->lister, &list);

	sweep->fresh = 0;
	for (size_t i = 0, n; !err && i < list.n; i += n) {
		for (n = 1; i + n < list.n && list.tasks[i + n].pid == list.tasks[i].pid; n++)
			;
		err = sweep_process(sweep, &list.tasks[i], n, time);
	}
	return err;
}

uint64_t snapshot_cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct ebt_error *sweep_all(struct snapshot_state *state)
{
	struct sweep sweep = { .state = state, .fresh = 1 };
	const uint64_t begin = snapshot_cpu_time();
	struct ebt_error *err = NULL;

	for (int pass = 0; !err && pass < MAX_PASSES && sweep.fresh; pass++)
		err = sweep_once(&sweep);
	keymap_deinit(&sweep.seen);
	/* Files may change after this. */
	buildid_map_deinit(&state->files);
	state->taken = clocks_now();
	state->cost = snapshot_cpu_time() - begin;
	return err;
}

struct ebt_error *snapshot_tasks(struct snapshot_state *state)
{
	return sweep_all(state) ?:
	       emit_unread(state, &state->maps, "address space") ?:
	       emit_unread(state, &state->build_ids, "build-id of a mapping");
}

struct ebt_error *snapshot_again(struct snapshot_state *state)
{
	struct ebt_error *err;

	if (state->cost * 100 > clocks_now() - state->taken)
		return NULL;
	err = sweep_all(state);
	state->maps = (struct unread){ 0 };
	state->build_ids = (struct unread){ 0 };
	return err;
}

struct ebt_error *snapshot_mappings(struct snapshot_state *state, uint32_t pid, uint64_t *ret_time)
{
	_cleanup_close_ int dir = procfs_open(pid);

	*ret_time = clocks_now();
	if (dir < 0)
		return NULL;
	return snapshot_maps(state, dir, pid, procfs_ns(dir, "ns/mnt"), *ret_time);
}

/* The layers of containers whose mount table has none. */
static struct ebt_error *find_fuse(struct snapshot_state *state)
{
	_cleanup_(task_list_deinit) struct task_list list = { 0 };
	struct ebt_error *err = task_lister_read(&state->lister, &list);

	for (size_t i = 0; i < list.n && !err; i++) {
		const struct ebrec_task *task = &list.tasks[i];
		struct mount_viewer viewer = { .pid = task->pid };
		_cleanup_close_ int dir = -1;
		char root[PATH_MAX];

		if (task->tid != task->pid || strcmp(task->comm, "fuse-overlayfs"))
			continue;
		dir = procfs_open(task->pid);
		if (dir < 0 || procfs_link(dir, "root", root, sizeof(root)) < 0)
			continue;
		viewer.mnt_ns = procfs_ns(dir, "ns/mnt");
		viewer.root = root;
		err = containers_see_fuse(state->containers, dir, task->pid, task->start,
					  viewer.mnt_ns)
			      ?: snapshot_mountinfo(state, dir, &viewer);
	}
	return err;
}

struct ebt_error *snapshot_changes(struct snapshot_state *state, bool last)
{
	const uint64_t now = clocks_now(), begin = snapshot_cpu_time();
	struct ebt_error *err = snapshot_mounts_again(state, last);

	if (!err && last)
		err = snapshot_tell_skipped(state, now);
	if (err || state->context->no_containers || !state->foreign)
		return err;
	if (!last && (!state->containers_due || now < state->containers_at))
		return NULL;
	state->containers_due = false;
	err = find_fuse(state) ?: containers_collect(state->containers);
	state->containers_at = now + COLLECT_EVERY + (snapshot_cpu_time() - begin) * 100;
	return err;
}
