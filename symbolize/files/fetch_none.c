/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fetching where this was built without libdebuginfod: there is never a struct fetch. */
#include "symbolize/files/fetch.h"

struct ebt_error *fetch_create(const struct sym_servers *servers, struct fetch **ret)
{
	(void)servers;
	(void)ret;
	return ebt_error_create(EBT_ERR_UNSUPPORTED,
				"this ebreport was built without libdebuginfod: leave out "
				"--debuginfod");
}

void fetch_destroy(struct fetch *fetch)
{
	(void)fetch;
}

struct ebt_error *fetch_begin(struct fetch *fetch, enum fetch_kind kind,
			      const struct sym_build_id *id)
{
	(void)fetch;
	(void)kind;
	(void)id;
	return NULL;
}

struct ebt_error *fetch_wait(struct fetch *fetch, enum fetch_kind kind,
			     const struct sym_build_id *id, char **ret_path,
			     enum sym_reason *ret_reason)
{
	(void)fetch;
	(void)kind;
	(void)id;
	*ret_path = NULL;
	*ret_reason = SYM_SERVER_FAILED;
	return NULL;
}

void fetch_refuse(struct fetch *fetch, enum fetch_kind kind, const struct sym_build_id *id,
		  const char *path)
{
	(void)fetch;
	(void)kind;
	(void)id;
	(void)path;
}

void fetch_failures(struct fetch *fetch, uint32_t *ret)
{
	(void)fetch;
	(void)ret;
}
