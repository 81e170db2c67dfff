/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names as linkers know them to names as people wrote them: C++, Rust and D. */
#ifndef SYMBOLIZE_BASE_DEMANGLE_H
#define SYMBOLIZE_BASE_DEMANGLE_H

#include <stddef.h>

#include "format/base/error.h"

/*
 * *ret is freed with free(). A name that is not mangled, or cannot be demangled, is copied. A
 * demangled name that grows beyond reason (a few bytes can stand for gigabytes) is copied too.
 */
struct ebt_error *sym_demangle(const char *name, size_t len, char **ret);

#endif
