/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What container engines know of their containers, as files in the trace: lists of containers,
 * layers and images, and the layers of fuse-overlayfs, which no mount table has. Lists are kept by
 * their users, and root reads them: only regular files of the owner of the storage, of bounded
 * size, and no symbolic link below the storage is followed.
 */
#ifndef RECORD_SIDEBAND_CONTAINERS_H
#define RECORD_SIDEBAND_CONTAINERS_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "record/sideband/context.h"

struct containers;

struct ebt_error *containers_create(struct sideband_context *context, struct containers **ret);
/* Accepts NULL. */
void containers_destroy(struct containers *containers);

/* A mount table, or the arguments of fuse-overlayfs: storages of layers in it are remembered. Ends
 * in NUL; NULs in it count as spaces. */
struct ebt_error *containers_see_mounts(struct containers *containers, const char *text,
					size_t len);

/* /proc/PID/cgroup of a process: one of docker's has a file that names its layer. */
struct ebt_error *containers_see_cgroup(struct containers *containers, const char *text);

/* A fuse-overlayfs, by a handle on its directory in /proc; once each. */
struct ebt_error *containers_see_fuse(struct containers *containers, int dir, uint32_t pid,
				      uint64_t start, uint64_t mnt_ns);

/* Stores the lists of all storages that have changed since: of the machine, of each user in
 * /etc/passwd, and those that were seen in mount tables. */
struct ebt_error *containers_collect(struct containers *containers);

#endif
