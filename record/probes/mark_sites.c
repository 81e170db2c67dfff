/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks in files; see mark_sites.h. */
#include "record/probes/mark_sites.h"

#include <string.h>

#include <linux/types.h>

#include "record/bpf/mark.h"
#include "record/probes/usdt_notes.h"

/* What ebmark.h says of where its arguments are. */
#ifdef __x86_64__
#define ARGS "8@%rdi 8@%rsi 8@%rdx -8@%rcx -8@%rax"
#else
#define ARGS "8@x0 8@x1 8@x2 -8@x3 -8@x4"
#endif

static int kind_of(const char *name)
{
	static const char *const names[EBREC_MARK_KINDS] = {
		[EBREC_MARK_INSTANT] = "instant", [EBREC_MARK_SPAN] = "span",
		[EBREC_MARK_BEGIN] = "begin",	  [EBREC_MARK_END] = "end",
		[EBREC_MARK_COUNTER] = "counter", [EBREC_MARK_COUNTER_DOUBLE] = "counter_double",
		[EBREC_MARK_LOG] = "log",
	};

	for (int i = 0; i < EBREC_MARK_KINDS; i++) {
		if (!strcmp(names[i], name))
			return i;
	}
	return -1;
}

struct mark_search {
	struct probe_sites *sites;
	size_t unknown;
};

static struct ebt_error *add_site(void *arg, const struct usdt_note *note)
{
	struct mark_search *search = arg;
	int kind;

	if (strcmp(note->provider, "ebmark"))
		return NULL;
	kind = kind_of(note->name);
	if (kind < 0 || strcmp(note->args, ARGS)) {
		search->unknown++;
		return NULL;
	}
	return probe_sites_add(search->sites, note->offset, note->semaphore, (uint64_t)kind)
		       ? NULL
		       : &ebt_enomem;
}

struct ebt_error *mark_sites_find(int fd, const struct elfparts *parts, struct probe_sites *sites,
				  size_t *ret_unknown)
{
	struct mark_search search = { .sites = sites };
	struct ebt_error *err = usdt_notes_each(fd, parts, add_site, &search);

	if (err)
		return err;
	*ret_unknown = search.unknown;
	return NULL;
}
