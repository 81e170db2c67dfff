/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server where this was built without libmicrohttpd. */
#include "report/serve/serve.h"

struct ebt_error *serve_run(struct report *report)
{
	(void)report;
	return ebt_error_create(EBT_ERR_UNSUPPORTED,
				"this ebreport was built without libmicrohttpd, so that it cannot "
				"serve; `ebreport html` writes the same page to a file");
}
