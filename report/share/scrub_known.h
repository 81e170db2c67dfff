/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel threads, and programs and files of the system: scrubbing may keep their names. */
#ifndef REPORT_SHARE_SCRUB_KNOWN_H
#define REPORT_SHARE_SCRUB_KNOWN_H

#include <stdbool.h>

#include "format/base/error.h"
#include "format/read/reader.h"

struct scrub_known;
struct scrub_names;

/* Tells `names` which words are names of programs. */
struct ebt_error *scrub_known_create(struct ebt_reader *reader, struct scrub_names *names,
				     struct scrub_known **ret);
/* Accepts NULL. */
void scrub_known_destroy(struct scrub_known *known);

/* A thread of the kernel? task may be NULL. */
bool scrub_known_kernel(const struct scrub_known *known, const struct ebt_task *task);

/* The name, as far as the kernel keeps names of threads, of a program or library of the system? */
bool scrub_known_name(const struct scrub_known *known, struct ebt_str name);

/* Is this number of name_object that of a file of the system? */
bool scrub_known_object(const struct scrub_known *known, uint64_t id);

#endif
