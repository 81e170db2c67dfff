/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From patterns to functions; see glob.h. */
#include "record/probes/glob.h"

#include <fnmatch.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "record/bpf/probe.h"

/* Symbols that are kept, of which many may be the same function. */
#define MAX_SYMBOLS 65536
/* Bytes of the names that are told of what is left out. */
#define MAX_LEFT_OUT 200

void probe_matches_deinit(struct probe_matches *matches)
{
	for (size_t i = 0; i < matches->n; i++)
		free(matches->list[i].name);
	free(matches->list);
	free(matches->left_out);
	*matches = (struct probe_matches){ 0 };
}

bool probe_glob_is(const char *text)
{
	return strpbrk(text, "*?[");
}

/* Symbols that fit, each of which may be there several times. */
struct glob_search {
	const struct probe_elf *elf;
	const char *pattern;
	struct symbol {
		char *name;
		uint64_t offset;
		bool chosen_later;
	} * list;
	size_t n, capacity;
	bool failed;
};

static void search_deinit(struct glob_search *search)
{
	for (size_t i = 0; i < search->n; i++)
		free(search->list[i].name);
	free(search->list);
}

static bool take_symbol(void *arg, const struct probe_symbol *symbol)
{
	const char *version = strchr(symbol->name, '@');
	struct glob_search *search = arg;
	uint64_t offset;
	char *name;

	/* What only old programs get by this name is not meant, nor parts of functions, which are
	 * jumped to. */
	if (strstr(symbol->name, ".cold") || symbol->other_version ||
	    (version && version[1] != '@') ||
	    !probe_elf_offset(search->elf, symbol->address, &offset) ||
	    !probe_elf_is_code(search->elf, offset))
		return true;
	name = strndup(symbol->name, version ? (size_t)(version - symbol->name) : SIZE_MAX);
	if (!name || ebt_array_reserve(&search->list, search->n, &search->capacity)) {
		free(name);
		search->failed = true;
		return false;
	}
	if (fnmatch(search->pattern, name, 0)) {
		free(name);
		return true;
	}
	search->list[search->n++] = (struct symbol){
		.name = name,
		.offset = offset,
		.chosen_later = symbol->chosen_later,
	};
	return search->n < MAX_SYMBOLS;
}

/* Of the names of one function that comes first which people know: with fewest underscores before
 * it, and short. */
static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	size_t x_spn = strspn(x->name, "_"), y_spn = strspn(y->name, "_");
	size_t x_len = strlen(x->name), y_len = strlen(y->name);
	int order = ebt_compare(x->offset, y->offset) ?: ebt_compare(x_spn, y_spn);

	return order ?: ebt_compare(x_len, y_len) ?: strcmp(x->name, y->name);
}

/* Where a return address that is not what it was, or is none, ends the program: what keeps it for
 * later, what looks at it, and what is not called. */
static bool keeps_return(const char *name)
{
	static const char *const patterns[] = {
		"*setjmp",	 "savectx",	 "*getcontext", "*swapcontext", "_start",
		"__restore_rt",	 "*clone",	 "*clone3",	"*vfork",	"_dl_start*",
		"_dl_runtime_*", "_dl_tlsdesc*", "_Unwind_*",	"__cxa_throw",	"__cxa_rethrow",
		"_mcount",	 "mcount",	 "__fentry__",
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		if (!fnmatch(patterns[i], name, 0))
			return true;
	}
	return false;
}

static struct ebt_error *leave_out(struct probe_matches *matches, const char *name)
{
	char *longer = NULL;

	matches->n_left_out++;
	/* Enough for a message. */
	if (matches->left_out && strlen(matches->left_out) > MAX_LEFT_OUT)
		return NULL;
	if (asprintf(&longer, "%s%s%s", matches->left_out ? matches->left_out : "",
		     matches->left_out ? ", " : "", name) < 0)
		return &ebt_enomem;
	free(matches->left_out);
	matches->left_out = longer;
	return NULL;
}

static struct ebt_error *take_match(struct probe_matches *matches, const struct symbol *symbol,
				    bool entry)
{
	struct probe_match match = { .offset = symbol->offset, .begins = !entry };

	if (keeps_return(symbol->name))
		match.begins = false;
	if (asprintf(&match.name, "%s%s", symbol->name, match.begins ? "" : "+0") < 0)
		return &ebt_enomem;
	matches->list[matches->n++] = match;
	return NULL;
}

/* One of each function; symbols are in order. */
static struct ebt_error *choose(const struct glob_search *search, bool entry,
				struct probe_matches *matches)
{
	struct ebt_error *err = NULL;

	matches->list = calloc(search->n + 1, sizeof(*matches->list));
	if (!matches->list)
		return &ebt_enomem;
	for (size_t i = 0; i < search->n && !err; i++) {
		const struct symbol *symbol = &search->list[i];

		if (i && symbol->offset == symbol[-1].offset)
			continue;
		if (symbol->chosen_later ||
		    probe_elf_insn(search->elf, symbol->offset) != PROBE_INSN_FINE)
			err = leave_out(matches, symbol->name);
		else
			err = take_match(matches, symbol, entry);
	}
	return err;
}

static struct ebt_error *search_all(struct glob_search *search)
{
	_cleanup_(probe_elf_closep) struct probe_elf *debug = NULL;
	struct ebt_error *err = probe_elf_symbols(search->elf, take_symbol, search)
					?: probe_elf_debug(search->elf, &debug);

	if (debug && search->n < MAX_SYMBOLS)
		err = probe_elf_symbols(debug, take_symbol, search);
	return !err && search->failed ? &ebt_enomem : err;
}

static struct ebt_error *say_none(const char *path, const char *text, const char *left_out)
{
	if (left_out)
		return ebt_error_create(EBT_ERR_NOT_FOUND,
					"what matches '%s' in %s only chooses functions when a "
					"program starts (probe those, as __memcpy_*), or begins "
					"with an instruction that cannot be probed: %s",
					text, path, left_out);
	return ebt_error_create(EBT_ERR_NOT_FOUND,
				"%s has no function that matches '%s' (names of C++ and Rust "
				"match as they are mangled)",
				path, text);
}

static struct ebt_error *find(struct glob_search *search, const char *path, const char *text,
			      bool entry, struct probe_matches *matches)
{
	struct ebt_error *err = search_all(search);

	if (err)
		return err;
	if (search->n)
		qsort(search->list, search->n, sizeof(*search->list), compare);
	err = choose(search, entry, matches);
	if (err)
		return err;
	if (!matches->n)
		return say_none(path, text, matches->left_out);
	if (matches->n <= EBREC_MAX_PROBES)
		return NULL;
	return ebt_error_create(
		EBT_ERR_LIMIT,
		"'%s' stands for %zu functions of %s%s; all together, %d probes are the most", text,
		matches->n, path, search->n == MAX_SYMBOLS ? ", or more" : "", EBREC_MAX_PROBES);
}

struct ebt_error *probe_glob_find(const struct probe_elf *elf, const char *path, const char *text,
				  struct probe_matches *ret)
{
	const char *plus = strrchr(text, '+');
	const bool entry = plus && !strcmp(plus, "+0");
	_cleanup_free_ char *pattern = strndup(text, entry ? (size_t)(plus - text) : SIZE_MAX);
	_cleanup_(search_deinit) struct glob_search search = {
		.elf = elf,
		.pattern = pattern,
	};
	struct probe_matches matches = { 0 };
	struct ebt_error *err;

	if (!pattern)
		return &ebt_enomem;
	err = find(&search, path, text, entry, &matches);
	if (err) {
		probe_matches_deinit(&matches);
		return err;
	}
	*ret = matches;
	return NULL;
}
