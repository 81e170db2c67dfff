/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files from debuginfod servers, several at once, in threads. Waiting ends where servers give no
 * sign of life for a while, or where the user interrupts: from then on nothing is fetched.
 */
#ifndef SYMBOLIZE_FILES_FETCH_H
#define SYMBOLIZE_FILES_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "symbolize/base/types.h"
#include "symbolize/elf/elffile.h"

struct fetch;

enum fetch_kind { FETCH_DEBUGINFO, FETCH_EXECUTABLE };

/* EBT_ERR_UNSUPPORTED: built without libdebuginfod. Sets DEBUGINFOD_URLS, which that reads: to be
 * called before there are threads. */
struct ebt_error *fetch_create(const struct sym_servers *servers, struct fetch **ret);
/* Accepts NULL. */
void fetch_destroy(struct fetch *fetch);

/* Begins, if nobody has: fetch_wait() has the answer sooner then. */
struct ebt_error *fetch_begin(struct fetch *fetch, enum fetch_kind kind,
			      const struct sym_build_id *id);

/* Waits for the file. *ret_path: where it is, freed with free(), or NULL and *ret_reason says why:
 * one of SYM_SERVER_* or SYM_INTERRUPTED. */
struct ebt_error *fetch_wait(struct fetch *fetch, enum fetch_kind kind,
			     const struct sym_build_id *id, char **ret_path,
			     enum sym_reason *ret_reason);

/* The server sent another file: it is removed, and not asked for again. */
void fetch_refuse(struct fetch *fetch, enum fetch_kind kind, const struct sym_build_id *id,
		  const char *path);

/* How many files there are not for each of the reasons: ret has SYM_N_REASONS entries. */
void fetch_failures(struct fetch *fetch, uint32_t *ret);

#endif
