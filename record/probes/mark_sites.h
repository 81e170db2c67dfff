/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probes of ebmark.h in a file. */
#ifndef RECORD_PROBES_MARK_SITES_H
#define RECORD_PROBES_MARK_SITES_H

#include <stddef.h>

#include "format/base/error.h"
#include "record/base/identity.h"
#include "record/probes/attach.h"

/* Adds them, with EBREC_MARK_ of bpf/mark.h as their cookies; fd and parts are those of the file.
 * *ret_unknown: those of kinds, or with arguments, that a later ebmark.h has. */
struct ebt_error *mark_sites_find(int fd, const struct elfparts *parts, struct probe_sites *sites,
				  size_t *ret_unknown);

#endif
