/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces of a folder; see list.h. */
#include "report/serve/list.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "report/base/json.h"

/* Names that anybody could look through. */
#define MOST_TRACES 10000

static bool is_file(const char *path, struct stat *ret)
{
	return !stat(path, ret) && S_ISREG(ret->st_mode);
}

/* As ebrec names them, and as people pack them. */
static bool is_trace_name(const char *name)
{
	static const char *const endings[] = { ".ebt", ".ebt.gz", ".ebt.zst", ".ebt.xz" };
	const size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const size_t n = strlen(endings[i]);

		if (len > n && !strcmp(name + len - n, endings[i]))
			return true;
	}
	return false;
}

static struct ebt_error *append(struct list *list, const char *name, const char *path)
{
	struct serve_trace trace = { 0 };
	struct ebt_error *err = ebt_array_reserve(&list->traces, list->n, &list->capacity);

	if (err)
		return err;
	trace.name = strdup(name);
	trace.path = strdup(path);
	if (!trace.name || !trace.path) {
		free(trace.name);
		free(trace.path);
		return &ebt_enomem;
	}
	list->traces[list->n++] = trace;
	return NULL;
}

static void note(struct serve_trace *trace, const struct stat *st)
{
	trace->there = true;
	trace->size = (uint64_t)st->st_size;
	trace->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static struct ebt_error *take_name(struct list *list, const char *name)
{
	_cleanup_free_ char *path = NULL;
	struct ebt_error *err = ebt_format(&path, "%s/%s", list->folder, name);
	struct stat st;
	size_t i = 0;

	if (err || !is_file(path, &st))
		return err;
	while (i < list->n && strcmp(list->traces[i].name, name))
		i++;
	if (i == MOST_TRACES)
		return NULL;
	err = i == list->n ? append(list, name, path) : NULL;
	if (!err)
		note(&list->traces[i], &st);
	return err;
}

struct ebt_error *list_refresh(struct list *list)
{
	struct dirent **names;
	struct ebt_error *err = NULL;
	int n;

	if (!list->folder)
		return NULL;
	n = scandir(list->folder, &names, NULL, alphasort);
	if (n < 0)
		return ebt_error_errno(errno, "cannot read the folder '%s'", list->folder);
	for (size_t i = 0; i < list->n; i++)
		list->traces[i].there = false;
	for (int i = 0; i < n; i++) {
		if (!err && is_trace_name(names[i]->d_name))
			err = take_name(list, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return err;
}

struct ebt_error *list_create(const char *path, struct list *ret)
{
	struct list list = { 0 };
	struct ebt_error *err;
	struct stat st;

	if (stat(path, &st))
		return ebt_error_errno(errno, "cannot open '%s'", path);
	if (S_ISDIR(st.st_mode)) {
		list.folder = path;
		err = list_refresh(&list);
	} else if (S_ISREG(st.st_mode)) {
		err = append(&list, path, path);
	} else {
		err = ebt_error_create(EBT_ERR_INVALID,
				       "'%s' is neither a file nor a folder, and is read more "
				       "than once",
				       path);
	}
	if (err)
		list_deinit(&list);
	else
		*ret = list;
	return err;
}

void list_deinit(struct list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->traces[i].name);
		free(list->traces[i].path);
	}
	free(list->traces);
}

void list_write(const struct list *list, FILE *to)
{
	struct json json;

	json_init(&json, to);
	json_open_object(&json);
	json_put(&json, "folder", cstr, list->folder);
	json_put(&json, "traces", open_array);
	for (size_t i = 0; i < list->n; i++) {
		const struct serve_trace *trace = &list->traces[i];

		if (!trace->there)
			continue;
		json_open_object(&json);
		json_put(&json, "number", u64, i);
		json_put(&json, "name", cstr, trace->name);
		json_put(&json, "size", u64, trace->size);
		json_put(&json, "changed_ns", i64, trace->mtime_ns);
		json_end(&json);
	}
	json_end(&json);
	json_end(&json);
}

const char *list_path(const struct list *list, uint64_t number)
{
	struct stat st;

	return number < list->n && is_file(list->traces[number].path, &st)
		       ? list->traces[number].path
		       : NULL;
}
