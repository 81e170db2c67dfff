/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of who scrubs, and the copy; see scrub_copy.h. */
#include "report/share/scrub_copy.h"

#include <string.h>

#include "cli/options.h"
#include "report/share/copying.h"

const struct option_def scrub_options[] = {
	{ "keep", OPTION_STRING, "CLASS,…",
	  "leave as they are: args, comms, host, users, paths, syscalls" },
	{ "keep-file", OPTION_STRING, "ROLE,…", "keep embedded files of these roles too" },
	{ "drop", OPTION_STRING, "CLASS,…",
	  "take out too: names (of functions), kernel (addresses), system-paths" },
	{ 0 },
};

struct word {
	const char *name;
	bool *flag;
};

static struct ebt_error *set_classes(const char *option, const char *list,
				     const struct word *classes, size_t n)
{
	while (list && *list) {
		size_t len, i = 0;
		const char *word = cli_take_piece(&list, &len);

		while (i < n &&
		       (strlen(classes[i].name) != len || memcmp(classes[i].name, word, len) != 0))
			i++;
		if (i == n)
			return ebt_error_create(EBT_ERR_INVALID,
						"--%s: '%.*s' is not one of the classes: see "
						"`ebreport scrub --help`",
						option, (int)len, word);
		*classes[i].flag = true;
	}
	return NULL;
}

struct ebt_error *scrub_read_options(const struct options *options, struct scrub_options *ret)
{
	const struct word kept[] = {
		{ "args", &ret->keep_args },   { "comms", &ret->keep_comms },
		{ "host", &ret->keep_host },   { "users", &ret->keep_users },
		{ "paths", &ret->keep_paths }, { "syscalls", &ret->keep_syscalls },
	};
	const struct word dropped[] = {
		{ "names", &ret->drop_names },
		{ "kernel", &ret->drop_kernel },
		{ "system-paths", &ret->drop_system_paths },
	};
	struct ebt_error *err;

	err = set_classes("keep", options_string(options, "keep"), kept,
			  sizeof(kept) / sizeof(kept[0]));
	if (!err)
		err = set_classes("drop", options_string(options, "drop"), dropped,
				  sizeof(dropped) / sizeof(dropped[0]));
	ret->keep_files = options_string(options, "keep-file");
	return err;
}

static enum ebt_copy_action choose(void *arg, const struct ebt_chunk_info *chunk,
				   const struct ebt_table *table)
{
	const struct scrub_copy *copy = arg;

	return scrub_action(copy->scrub, chunk, table);
}

static struct ebt_error *edit_chunk(void *arg, struct ebt_edit *edit, bool *ret_changed)
{
	const struct scrub_copy *copy = arg;

	return scrub_edit(copy->scrub, edit, ret_changed);
}

static struct ebt_error *append(void *arg, struct ebt_stream *stream)
{
	const struct scrub_copy *copy = arg;
	struct ebt_error *err;

	err = copying_meta(copy->report, stream, "scrub.version", EBT_VERSION);
	return err ? err : copying_note_damage(copy->reader, stream);
}

struct ebt_copy_options scrub_copy_options(struct scrub_copy *copy)
{
	return (struct ebt_copy_options){
		.anew = true,
		.arg = copy,
		.action = choose,
		.edit = edit_chunk,
		.append = append,
	};
}
