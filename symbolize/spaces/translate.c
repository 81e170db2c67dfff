/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths of namespaces to places; see translate.h. */
#include "symbolize/spaces/translate.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"

/* Mount tables of one namespace that are tried, newest first; mounts of one device. */
#define MAX_TABLES 4
#define MAX_MOUNTS 16

/* Mounts of the host that are looked through for the same btrfs. */
#define MAX_BTRFS 1000

/* A machine with many rootless containers has that many fuse-overlayfs. */
#define MAX_FUSE       64

#define MAX_CANDIDATES 256

void candidates_deinit(struct candidates *candidates)
{
	for (size_t i = 0; i < candidates->n; i++) {
		free(candidates->items[i].dir);
		free(candidates->items[i].path);
		layers_deinit(&candidates->items[i].layers);
	}
	free(candidates->items);
	*candidates = (struct candidates){ 0 };
}

/* A candidate for `head` and `tail` put together; NULL with *err NULL: enough is enough. */
static struct candidate *add(struct candidates *list, const char *head, const char *tail,
			     struct ebt_error **err)
{
	struct candidate *candidate;

	*err = NULL;
	if (list->n == MAX_CANDIDATES)
		return NULL;
	*err = ebt_array_reserve(&list->items, list->n, &list->capacity);
	if (*err)
		return NULL;
	candidate = &list->items[list->n];
	*candidate = (struct candidate){ 0 };
	*err = ebt_format(&candidate->path, "%s%s", strcmp(head, "/") ? head : "", tail);
	if (*err)
		return NULL;
	list->n++;
	return candidate;
}

static struct ebt_error *add_file(struct candidates *list, const char *dir, const char *path)
{
	struct ebt_error *err;
	struct candidate *candidate = add(list, "", path, &err);

	if (!candidate)
		return err;
	candidate->dir = strdup(dir);
	return candidate->dir ? NULL : &ebt_enomem;
}

/* Adds a candidate in layers, if there are any; they are taken over. */
static struct ebt_error *add_layered(struct candidates *list, struct layers *layers,
				     const char *head, const char *tail)
{
	struct ebt_error *err = NULL;
	struct candidate *candidate = layers->n ? add(list, head, tail, &err) : NULL;

	if (candidate) {
		candidate->layers = *layers;
		*layers = (struct layers){ 0 };
	}
	layers_deinit(layers);
	return err;
}

struct translate_context {
	struct views *views;
	const struct view *view;
	const struct mount_table *host; /* newest of the recorder's namespace, or NULL */
	struct candidates *list;
};

/* btrfs gives each subvolume a device of its own, which tables show in different ways. */
static bool same_source(const struct mount *a, const struct mount *b)
{
	return !strcmp(a->type, "btrfs") && !strcmp(b->type, "btrfs") && a->source[0] == '/' &&
	       !strcmp(a->source, b->source);
}

/* The mount's file system as the host has it mounted. */
static struct ebt_error *on_mount(struct translate_context *c, const struct mount *mount,
				  const struct mount *host, const char *tail)
{
	_cleanup_free_ char *in_fs = NULL;
	struct ebt_error *err;
	const char *below;

	err = ebt_format(&in_fs, "%s%s", strcmp(mount->root, "/") ? mount->root : "", tail);
	if (err)
		return err;
	below = path_below(in_fs, host->root);
	return below && *below ? add_file(c->list, host->point, below) : NULL;
}

static struct ebt_error *by_device(struct translate_context *c, const struct mount *mount,
				   const char *tail)
{
	struct ebt_error *err = NULL;
	const struct mount *host;
	size_t at = 0;

	if (!c->host)
		return NULL;
	for (int n = 0; !err && n < MAX_MOUNTS; n++) {
		host = mount_table_device(c->host, mount->major, mount->minor, &at);
		if (!host)
			break;
		err = on_mount(c, mount, host, tail);
	}
	for (size_t i = 0; !err && !strcmp(mount->type, "btrfs") && i < c->host->n && i < MAX_BTRFS;
	     i++) {
		host = &c->host->mounts[i];
		if (same_source(mount, host) &&
		    (host->major != mount->major || host->minor != mount->minor))
			err = on_mount(c, mount, host, tail);
	}
	return err;
}

/*
 * What relative layers are relative to: the directory that the engine was in when it mounted them,
 * which has the mount point in it (…/overlay/ID/merged). NULL: not known, or no memory.
 */
static char *layers_base(const struct translate_context *c, const struct mount *mount)
{
	const struct mount *host;
	size_t at = 0;

	for (int n = 0; c->host && n < MAX_MOUNTS; n++) {
		size_t len;

		host = mount_table_device(c->host, mount->major, mount->minor, &at);
		if (!host)
			break;
		len = strlen(host->point);
		if (len < strlen("/merged") || strcmp(host->point + len - 7, "/merged"))
			continue;
		for (len -= 7; len && host->point[len - 1] != '/';)
			len--;
		if (len > 1)
			return strndup(host->point, len - 1);
	}
	return NULL;
}

static struct ebt_error *by_overlay(struct translate_context *c, const struct mount *mount,
				    const char *tail)
{
	_cleanup_free_ char *base = layers_base(c, mount);
	struct layers layers = { 0 };
	struct ebt_error *err = mount_layers(mount->options, base, &layers);

	if (err) {
		layers_deinit(&layers);
		return err;
	}
	return add_layered(c->list, &layers, mount->root, tail);
}

static struct ebt_error *copy_layers(const struct layers *from, struct layers *ret)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < from->n; i++)
		err = layers_add(ret, NULL, from->dirs[i], strlen(from->dirs[i]));
	return err;
}

/* Whether this fuse-overlayfs made the mount: in its own namespace the device is at its point. */
static struct ebt_error *made_by(struct translate_context *c, const struct mount *mount,
				 const struct view_fuse *fuse, bool *ret)
{
	struct view_table table;
	struct ebt_error *err;
	size_t at = 0;

	*ret = false;
	for (int n = 0; n < MAX_TABLES; n++) {
		const struct mount *m;
		const char *tail;

		err = views_table(c->views, fuse->ns, &at, &table);
		if (err || !table.mounts)
			return err;
		m = fuse->point[0] == '/' ? mount_table_find(table.mounts, fuse->point, &tail)
					  : NULL;
		if (!m || *tail || m->major != mount->major || m->minor != mount->minor)
			continue;
		*ret = true;
		return NULL;
	}
	return NULL;
}

/* sure: those that made the mount; else the others, since a build-id will tell. */
static struct ebt_error *by_fuse(struct translate_context *c, const struct mount *mount,
				 const char *tail, bool sure)
{
	struct ebt_error *err = NULL;
	size_t n;
	const struct view_fuse *fuse = views_fuse(c->views, &n);

	for (size_t i = 0; !err && i < n && i < MAX_FUSE; i++) {
		struct layers layers = { 0 };
		bool made;

		err = made_by(c, mount, &fuse[i], &made);
		if (err || made != sure)
			continue;
		err = copy_layers(&fuse[i].layers, &layers);
		if (err)
			layers_deinit(&layers);
		else
			err = add_layered(c->list, &layers, mount->root, tail);
	}
	return err;
}

static struct ebt_error *by_storage(struct translate_context *c, const char *path)
{
	struct layers layers = { 0 };
	struct ebt_error *err;

	if (!*c->view->container)
		return NULL;
	err = storages_layers(views_storages(c->views), c->view->container, &layers);
	if (err) {
		layers_deinit(&layers);
		return err;
	}
	return add_layered(c->list, &layers, "/", path);
}

/* The path by one mount table that has it. */
static struct ebt_error *by_table(struct translate_context *c, const struct mount_table *mounts,
				  const char *path)
{
	const struct mount *mount;
	struct ebt_error *err;
	const char *tail;

	mount = mount_table_find(mounts, path, &tail);
	if (!mount)
		return NULL;
	err = by_device(c, mount, tail);
	if (!err && !strcmp(mount->type, "overlay"))
		err = by_overlay(c, mount, tail);
	if (err || strcmp(mount->type, "fuse.fuse-overlayfs"))
		return err;
	err = by_fuse(c, mount, tail, true);
	if (err)
		return err;
	err = by_storage(c, path);
	return err ? err : by_fuse(c, mount, tail, false);
}

/* A path of a process that did chroot() may begin there (the kernel names what a process maps as
 * it sees it) or at the namespace's root (as /proc shows it to the recorder). */
static struct ebt_error *by_tables(struct translate_context *c, const char *path)
{
	const char *root = strcmp(c->view->root, "/") ? c->view->root : NULL;
	_cleanup_free_ char *prefixed = NULL;
	struct view_table table;
	struct ebt_error *err = NULL;
	size_t at = 0;

	if (root)
		err = ebt_format(&prefixed, "%s%s", root, path);
	for (int n = 0; !err && n < MAX_TABLES; n++) {
		err = views_table(c->views, c->view->mnt_ns, &at, &table);
		if (err || !table.mounts)
			break;
		if (prefixed && table.whole)
			err = by_table(c, table.mounts, prefixed);
		if (!err)
			err = by_table(c, table.mounts, path);
	}
	/* The namespace's own table is not there: the host's may be as good. */
	return err || !prefixed ? err : add_file(c->list, root, path);
}

struct ebt_error *translate(struct views *views, const struct view *view, const char *path,
			    struct candidates *ret)
{
	struct translate_context c = { .views = views, .view = view, .list = ret };
	struct view_table host;
	struct ebt_error *err;
	size_t at = 0;

	err = views_table(views, views_host_ns(views), &at, &host);
	if (err)
		return err;
	c.host = host.mounts;
	err = by_tables(&c, path);
	return err ? err : by_storage(&c, path);
}
