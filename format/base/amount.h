/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Amounts as people read them, the same in both programs. */
#ifndef FORMAT_BASE_AMOUNT_H
#define FORMAT_BASE_AMOUNT_H

#include <stdint.h>

#define EBT_AMOUNT_MAX 32

/* "17 B", "1.2 MiB"; returns buf. */
const char *ebt_bytes_text(uint64_t bytes, char buf[static EBT_AMOUNT_MAX]);

#endif
