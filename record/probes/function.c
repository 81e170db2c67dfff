/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking for a function by its name; see function.h. */
#include "record/probes/function.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/spelling.h"

/* Functions of one name, and names to choose from, that are told. */
#define MAX_MATCHES 8
/* Of names that are said to be similar, which longer ones fill the screen with. */
#define MAX_NAME 64
#define MAX_CXX	 1024

/* How well a symbol fits; better ones displace others. */
enum fit { FIT_NONE, FIT_OTHER_VERSION, FIT_CXX, FIT_NAME };

struct function_search {
	const char *want;
	char cxx[MAX_CXX]; /* how C++ or Rust would begin to write it; empty: it cannot be */
	enum fit fit;
	struct {
		uint64_t address, size;
		bool chosen_later;
		char name[2 * MAX_NAME]; /* may be cut */
	} match[MAX_MATCHES];
	size_t n; /* may be more than there is room for */
};

/* --- names --- */

/* "ns::Class::method" as the compiler begins to write it: "2ns5Class6method", and std as "St". */
static void write_cxx(const char *name, char *ret, size_t size)
{
	const char *part = name, *end;
	size_t n = 0;

	if (!strncmp(name, "std::", 5)) {
		n = (size_t)snprintf(ret, size, "St");
		part += 5;
	}
	for (;; part = end + 2) {
		int len;

		end = strstr(part, "::");
		len = (int)(end ? end - part : (ptrdiff_t)strlen(part));
		n += (size_t)snprintf(ret + n, size - n, "%d%.*s", len, len, part);
		if (n >= size || !len) {
			*ret = '\0';
			return;
		}
		if (!end)
			return;
	}
}

/* Does the name end here? Rust has a hash before that. */
static bool ends_nested(const char *name)
{
	if (!strncmp(name, "17h", 3) && strspn(name + 3, "0123456789abcdef") == 16)
		name += 3 + 16;
	return *name == 'E';
}

/* Are these what is mangled of a function: its name, and then its parameters? */
static bool fits_cxx(const struct function_search *search, const char *name)
{
	size_t len = strlen(search->cxx);
	bool nested = strstr(search->want + (strncmp(search->cxx, "St", 2) ? 0 : 5), "::");

	if (!len || strncmp(name, "_Z", 2))
		return false;
	name += 2;
	if (nested) {
		if (*name++ != 'N')
			return false;
		name += *name == 'K'; /* a const method */
	} else {
		name += *name == 'L'; /* static */
	}
	return !strncmp(name, search->cxx, len) && (!nested || ends_nested(name + len)) &&
	       name[len];
}

static enum fit fit_of(const struct function_search *search, const struct probe_symbol *symbol)
{
	const char *version = strchr(symbol->name, '@'), *wanted = strchr(search->want, '@');
	size_t len = version ? (size_t)(version - symbol->name) : strlen(symbol->name);
	size_t want = wanted ? (size_t)(wanted - search->want) : strlen(search->want);

	if (want != len || strncmp(symbol->name, search->want, len))
		return fits_cxx(search, symbol->name) ? FIT_CXX : FIT_NONE;
	if (wanted)
		return version && !strcmp(version + strspn(version, "@"),
					  wanted + strspn(wanted, "@"))
			       ? FIT_NAME
			       : FIT_NONE;
	return symbol->other_version || (version && version[1] != '@') ? FIT_OTHER_VERSION
								       : FIT_NAME;
}

static bool try_symbol(void *arg, const struct probe_symbol *symbol)
{
	struct function_search *search = arg;
	enum fit fit = fit_of(search, symbol);

	if (fit == FIT_NONE || fit < search->fit)
		return true;
	if (fit > search->fit)
		search->n = 0;
	search->fit = fit;
	for (size_t i = 0; i < search->n && i < MAX_MATCHES; i++) {
		if (search->match[i].address == symbol->address)
			return true;
	}
	if (search->n < MAX_MATCHES) {
		search->match[search->n].address = symbol->address;
		search->match[search->n].size = symbol->size;
		search->match[search->n].chosen_later = symbol->chosen_later;
		snprintf(search->match[search->n].name, sizeof(search->match->name), "%s",
			 symbol->name);
	}
	search->n++;
	return true;
}

/* --- what to say where there is none, or more than one --- */

struct function_list {
	const char *want;
	char *text; /* names with commas between */
	size_t len, n;
	bool (*is)(const char *name, const char *want);
	FILE *f;
};

static bool is_similar(const char *name, const char *want)
{
	size_t len = strlen(want);

	if (strlen(name) > MAX_NAME || len < 3)
		return false;
	return (len > 3 && strcasestr(name, want)) ||
	       ebt_spelling_distance(name, want) <= 1 + len / 6;
}

/* glibc names what an IFUNC may be like __memcpy_avx_unaligned. */
static bool is_choice(const char *name, const char *want)
{
	size_t len = strlen(want);

	return !strncmp(name, "__", 2) && !strncmp(name + 2, want, len) && name[len + 2] == '_';
}

static bool list_symbol(void *arg, const struct probe_symbol *symbol)
{
	struct function_list *list = arg;

	if (!list->is(symbol->name, list->want))
		return true;
	fflush(list->f);
	if (list->text && strstr(list->text, symbol->name))
		return true;
	fprintf(list->f, "%s%s", list->n ? ", " : "", symbol->name);
	return ++list->n < MAX_MATCHES;
}

/* To be freed; NULL: there are none. */
static char *list_names(const struct probe_elf *elf, const struct probe_elf *debug,
			const char *want, bool (*is)(const char *name, const char *want))
{
	struct function_list list = { .want = want, .is = is };

	list.f = open_memstream(&list.text, &list.len);
	if (!list.f)
		return NULL;
	ebt_error_destroy(probe_elf_symbols(elf, list_symbol, &list));
	if (debug && list.n < MAX_MATCHES)
		ebt_error_destroy(probe_elf_symbols(debug, list_symbol, &list));
	if (!fclose(list.f) && list.n)
		return list.text;
	free(list.text);
	return NULL;
}

/* Of "ns::name<type>(int)" what is in a mangled name, too: "name". To be freed; NULL: no memory. */
static char *shorten(const char *want)
{
	const char *colon;
	char *ret = strdup(want);

	if (!ret)
		return NULL;
	ret[strcspn(ret, "<(")] = '\0';
	colon = strrchr(ret, ':');
	if (colon)
		memmove(ret, colon + 1, strlen(colon));
	return ret;
}

static struct ebt_error *say_none(const struct probe_elf *elf, const struct probe_elf *debug,
				  const char *path, const char *want)
{
	_cleanup_free_ char *short_name = shorten(want);
	_cleanup_free_ char *names = NULL;

	if (!short_name)
		return &ebt_enomem;
	names = list_names(elf, debug, short_name, is_similar);
	return ebt_error_create(EBT_ERR_NOT_FOUND, "%s has no function '%s'%s%s%s", path, want,
				names ? "; similar names: " : "", names ? names : "",
				debug ? "" : " (and there is no file of its debug information)");
}

static struct ebt_error *say_many(const struct probe_elf *elf, const char *path,
				  const struct function_search *search)
{
	char text[MAX_MATCHES * (sizeof(search->match->name) + 64)] = "";
	bool named = search->fit != FIT_CXX;
	size_t n = 0;

	for (size_t i = 0; i < search->n && i < MAX_MATCHES; i++) {
		uint64_t offset;

		if (probe_elf_offset(elf, search->match[i].address, &offset))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s0x%jx (%ju bytes%s%s)",
					      n ? ", " : "", (uintmax_t)offset,
					      (uintmax_t)search->match[i].size, named ? "" : ", ",
					      named ? "" : search->match[i].name);
	}
	return ebt_error_create(EBT_ERR_INVALID,
				"%s has %zu functions '%s'; write where one of them is: %s", path,
				search->n, search->want, text);
}

static struct ebt_error *say_chosen_later(const struct probe_elf *elf,
					  const struct probe_elf *debug, const char *path,
					  const char *want)
{
	_cleanup_free_ char *names = list_names(elf, debug, want, is_choice);

	return ebt_error_create(
		EBT_ERR_INVALID,
		"'%s' of %s is one of several functions, chosen when a program starts; write one "
		"of them%s%s",
		want, path, names ? ": " : "; the file of debug information has their names",
		names ? names : "");
}

/* --- finding --- */

static struct ebt_error *find_by_name(const struct probe_elf *elf, const char *path,
				      const char *name, uint64_t *ret)
{
	_cleanup_(probe_elf_closep) struct probe_elf *debug = NULL;
	struct function_search search = { .want = name };
	struct ebt_error *err;

	write_cxx(name, search.cxx, sizeof(search.cxx));
	err = probe_elf_symbols(elf, try_symbol, &search) ?: probe_elf_debug(elf, &debug);
	if (err)
		return err;
	if (debug && search.fit < FIT_NAME)
		err = probe_elf_symbols(debug, try_symbol, &search);
	if (err)
		return err;
	if (!search.n)
		return say_none(elf, debug, path, name);
	if (search.n > 1)
		return say_many(elf, path, &search);
	if (search.match[0].chosen_later)
		return say_chosen_later(elf, debug, path, name);
	if (!probe_elf_offset(elf, search.match[0].address, ret))
		return ebt_error_create(EBT_ERR_CORRUPT, "%s: the address of '%s' is in no segment",
					path, name);
	return NULL;
}

struct function_place {
	const struct probe_elf *elf;
	uint64_t offset;
	bool found;
};

static bool is_begin(void *arg, const struct probe_symbol *symbol)
{
	struct function_place *place = arg;
	uint64_t offset;

	place->found =
		probe_elf_offset(place->elf, symbol->address, &offset) && offset == place->offset;
	return !place->found;
}

/* Does a function begin here? Only then is a return address where the stack pointer points to. */
static struct ebt_error *find_begin(const struct probe_elf *elf, uint64_t offset, bool *ret)
{
	_cleanup_(probe_elf_closep) struct probe_elf *debug = NULL;
	struct function_place place = { .elf = elf, .offset = offset };
	struct ebt_error *err = probe_elf_symbols(elf, is_begin, &place);

	if (err)
		return err;
	if (!place.found)
		err = probe_elf_debug(elf, &debug);
	if (debug)
		err = probe_elf_symbols(debug, is_begin, &place);
	*ret = place.found;
	return err;
}

static bool parse_number(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 0);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

static struct ebt_error *find(const struct probe_elf *elf, const char *path, const char *text,
			      struct probe_function *ret)
{
	const char *plus = strrchr(text, '+');
	struct probe_function found = { .begins = true };
	_cleanup_free_ char *name = NULL;
	struct ebt_error *err;
	uint64_t distance = 0;

	if (!strncmp(text, "0x", 2)) {
		if (!parse_number(text, &found.offset))
			return ebt_error_create(EBT_ERR_INVALID, "'%s' is not an offset in a file",
						text);
		*ret = found;
		return find_begin(elf, found.offset, &ret->begins);
	}
	if (plus && !parse_number(plus + 1, &distance))
		plus = NULL; /* a name of C++, like operator+ */
	name = plus ? strndup(text, (size_t)(plus - text)) : strdup(text);
	if (!name)
		return &ebt_enomem;
	err = find_by_name(elf, path, name, &found.offset);
	if (err)
		return err;
	found.offset += distance;
	/* NAME+0 is for who wants no return: see the man page on exceptions. */
	found.begins = !plus;
	*ret = found;
	return NULL;
}

struct ebt_error *probe_function_find(const struct probe_elf *elf, const char *path,
				      const char *text, struct probe_function *ret)
{
	struct probe_function found = { 0 };
	struct ebt_error *err = find(elf, path, text, &found);

	if (err)
		return err;
	if (!probe_elf_is_code(elf, found.offset))
		return ebt_error_create(EBT_ERR_INVALID, "%s has no code at '%s'", path, text);
	if (probe_elf_insn(elf, found.offset) == PROBE_INSN_MISREAD)
		return ebt_error_create(EBT_ERR_UNSUPPORTED,
					"%s has a vector instruction at '%s' that kernels take for "
					"another one where a probe is, so that programs go wrong",
					path, text);
	*ret = found;
	return NULL;
}
