/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file answers; see jit.h. A jitdump comes first, as it knows times. Of several maps of one
 * process the first that was read after the time in question does, as later ones may have lost
 * what was there; then the others.
 */
#include "symbolize/runtimes/jit.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/base/search.h"
#include "format/read/damage.h"
#include "symbolize/runtimes/jit_dump.h"
#include "symbolize/runtimes/jit_map.h"

/* Memory for all files that are read. */
#define MAX_MEMORY (UINT64_C(1) << 30)

/* Files of one process that are looked at, the first; the recorder makes one or two. */
#define MAX_OF_IMAGE 64

/* Generations of processes that forked without exec. */
#define MAX_ANCESTORS 64

struct jit_file {
	uint64_t time, id, size;
	uint32_t image;
	bool is_dump, loaded;
	struct jit_map *map; /* NULL: not read, or not readable */
	struct jit_dump *dump;
};

struct jit {
	struct ebt_reader *reader;
	const struct addrspace *space;
	struct jit_file *files; /* by image, then time */
	size_t n;
	uint64_t memory;
};

DEFINE_CLEANUP(struct jit *, jit_destroy);

static int compare_files(const void *a, const void *b)
{
	const struct jit_file *x = a, *y = b;
	int order = ebt_compare(x->image, y->image) ?: ebt_compare(x->time, y->time);

	return order ?: ebt_compare(x->id, y->id);
}

static void add_file(struct jit *jit, const struct ebt_file *file)
{
	const struct ebt_task task = { .tid = file->pid, .pid = file->pid };
	const bool dump = !strcmp(file->role, "jitdump");
	uint64_t from, to;
	uint32_t incarnation;

	if (!file->pid || (!dump && strcmp(file->role, "perf_map")))
		return;
	incarnation = addrspace_incarnation(jit->space, &task, file->time);
	if (incarnation == ADDRSPACE_NO_INCARNATION)
		return;
	jit->files[jit->n++] = (struct jit_file){
		.time = file->time,
		.id = file->id,
		.size = file->size,
		.image = addrspace_image(jit->space, incarnation, file->time, &from, &to),
		.is_dump = dump,
	};
}

/* Sorts the files; for each address all of an image may be asked. */
static void sort_files(struct jit *jit)
{
	size_t n = 0;

	qsort(jit->files, jit->n, sizeof(*jit->files), compare_files);
	for (size_t i = 0; i < jit->n; i++) {
		if (n < MAX_OF_IMAGE || jit->files[n - MAX_OF_IMAGE].image != jit->files[i].image)
			jit->files[n++] = jit->files[i];
	}
	jit->n = n;
}

struct ebt_error *jit_create(struct ebt_reader *reader, const struct addrspace *space,
			     struct jit **ret)
{
	_cleanup_(jit_destroyp) struct jit *jit = calloc(1, sizeof(*jit));
	const struct ebt_file *files;
	struct ebt_error *err;
	size_t n;

	if (!jit)
		return &ebt_enomem;
	jit->reader = reader;
	jit->space = space;
	err = ebt_reader_files(reader, &files, &n);
	if (err)
		return err;
	jit->files = calloc(n + 1, sizeof(*jit->files));
	if (!jit->files)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++)
		add_file(jit, &files[i]);
	sort_files(jit);
	*ret = take_ptr(jit);
	return NULL;
}

void jit_destroy(struct jit *jit)
{
	if (!jit)
		return;
	for (size_t i = 0; i < jit->n; i++) {
		jit_map_destroy(jit->files[i].map);
		jit_dump_destroy(jit->files[i].dump);
	}
	free(jit->files);
	free(jit);
}

static struct ebt_error *load(struct jit *jit, struct jit_file *file)
{
	struct ebt_error *err;
	char *content;
	size_t len;

	if (file->loaded)
		return NULL;
	file->loaded = true;
	if (file->size > MAX_MEMORY - jit->memory)
		return NULL;
	err = ebt_reader_file_content(jit->reader, file->id, &content, &len);
	/* A trace that lost a piece of it lacks these names, and no more. */
	if (err)
		return ebt_damage_forgive(err);
	err = file->is_dump ? jit_dump_create(content, len, file->time, &file->dump)
			    : jit_map_create(content, len, &file->map);
	if (err)
		return err;
	jit->memory += file->is_dump ? jit_dump_size(file->dump) : jit_map_size(file->map);
	if (jit->memory > MAX_MEMORY)
		jit->memory = MAX_MEMORY;
	return NULL;
}

static void narrow(struct jit_hit *hit, uint64_t from, uint64_t to)
{
	hit->from = from > hit->from ? from : hit->from;
	hit->to = to < hit->to ? to : hit->to;
}

static struct ebt_error *ask_dump(struct jit *jit, struct jit_file *file, uint64_t address,
				  uint64_t time, struct jit_hit *hit)
{
	struct jit_dump_hit found;
	struct ebt_error *err = load(jit, file);

	if (err || !file->dump)
		return err;
	err = jit_dump_find(file->dump, address, time, &found);
	if (err)
		return err;
	narrow(hit, found.from, found.to);
	hit->name = found.name;
	hit->name_len = found.name_len;
	hit->file = found.file;
	hit->file_len = found.file_len;
	hit->line = found.line;
	return NULL;
}

static struct ebt_error *ask_map(struct jit *jit, struct jit_file *file, uint64_t address,
				 struct jit_hit *hit)
{
	struct jit_map_hit found;
	struct ebt_error *err = load(jit, file);

	if (err || !file->map)
		return err;
	found = jit_map_find(file->map, address);
	hit->name = found.name;
	hit->name_len = found.name_len;
	return NULL;
}

/* What the files of one image say. */
static struct ebt_error *find_in_image(struct jit *jit, uint32_t image, uint64_t address,
				       uint64_t time, struct jit_hit *hit)
{
	size_t low = ebt_count_first(jit->n, i, jit->files[i].image < image), end, next;
	struct ebt_error *err = NULL;

	for (end = low; end < jit->n && jit->files[end].image == image; end++) {
		if (!err && !hit->name && jit->files[end].is_dump)
			err = ask_dump(jit, &jit->files[end], address, time, hit);
	}
	if (err || hit->name)
		return err;
	for (next = low; next < end && jit->files[next].time < time; next++)
		;
	if (next > low)
		narrow(hit, jit->files[next - 1].time + 1, UINT64_MAX);
	if (next < end && jit->files[next].time < UINT64_MAX)
		narrow(hit, 0, jit->files[next].time + 1);
	for (size_t i = next; !err && !hit->name && i < end; i++) {
		if (!jit->files[i].is_dump)
			err = ask_map(jit, &jit->files[i], address, hit);
	}
	for (size_t i = next; !err && !hit->name && i > low; i--) {
		if (!jit->files[i - 1].is_dump)
			err = ask_map(jit, &jit->files[i - 1], address, hit);
	}
	return err;
}

struct ebt_error *jit_find(struct jit *jit, uint32_t incarnation, uint64_t address,
			   uint64_t time_ns, struct jit_hit *ret)
{
	struct jit_hit hit = { .to = UINT64_MAX };
	struct ebt_error *err = NULL;
	uint32_t image;

	if (!jit->n || incarnation == ADDRSPACE_NO_INCARNATION) {
		*ret = hit;
		return NULL;
	}
	image = addrspace_image(jit->space, incarnation, time_ns, &hit.from, &hit.to);
	err = find_in_image(jit, image, address, time_ns, &hit);
	for (int n = 0; !err && !hit.name && n < MAX_ANCESTORS; n++) {
		struct jit_hit before = { .to = UINT64_MAX };
		uint64_t forked;

		image = addrspace_forked_from(jit->space, image, &forked);
		if (image == ADDRSPACE_NO_IMAGE)
			break;
		err = find_in_image(jit, image, address, forked, &before);
		before.from = hit.from;
		before.to = hit.to;
		hit = before;
	}
	if (err)
		return err;
	*ret = hit;
	return NULL;
}
