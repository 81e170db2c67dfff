/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * No event tells of modules (see modules.h), so the list is compared. What the functions of the
 * last list were is kept, as it is too late to ask when a module has gone.
 */
#include "record/sideband/modules.h"

#include <stdlib.h>
#include <string.h>

#include "record/base/clocks.h"
#include "record/base/procfs.h"

#define MAX_KALLSYMS (64u << 20)
#define MAX_MODULES  (1u << 20)

/* Copies in a trace: somebody may load and unload for ever. */
#define MAX_COPIES 32

struct modules {
	struct modules_paths paths;
	struct sideband_context *context;
	char *list;	 /* names and addresses */
	char *functions; /* lines of kallsyms */
	size_t len;
	uint64_t time; /* of both */
	bool stored;
	unsigned int copies;
};

const struct modules_paths modules_of_proc = { "/proc/modules", "/proc/kallsyms" };

/* The content, NUL-terminated; empty where it cannot be read, as where no module can be loaded. */
static struct ebt_error *slurp(const char *path, size_t limit, char **ret, size_t *ret_len)
{
	bool truncated;
	struct ebt_error *err = procfs_slurp(path, limit, ret, ret_len, &truncated);

	if (!err || err->code != EBT_ERR_SYSTEM)
		return err;
	ebt_error_destroy(err);
	*ret_len = 0;
	*ret = calloc(1, 1);
	return *ret ? NULL : &ebt_enomem;
}

/* "name size references users state address": only the name and the address stay, in place. */
static void only_places(char *list)
{
	char *to = list;

	for (char *line = list, *next; *line; line = next) {
		size_t len = strcspn(line, "\n"), name = strcspn(line, " \n");
		const char *address = line + len;

		next = line + len + (line[len] == '\n');
		if (line[name] != ' ')
			continue;
		while (address > line && address[-1] != ' ')
			address--;
		/* Tainting modules have "(OE)" behind it. */
		if (*address == '(' && address > line + 1) {
			address--;
			while (address > line && address[-1] != ' ')
				address--;
		}
		memmove(to, line, name);
		to += name;
		*to++ = ' ';
		len = strcspn(address, " \n");
		memmove(to, address, len);
		to += len;
		*to++ = '\n';
	}
	*to = '\0';
}

static struct ebt_error *read_list(const struct modules *modules, char **ret)
{
	size_t len;
	struct ebt_error *err = slurp(modules->paths.modules, MAX_MODULES, ret, &len);

	if (!err)
		only_places(*ret);
	return err;
}

/* A function of a module, and not the padding before one. */
static bool is_function(const char *line, size_t len)
{
	static const char bpf[] = "[bpf]", padding[] = "__pfx_";
	const char *type = memchr(line, ' ', len);
	size_t zeros = strspn(line, "0");

	if (!type || line + len - type < 4 || !strchr("tTwW", type[1]) || line[len - 1] != ']' ||
	    line + zeros >= type)
		return false;
	if (!strncmp(type + 3, padding, strlen(padding)))
		return false;
	/* These have events. */
	return len < strlen(bpf) || memcmp(line + len - strlen(bpf), bpf, strlen(bpf)) != 0;
}

static size_t only_functions(char *text, size_t len)
{
	size_t to = 0;

	for (size_t at = 0, n; at < len; at += n) {
		const char *line = text + at, *newline = memchr(line, '\n', len - at);

		n = newline ? (size_t)(newline - line) + 1 : len - at;
		if (!newline || !is_function(line, n - 1))
			continue;
		memmove(text + to, line, n);
		to += n;
	}
	return to;
}

static struct ebt_error *store(struct modules *modules)
{
	const struct embed_file file = {
		.role = "kallsyms",
		.path = modules->paths.kallsyms,
		.time = modules->time,
	};

	if (modules->stored || !modules->len || modules->copies == MAX_COPIES)
		return NULL;
	modules->stored = true;
	modules->copies++;
	return embed_bytes(modules->context, &file, modules->functions, modules->len);
}

/* Takes the list. */
static struct ebt_error *take(struct modules *modules, char *list)
{
	char *functions = NULL;
	size_t len = 0;

	free(modules->list);
	modules->list = list;
	modules->stored = false;
	modules->time = clocks_now();
	if (*list) {
		struct ebt_error *err =
			slurp(modules->paths.kallsyms, MAX_KALLSYMS, &functions, &len);

		if (err)
			return err;
	}
	free(modules->functions);
	modules->len = only_functions(functions, len);
	/* It gets smaller. */
	modules->functions = realloc(functions, modules->len + 1) ?: functions;
	return NULL;
}

struct ebt_error *modules_create(const struct modules_paths *paths,
				 struct sideband_context *context, struct modules **ret)
{
	_cleanup_(modules_destroyp) struct modules *modules = calloc(1, sizeof(*modules));
	struct ebt_error *err;
	char *list;

	if (!modules)
		return &ebt_enomem;
	modules->paths = *paths;
	modules->context = context;
	err = read_list(modules, &list);
	if (err)
		return err;
	err = take(modules, list);
	if (err)
		return err;
	*ret = take_ptr(modules);
	return NULL;
}

void modules_destroy(struct modules *modules)
{
	if (!modules)
		return;
	free(modules->list);
	free(modules->functions);
	free(modules);
}

struct ebt_error *modules_look(struct modules *modules)
{
	_cleanup_free_ char *list = NULL;
	struct ebt_error *err;

	if (modules->copies == MAX_COPIES)
		return NULL;
	err = read_list(modules, &list);
	if (err || !strcmp(list, modules->list))
		return err;
	return store(modules) ?: take(modules, take_ptr(list)) ?: store(modules);
}
