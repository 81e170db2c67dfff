/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who asked root to run this; see invoker.h. */
#include "record/base/invoker.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* The variable as an id. The highest number stands for none. */
static bool read_id(const char *variable, uint32_t *ret)
{
	const char *text = getenv(variable);
	unsigned long id;
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return false;
	errno = 0;
	id = strtoul(text, &end, 10);
	if (errno || *end || id >= UINT32_MAX)
		return false;
	*ret = (uint32_t)id;
	return true;
}

bool invoker_of_sudo(uid_t *ret_uid, gid_t *ret_gid)
{
	uint32_t uid, gid;

	/* Anybody else may have set these variables. */
	if (geteuid() || !read_id("SUDO_UID", &uid) || !read_id("SUDO_GID", &gid))
		return false;
	*ret_uid = uid;
	*ret_gid = gid;
	return true;
}
