/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ebrec says about itself. */
#ifndef RECORD_USAGE_H
#define RECORD_USAGE_H

#include <stdio.h>

struct kernel;

void usage_print(FILE *to);

/* Every source, what it costs, and whether this kernel has it. kernel NULL: not known. */
void usage_list_events(FILE *to, const struct kernel *kernel);

#endif
