/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of several machines, of which a trace is one; see trace.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/base/text.h"
#include "report/trace/private.h"

size_t trace_n_hosts(const struct trace *trace)
{
	return ebt_reader_info(trace->reader)->n_hosts;
}

struct ebt_error *trace_host_name(struct trace *trace, struct text *ret)
{
	const char *name;
	struct ebt_error *err = ebt_reader_meta(trace->reader, "host.name", &name);

	if (err)
		return err;
	text_printf(ret, "host-%" PRIu32 ": ", ebt_reader_info(trace->reader)->host);
	text_cstr(ret, name ? name : "?");
	return text_error(ret);
}

/* How well a word tells a machine: its number, its name, its number as reports show it. */
enum { NO_MATCH, BY_LABEL, BY_NAME, BY_NUMBER };

static unsigned int match(const char *word, uint32_t number, const char *name)
{
	char label[24];

	snprintf(label, sizeof(label), "host-%" PRIu32, number);
	if (!strcmp(word, label + strlen("host-")))
		return BY_NUMBER;
	if (name && !strcmp(word, name))
		return BY_NAME;
	return strcmp(word, label) ? NO_MATCH : BY_LABEL;
}

/* The first of those that match best. *ret_list: what there is, for people. */
static struct ebt_error *search(struct ebt_reader *reader, const char *host, struct text *list,
				uint32_t *ret)
{
	const struct ebt_reader_info *info = ebt_reader_info(reader);
	unsigned int best = NO_MATCH;

	*ret = 0;
	for (size_t i = 0; i < info->n_hosts; i++) {
		const uint32_t number = info->hosts[i];
		const char *name;
		struct ebt_error *err = ebt_reader_choose_host(reader, number)
						?: ebt_reader_meta(reader, "host.name", &name);
		unsigned int how;

		if (err)
			return err;
		text_printf(list, "%s%" PRIu32 " (%s)", i ? ", " : "", number, name ? name : "?");
		how = host ? match(host, number, name) : NO_MATCH;
		if (how > best) {
			best = how;
			*ret = number;
		}
	}
	return text_error(list);
}

struct ebt_error *trace_find_host(struct ebt_reader *reader, const char *host)
{
	const struct ebt_reader_info *info = ebt_reader_info(reader);
	_cleanup_text_ struct text list = TEXT_INIT;
	struct ebt_error *err;
	uint32_t found;

	if (!host)
		return NULL;
	if (!info->n_hosts)
		return ebt_error_create(EBT_ERR_INVALID,
					"%s is of one machine: --host does not apply", info->path);
	err = search(reader, host, &list, &found);
	if (err)
		return err;
	if (!found)
		return ebt_error_create(EBT_ERR_INVALID, "--host '%s': %s has %s", host, info->path,
					text_get(&list));
	return ebt_reader_choose_host(reader, found);
}

struct ebt_error *trace_choose_one(struct trace *trace, const char *why)
{
	const struct ebt_reader_info *info = ebt_reader_info(trace->reader);
	_cleanup_text_ struct text list = TEXT_INIT;
	uint32_t none;
	struct ebt_error *err = search(trace->reader, NULL, &list, &none);

	if (err)
		return err;
	return ebt_error_create(EBT_ERR_INVALID,
				"%s is of %zu machines, and %s: choose one with --host: %s",
				info->path, info->n_hosts, why, text_get(&list));
}
