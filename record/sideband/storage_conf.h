/* SPDX-License-Identifier: GPL-2.0-or-later */
/* storage.conf of containers/storage: where podman and its kin keep layers and lists. */
#ifndef RECORD_SIDEBAND_STORAGE_CONF_H
#define RECORD_SIDEBAND_STORAGE_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum storage_conf_key {
	STORAGE_CONF_GRAPHROOT,
	STORAGE_CONF_ROOTLESS, /* rootless_storage_path: of each user */
	STORAGE_CONF_IMAGES,   /* one of additionalimagestores */
};

/* Gets each value, once for each of a list. It may have variables. */
typedef void storage_conf_fn(void *arg, enum storage_conf_key key, const char *value);

/* Anything may be in the text, which ends in NUL; what is not understood is passed over. */
void storage_conf_parse(const char *text, storage_conf_fn *fn, void *arg);

/* Whose home it is, for variables. */
struct storage_conf_user {
	const char *name, *home;
	uint32_t uid;
};

/* Puts in $HOME, $USER and $UID. False: another variable, no absolute path, or too long. */
bool storage_conf_expand(const char *value, const struct storage_conf_user *user, char *ret,
			 size_t size);

#endif
