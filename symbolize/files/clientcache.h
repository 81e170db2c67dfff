/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where libdebuginfod keeps what it fetched, for this user. */
#ifndef SYMBOLIZE_FILES_CLIENTCACHE_H
#define SYMBOLIZE_FILES_CLIENTCACHE_H

#include "format/base/error.h"
#include "symbolize/elf/elffile.h"

/* kind: "debuginfo" or "executable". *ret is freed with free(), NULL: there is no such place. */
struct ebt_error *client_cache_file(const struct sym_build_id *id, const char *kind, char **ret);

#endif
