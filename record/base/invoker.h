/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who asked root to run this. */
#ifndef RECORD_BASE_INVOKER_H
#define RECORD_BASE_INVOKER_H

#include <stdbool.h>
#include <sys/types.h>

/* The user and group that sudo tells of; false: this is not root, or root by itself. */
bool invoker_of_sudo(uid_t *ret_uid, gid_t *ret_gid);

#endif
