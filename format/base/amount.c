/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Amounts as people read them; see amount.h. */
#include "format/base/amount.h"

#include <stddef.h>
#include <stdio.h>

const char *ebt_bytes_text(uint64_t bytes, char buf[static EBT_AMOUNT_MAX])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double v = (double)bytes;
	size_t i = 0;

	/* What would be 1024.0 is one of the next. */
	for (; v >= (i ? 1023.95 : 1024); i++)
		v /= 1024;
	snprintf(buf, EBT_AMOUNT_MAX, "%.*f %s", i ? 1 : 0, v, units[i]);
	return buf;
}
