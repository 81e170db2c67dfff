/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fuzz targets demand. */
#include <stdio.h>
#include <stdlib.h>

#include "format/base/error.h"
#include "tests/fuzz/fuzz.h"

void fuzz_expect(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

bool fuzz_succeeded(struct ebt_error *err)
{
	if (!err)
		return true;
	fuzz_expect(err->code >= EBT_ERR_NOMEM && err->code <= EBT_ERR_CANCELLED,
		    "the code of an error is known");
	fuzz_expect(err->message && *err->message, "an error has a message");
	ebt_error_destroy(err);
	return false;
}
