/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Demangling by libiberty; see demangle.h. */
#include "demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

/* Template-heavy C++ has names of a few KiB. libiberty recurses and keeps its parts on the stack,
 * both in proportion to the length of the name. */
#define MAX_MANGLED   8192

#define MAX_DEMANGLED 65536

/* What the demangler hands over, piece by piece. */
struct output {
	char *text;
	size_t len;
	jmp_buf too_long;
};

/*
 * Back references double the text again and again, and there is no other way to stop the
 * demangler than to leave it. Nothing is leaked for C++, whose state is on the stack.
 */
static void append(const char *data, size_t len, void *arg)
{
	struct output *out = arg;

	if (len > MAX_DEMANGLED - out->len)
		longjmp(out->too_long, 1);
	if (len)
		memcpy(out->text + out->len, data, len);
	out->len += len;
}

static bool demangle_into(const char *name, struct output *out)
{
	if (setjmp(out->too_long))
		return false;
	if (rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, append, out))
		return true;
	out->len = 0;
	return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, append, out);
}

/* Only names of this form are tried: `_Z` C++ and old Rust, `_R` Rust. */
static bool is_mangled(const char *name, size_t len)
{
	return len > 2 && len <= MAX_MANGLED && name[0] == '_' &&
	       (name[1] == 'Z' || name[1] == 'R');
}

struct ebt_error *sym_demangle(const char *name, size_t len, char **ret)
{
	_cleanup_free_ char *mangled = strndup(name, len);
	_cleanup_free_ struct output *out = NULL;
	_cleanup_free_ char *text = NULL;

	if (!mangled)
		return &ebt_enomem;
	if (!is_mangled(mangled, len)) {
		*ret = take_ptr(mangled);
		return NULL;
	}
	out = calloc(1, sizeof(*out));
	text = malloc(MAX_DEMANGLED + 1);
	if (!out || !text)
		return &ebt_enomem;
	out->text = text;
	if (!demangle_into(mangled, out)) {
		*ret = take_ptr(mangled);
		return NULL;
	}
	text[out->len] = '\0';
	*ret = strdup(text);
	return *ret ? NULL : &ebt_enomem;
}
