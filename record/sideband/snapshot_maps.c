/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address spaces of processes that were there. A file that many processes have
 * mapped is opened once: the build-id is remembered by what /proc/PID/maps says of the file, and
 * the mount namespace, because device numbers of two btrfs subvolumes can be the same there.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/base/procfs.h"
#include "record/base/procmaps.h"
#include "record/sideband/snapshot_state.h"

/* What is in memory of the beginning of a file: its first segment, notes at the front. */
#define MAX_HEAD (64u << 10)
/* A vdso has two pages. */
#define MAX_VDSO (64u << 10)

struct maps_key {
	uint64_t mnt_ns, inode;
	uint32_t dev_major, dev_minor;
};

struct walk {
	struct snapshot_state *state;
	int dir;
	uint32_t pid;
	uint64_t mnt_ns, time;
	struct ebt_error *err;
};

static void count_unread(struct unread *unread, uint32_t pid, int errnum)
{
	unread->n++;
	unread->pid = pid;
	unread->errnum = errnum;
}

/* Where the beginning of a file is in memory. */
struct head {
	const struct mapping *file;
	uint64_t start, len;
};

static bool is_head(void *arg, const struct mapping *entry)
{
	struct head *head = arg;
	const struct mapping *file = head->file;

	if (!entry->pgoff && entry->inode == file->inode && entry->dev_major == file->dev_major &&
	    entry->dev_minor == file->dev_minor) {
		head->start = entry->start;
		head->len = entry->length;
	}
	return !head->len;
}

/* From the memory of the process: not even root may open what is in a FUSE file system of another
 * user namespace, which those of rootless containers are. Notes are behind the headers. */
static bool mapped_buildid(const struct walk *walk, const struct mapping *entry,
			   struct buildid *ret)
{
	struct head head = { .file = entry };
	_cleanup_close_ int memory = openat(walk->dir, "mem", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *content = malloc(MAX_HEAD);
	ssize_t n;

	ret->len = 0;
	if (memory < 0 || !content ||
	    procmaps_each(openat(walk->dir, "maps", O_RDONLY | O_CLOEXEC), 0, is_head, &head))
		return false;
	n = pread(memory, content, head.len < MAX_HEAD ? (size_t)head.len : MAX_HEAD,
		  (off_t)head.start);
	return n > 0 && buildid_of_memory(content, (size_t)n, ret);
}

static void file_buildid(struct walk *walk, struct mapping *entry)
{
	struct buildid *ret = &entry->build_id;
	const struct maps_key head = {
		.mnt_ns = walk->mnt_ns,
		.inode = entry->inode,
		.dev_major = entry->dev_major,
		.dev_minor = entry->dev_minor,
	};
	char key[sizeof(head) + PATH_MAX];
	const size_t len = sizeof(head) + entry->path_len;
	int r;

	memcpy(key, &head, sizeof(head));
	if (len <= sizeof(key)) {
		memcpy(key + sizeof(head), entry->path, entry->path_len);
		if (buildid_map_find(&walk->state->files, key, len, ret))
			return;
	}
	r = buildid_of_mapping(&walk->state->ids, walk->pid, entry->start,
			       entry->start + entry->length, ret);
	if (r == -EACCES && mapped_buildid(walk, entry, ret))
		r = 0;
	if (!r && len <= sizeof(key))
		buildid_map_put(&walk->state->files, key, len, ret);
	if (r && !procfs_gone(r))
		count_unread(&walk->state->build_ids, walk->pid, -r);
}

/*
 * A 64-bit process has the same image as this one. A 32-bit process has another, which is read
 * from its memory and travels in the trace.
 */
static struct ebt_error *vdso_buildid(struct walk *walk, struct mapping *entry)
{
	struct buildid *ret = &entry->build_id;
	const struct embed_file file = { .role = "vdso", .path = "[vdso]", .pid = walk->pid };
	const size_t len = (size_t)entry->length;
	_cleanup_free_ char *image = NULL;
	_cleanup_close_ int fd = -1;
	uint64_t known;

	*ret = walk->state->vdso;
	if (sizeof(void *) == 4 || entry->start > UINT32_MAX)
		return NULL;
	ret->len = 0;
	fd = openat(walk->dir, "mem", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || len > MAX_VDSO)
		return NULL;
	image = malloc(len);
	if (!image)
		return &ebt_enomem;
	if (pread(fd, image, len, (off_t)entry->start) != (ssize_t)len ||
	    !buildid_of_memory(image, len, ret) ||
	    keymap_find(&walk->state->vdsos, ret->bytes, ret->len, &known) ||
	    !keymap_put(&walk->state->vdsos, ret->bytes, ret->len, 1))
		return NULL;
	return embed_bytes(walk->state->context, &file, image, len);
}

static bool emit_mapping(void *arg, const struct mapping *entry)
{
	struct walk *walk = arg;
	struct mapping mapping = *entry;

	mapping.time = walk->time;
	mapping.pid = mapping.tid = walk->pid;
	if (!strcmp(mapping.path, "[vdso]"))
		walk->err = vdso_buildid(walk, &mapping);
	else if (mapping.inode)
		file_buildid(walk, &mapping);
	if (!walk->err)
		walk->err = add_mapping(walk->state->context, &mapping, EBT_V_mmap_origin_snapshot);
	return !walk->err;
}

struct ebt_error *snapshot_maps(struct snapshot_state *state, int dir, uint32_t pid,
				uint64_t mnt_ns, uint64_t time)
{
	struct walk walk = {
		.state = state,
		.dir = dir,
		.pid = pid,
		.mnt_ns = mnt_ns,
		.time = time,
	};
	int r = procmaps_each(openat(dir, "maps", O_RDONLY | O_CLOEXEC), PROT_EXEC, emit_mapping,
			      &walk);

	if (r && !procfs_gone(r))
		count_unread(&state->maps, pid, -r);
	return walk.err;
}
