/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Demangling by libiberty; see demangle.h. */
#include "symbolize/base/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"

/* Template-heavy C++ has names of a few KiB. libiberty recurses and keeps its parts on the stack,
 * both in proportion to the length of the name. */
#define MAX_MANGLED   8192

#define MAX_DEMANGLED 65536

/* Of D, as a table of that size is on the stack. */
#define MAX_D_MANGLED 8192

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

/* --- D --- */

/* A character stands for so many at the most: `y` for "immutable()" and a little more. */
#define D_CHARACTERS 16

/* What the text could grow to. That of real names is far shorter than this says. */
#define MAX_D_TEXT (UINT64_C(16) << 20)

static bool is_d(const char *name, size_t len)
{
	return len > 3 && len <= MAX_D_MANGLED && name[0] == '_' && name[1] == 'D' &&
	       name[2] >= '0' && name[2] <= '9';
}

/* Where the back reference at name[at] points to: a number to the base of 26 behind the Q, whose
 * last digit is small, counts back. Returns `at` where it is none. */
static size_t d_target(const char *name, size_t at)
{
	size_t distance = 0;

	for (size_t i = at + 1; name[i]; i++) {
		bool last = name[i] >= 'a' && name[i] <= 'z';

		if ((!last && (name[i] < 'A' || name[i] > 'Z')) || distance > at)
			return at;
		distance = distance * 26 + (size_t)(name[i] - (last ? 'a' : 'A'));
		if (last)
			return distance && distance <= at ? at - distance : at;
	}
	return at;
}

/*
 * Whether the text stays within bounds: a back reference repeats a part of the name, which may have
 * back references of its own, and libiberty ends the program where memory runs out. Each is taken
 * for all that lies between it and its target, or for the identifier there.
 */
static bool is_d_bounded(const char *name, size_t len)
{
	uint64_t sums[MAX_D_MANGLED + 1];

	sums[0] = 0;
	for (size_t i = 0; i < len; i++) {
		size_t target = name[i] == 'Q' ? d_target(name, i) : i;
		uint64_t more = D_CHARACTERS;

		if (name[target] >= '0' && name[target] <= '9')
			more += len;
		else
			more += sums[i] - sums[target];
		sums[i + 1] = sums[i] + more;
		if (sums[i + 1] > MAX_D_TEXT)
			return false;
	}
	return true;
}

static struct ebt_error *demangle_d(const char *name, size_t len, char **ret)
{
	_cleanup_free_ char *text = NULL;

	if (is_d_bounded(name, len))
		text = dlang_demangle(name, DMGL_PARAMS | DMGL_ANSI);
	*ret = text && strlen(text) <= MAX_DEMANGLED ? take_ptr(text) : strdup(name);
	return *ret ? NULL : &ebt_enomem;
}

struct ebt_error *sym_demangle(const char *name, size_t len, char **ret)
{
	_cleanup_free_ char *mangled = strndup(name, len), *text = NULL;
	struct output out = { 0 };

	if (!mangled)
		return &ebt_enomem;
	len = strlen(mangled);
	if (is_d(mangled, len))
		return demangle_d(mangled, len, ret);
	if (is_mangled(mangled, len)) {
		out.text = text = malloc(MAX_DEMANGLED + 1);
		if (!text)
			return &ebt_enomem;
		if (demangle_into(mangled, &out)) {
			text[out.len] = '\0';
			*ret = strdup(text);
			return *ret ? NULL : &ebt_enomem;
		}
	}
	*ret = take_ptr(mangled);
	return NULL;
}
