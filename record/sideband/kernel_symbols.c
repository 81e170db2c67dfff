/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the functions of the kernel; see kernel_symbols.h. */
#include "record/sideband/kernel_symbols.h"

#include <string.h>

#include "record/base/beside.h"
#include "record/base/procfs.h"

/* A kernel with many modules has 300,000 symbols of 60 bytes; only text is kept. */
#define MAX_KALLSYMS (64u << 20)

struct kernel_symbols {
	struct beside reading;
	bool done; /* atomic: what follows is there */
	char *text;
	struct kernel_functions functions;
};

/* Keeps the lines of functions, and moves them together. Returns the length that is left. */
static size_t only_functions(char *text, size_t len, bool *ret_hidden)
{
	size_t to = 0;

	*ret_hidden = true;
	for (size_t at = 0; at < len;) {
		const char *line = text + at;
		const char *newline = memchr(line, '\n', len - at);
		const size_t n = newline ? (size_t)(newline - line) + 1 : len - at;
		const char *type = memchr(line, ' ', n);

		at += n;
		if (!type || type + 1 >= line + n || !strchr("tTwW", type[1]))
			continue;
		/* Half of all are names of the padding before a function, which nothing executes.
		 */
		if (!strncmp(type + 2, " __pfx_", strlen(" __pfx_")))
			continue;
		for (const char *digit = line; digit < type; digit++)
			*ret_hidden &= *digit == '0';
		memmove(text + to, line, n);
		to += n;
	}
	return to;
}

static struct ebt_error *read_all(void *arg)
{
	struct kernel_symbols *s = arg;
	struct kernel_functions *f = &s->functions;
	struct ebt_error *err =
		procfs_slurp("/proc/kallsyms", MAX_KALLSYMS, &s->text, &f->len, &f->truncated);

	if (!err) {
		f->len = only_functions(s->text, f->len, &f->hidden);
		f->text = s->text;
	}
	__atomic_store_n(&s->done, true, __ATOMIC_RELEASE);
	return err;
}

struct ebt_error *kernel_symbols_create(struct kernel_symbols **ret)
{
	struct kernel_symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return &ebt_enomem;
	beside_start(&s->reading, read_all, s);
	*ret = s;
	return NULL;
}

void kernel_symbols_destroy(struct kernel_symbols *s)
{
	if (!s)
		return;
	ebt_error_destroy(beside_join(&s->reading));
	free(s->text);
	free(s);
}

bool kernel_symbols_ready(const struct kernel_symbols *s)
{
	return __atomic_load_n(&s->done, __ATOMIC_ACQUIRE);
}

struct ebt_error *kernel_symbols_take(struct kernel_symbols *s, struct kernel_functions *ret)
{
	struct ebt_error *err = beside_join(&s->reading);

	if (!err)
		*ret = s->functions;
	return err;
}
