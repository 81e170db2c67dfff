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

/* Memory for all files that are read. */
#define MAX_MEMORY (UINT64_C(1) << 30)

/* Files of one process that are looked at, the first; the recorder makes one or two. */
#define MAX_OF_IMAGE 64

/* Generations of processes that forked without exec. */
#define MAX_ANCESTORS 64

/* Regular expressions and generated sources get into names. */
#define MAX_NAME 512u

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

static struct ebt_error *ask(struct jit *jit, struct jit_file *file, uint64_t address,
			     uint64_t time, struct jit_hit *hit)
{
	struct ebt_error *err = load(jit, file);
	struct jit_hit found = { .to = UINT64_MAX };

	if (err)
		return err;
	if (file->map) {
		found = jit_map_find(file->map, address);
		found.to = UINT64_MAX;
	} else if (file->dump) {
		err = jit_dump_find(file->dump, address, time, &found);
	}
	if (err)
		return err;
	narrow(&found, hit->from, hit->to);
	*hit = found;
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
			err = ask(jit, &jit->files[end], address, time, hit);
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
			err = ask(jit, &jit->files[i], address, time, hit);
	}
	for (size_t i = next; !err && !hit->name && i > low; i--) {
		if (!jit->files[i - 1].is_dump)
			err = ask(jit, &jit->files[i - 1], address, time, hit);
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

/* --- names --- */

/*
 * Names as programs write them:
 *
 *	py::Class.method:/path/file.py		CPython
 *	JS:*name file:///path/file.js:12:3	V8; `*`, `~`, … say how it was compiled
 *
 * Of the former the path becomes the object, so that functions of the same name stay apart where
 * their files do. The latter is shown as it is, since functions without a name are known by their
 * place only; it gives the line besides.
 */
struct name_parts {
	const char *name, *file;
	size_t name_len, file_len;
	uint32_t line;
};

static bool take_python(const char *name, size_t len, struct name_parts *ret)
{
	static const char prefix[] = "py::";
	const size_t skip = strlen(prefix);
	const char *colon;

	if (len <= skip || memcmp(name, prefix, skip))
		return false;
	/* A path may have colons too: the file begins behind the first. */
	colon = memchr(name + skip, ':', len - skip);
	if (!colon || colon == name + skip || colon + 1 == name + len)
		return false;
	ret->name = name + skip;
	ret->name_len = colon - ret->name;
	ret->file = colon + 1;
	ret->file_len = name + len - ret->file;
	return true;
}

/* ":12" at the end: false where there is none. */
static bool take_number(const char *text, size_t *len, uint32_t *ret)
{
	const char *colon = memrchr(text, ':', *len);
	uint32_t value = 0;
	size_t digits = colon ? text + *len - colon - 1 : 0;

	if (!digits || digits > 9)
		return false;
	for (const char *p = colon + 1; p < text + *len; p++) {
		if (*p < '0' || *p > '9')
			return false;
		value = value * 10 + (uint32_t)(*p - '0');
	}
	*len = colon - text;
	*ret = value;
	return true;
}

/* The place at the end of a name, " FILE:LINE:COLUMN". */
static void find_place(const char *name, size_t len, struct name_parts *ret)
{
	static const char scheme[] = "file://";
	const char *file = memchr(name, ' ', len);
	uint32_t line, column;
	size_t file_len;

	if (!file || ++file == name + len)
		return;
	file_len = name + len - file;
	if (!take_number(file, &file_len, &column) || !take_number(file, &file_len, &line))
		return;
	if (file_len > strlen(scheme) && !memcmp(file, scheme, strlen(scheme))) {
		file += strlen(scheme);
		file_len -= strlen(scheme);
	}
	if (!file_len)
		return;
	ret->file = file;
	ret->file_len = file_len;
	ret->line = line;
}

struct ebt_error *jit_name(struct funcs *funcs, const struct jit_hit *hit, struct sym_frame *ret)
{
	const size_t len = hit->name_len < MAX_NAME ? hit->name_len : MAX_NAME;
	struct name_parts parts = {
		.name = hit->name,
		.name_len = len,
		.file = hit->file,
		.file_len = hit->file_len,
		.line = hit->line,
	};
	struct sym_func key = { .kind = SYM_JIT, .object = "[jit]", .build_id = "" };
	struct sym_frame frame = { 0 };
	struct ebt_error *err;

	if (take_python(hit->name, len, &parts)) {
		const char *slash = memrchr(parts.file, '/', parts.file_len);
		const char *base = slash ? slash + 1 : parts.file;

		/* What a name means depends on where it is. */
		err = funcs_printf(funcs, &key.name, "%.*s (%.*s)", (int)parts.name_len, parts.name,
				   (int)(parts.file + parts.file_len - base), base);
		if (err)
			return err;
		err = funcs_string(funcs, parts.file, parts.file_len, &key.object);
	} else {
		if (!parts.file)
			find_place(hit->name, len, &parts);
		err = funcs_demangle(funcs, parts.name, parts.name_len, &key.name);
	}
	if (err)
		return err;
	if (parts.file)
		err = funcs_string(funcs, parts.file,
				   parts.file_len < MAX_NAME ? parts.file_len : MAX_NAME,
				   &frame.file);
	if (err)
		return err;
	err = funcs_copy(funcs, key, &frame.func);
	if (err)
		return err;
	frame.line = parts.line;
	*ret = frame;
	return NULL;
}
