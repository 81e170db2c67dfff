/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Views of processes, from the tables process, task_fork and mmap; see views.h. */
#include "symbolize/spaces/views_private.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"

/* A process is looked at when its exec is done: what was mapped this long before can be of it. */
#define EXEC_NS UINT64_C(1000000000)

/* Forks without exec that are followed, and events of one pid. */
#define MAX_ANCESTORS 64
#define MAX_EVENTS    256

/* For all mappings of a trace: a few seconds. */
#define MAX_STEPS (UINT64_C(1) << 30)

#define MAX_VIEWS 65536

DEFINE_CLEANUP(struct views *, views_destroy);

/* --- views --- */

/* Whether a word before "=DIR" means this process. */
static bool root_is_for(const struct views *views, const char *word, size_t len, uint32_t pid,
			const char *container)
{
	_cleanup_free_ char *copy = strndup(word, len);
	char *end;

	if (!copy || !len)
		return false;
	if (strtoul(copy, &end, 10) == pid && !*end && pid)
		return true;
	return *container && storages_is_called(views->storages, container, copy);
}

static const char *root_dir(const struct views *views, uint32_t pid, const char *container)
{
	for (size_t i = 0; views->roots && views->roots[i]; i++) {
		const char *equals = strchr(views->roots[i], '=');

		if (equals &&
		    root_is_for(views, views->roots[i], equals - views->roots[i], pid, container))
			return equals + 1;
	}
	return NULL;
}

/* The container that the namespace was made for. */
static struct ebt_error *container_by_mounts(struct views *views, uint64_t ns, char *ret)
{
	struct view_table table;
	struct ebt_error *err;
	size_t at = 0;

	if (ns == views->host_ns)
		return NULL;
	err = views_table(views, ns, &at, &table);
	if (!err && table.mounts)
		strcpy(ret, table.container);
	return err;
}

static bool same_view(const struct view *a, const struct view *b)
{
	return a->mnt_ns == b->mnt_ns && a->root_dir == b->root_dir && !strcmp(a->root, b->root) &&
	       !strcmp(a->container, b->container);
}

/* The number of the view, made where there is none like it. */
static struct ebt_error *intern_view(struct views *views, const struct view *view, uint32_t *ret)
{
	uint64_t hash = ebt_hash_u64(0, view->mnt_ns);
	_cleanup_free_ char *root = NULL, *container = NULL;
	struct ebt_error *err;

	hash = ebt_hash_bytes(hash, view->root, strlen(view->root));
	hash = ebt_hash_bytes(hash, view->container, strlen(view->container));
	*ret = ebt_map_search(&views->by_view, hash, i, same_view(&views->items[i], view));
	if (*ret != EBT_MAP_NONE)
		return NULL;
	if (views->n == MAX_VIEWS) {
		*ret = 0;
		return NULL;
	}
	err = ebt_array_reserve(&views->items, views->n, &views->capacity);
	if (err)
		return err;
	root = strdup(view->root);
	container = strdup(view->container);
	if (!root || !container)
		return &ebt_enomem;
	err = ebt_map_insert(&views->by_view, hash, views->n);
	if (err)
		return err;
	views->items[views->n] = *view;
	views->items[views->n].root = take_ptr(root);
	views->items[views->n].container = take_ptr(container);
	*ret = views->n++;
	return NULL;
}

/* --- which process had which view when --- */

static struct ebt_error *add_event(struct views *views, uint32_t pid, struct pid_event event)
{
	struct ebt_error *err;
	uint32_t i;

	err = ebt_array_reserve(&views->events, views->n_events, &views->events_capacity);
	if (err)
		return err;
	err = ebt_array_reserve(&views->newest, views->n_pids, &views->pids_capacity);
	if (err)
		return err;
	err = ebt_map_add(&views->by_pid, pid, views->n_pids, &i);
	if (err)
		return err;
	if (i == views->n_pids)
		views->newest[views->n_pids++] = VIEWS_NONE;
	event.before = views->newest[i];
	views->events[views->n_events] = event;
	views->newest[i] = views->n_events++;
	return NULL;
}

/* Up to two: the one that the process had, and the one that it was about to get. */
static size_t find_views(struct views *views, uint32_t pid, uint64_t time, uint32_t ret[2])
{
	size_t n = 0;

	for (int ancestors = 0; ancestors < MAX_ANCESTORS; ancestors++) {
		const struct pid_event *now = NULL, *next = NULL;
		uint32_t i = VIEWS_NONE;

		if (ebt_map_find(&views->by_pid, pid, &i))
			i = views->newest[i];
		for (int n_events = 0; i != VIEWS_NONE && n_events < MAX_EVENTS; n_events++) {
			const struct pid_event *event = &views->events[i];

			views->steps++;
			if (event->time <= time) {
				now = event;
				break;
			}
			if (event->view != VIEWS_NONE)
				next = event;
			i = event->before;
		}
		if (!ancestors && next && (!now || next->time - time < EXEC_NS))
			ret[n++] = next->view;
		if (!now || views->steps > MAX_STEPS)
			return n;
		if (now->view != VIEWS_NONE) {
			ret[n++] = now->view;
			return n;
		}
		pid = now->parent;
		time = now->time;
	}
	return n;
}

static struct ebt_error *copy_text(struct ebt_str s, char **ret)
{
	*ret = strndup(s.data, s.len);
	return *ret ? NULL : &ebt_enomem;
}

/* What a row lacks, where nobody looked at the process in time, is as it was before, or as its
 * parent has it. */
static void fill_gaps(struct views *views, const struct ebt_row *row, uint32_t pid,
		      struct view *view)
{
	const bool rootless = !ebt_process_root(row).len, groupless = !ebt_process_cgroup(row).len;
	const struct view *before;
	uint32_t found[2];
	size_t n = rootless || groupless ? find_views(views, pid, row->time, found) : 0;

	if (!n)
		return;
	before = &views->items[found[n - 1]];
	if (rootless && before->mnt_ns == view->mnt_ns)
		view->root = before->root;
	if (groupless && !*view->container)
		strcpy(view->container, before->container);
}

static struct ebt_error *add_process(struct views *views, const struct ebt_row *row, uint32_t pid)
{
	_cleanup_free_ char *root = NULL, *cgroup = NULL;
	char container[CONTAINER_ID_LEN + 1] = "";
	struct pid_event event = { .time = row->time };
	struct view view = {
		.mnt_ns = ebt_process_mnt_ns(row),
		.container = container,
	};
	struct ebt_error *err;
	const char *id;

	if (!view.mnt_ns)
		return NULL;
	err = copy_text(ebt_process_root(row), &root);
	if (err)
		return err;
	err = copy_text(ebt_process_cgroup(row), &cgroup);
	if (err)
		return err;
	id = container_id_in(cgroup);
	if (id)
		memcpy(container, id, CONTAINER_ID_LEN);
	else
		err = container_by_mounts(views, view.mnt_ns, container);
	if (err)
		return err;
	view.root = root[0] == '/' ? root : "/";
	fill_gaps(views, row, pid, &view);
	view.root_dir = root_dir(views, pid, container);
	err = intern_view(views, &view, &event.view);
	return err ? err : add_event(views, pid, event);
}

static struct ebt_error *add_fork(struct views *views, const struct ebt_row *row)
{
	const struct ebt_task *parent = ebt_task_fork_parent(row);
	uint32_t pid = ebt_task_fork_child_pid(row);

	if (ebt_task_fork_thread(row) || !parent || !pid)
		return NULL;
	return add_event(views, pid,
			 (struct pid_event){ .time = row->time,
					     .view = VIEWS_NONE,
					     .parent = parent->pid ? parent->pid : parent->tid });
}

static uint64_t hash_file(struct ebt_str path, struct ebt_str id)
{
	return ebt_hash_bytes(ebt_hash_bytes(0, path.data, path.len), id.data, id.len);
}

/* Two files whose hashes are the same share views: what is found goes by build-id anyway. */
static struct ebt_error *add_sighting(struct views *views, uint64_t hash, uint32_t view)
{
	size_t at = 0, n = 0;
	uint32_t i;

	while ((i = ebt_map_next(&views->by_file, hash, &at)) != EBT_MAP_NONE) {
		if (i == view || ++n == VIEWS_MAX)
			return NULL;
	}
	return ebt_map_insert(&views->by_file, hash, view);
}

static struct ebt_error *add_mapping(struct views *views, const struct ebt_row *row)
{
	const struct ebt_task *task = ebt_mmap_task(row);
	struct ebt_str path = ebt_mmap_path(row);
	struct ebt_error *err = NULL;
	uint32_t found[2];
	size_t n;

	if (!task || !path.len || path.data[0] != '/')
		return NULL;
	n = find_views(views, task->pid ? task->pid : task->tid, row->time, found);
	for (size_t i = 0; !err && i < n; i++)
		err = add_sighting(views, hash_file(path, ebt_mmap_build_id(row)), found[i]);
	return err;
}

static struct ebt_error *add_row(void *arg, const struct ebt_row *row)
{
	struct views *views = arg;
	const struct ebt_task *task;

	switch (row->batch->table->id) {
	case EBT_T_process:
		task = ebt_process_task(row);
		return task ? add_process(views, row, task->pid ? task->pid : task->tid) : NULL;
	case EBT_T_task_fork:
		return add_fork(views, row);
	case EBT_T_mmap:
		return add_mapping(views, row);
	}
	return NULL;
}

static struct ebt_error *read_rows(struct views *views, const struct ebt_want *wants, size_t n)
{
	return ebt_read_rows(views->reader, &(struct ebt_query){ wants, n }, add_row, views);
}

struct ebt_error *views_create(struct ebt_reader *reader, const char *const *roots,
			       struct views **ret)
{
	static const struct ebt_want processes[] = {
		EBT_WANT(process, task, mnt_ns, root, cgroup),
		EBT_WANT(task_fork, parent, child_pid, thread),
	};
	static const struct ebt_want mappings[] = {
		EBT_WANT(mmap, task, path, build_id),
	};
	_cleanup_(views_destroyp) struct views *views = calloc(1, sizeof(*views));
	struct ebt_error *err;

	if (!views)
		return &ebt_enomem;
	views->reader = reader;
	views->roots = roots;
	err = storages_create(reader, &views->storages);
	if (err)
		return err;
	err = views_read_files(views);
	if (err)
		return err;
	/* A mapping can come before the look at its process. */
	err = read_rows(views, processes, sizeof(processes) / sizeof(processes[0]));
	if (err)
		return err;
	err = read_rows(views, mappings, 1);
	if (err)
		return err;
	*ret = take_ptr(views);
	return NULL;
}

void views_destroy(struct views *views)
{
	if (!views)
		return;
	for (size_t i = 0; i < views->n; i++) {
		free((char *)views->items[i].root);
		free(views->items[i].container);
	}
	views_free_files(views);
	storages_destroy(views->storages);
	ebt_map_deinit(&views->by_view);
	ebt_map_deinit(&views->by_pid);
	ebt_map_deinit(&views->by_file);
	free(views->events);
	free(views->newest);
	free(views->items);
	free(views);
}

size_t views_of(const struct views *views, const char *path, const struct sym_build_id *id,
		const struct view **ret)
{
	uint64_t hash =
		hash_file(ebt_str_of(path), (struct ebt_str){ (const char *)id->bytes, id->len });
	size_t at = 0, n = 0;
	uint32_t i;

	while (n < VIEWS_MAX && (i = ebt_map_next(&views->by_file, hash, &at)) != EBT_MAP_NONE)
		ret[n++] = &views->items[i];
	return n;
}

const struct storages *views_storages(const struct views *views)
{
	return views->storages;
}

uint64_t views_host_ns(const struct views *views)
{
	return views->host_ns;
}
