/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings and functions, each kept once; see func.h. */
#include "symbolize/base/func.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/array.h"
#include "symbolize/base/demangle.h"

/* A trace can have an unnamed address for each 10 of its bytes. */
#define MAX_MEMORY ((size_t)4 << 30)

void funcs_init(struct funcs *funcs)
{
	*funcs = (struct funcs){ 0 };
	ebt_arena_init(&funcs->arena, MAX_MEMORY);
}

void funcs_deinit(struct funcs *funcs)
{
	ebt_arena_deinit(&funcs->arena);
	free(funcs->strings);
	free(funcs->funcs);
	ebt_map_deinit(&funcs->by_text);
	ebt_map_deinit(&funcs->by_func);
}

static struct ebt_error *add_string(struct funcs *funcs, const char *text, size_t len,
				    uint64_t hash, uint32_t *ret)
{
	struct ebt_error *err;
	const char *copy;

	err = ebt_array_reserve(&funcs->strings, funcs->n_strings, &funcs->strings_capacity) ?:
	      ebt_arena_string(&funcs->arena, text, len, &copy) ?:
	      ebt_map_insert(&funcs->by_text, hash, funcs->n_strings);
	if (err)
		return err;
	funcs->strings[funcs->n_strings] = (struct func_string){ .text = copy };
	*ret = funcs->n_strings++;
	return NULL;
}

static struct ebt_error *find_string(struct funcs *funcs, const char *text, size_t len,
				     uint32_t *ret)
{
	uint64_t hash = ebt_hash_bytes(0, text, len);

	*ret = ebt_map_search(&funcs->by_text, hash, i,
			      !strncmp(funcs->strings[i].text, text, len) &&
				      !funcs->strings[i].text[len]);
	return *ret == EBT_MAP_NONE ? add_string(funcs, text, len, hash, ret) : NULL;
}

struct ebt_error *funcs_string(struct funcs *funcs, const char *text, size_t len, const char **ret)
{
	struct ebt_error *err;
	uint32_t i;

	err = find_string(funcs, text, strnlen(text, len), &i);
	if (err)
		return err;
	*ret = funcs->strings[i].text;
	return NULL;
}

struct ebt_error *funcs_printf(struct funcs *funcs, const char **ret, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len >= 0)
		return funcs_string(funcs, text, (size_t)len, ret);
	text = NULL;
	return &ebt_enomem;
}

struct ebt_error *funcs_demangle(struct funcs *funcs, const char *name, size_t len,
				 const char **ret)
{
	_cleanup_free_ char *demangled = NULL;
	struct ebt_error *err;
	const char *kept;
	uint32_t i;

	err = find_string(funcs, name, len, &i);
	if (err)
		return err;
	if (!funcs->strings[i].demangled) {
		err = sym_demangle(name, len, &demangled);
		if (err)
			return err;
		err = funcs_string(funcs, demangled, strlen(demangled), &kept);
		if (err)
			return err;
		funcs->strings[i].demangled = kept;
	}
	*ret = funcs->strings[i].demangled;
	return NULL;
}

static bool is_same(const struct sym_func *a, const struct sym_func *b)
{
	return a->name == b->name && a->object == b->object && a->build_id == b->build_id &&
	       a->kind == b->kind && a->reason == b->reason;
}

static struct ebt_error *add_func(struct funcs *funcs, const struct sym_func *key, uint64_t hash,
				  const struct sym_func **ret)
{
	struct sym_func *func;
	struct ebt_error *err;
	void *memory;

	err = ebt_array_reserve(&funcs->funcs, funcs->n_funcs, &funcs->funcs_capacity) ?:
	      ebt_arena_alloc(&funcs->arena, sizeof(*func), &memory) ?:
	      ebt_map_insert(&funcs->by_func, hash, funcs->n_funcs);
	if (err)
		return err;
	func = memory;
	*func = *key;
	func->id = funcs->n_funcs;
	funcs->funcs[funcs->n_funcs++] = *ret = func;
	return NULL;
}

struct ebt_error *funcs_intern(struct funcs *funcs, const struct sym_func *key,
			       const struct sym_func **ret)
{
	uint64_t hash = ebt_hash_u64(0, (uintptr_t)key->name);
	uint32_t found;

	hash = ebt_hash_u64(hash, (uintptr_t)key->object);
	hash = ebt_hash_u64(hash, (uintptr_t)key->build_id);
	hash = ebt_hash_u64(hash, (uint64_t)key->kind << 32 | key->reason);
	found = ebt_map_search(&funcs->by_func, hash, i, is_same(funcs->funcs[i], key));
	if (found == EBT_MAP_NONE)
		return add_func(funcs, key, hash, ret);
	*ret = funcs->funcs[found];
	return NULL;
}

struct ebt_error *funcs_copy(struct funcs *funcs, struct sym_func key, const struct sym_func **ret)
{
	const char **texts[] = { &key.name, &key.object, &key.build_id };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ebt_error *err = funcs_string(funcs, *texts[i], strlen(*texts[i]), texts[i]);

		if (err)
			return err;
	}
	return funcs_intern(funcs, &key, ret);
}
