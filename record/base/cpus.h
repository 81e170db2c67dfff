/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which CPUs are there. */
#ifndef RECORD_BASE_CPUS_H
#define RECORD_BASE_CPUS_H

#include <stddef.h>

#include "format/base/error.h"

/* Takes apart a list as the kernel prints them, "0-3,8". The caller frees *ret. */
struct ebt_error *cpus_parse(const char *list, int **ret, size_t *ret_n);

/* The CPUs that are online. The caller frees *ret. */
struct ebt_error *cpus_online(int **ret, size_t *ret_n);

#endif
