/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process is in the container whose id its cgroup has. Where rootless engines may not make
 * cgroups, it is in that whose files (hosts, resolv.conf) are mounted in its mount namespace. What
 * it is called, lists of container engines say that travel in the trace.
 */
#include "report/procs/containers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/read/damage.h"
#include "report/base/text.h"
#include "report/out/out.h"

/* Of each kind: a trace is a stranger's. */
#define MAX_CONTAINERS 4096u
#define MAX_PIDS       1024u

DEFINE_CLEANUP(struct storages *, storages_destroy);

/* Which container a mount namespace was made for. */
struct space {
	uint64_t ns;
	char id[CONTAINER_ID_LEN];
};

struct collection {
	struct proc_containers found;
	struct space *spaces;
	size_t n_spaces;
};

void proc_containers_deinit(struct proc_containers *containers)
{
	for (size_t i = 0; i < containers->n; i++) {
		free(containers->items[i].name);
		free(containers->items[i].image);
		free(containers->items[i].pids);
	}
	free(containers->items);
	ebt_map_deinit(&containers->by_task);
	*containers = (struct proc_containers){ 0 };
}

/* The id in the text; NULL: none, or it is of the process that watches over a container. */
static const char *find_id(const char *cgroup)
{
	static const char watcher[] = "conmon-";
	const size_t len = strlen(watcher);
	const char *id = container_id_in(cgroup);

	return id && (id < cgroup + len || memcmp(id - len, watcher, len)) ? id : NULL;
}

static struct ebt_error *get_container(struct proc_containers *containers, const char *id,
				       struct proc_container **ret)
{
	struct ebt_error *err;

	*ret = NULL;
	for (size_t i = 0; i < containers->n; i++) {
		if (!memcmp(containers->items[i].id, id, CONTAINER_ID_LEN))
			*ret = &containers->items[i];
	}
	if (*ret || containers->n == MAX_CONTAINERS)
		return NULL;
	err = ebt_array_reserve(&containers->items, containers->n, &containers->capacity);
	if (err)
		return err;
	*ret = &containers->items[containers->n++];
	**ret = (struct proc_container){ 0 };
	memcpy((*ret)->id, id, CONTAINER_ID_LEN);
	return NULL;
}

static struct ebt_error *add_pid(struct proc_container *container, uint32_t pid)
{
	struct ebt_error *err;

	for (size_t i = 0; i < container->n_pids; i++) {
		if (container->pids[i] == pid)
			return NULL;
	}
	container->more = container->n_pids == MAX_PIDS;
	if (container->more)
		return NULL;
	err = ebt_array_reserve(&container->pids, container->n_pids, &container->capacity);
	if (!err)
		container->pids[container->n_pids++] = pid;
	return err;
}

/* The fourth word of each line is what is mounted of a file system. NULL: no container's. */
static const char *find_in_mounts(const char *text)
{
	static const char *const places[] = { "/overlay-containers/", "/docker/containers/" };

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *word = line;

		for (int i = 0; i < 3; i++) {
			word += strcspn(word, " \n");
			word += *word == ' ';
		}
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			const char *place =
				memmem(word, strcspn(word, " \n"), places[i], strlen(places[i]));

			if (place && container_id_in(place) == place + strlen(places[i]))
				return place + strlen(places[i]);
		}
	}
	return NULL;
}

static struct ebt_error *read_mounts(struct collection *collection, struct ebt_reader *reader,
				     const struct ebt_file *file)
{
	_cleanup_free_ char *text = NULL;
	struct ebt_error *err;
	const char *id;
	size_t len;

	err = ebt_reader_file_content(reader, file->id, &text, &len);
	if (err)
		return ebt_damage_forgive(err);
	id = find_in_mounts(text);
	if (id) {
		struct space *space = &collection->spaces[collection->n_spaces++];

		space->ns = file->ns;
		memcpy(space->id, id, CONTAINER_ID_LEN);
	}
	return NULL;
}

static struct ebt_error *read_all_mounts(struct collection *collection, struct ebt_reader *reader)
{
	const struct ebt_file *files;
	uint64_t host;
	size_t n;
	struct ebt_error *err = ebt_reader_meta_number(reader, "host.mnt_ns", &host)
					?: ebt_reader_files(reader, &files, &n);

	if (err)
		return err;
	collection->spaces = calloc(MAX_CONTAINERS, sizeof(*collection->spaces));
	if (!collection->spaces)
		return &ebt_enomem;
	for (size_t i = 0; !err && i < n && collection->n_spaces < MAX_CONTAINERS; i++) {
		if (!strcmp(files[i].role, "mountinfo") && files[i].ns && files[i].ns != host)
			err = read_mounts(collection, reader, &files[i]);
	}
	return err;
}

static struct ebt_error *add_row(void *arg, const struct ebt_row *row)
{
	struct collection *collection = arg;
	const struct ebt_str text = ebt_process_cgroup(row);
	const struct ebt_task *task = ebt_process_task(row);
	const uint64_t ns = ebt_process_mnt_ns(row);
	_cleanup_free_ char *cgroup = strndup(text.data, text.len);
	struct proc_container *container = NULL;
	struct ebt_error *err = NULL;
	const char *id;
	uint32_t at;

	if (!cgroup)
		return &ebt_enomem;
	id = find_id(cgroup);
	for (size_t i = 0; i < collection->n_spaces && !id; i++) {
		if (collection->spaces[i].ns == ns)
			id = collection->spaces[i].id;
	}
	if (id && task)
		err = get_container(&collection->found, id, &container);
	if (err || !container)
		return err;
	return ebt_map_add(&collection->found.by_task, task->id,
			   (uint32_t)(container - collection->found.items), &at)
		       ?: add_pid(container, task->pid);
}

static struct ebt_error *name_all(struct proc_containers *containers, struct ebt_reader *reader)
{
	_cleanup_(storages_destroyp) struct storages *storages = NULL;
	struct ebt_error *err;

	if (!containers->n)
		return NULL;
	err = storages_create(reader, &storages);
	for (size_t i = 0; !err && i < containers->n; i++) {
		struct proc_container *container = &containers->items[i];
		struct storage_names names;

		storages_describe(storages, container->id, &names);
		container->name = strdup(names.name);
		container->image = strdup(names.image);
		if (!container->name || !container->image)
			err = &ebt_enomem;
	}
	return err;
}

struct ebt_error *proc_containers_collect(struct ebt_reader *reader, struct proc_containers *ret)
{
	static const struct ebt_want want = EBT_WANT(process, task, cgroup, mnt_ns);
	static const struct ebt_query query = { &want, 1, 0, 0, 0 };
	struct collection collection = { 0 };
	struct ebt_error *err = read_all_mounts(&collection, reader);

	if (!err)
		err = ebt_read_rows(reader, &query, add_row, &collection);
	free(collection.spaces);
	if (!err)
		err = name_all(&collection.found, reader);
	if (err)
		proc_containers_deinit(&collection.found);
	else
		*ret = collection.found;
	return err;
}

const struct proc_container *proc_containers_of(const struct proc_containers *containers,
						const struct ebt_task *task)
{
	uint32_t i;

	return ebt_map_find(&containers->by_task, task->id, &i) ? &containers->items[i] : NULL;
}

#define CONTAINERS(X)                                                       \
	X("container_id", "CONTAINER", OUT_STRING, out_cstr(container->id)) \
	X("name", "NAME", OUT_STRING, out_cstr(container->name))            \
	X("image", "IMAGE", OUT_STRING, out_cstr(container->image))         \
	X("pids", "PROCESSES", OUT_STRING, out_cstr(text_get(&pids)), OUT_FLEX)

static struct ebt_error *put_row(const struct proc_container *container, struct out *out)
{
	_cleanup_text_ struct text pids = TEXT_INIT;

	for (size_t i = 0; i < container->n_pids; i++)
		text_printf(&pids, "%s%" PRIu32, i ? " " : "", container->pids[i]);
	if (container->more)
		text_cstr(&pids, " and more");
	return text_error(&pids) ?: out_row(out, 0, OUT_VALUES(CONTAINERS));
}

struct ebt_error *proc_containers_put(const struct proc_containers *containers, struct out *out)
{
	const struct out_table table = OUT_TABLE_OF("containers", CONTAINERS, .flags = OUT_FIXED);

	if (!containers->n && out_format(out) == FORMAT_TABLE)
		return NULL;
	out_printf(out, "\n");
	return out_rows(out, &table, containers->n, i, put_row(&containers->items[i], out));
}
