/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file is known by build-id and path, which is all that the kernel tells of a mapping whose
 * file has one; else by device and inode. One without build-id is looked at again each time it is
 * mapped anew, as only size and times can tell that it changed. The row is kept as it went to the
 * stream, for later epochs.
 */
#include "record/sideband/objects.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/base/keymap.h"
#include "record/base/procfs.h"

/* Of 300 to 500 bytes each, kept. A machine has some thousand mapped files; each container has its
 * own of its image's. */
#define MAX_OBJECTS 32768u

/* Files embedded: programs that a JIT or a packer makes are small. */
#define MAX_EMBED     (8u << 20)
#define MAX_EMBED_ALL (64u << 20)
/* Files hashed: Go programs have no build-id, and up to 100 MB. */
#define MAX_HASH     (256u << 20)
#define MAX_HASH_ALL (1u << 30)
/* Read at each call of objects_work(), ten a second; and at the end, when somebody waits. */
#define WORK	  (8u << 20)
#define WORK_LAST (128u << 20)
/* Open files. One that does not fit in is looked at when it is mapped again. */
#define MAX_JOBS 128u
/* Files that objects_check() looks at, 5 us each; at the end. */
#define CHECK	   128u
#define CHECK_LAST 4096u

struct object {
	unsigned char *row; /* a struct ebt_wire_object, with what it refers to */
	size_t len;
	uint64_t epoch; /* of the latest row */
	uint64_t size, ctime;
	uint32_t pid; /* who had it mapped last, and where */
	uint64_t start, length;
	bool embeddable; /* an ELF file that is not embedded, as it can be found by its build-id */
	bool known;	 /* has been looked at; its row may wait for the hash */
	bool elf;
	bool tell; /* the listener wants to be told of each mapping */
};

/* A file whose row waits for its hash. */
struct object_job {
	int fd;
	uint64_t size, at;
	size_t object;
	bool hash, embed;
	struct ebt_record row;
	char *path;
};

struct objects {
	struct sideband_context *context;
	struct keymap keys; /* struct object_key to index */
	struct object *items;
	size_t n, capacity;
	uint64_t epoch;
	struct object_job jobs[MAX_JOBS]; /* a ring */
	size_t first_job, n_jobs;
	XXH3_state_t *hash; /* of the first job */
	char *buffer;
	size_t next_check;
	uint64_t embedded, hashed; /* bytes, in all, those of jobs included */
};

/* Build-id and path, or device and inode. */
struct object_key {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	unsigned char id_len;
	unsigned char text[BUILDID_MAX + PATH_MAX];
};

/* Of the path, without what the kernel appends to that of a deleted file. */
static size_t name_len(const struct mapping *mapping)
{
	static const char suffix[] = " (deleted)";
	const size_t len = strlen(suffix);

	return mapping->path_len > len &&
			       !memcmp(mapping->path + mapping->path_len - len, suffix, len)
		       ? mapping->path_len - len
		       : mapping->path_len;
}

struct ebt_error *objects_create(struct sideband_context *context, struct objects **ret)
{
	_cleanup_(objects_destroyp) struct objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return &ebt_enomem;
	objects->context = context;
	objects->hash = XXH3_createState();
	objects->buffer = malloc(MAX_EMBED);
	if (!objects->hash || !objects->buffer)
		return &ebt_enomem;
	*ret = take_ptr(objects);
	return NULL;
}

static void job_deinit(struct object_job *job)
{
	ebt_closep(&job->fd);
	ebt_record_deinit(&job->row);
	free(job->path);
}

void objects_destroy(struct objects *objects)
{
	if (!objects)
		return;
	for (size_t i = 0; i < objects->n_jobs; i++)
		job_deinit(&objects->jobs[(objects->first_job + i) % MAX_JOBS]);
	for (size_t i = 0; i < objects->n; i++)
		free(objects->items[i].row);
	free(objects->items);
	keymap_deinit(&objects->keys);
	XXH3_freeState(objects->hash);
	free(objects->buffer);
	free(objects);
}

void objects_next_epoch(struct objects *objects)
{
	objects->epoch++;
}

/* --- rows --- */

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

static void add_segments(struct ebt_record *rec, const struct elfparts *parts)
{
	uint64_t words[ELFPARTS_MAX_LOADS * 5];

	for (size_t i = 0; i < parts->n_loads; i++) {
		const struct elfparts_load *load = &parts->loads[i];
		const uint64_t values[5] = { load->offset, load->vaddr, load->filesz, load->memsz,
					     load->flags };

		for (size_t k = 0; k < 5; k++)
			words[i * 5 + k] = htole64(values[k]);
	}
	ebt_record_bytes(rec, offsetof(struct ebt_wire_object, segments), words,
			 parts->n_loads * 5 * sizeof(*words));
}

static void make_row(const struct mapping *mapping, const struct identity *identity,
		     struct ebt_record *rec)
{
	struct ebt_wire_object *row = ebt_record_begin(rec, EBT_T_object, clocks_now());

	row->task = mapping->pid;
	row->links = (uint32_t)identity->st.st_nlink;
	row->inode = identity->inode;
	row->dev_major = identity->dev_major;
	row->dev_minor = identity->dev_minor;
	row->size = (uint64_t)identity->st.st_size;
	row->mtime = (int64_t)ns_of(&identity->st.st_mtim);
	row->debuglink_crc = identity->parts.debuglink_crc;
	ebt_record_bytes(rec, offsetof(struct ebt_wire_object, path), mapping->path,
			 mapping->path_len);
	ebt_record_bytes(rec, offsetof(struct ebt_wire_object, build_id), identity->id.bytes,
			 identity->id.len);
	add_segments(rec, &identity->parts);
	ebt_record_str(rec, offsetof(struct ebt_wire_object, debuglink), identity->parts.debuglink);
}

/* Writes the row and keeps it. */
static struct ebt_error *finish_row(struct objects *objects, size_t index, struct ebt_record *rec)
{
	struct object *object = &objects->items[index];
	struct ebt_wire_object *row = (struct ebt_wire_object *)rec->data;

	if (rec->failed)
		return &ebt_enomem;
	row->head.time = clocks_now();
	row->head.len = (uint32_t)rec->len;
	free(object->row);
	object->row = malloc(rec->len);
	object->len = rec->len;
	object->epoch = objects->epoch;
	if (!object->row)
		return &ebt_enomem;
	memcpy(object->row, rec->data, rec->len);
	return ebt_record_add(rec, objects->context->stream);
}

static struct ebt_error *tell_again(struct objects *objects, struct object *object, uint32_t pid)
{
	struct ebt_wire_object *row = (struct ebt_wire_object *)object->row;

	object->epoch = objects->epoch;
	row->head.time = clocks_now();
	row->task = pid;
	return ebt_stream_add(objects->context->stream, object->row, object->len);
}

/* --- hashing and embedding --- */

/* Reads `len` bytes, zeros for what is not there any more. */
static void read_all(int fd, uint64_t at, char *buffer, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, buffer + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	memset(buffer + done, 0, len - done);
}

/* The whole file is in the buffer. */
static struct ebt_error *embed(struct objects *objects, struct object_job *job)
{
	struct ebt_wire_object *row = (struct ebt_wire_object *)job->row.data;
	const struct embed_file file = {
		.role = "elf",
		.path = job->path,
		.sensitivity = EBT_V_file_sensitivity_user,
		.mtime_ns = row->mtime,
		.pid = row->task,
	};
	struct elfparts parts;

	if (!elfparts_read(job->fd, &parts))
		return NULL;
	row->file_id = objects->context->last_file_id + 1;
	elfparts_blank(&parts, objects->buffer, (size_t)job->size);
	return embed_bytes(objects->context, &file, objects->buffer, (size_t)job->size);
}

static struct ebt_error *finish_job(struct objects *objects, struct object_job *job)
{
	struct ebt_error *err = NULL;

	if (!job->row.failed) {
		XXH128_canonical_t hash;

		XXH128_canonicalFromHash(&hash, XXH3_128bits_digest(objects->hash));
		if (job->hash && job->at == job->size)
			ebt_record_bytes(&job->row, offsetof(struct ebt_wire_object, hash),
					 hash.digest, sizeof(hash.digest));
		if (job->embed && job->at == job->size && !job->row.failed)
			err = embed(objects, job);
	}
	err = err ? err : finish_row(objects, job->object, &job->row);
	job_deinit(job);
	objects->first_job = (objects->first_job + 1) % MAX_JOBS;
	objects->n_jobs--;
	return err;
}

struct ebt_error *objects_work(struct objects *objects, bool last)
{
	uint64_t left = last ? WORK_LAST : WORK;

	while (objects->n_jobs && (left || last)) {
		struct object_job *job = &objects->jobs[objects->first_job];
		size_t len =
			job->size - job->at < MAX_EMBED ? (size_t)(job->size - job->at) : MAX_EMBED;
		struct ebt_error *err;

		if (!job->at)
			XXH3_128bits_reset(objects->hash);
		if (left && len) {
			read_all(job->fd, job->at, objects->buffer, len);
			XXH3_128bits_update(objects->hash, objects->buffer, len);
			job->at += len;
			left -= left < len ? left : len;
		}
		if (job->at < job->size && left)
			continue;
		if (job->at < job->size && !last)
			return NULL;
		err = finish_job(objects, job);
		if (err)
			return err;
	}
	return NULL;
}

/* --- mappings --- */

static size_t make_key(const struct mapping *mapping, struct object_key *ret)
{
	const struct buildid *id = &mapping->build_id;
	const size_t path_len = name_len(mapping) < PATH_MAX ? name_len(mapping) : PATH_MAX;

	memset(ret, 0, offsetof(struct object_key, text));
	if (!id->len) {
		ret->inode = mapping->inode;
		ret->dev_major = mapping->dev_major;
		ret->dev_minor = mapping->dev_minor;
		return offsetof(struct object_key, text);
	}
	ret->id_len = id->len;
	memcpy(ret->text, id->bytes, id->len);
	memcpy(ret->text + id->len, mapping->path, path_len);
	return offsetof(struct object_key, text) + id->len + path_len;
}

/* *ret: where to keep the object. */
static struct ebt_error *add_object(struct objects *objects, const struct object_key *key,
				    size_t len, size_t *ret)
{
	struct ebt_error *err = ebt_array_reserve(&objects->items, objects->n, &objects->capacity);

	if (err)
		return err;
	if (!keymap_put(&objects->keys, key, len, objects->n))
		return &ebt_enomem;
	objects->items[objects->n] = (struct object){ 0 };
	*ret = objects->n++;
	return NULL;
}

/* What its build-id does not tell for sure has to be hashed; or embedded. */
static void plan(const struct objects *objects, const struct mapping *mapping,
		 const struct identity *identity, struct object_job *job)
{
	const uint64_t size = (uint64_t)identity->st.st_size;
	const bool deleted = !identity->st.st_nlink || name_len(mapping) != mapping->path_len;

	/* Memory that is no ELF file changes as code is generated into it. */
	job->hash = !identity->id.len && size && size <= MAX_HASH &&
		    size <= MAX_HASH_ALL - objects->hashed && (identity->elf || !deleted);
	job->embed = identity->elf && size <= MAX_EMBED &&
		     size <= MAX_EMBED_ALL - objects->embedded && (deleted || !identity->id.len);
}

static struct ebt_error *look(struct objects *objects, const struct mapping *mapping,
			      const struct object_key *key, size_t key_len, size_t *index)
{
	struct identity identity;
	_cleanup_close_ int fd = identity_of_mapping(mapping, &identity);
	struct object_job job = { .fd = -1, .row = EBT_RECORD_INIT };
	struct object *object;
	struct ebt_error *err = NULL;
	bool tell = false;

	if (fd < 0)
		return NULL; /* gone; what its mapping says is all that there is */
	if (objects->context->on_file)
		err = objects->context->on_file(objects->context->arg, fd, mapping, &identity,
						&tell);
	if (err)
		return err;
	plan(objects, mapping, &identity, &job);
	if ((job.hash || job.embed) && objects->n_jobs == MAX_JOBS)
		return NULL;
	if (*index == SIZE_MAX)
		err = add_object(objects, key, key_len, index);
	if (err)
		return err;
	object = &objects->items[*index];
	object->tell = tell;
	if (object->known && object->size == (uint64_t)identity.st.st_size &&
	    object->ctime == ns_of(&identity.st.st_ctim))
		return NULL;
	object->size = (uint64_t)identity.st.st_size;
	object->ctime = ns_of(&identity.st.st_ctim);
	object->known = true;
	object->elf = identity.elf;
	object->embeddable = identity.elf && identity.id.len && !job.embed;
	make_row(mapping, &identity, &job.row);
	if (job.hash || job.embed) {
		job.object = *index;
		job.size = object->size;
		job.path = strndup(mapping->path, mapping->path_len);
		if (!job.path) {
			job_deinit(&job);
			return &ebt_enomem;
		}
		job.fd = take_fd(&fd);
		objects->hashed += job.hash ? job.size : 0;
		objects->embedded += job.embed ? job.size : 0;
		objects->jobs[(objects->first_job + objects->n_jobs++) % MAX_JOBS] = job;
		return NULL;
	}
	err = finish_row(objects, *index, &job.row);
	job_deinit(&job);
	return err;
}

struct ebt_error *objects_on_mapping(void *arg, const struct mapping *mapping)
{
	struct objects *objects = arg;
	size_t len, index = SIZE_MAX;
	struct ebt_error *err = NULL;
	struct object *object = NULL;
	uint64_t known;
	struct object_key key;

	if (!mapping->inode && !mapping->build_id.len)
		return NULL;
	len = make_key(mapping, &key);
	if (keymap_find(&objects->keys, &key, len, &known))
		object = &objects->items[index = (size_t)known];
	else if (objects->n >= MAX_OBJECTS)
		return NULL;
	/* Memory into which code is generated is mapped anew again and again. */
	if (!object || object->tell ||
	    (!mapping->build_id.len && (object->elf || object->epoch != objects->epoch)))
		err = look(objects, mapping, &key, len, &index);
	if (err || index == SIZE_MAX)
		return err;
	object = &objects->items[index];
	object->pid = mapping->pid;
	object->start = mapping->start;
	object->length = mapping->length;
	/* Without a row yet it waits for its hash. */
	return object->row && object->epoch != objects->epoch
		       ? tell_again(objects, object, mapping->pid)
		       : NULL;
}

static bool has_names(const struct object *object)
{
	char path[96];
	struct stat st;

	procfs_map_file(object->pid, object->start, object->start + object->length, path);
	return stat(path, &st) || st.st_nlink;
}

/* The same mapping as before, which then takes the way of any that is deleted. */
static struct ebt_error *look_again(struct objects *objects, size_t index)
{
	struct object *object = &objects->items[index];
	const struct ebt_wire_object *row = (const struct ebt_wire_object *)object->row;
	struct mapping mapping = {
		.start = object->start,
		.length = object->length,
		.pid = object->pid,
		.path = (const char *)object->row + row->path.off,
		.path_len = row->path.len,
	};

	mapping.build_id.len = (uint8_t)row->build_id.len;
	memcpy(mapping.build_id.bytes, object->row + row->build_id.off, row->build_id.len);
	object->embeddable = false;
	return look(objects, &mapping, NULL, 0, &index);
}

struct ebt_error *objects_check(struct objects *objects, bool last)
{
	size_t n = last ? CHECK_LAST : CHECK;

	for (n = n < objects->n ? n : objects->n; n; n--) {
		const size_t index = objects->next_check++ % objects->n;
		struct object *object = &objects->items[index];
		struct ebt_error *err;

		if (!object->embeddable || !object->row || has_names(object))
			continue;
		err = look_again(objects, index);
		if (err)
			return err;
	}
	return NULL;
}
