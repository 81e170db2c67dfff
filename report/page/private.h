/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of a page share. */
#ifndef REPORT_PAGE_PRIVATE_H
#define REPORT_PAGE_PRIVATE_H

#include "report/page/page.h"

static inline struct ebt_error *page_cstr(struct page *page, const char *s, uint64_t *ret)
{
	return page_string(page, (struct ebt_str){ s, (uint32_t)strlen(s) }, ret);
}

#endif
