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

/* As the exec event has them. */
#define MAX_CMDLINE 4096u
/* Sixteen hierarchies of cgroup v1 with long names; cgroup v2 has one line. */
#define MAX_CGROUP 8192u
#define MAX_FILES  (1u << 18)

/* PROC_PID_INIT_INO of the kernel. */
#define FIRST_PID_NS 0xEFFFFFFCu

/* Listing again finds fewer each time; a fork bomb finds us stopping. */
#define MAX_PASSES 4

/* Containers that come are looked at no more often than this. */
#define COLLECT_EVERY 200000000u

/* Of each second, for processes that come later: 2 %, several hundred processes. */
#define WINDOW	     1000000000u
#define WINDOW_SPEND 20000000u

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
	containers_destroy(state->containers);
	keymap_deinit(&state->vdsos);
	free(state);
}

static struct ebt_error *emit_lost(const struct snapshot_state *state, uint32_t reason,
				   uint64_t from, uint64_t count, const char *detail)
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
	return emit_lost(state, EBT_V_lost_reason_cannot_be_read, clocks_now(), n, detail);
}

/* What whoever listed the process knows of it. */
struct facts {
	uint32_t pid, ppid, uid;
	bool kernel;
	const char *nspid; /* NULL: not looked at yet */
};

/* Pids from the outer namespace to the inner; there is one where the namespace is ours. */
static void add_nspid(const struct snapshot_state *state, struct ebt_record *rec, int dir,
		      const struct facts *facts, uint64_t pid_ns)
{
	struct procfs_status status = { 0 };

	if (!facts->nspid && pid_ns == state->pid_ns)
		snprintf(status.nspid, sizeof(status.nspid), "%u", facts->pid);
	else if (!facts->nspid && !procfs_status(dir, "status", &status))
		return;
	ebt_record_str(rec, offsetof(struct ebt_wire_process, nspid),
		       facts->nspid ? facts->nspid : status.nspid);
}

static struct ebt_error *add_texts(struct snapshot_state *state, struct ebt_record *rec, int dir,
				   const char *root)
{
	struct ebt_error *err = NULL;
	char text[MAX_CGROUP];
	ssize_t n;

	if (procfs_link(dir, "exe", text, PATH_MAX) > 0)
		ebt_record_str(rec, offsetof(struct ebt_wire_process, exe), text);
	ebt_record_str(rec, offsetof(struct ebt_wire_process, root), root);
	n = procfs_read(dir, "cgroup", text, sizeof(text));
	if (n > 0)
		ebt_record_bytes(rec, offsetof(struct ebt_wire_process, cgroup), text,
				 (size_t)n - (text[n - 1] == '\n'));
	if (n > 0 && !state->context->no_containers)
		err = containers_see_cgroup(state->containers, text);
	n = procfs_read(dir, "cmdline", text, MAX_CMDLINE + 1);
	if (n > 0)
		ebt_record_bytes(rec, offsetof(struct ebt_wire_process, cmdline), text, (size_t)n);
	return err;
}

/* dir -1: nothing but the facts is known. The mount table goes along where it is new. */
static struct ebt_error *emit_process(struct snapshot_state *state, int dir,
				      const struct facts *facts, uint64_t time,
				      uint64_t *ret_mnt_ns)
{
	struct ebt_stream *stream = state->context->stream;
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	struct ebt_wire_process *row = ebt_record_begin(&rec, EBT_T_process, time);
	uint64_t mnt_ns, pid_ns;
	char root[PATH_MAX];

	row->task = facts->pid;
	row->ppid = facts->ppid;
	row->uid = facts->uid;
	row->kernel = facts->kernel;
	*ret_mnt_ns = 0;
	if (dir < 0)
		return ebt_record_add(&rec, stream);
	mnt_ns = procfs_ns(dir, "ns/mnt");
	pid_ns = procfs_ns(dir, "ns/pid");
	row->mnt_ns = mnt_ns;
	row->pid_ns = pid_ns;
	row->net_ns = procfs_ns(dir, "ns/net");
	row->user_ns = procfs_ns(dir, "ns/user");
	row->cgroup_ns = procfs_ns(dir, "ns/cgroup");
	procfs_link(dir, "root", root, sizeof(root));
	add_nspid(state, &rec, dir, facts, pid_ns);
	*ret_mnt_ns = mnt_ns;
	return add_texts(state, &rec, dir, root) ?:
	       ebt_record_add(&rec, stream) ?:
	       snapshot_mountinfo(state, dir, facts->pid, mnt_ns, root);
}

/* All threads of one process, n of them. */
static struct ebt_error *emit_group(struct snapshot_state *state, const struct ebrec_task *tasks,
				    size_t n, uint64_t list_time)
{
	const struct ebrec_task *first = tasks, *alive = NULL;
	_cleanup_close_ int dir = -1;
	struct facts facts;
	struct ebt_error *err;
	uint64_t time, mnt_ns;

	/* A first thread that has ended has no address space any more, while others go on. */
	for (size_t i = 0; i < n; i++) {
		if (tasks[i].tid == tasks[i].pid)
			first = &tasks[i];
		if (!tasks[i].exit_state && (!alive || tasks[i].tid == tasks[i].pid))
			alive = &tasks[i];
	}
	facts = (struct facts){
		.pid = first->pid,
		.ppid = first->ppid,
		.uid = first->uid,
		.kernel = first->kernel,
	};
	err = snapshot_threads(state->context->stream, tasks, n, first, list_time);
	if (err)
		return err;
	time = clocks_now();
	if (alive && !first->kernel)
		dir = procfs_open(alive->tid);
	err = emit_process(state, dir, &facts, time, &mnt_ns);
	if (err || dir < 0)
		return err;
	return snapshot_maps(state, dir, alive->tid, mnt_ns, time);
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

/* What this thread costs, whoever else runs. */
static uint64_t cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct ebt_error *sweep_all(struct snapshot_state *state)
{
	struct sweep sweep = { .state = state, .fresh = 1 };
	const uint64_t begin = cpu_time();
	struct ebt_error *err = NULL;

	for (int pass = 0; !err && pass < MAX_PASSES && sweep.fresh; pass++)
		err = sweep_once(&sweep);
	keymap_deinit(&sweep.seen);
	/* Files may change after this. */
	buildid_map_deinit(&state->files);
	state->taken = clocks_now();
	state->cost = cpu_time() - begin;
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

/* A new second begins: says how many processes the last one left out. */
static struct ebt_error *new_window(struct snapshot_state *state, uint64_t now)
{
	const uint64_t skipped = state->window_skipped, from = state->window;

	state->window = now;
	state->window_spent = 0;
	state->window_skipped = 0;
	if (!skipped)
		return NULL;
	return emit_lost(state, EBT_V_lost_reason_other, from, skipped,
			 "too many new processes to read all of /proc");
}

struct ebt_error *snapshot_process(struct snapshot_state *state, uint32_t pid, uint64_t time_ns)
{
	const uint64_t now = clocks_now(), begin = cpu_time();
	_cleanup_close_ int dir = -1;
	struct procfs_status status;
	struct ebt_error *err = NULL;
	uint64_t mnt_ns;

	if (now - state->window >= WINDOW)
		err = new_window(state, now);
	if (err)
		return err;
	if (state->window_spent >= WINDOW_SPEND) {
		state->window_skipped++;
		return NULL;
	}
	dir = procfs_open(pid);
	if (dir >= 0 && procfs_status(dir, "status", &status)) {
		const struct facts facts = {
			.pid = pid,
			.ppid = status.ppid,
			.uid = status.uids[0],
			.nspid = status.nspid,
		};

		err = emit_process(state, dir, &facts, time_ns, &mnt_ns);
	}
	state->window_spent += cpu_time() - begin;
	return err;
}

/* The layers of containers whose mount table has none. */
static struct ebt_error *find_fuse(struct snapshot_state *state)
{
	_cleanup_(task_list_deinit) struct task_list list = { 0 };
	struct ebt_error *err = task_lister_read(&state->lister, &list);

	for (size_t i = 0; i < list.n && !err; i++) {
		const struct ebrec_task *task = &list.tasks[i];
		_cleanup_close_ int dir = -1;
		char root[PATH_MAX];
		uint64_t mnt_ns;

		if (task->tid != task->pid || strcmp(task->comm, "fuse-overlayfs"))
			continue;
		dir = procfs_open(task->pid);
		if (dir < 0 || procfs_link(dir, "root", root, sizeof(root)) < 0)
			continue;
		mnt_ns = procfs_ns(dir, "ns/mnt");
		err = containers_see_fuse(state->containers, dir, task->pid, task->start, mnt_ns)
			      ?: snapshot_mountinfo(state, dir, task->pid, mnt_ns, root);
	}
	return err;
}

struct ebt_error *snapshot_changes(struct snapshot_state *state, bool last)
{
	const uint64_t now = clocks_now(), begin = cpu_time();
	struct ebt_error *err = snapshot_mounts_again(state, last);

	if (err || state->context->no_containers || !state->foreign)
		return err;
	if (!last && (!state->containers_due || now < state->containers_at))
		return NULL;
	state->containers_due = false;
	err = find_fuse(state) ?: containers_collect(state->containers);
	state->containers_at = now + COLLECT_EVERY + (cpu_time() - begin) * 100;
	return err;
}
