/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strings and functions, each kept once: the same function of the same object is the same
 * struct sym_func, and equal strings are equal pointers.
 */
#ifndef SYMBOLIZE_BASE_FUNC_H
#define SYMBOLIZE_BASE_FUNC_H

#include "format/base/arena.h"
#include "format/base/error.h"
#include "format/base/map.h"
#include "symbolize/base/types.h"

struct func_string {
	const char *text;
	const char *demangled; /* NULL: not asked for yet */
};

struct funcs {
	struct ebt_arena arena;
	struct func_string *strings;
	size_t n_strings, strings_capacity;
	const struct sym_func **funcs; /* by id */
	size_t n_funcs, funcs_capacity;
	struct ebt_map by_text, by_func;
};

void funcs_init(struct funcs *funcs);
void funcs_deinit(struct funcs *funcs);

/* The one copy of a string. */
struct ebt_error *funcs_string(struct funcs *funcs, const char *text, size_t len, const char **ret);

/* The one copy of a text that is put together. */
struct ebt_error *funcs_printf(struct funcs *funcs, const char **ret, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same, demangled. */
struct ebt_error *funcs_demangle(struct funcs *funcs, const char *name, size_t len,
				 const char **ret);

/* The function like `key`, whose id is ignored and whose strings are from funcs_string(). */
struct ebt_error *funcs_intern(struct funcs *funcs, const struct sym_func *key,
			       const struct sym_func **ret);

/* The same, where the strings are any. */
struct ebt_error *funcs_copy(struct funcs *funcs, struct sym_func key, const struct sym_func **ret);

#endif
