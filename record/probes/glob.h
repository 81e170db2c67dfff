/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that somebody means by a pattern, as the FUNC of probes: "str*", or "str*+0" for
 * those places without their return. */
#ifndef RECORD_PROBES_GLOB_H
#define RECORD_PROBES_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "record/probes/elf.h"

struct probe_match {
	char *name;	 /* with +0 where the return is not wanted, or must not be touched */
	uint64_t offset; /* in the file */
	bool begins;	 /* it can be seen to return */
};

/* A zeroed one is empty. */
struct probe_matches {
	struct probe_match *list; /* in order of offset, of which there is one each */
	size_t n;
	size_t n_left_out; /* what only chooses a function, or begins with an instruction that
			    * should not be probed */
	char *left_out;	   /* the first names of those with commas between; or NULL */
};

void probe_matches_deinit(struct probe_matches *matches);

bool probe_glob_is(const char *text);

/* path is for messages. EBT_ERR_NOT_FOUND: there is none. */
struct ebt_error *probe_glob_find(const struct probe_elf *elf, const char *path, const char *text,
				  struct probe_matches *ret);

#endif
