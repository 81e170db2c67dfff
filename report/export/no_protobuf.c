/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats of protobuf where this was built without libprotobuf-c. */
#include "report/export/export.h"

static struct ebt_error *refuse(void)
{
	return ebt_error_create(EBT_ERR_UNSUPPORTED,
				"this ebreport was built without libprotobuf-c, so that it cannot "
				"write this format");
}

struct ebt_error *export_otlp(struct export *e)
{
	(void)e;
	return refuse();
}

struct ebt_error *export_perfetto(struct export *e)
{
	(void)e;
	return refuse();
}

struct ebt_error *export_pprof(struct export *e)
{
	(void)e;
	return refuse();
}
