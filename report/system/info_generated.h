/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose generated code has no name, and what would make those programs name it. */
#ifndef REPORT_SYSTEM_INFO_GENERATED_H
#define REPORT_SYSTEM_INFO_GENERATED_H

#include <stdint.h>

#include "format/read/reader.h"

/* Programs with such code; those that come later are not told apart. */
#define INFO_GENERATED 16

struct info_generated {
	struct {
		char name[64]; /* as of a stranger */
		uint64_t frames;
	} programs[INFO_GENERATED];
	unsigned int n;
};

void info_generated_add(struct info_generated *generated, struct ebt_str name, uint64_t frames);

/* How the program is made to write what ebrec reads, or NULL where nothing is known. */
const char *info_generated_hint(const char *name);

#endif
