/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vdso: code of the kernel that is mapped into each process and is in no file. */
#ifndef RECORD_BASE_VDSO_H
#define RECORD_BASE_VDSO_H

#include <stdbool.h>
#include <stddef.h>

/* The image in this process. Returns false where there is none. */
bool vdso_image(const void **ret, size_t *ret_len);

#endif
