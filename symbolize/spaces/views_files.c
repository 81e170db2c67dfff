/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Embedded files that explain views: mount tables, fuse-overlayfs; see views.h. */
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/search.h"
#include "format/base/cleanup.h"
#include "format/read/damage.h"
#include "symbolize/spaces/views_private.h"

#define MAX_FUSE 4096

/* Mount tables that one process stands for. */
#define MAX_OF_PID 64

/* Of all files that are kept; a table of 100 mounts has 20 kB. */
#define MAX_BYTES ((size_t)512 << 20)

/* A file that is damaged, or too much, is as good as none. */
static struct ebt_error *content(struct views *views, uint64_t file_id, char **ret, size_t *ret_len)
{
	struct ebt_error *err = ebt_reader_file_content(views->reader, file_id, ret, ret_len);

	if (err)
		return ebt_damage_forgive(err);
	if (*ret_len > MAX_BYTES - views->n_bytes) {
		free(*ret);
		*ret = NULL;
	} else {
		views->n_bytes += *ret_len;
	}
	return NULL;
}

static struct ebt_error *add_table(struct views *views, const struct ebt_file *file)
{
	struct ebt_error *err =
		ebt_array_reserve(&views->tables, views->n_tables, &views->tables_capacity);

	if (err)
		return err;
	views->tables[views->n_tables++] = (struct table_file){
		.ns = file->ns,
		.file_id = file->id,
		.pid = file->pid,
		.whole = true,
	};
	return NULL;
}

/* --- fuse-overlayfs --- */

/* The arguments, NUL after each; cwd: what relative directories are below. */
static struct ebt_error *parse_arguments(struct view_fuse *fuse, const char *text, size_t len,
					 const char *cwd)
{
	const char *end = text + len, *last = "", *arg, *next;
	struct ebt_error *err = NULL;

	for (arg = text; !err && arg < end; arg = next) {
		next = arg + strlen(arg) + 1; /* a NUL is behind the content */
		if (arg[0] != '-')
			last = arg;
		else if (!strncmp(arg, "-o", 2) && arg[2])
			err = mount_layers(arg + 2, cwd, &fuse->layers);
		else if (!strcmp(arg, "-o") && next < end) {
			err = mount_layers(next, cwd, &fuse->layers);
			next += strlen(next) + 1;
		}
	}
	if (err)
		return err;
	fuse->point = strdup(last);
	return fuse->point ? NULL : &ebt_enomem;
}

static struct ebt_error *add_fuse(struct views *views, const struct ebt_file *file)
{
	_cleanup_free_ char *text = NULL;
	struct ebt_error *err;
	size_t len;

	if (views->n_fuse == MAX_FUSE)
		return NULL;
	err = ebt_array_reserve(&views->fuse, views->n_fuse, &views->fuse_capacity);
	if (err)
		return err;
	err = content(views, file->id, &text, &len);
	if (err || !text)
		return err;
	views->fuse[views->n_fuse] = (struct view_fuse){ .ns = file->ns };
	return parse_arguments(&views->fuse[views->n_fuse++], text, len,
			       file->path[0] == '/' ? file->path : NULL);
}

const struct view_fuse *views_fuse(const struct views *views, size_t *ret_n)
{
	*ret_n = views->n_fuse;
	return views->fuse;
}

/* --- mount tables --- */

static int compare_tables(const void *a, const void *b)
{
	const struct table_file *x = a, *y = b;

	return ebt_compare(x->ns, y->ns) ?: ebt_compare(y->file_id, x->file_id);
}

struct note_roots {
	struct views *views;
	struct ebt_map by_pid; /* tables */
};

static struct ebt_error *note_root(void *arg, const struct ebt_row *row)
{
	const struct note_roots *roots = arg;
	struct table_file *tables = roots->views->tables;
	const struct ebt_task *task = ebt_process_task(row);
	struct ebt_str root = ebt_process_root(row);
	size_t at = 0, n = 0;
	uint32_t i;

	if (!task || !root.len || (root.len == 1 && root.data[0] == '/'))
		return NULL;
	while (n++ < MAX_OF_PID &&
	       (i = ebt_map_next(&roots->by_pid, task->tid, &at)) != EBT_MAP_NONE) {
		if (tables[i].ns == ebt_process_mnt_ns(row))
			tables[i].whole = false;
	}
	return NULL;
}

/* Says which tables begin at another root than that of their namespace. */
static struct ebt_error *note_roots(struct views *views)
{
	static const struct ebt_want want = EBT_WANT(process, task, mnt_ns, root);
	struct note_roots roots = { .views = views };
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < views->n_tables; i++) {
		if (!ebt_map_has(&roots.by_pid, views->tables[i].pid, MAX_OF_PID))
			err = ebt_map_insert(&roots.by_pid, views->tables[i].pid, i);
	}
	if (!err)
		err = ebt_read_rows(views->reader, &(struct ebt_query){ &want, 1 }, note_root,
				    &roots);
	ebt_map_deinit(&roots.by_pid);
	return err;
}

struct ebt_error *views_read_files(struct views *views)
{
	const struct ebt_file *files;
	struct ebt_error *err;
	size_t n;

	err = ebt_reader_meta_number(views->reader, "host.mnt_ns", &views->host_ns);
	if (err)
		return err;
	err = ebt_reader_files(views->reader, &files, &n);
	for (size_t i = 0; !err && i < n; i++) {
		if (!strcmp(files[i].role, "mountinfo"))
			err = add_table(views, &files[i]);
		else if (!strcmp(files[i].role, "fuse_overlayfs"))
			err = add_fuse(views, &files[i]);
	}
	if (views->n_tables)
		qsort(views->tables, views->n_tables, sizeof(*views->tables), compare_tables);
	return err ? err : note_roots(views);
}

void views_free_files(struct views *views)
{
	for (size_t i = 0; i < views->n_tables; i++)
		mount_table_destroy(views->tables[i].mounts);
	for (size_t i = 0; i < views->n_fuse; i++) {
		free((char *)views->fuse[i].point);
		layers_deinit(&views->fuse[i].layers);
	}
	free(views->tables);
	free(views->fuse);
}

/* Engines bind files of a container over some of its own. */
static void note_container(struct table_file *file)
{
	static const char *const places[] = { "/overlay-containers/", "/docker/containers/" };

	for (size_t i = 0; i < file->mounts->n; i++) {
		for (size_t j = 0; j < sizeof(places) / sizeof(places[0]); j++) {
			const char *found = strstr(file->mounts->mounts[i].root, places[j]);
			const char *id = found ? container_id_in(found) : NULL;

			if (!id)
				continue;
			memcpy(file->container, id, CONTAINER_ID_LEN);
			return;
		}
	}
}

struct ebt_error *views_table(struct views *views, uint64_t ns, size_t *at, struct view_table *ret)
{
	size_t i = *at + ebt_count_first(views->n_tables, k, views->tables[k].ns < ns);

	*ret = (struct view_table){ .ns = ns };
	for (; ns && i < views->n_tables && views->tables[i].ns == ns; i++) {
		struct table_file *file = &views->tables[i];
		_cleanup_free_ char *text = NULL;
		struct ebt_error *err = NULL;
		size_t len;

		++*at;
		if (!file->tried) {
			file->tried = true;
			err = content(views, file->file_id, &text, &len);
			if (!err && text)
				err = mount_table_create(text, len, &file->mounts);
			if (!err && file->mounts)
				note_container(file);
		}
		if (err)
			return err;
		if (!file->mounts)
			continue;
		ret->whole = file->whole;
		ret->mounts = file->mounts;
		ret->container = file->container;
		return NULL;
	}
	return NULL;
}
