/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments of sources; see source_args.h. */
#include "record/config/source_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "record/config/source.h"

static struct ebt_error *check(const struct ebrec_source *source, const char *text)
{
	_cleanup_error_ struct ebt_error *err = NULL;

	if (!source->check_args)
		return ebt_error_create(EBT_ERR_INVALID,
					"source %s takes no arguments, as '%s' would be",
					source->name, text);
	err = source->check_args(text);
	if (!err)
		return NULL;
	return ebt_error_create(err->code, "source %s: %s; it takes %s", source->name, err->message,
				source->args_doc);
}

struct ebt_error *source_args_add(struct source_args *args, size_t source, const char *text,
				  size_t len)
{
	_cleanup_free_ char *copy = strndup(text, len);
	struct ebt_error *err;

	if (!copy)
		return &ebt_enomem;
	err = check(ebrec_sources[source], copy)
		      ?: ebt_array_reserve(&args->list, args->n, &args->capacity);
	if (err)
		return err;
	args->list[args->n++] = (struct source_arg){ .source = source, .text = take_ptr(copy) };
	return NULL;
}

void source_args_remove(struct source_args *args, size_t source)
{
	size_t kept = 0;

	for (size_t i = 0; i < args->n; i++) {
		if (args->list[i].source == source)
			free(args->list[i].text);
		else
			args->list[kept++] = args->list[i];
	}
	args->n = kept;
}

const char *source_args_get(const struct source_args *args, size_t source, size_t n)
{
	for (size_t i = 0; i < args->n; i++) {
		if (args->list[i].source == source && !n--)
			return args->list[i].text;
	}
	return NULL;
}

char *source_args_join(const struct source_args *args, size_t source)
{
	char *joined = NULL;
	size_t size;
	FILE *f = open_memstream(&joined, &size);
	const char *text;

	if (!f)
		return NULL;
	for (size_t i = 0; (text = source_args_get(args, source, i)); i++)
		fprintf(f, "%s%s", i ? "," : "", text);
	if (!fclose(f))
		return joined;
	free(joined);
	return NULL;
}

bool source_args_is_tracepoint(const char *text)
{
	const char *colon = strchr(text, ':');

	return colon && colon != text && colon[1] && !strpbrk(colon + 1, ":/") &&
	       !memchr(text, '/', (size_t)(colon - text)) && strlen(text) < TP_NAME_MAX;
}

void source_args_deinit(struct source_args *args)
{
	for (size_t i = 0; i < args->n; i++)
		free(args->list[i].text);
	free(args->list);
	*args = (struct source_args){ 0 };
}
