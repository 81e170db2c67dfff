/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A storage (containers/storage: podman, buildah, CRI-O) is a directory with overlay/ID/diff, which
 * are layers, and lists of them in JSON. There is one of the machine, one of each user, those that
 * a storage.conf names, and those that `--root` of podman named, which only mounts tell.
 */
#include "record/sideband/containers.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"
#include "record/base/keymap.h"
#include "record/base/procfs.h"
#include "record/sideband/storage_conf.h"

/* Thousands of containers of a kilobyte each. */
#define MAX_LIST (8u << 20)
#define MAX_CONF (64u << 10)
/* Five hundred layers of 120 bytes. */
#define MAX_FUSE_ARGS (64u << 10)
/* All together, however often they change. */
#define MAX_ALL	     (64u << 20)

#define MAX_USERS    1024u
#define MAX_STORAGES 4096u
/* Processes of fuse-overlayfs, containers of docker. */
#define MAX_KNOWN 4096u

#define ID_LEN	  64u

struct containers {
	struct sideband_context *context;
	struct keymap stored;	/* path to hash of the content */
	struct keymap storages; /* paths, to the order that they were found in */
	char **paths;
	size_t n_paths, capacity;
	struct keymap known; /* of docker by id, of fuse-overlayfs by pid and start */
	uint64_t bytes;
	char *fuse_args;
};

/* One search for storages under way. */
struct container_search {
	struct containers *containers;
	struct storage_conf_user user;
	bool own;	/* the configuration is the user's own, not the machine's */
	bool failed;	/* no memory */
	char *rootless; /* rootless_storage_path of the machine, or NULL */
};

struct ebt_error *containers_create(struct sideband_context *context, struct containers **ret)
{
	struct containers *containers = calloc(1, sizeof(*containers));

	if (!containers)
		return &ebt_enomem;
	containers->context = context;
	*ret = containers;
	return NULL;
}

void containers_destroy(struct containers *containers)
{
	if (!containers)
		return;
	for (size_t i = 0; i < containers->n_paths; i++)
		free(containers->paths[i]);
	free(containers->paths);
	free(containers->fuse_args);
	keymap_deinit(&containers->stored);
	keymap_deinit(&containers->storages);
	keymap_deinit(&containers->known);
	free(containers);
}

/* False where memory is short. */
static bool add_storage(struct containers *containers, const char *path, size_t len)
{
	uint64_t known;

	if (!len || len >= PATH_MAX - 64 || path[0] != '/' || containers->n_paths == MAX_STORAGES ||
	    keymap_find(&containers->storages, path, len, &known))
		return true;
	if (ebt_array_reserve(&containers->paths, containers->n_paths, &containers->capacity))
		return false;
	containers->paths[containers->n_paths] = strndup(path, len);
	if (!containers->paths[containers->n_paths])
		return false;
	return keymap_put(&containers->storages, path, len, containers->n_paths++);
}

/* --- reading what is a user's --- */

/* Below dir, with no symbolic link on the way; a handle, or -1. Linux 5.6. */
static int open_below(int dir, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

struct user_file {
	struct stat st;
	char *content; /* ends in NUL */
	size_t len;
	bool truncated;
};

static void user_file_deinit(struct user_file *file)
{
	free(file->content);
}

/* False where the handle is on no regular file of the owner, or on an empty one. */
static bool read_owned(int handle, uid_t owner, size_t limit, struct user_file *ret)
{
	_cleanup_error_ struct ebt_error *unreadable = NULL;
	char reopen[64];

	*ret = (struct user_file){ 0 };
	if (handle < 0 || fstat(handle, &ret->st) || !S_ISREG(ret->st.st_mode) ||
	    ret->st.st_uid != owner)
		return false;
	snprintf(reopen, sizeof(reopen), "/proc/self/fd/%d", handle);
	unreadable = procfs_slurp(reopen, limit, &ret->content, &ret->len, &ret->truncated);
	return !unreadable && ret->len;
}

/* Stores the file as `path`, if it is not stored yet. */
static struct ebt_error *store(struct containers *containers, const struct user_file *file,
			       const char *role, const char *path)
{
	const struct embed_file embedded = {
		.role = role,
		.path = path,
		.sensitivity = EBT_V_file_sensitivity_user,
		.mtime_ns =
			(int64_t)file->st.st_mtim.tv_sec * 1000000000 + file->st.st_mtim.tv_nsec,
		.truncated = file->truncated,
	};
	const uint64_t hash = ebt_hash_bytes(0, file->content, file->len);
	uint64_t known;

	if (file->len > MAX_ALL - containers->bytes ||
	    (keymap_find(&containers->stored, path, strlen(path), &known) && known == hash))
		return NULL;
	if (!keymap_put(&containers->stored, path, strlen(path), hash))
		return &ebt_enomem;
	containers->bytes += file->len;
	return embed_bytes(containers->context, &embedded, file->content, file->len);
}

/* The same of a file below a storage, if it belongs to the owner. */
static struct ebt_error *store_below(struct containers *containers, int dir, uid_t owner,
				     const char *role, const char *path, const char *name,
				     size_t limit)
{
	_cleanup_close_ int handle = open_below(dir, name);
	_cleanup_(user_file_deinit) struct user_file file;

	return read_owned(handle, owner, limit, &file) ? store(containers, &file, role, path)
						       : NULL;
}

static struct ebt_error *collect_storage(struct containers *containers, const char *storage)
{
	static const struct {
		const char *role, *path;
	} lists[] = {
		{ "containers_json", "overlay-containers/containers.json" },
		{ "volatile_containers_json", "overlay-containers/volatile-containers.json" },
		{ "layers_json", "overlay-layers/layers.json" },
		{ "layers_json", "overlay-layers/volatile-layers.json" },
		{ "images_json", "overlay-images/images.json" },
	};
	_cleanup_close_ int dir = open(storage, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct ebt_error *err = NULL;
	struct stat st;

	if (dir < 0 || fstat(dir, &st))
		return NULL;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && !err; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", storage, lists[i].path);
		err = store_below(containers, dir, st.st_uid, lists[i].role, path, lists[i].path,
				  MAX_LIST);
	}
	return err;
}

/* --- where storages are --- */

static void on_value(void *arg, enum storage_conf_key key, const char *value)
{
	struct container_search *search = arg;
	char path[PATH_MAX];

	if (key == STORAGE_CONF_ROOTLESS && !search->own) {
		free(search->rootless);
		search->rootless = strdup(value);
		search->failed |= !search->rootless;
	} else if (storage_conf_expand(value, &search->user, path, sizeof(path)) &&
		   !add_storage(search->containers, path, strlen(path))) {
		search->failed = true;
	}
}

/* A storage.conf: stores it, and takes over what it says. */
static struct ebt_error *read_conf(struct container_search *search, const char *path)
{
	_cleanup_close_ int handle = open(path, O_PATH | O_CLOEXEC);
	_cleanup_(user_file_deinit) struct user_file file;

	if (!read_owned(handle, search->user.uid, MAX_CONF, &file))
		return NULL;
	storage_conf_parse(file.content, on_value, search);
	if (search->failed)
		return &ebt_enomem;
	return store(search->containers, &file, "storage_conf", path);
}

static struct ebt_error *find_of_user(struct container_search *search)
{
	const char *home = search->user.home;
	char path[PATH_MAX];

	if (home[0] != '/' || !home[1] || strlen(home) > PATH_MAX - 64)
		return NULL;
	snprintf(path, sizeof(path), "%s/.local/share/containers/storage", home);
	if (!add_storage(search->containers, path, strlen(path)))
		return &ebt_enomem;
	if (search->rootless &&
	    storage_conf_expand(search->rootless, &search->user, path, sizeof(path)) &&
	    !add_storage(search->containers, path, strlen(path)))
		return &ebt_enomem;
	snprintf(path, sizeof(path), "%s/.config/containers/storage.conf", home);
	return read_conf(search, path);
}

/* /etc/passwd itself: a directory service may have any number, and take any time. Storages of its
 * users are known as soon as a container of theirs is seen. */
static struct ebt_error *find_of_users(struct container_search *search)
{
	_cleanup_fclose_ FILE *passwd = fopen("/etc/passwd", "re");
	struct ebt_error *err = NULL;
	struct passwd *user;

	search->own = true;
	for (size_t i = 0; passwd && i < MAX_USERS && (user = fgetpwent(passwd)) && !err; i++) {
		search->user = (struct storage_conf_user){
			.name = user->pw_name,
			.home = user->pw_dir,
			.uid = user->pw_uid,
		};
		if (user->pw_uid)
			err = find_of_user(search);
	}
	return err;
}

struct ebt_error *containers_collect(struct containers *containers)
{
	static const char machine[] = "/var/lib/containers/storage";
	struct container_search search = {
		.containers = containers,
		.user = { .name = "root", .home = "/root" },
	};
	struct ebt_error *err;

	if (!add_storage(containers, machine, strlen(machine)))
		return &ebt_enomem;
	err = read_conf(&search, "/usr/share/containers/storage.conf") ?:
	      read_conf(&search, "/etc/containers/storage.conf") ?:
	      find_of_users(&search);
	free(search.rootless);
	for (size_t i = 0; i < containers->n_paths && !err; i++)
		err = collect_storage(containers, containers->paths[i]);
	return err;
}

/* --- what processes tell --- */

struct ebt_error *containers_see_mounts(struct containers *containers, const char *text, size_t len)
{
	static const char key[] = "upperdir=", tail[] = "/diff", middle[] = "/overlay/";
	const char *end = text + len;

	for (const char *at = text; (at = memmem(at, (size_t)(end - at), key, strlen(key)));) {
		size_t n;

		at += strlen(key);
		n = strcspn(at, ", \n"); /* a NUL ends it too */
		/* STORAGE/overlay/ID/diff */
		if (n <= strlen(tail) || memcmp(at + n - strlen(tail), tail, strlen(tail)))
			continue;
		n -= strlen(tail);
		while (n && at[n - 1] != '/')
			n--;
		if (n > strlen(middle) &&
		    !memcmp(at + n - strlen(middle), middle, strlen(middle)) &&
		    !memchr(at, '\\', n) && !add_storage(containers, at, n - strlen(middle)))
			return &ebt_enomem;
	}
	return NULL;
}

/* Has this been seen? It has from now on. */
static bool is_new(struct containers *containers, const void *key, size_t len)
{
	uint64_t known;

	return containers->known.n < MAX_KNOWN &&
	       !keymap_find(&containers->known, key, len, &known) &&
	       keymap_put(&containers->known, key, len, 1);
}

struct ebt_error *containers_see_cgroup(struct containers *containers, const char *text)
{
	static const char mounts[] = "/var/lib/docker/image/overlay2/layerdb/mounts";
	const char *at = strstr(text, "/docker");
	_cleanup_close_ int dir = -1;
	char name[ID_LEN + 16], path[sizeof(mounts) + sizeof(name)];

	if (!at)
		return NULL;
	at += strlen("/docker");
	if ((*at != '-' && *at != '/') || strspn(at + 1, "0123456789abcdef") != ID_LEN ||
	    !is_new(containers, at + 1, ID_LEN))
		return NULL;
	dir = open(mounts, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return NULL;
	snprintf(name, sizeof(name), "%.*s/mount-id", (int)ID_LEN, at + 1);
	snprintf(path, sizeof(path), "%s/%s", mounts, name);
	return store_below(containers, dir, 0, "docker_mount_id", path, name, MAX_CONF);
}

struct ebt_error *containers_see_fuse(struct containers *containers, int dir, uint32_t pid,
				      uint64_t start, uint64_t mnt_ns)
{
	const uint64_t key[2] = { pid, start };
	char cwd[PATH_MAX];
	const struct embed_file file = {
		.role = "fuse_overlayfs",
		.path = cwd,
		.sensitivity = EBT_V_file_sensitivity_user,
		.pid = pid,
		.ns = mnt_ns,
	};
	ssize_t len;

	if (!is_new(containers, key, sizeof(key)) || containers->bytes > MAX_ALL - MAX_FUSE_ARGS)
		return NULL;
	if (!containers->fuse_args)
		containers->fuse_args = malloc(MAX_FUSE_ARGS);
	if (!containers->fuse_args)
		return &ebt_enomem;
	len = procfs_read(dir, "cmdline", containers->fuse_args, MAX_FUSE_ARGS);
	if (len <= 0)
		return NULL;
	procfs_link(dir, "cwd", cwd, sizeof(cwd));
	containers->bytes += (size_t)len;
	return embed_bytes(containers->context, &file, containers->fuse_args, (size_t)len)
		       ?: containers_see_mounts(containers, containers->fuse_args, (size_t)len);
}
