/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache of libdebuginfod; see clientcache.h. */
#include "symbolize/files/clientcache.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "format/base/cleanup.h"

/* The directory, by the rules of debuginfod_find_debuginfo(3); NULL: none, or no memory. */
static char *directory(void)
{
	const char *own = getenv("DEBUGINFOD_CACHE_PATH");
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	_cleanup_free_ char *old = NULL;
	struct stat st;
	char *dir;
	int len;

	if (!own && home) {
		if (asprintf(&old, "%s/.debuginfod_client_cache", home) < 0)
			old = NULL;
		if (old && !stat(old, &st))
			return take_ptr(old);
	}
	if (own)
		len = asprintf(&dir, "%s", own);
	else if (xdg)
		len = asprintf(&dir, "%s/debuginfod_client", xdg);
	else if (home)
		len = asprintf(&dir, "%s/.cache/debuginfod_client", home);
	else
		return NULL;
	return len < 0 ? NULL : dir;
}

struct ebt_error *client_cache_file(const struct sym_build_id *id, const char *kind, char **ret)
{
	_cleanup_free_ char *dir = directory();
	char hex[2 * SYM_BUILD_ID_MAX + 1] = "";

	*ret = NULL;
	if (!dir)
		return NULL;
	for (unsigned int i = 0; i < id->len; i++)
		sprintf(hex + 2 * i, "%02x", id->bytes[i]);
	if (asprintf(ret, "%s/%s/%s", dir, hex, kind) < 0) {
		*ret = NULL;
		return &ebt_enomem;
	}
	return NULL;
}
