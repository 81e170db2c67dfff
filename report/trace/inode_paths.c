/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of inodes; see inode_paths.h. */
#include "report/trace/inode_paths.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "format/read/damage.h"
#include "symbolize/spaces/mountinfo.h"

/* Mount tables that are looked at: a trace is a stranger's. */
#define MAX_TABLES 256u

struct named {
	struct inode_key key;
	uint32_t links, rdev_major, rdev_minor;
	char *path; /* "": not known */
};

struct inode_paths {
	struct named *items;
	size_t n, capacity;
	struct ebt_map by_key;
	struct mount_table *tables[MAX_TABLES]; /* the machine's own first, newest first */
	size_t n_tables;
};

uint64_t inode_key_hash(uint64_t hash, const struct inode_key *key)
{
	hash = ebt_hash_u64(hash, key->inode);
	hash = ebt_hash_u64(hash, (uint64_t)key->dev_major << 32 | key->dev_minor);
	return ebt_hash_u64(hash, (uint64_t)key->name_hash << 32 | key->generation);
}

bool inode_key_equal(const struct inode_key *a, const struct inode_key *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && a->generation == b->generation &&
	       a->name_hash == b->name_hash;
}

static struct named *find(const struct inode_paths *paths, const struct inode_key *key)
{
	uint64_t hash = inode_key_hash(0, key);
	size_t at = 0;
	uint32_t i;

	while ((i = ebt_map_next(&paths->by_key, hash, &at)) != EBT_MAP_NONE) {
		if (inode_key_equal(&paths->items[i].key, key))
			return &paths->items[i];
	}
	return NULL;
}

/* The file's entry, made if there is none. */
static struct ebt_error *intern(struct inode_paths *paths, const struct inode_key *key,
				struct named **ret)
{
	struct ebt_error *err;

	*ret = find(paths, key);
	if (*ret)
		return NULL;
	err = ebt_array_reserve(&paths->items, paths->n, &paths->capacity);
	if (err)
		return err;
	err = ebt_map_insert(&paths->by_key, inode_key_hash(0, key), (uint32_t)paths->n);
	if (err)
		return err;
	*ret = &paths->items[paths->n++];
	**ret = (struct named){ .key = *key };
	return NULL;
}

static struct ebt_error *name(struct inode_paths *paths, const struct inode_key *key,
			      const struct ebt_row *row)
{
	const struct ebt_str path = ebt_inode_path_path(row);
	struct named *named;
	struct ebt_error *err;

	err = intern(paths, key, &named);
	if (err)
		return err;
	named->links = (uint32_t)ebt_inode_path_links(row);
	named->rdev_major = (uint32_t)ebt_inode_path_rdev_major(row);
	named->rdev_minor = (uint32_t)ebt_inode_path_rdev_minor(row);
	/* A name that was known once is better than none. */
	if (named->path && (*named->path && !path.len))
		return NULL;
	free(named->path);
	named->path = strndup(path.data, path.len);
	return named->path ? NULL : &ebt_enomem;
}

/* It is a name for who asks for any, too, if there is no other. */
static struct ebt_error *add_row(void *arg, const struct ebt_row *row)
{
	struct inode_paths *paths = arg;
	const struct inode_key exact = INODE_NAME_KEY(inode_path, row);
	struct inode_key any = exact;
	struct ebt_error *err = name(paths, &exact, row);

	any.name_hash = 0;
	return err || !exact.name_hash || find(paths, &any) ? err : name(paths, &any, row);
}

static struct ebt_error *add_table(struct inode_paths *paths, struct ebt_reader *reader,
				   const struct ebt_file *file)
{
	_cleanup_free_ char *text = NULL;
	struct ebt_error *err;
	size_t len;

	if (paths->n_tables == MAX_TABLES)
		return NULL;
	err = ebt_reader_file_content(reader, file->id, &text, &len);
	if (err)
		return ebt_damage_forgive(err);
	err = mount_table_create(text, len, &paths->tables[paths->n_tables]);
	if (!err)
		paths->n_tables++;
	return err;
}

static struct ebt_error *read_mounts(struct inode_paths *paths, struct ebt_reader *reader)
{
	const struct ebt_file *files;
	uint64_t host;
	size_t n;
	struct ebt_error *err = ebt_reader_files(reader, &files, &n);

	if (err)
		return err;
	err = ebt_reader_meta_number(reader, "host.mnt_ns", &host);
	if (err)
		return err;
	for (int others = 0; others < 2; others++) {
		for (size_t i = n; !err && i-- > 0;) {
			if (!strcmp(files[i].role, "mountinfo") && (files[i].ns != host) == others)
				err = add_table(paths, reader, &files[i]);
		}
	}
	return err;
}

struct ebt_error *inode_paths_create(struct trace *trace, struct inode_paths **ret)
{
	_cleanup_(inode_paths_destroyp) struct inode_paths *paths = calloc(1, sizeof(*paths));
	struct ebt_error *err;

	if (!paths)
		return &ebt_enomem;
	err = trace_read_table(trace, EBT_T_inode_path, TRACE_UNFILTERED | TRACE_QUIET, add_row,
			       paths);
	if (err)
		return err;
	err = read_mounts(paths, trace_reader(trace));
	if (err)
		return err;
	*ret = take_ptr(paths);
	return NULL;
}

void inode_paths_destroy(struct inode_paths *paths)
{
	if (!paths)
		return;
	for (size_t i = 0; i < paths->n; i++)
		free(paths->items[i].path);
	for (size_t i = 0; i < paths->n_tables; i++)
		mount_table_destroy(paths->tables[i]);
	free(paths->items);
	ebt_map_deinit(&paths->by_key);
	free(paths);
}

bool inode_paths_is_named(const struct inode_paths *paths, const struct inode_key *key)
{
	const struct named *named = find(paths, key);

	return named && *named->path;
}

bool inode_paths_is_absolute(const struct inode_paths *paths, const struct inode_key *key)
{
	const struct named *named = find(paths, key);

	return named && *named->path == '/';
}

/* Where a table has the file system mounted so that the path is in it: most of it, if possible. */
static const struct mount *find_mount(const struct mount_table *table, const struct named *named,
				      const char **ret_tail)
{
	const struct mount *best = NULL, *mount;
	size_t at = 0;

	while ((mount = mount_table_device(table, named->key.dev_major, named->key.dev_minor,
					   &at))) {
		const char *tail = path_below(named->path, mount->root);

		if (!tail || (best && strlen(mount->root) >= strlen(best->root)))
			continue;
		best = mount;
		*ret_tail = tail;
	}
	return best;
}

static void add_mounted(const struct inode_paths *paths, const struct named *named,
			struct text *text)
{
	const char *tail = "";

	for (size_t i = 0; i < paths->n_tables; i++) {
		const struct mount *mount = find_mount(paths->tables[i], named, &tail);
		bool at_root = mount && !strcmp(mount->point, "/");

		if (!mount)
			continue;
		if (!at_root || !*tail)
			text_cstr(text, mount->point);
		text_cstr(text, tail);
		return;
	}
	text_printf(text, "[%" PRIu32 ":%" PRIu32 "]%s", named->key.dev_major, named->key.dev_minor,
		    named->path);
}

static void add_name(const struct inode_paths *paths, const struct named *named,
		     const struct inode_key *key, struct text *text)
{
	if (named && *named->path == '/')
		add_mounted(paths, named, text);
	else if (named && *named->path)
		text_cstr(text, named->path);
	else if (named && (named->rdev_major || named->rdev_minor))
		text_printf(text, "[device %" PRIu32 ":%" PRIu32 "]", named->rdev_major,
			    named->rdev_minor);
	else
		text_printf(text, "[inode %" PRIu64 " of %" PRIu32 ":%" PRIu32 "]", key->inode,
			    key->dev_major, key->dev_minor);
}

bool inode_paths_add_device(const struct inode_paths *paths, const struct inode_key *key,
			    struct text *text)
{
	const struct named *named = find(paths, key);

	if (!named || !(named->rdev_major || named->rdev_minor))
		return false;
	text_printf(text, "%" PRIu32 ":%" PRIu32, named->rdev_major, named->rdev_minor);
	return true;
}

/* Ids of mounts are the machine's, whichever table has them. */
static const struct mount *mount_of_id(const struct inode_paths *paths, const struct inode_key *key,
				       uint32_t id)
{
	for (size_t i = 0; i < paths->n_tables; i++) {
		const struct mount *mount;
		size_t at = 0;

		while ((mount = mount_table_device(paths->tables[i], key->dev_major, key->dev_minor,
						   &at))) {
			if (mount->id == id)
				return mount;
		}
	}
	return NULL;
}

void inode_paths_add_of_mount(const struct inode_paths *paths, const struct inode_key *key,
			      uint32_t mount_id, struct text *text)
{
	const struct named *named = find(paths, key);
	const struct mount *mount =
		named && *named->path == '/' ? mount_of_id(paths, key, mount_id) : NULL;
	const char *tail = mount ? path_below(named->path, mount->root) : NULL;

	if (!tail) {
		add_name(paths, named, key, text);
		return;
	}
	if (!strcmp(tail, "/"))
		tail = "";
	if (strcmp(mount->point, "/") != 0 || !*tail)
		text_cstr(text, mount->point);
	text_cstr(text, tail);
}

bool inode_paths_add_filesystem(const struct inode_paths *paths, const struct inode_key *key,
				uint32_t mount_id, struct text *text)
{
	const struct mount *mount = mount_of_id(paths, key, mount_id);

	for (size_t i = 0; !mount && i < paths->n_tables; i++) {
		size_t at = 0;

		mount = mount_table_device(paths->tables[i], key->dev_major, key->dev_minor, &at);
	}
	if (mount)
		text_printf(text, "%s on %s", mount->type, mount->point);
	return mount;
}

void inode_paths_add(const struct inode_paths *paths, const struct inode_key *key,
		     struct text *text)
{
	const struct named *named = find(paths, key);

	add_name(paths, named, key, text);
	if (named && *named->path && !named->links)
		text_cstr(text, " (deleted)");
}
