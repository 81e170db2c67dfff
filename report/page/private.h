/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of a page share. */
#ifndef REPORT_PAGE_PRIVATE_H
#define REPORT_PAGE_PRIVATE_H

#include "report/page/page.h"

/* What a number of a script holds exactly. */
#define PAGE_MOST_NS (UINT64_C(1) << 53)

/* A signed number, no further from zero than that. */
static inline uint64_t page_clamp(uint64_t value)
{
	const int64_t most = (int64_t)PAGE_MOST_NS, v = (int64_t)value;

	return (uint64_t)(v > most ? most : v < -most ? -most : v);
}

static inline struct ebt_error *page_cstr(struct page *page, const char *s, uint64_t *ret)
{
	return page_string(page, ebt_str_of(s), ret);
}

/* Members of `summarised`. */
void page_put_events_said(const struct page *page, struct json *json);

/* A sample that is at a node of the tree; its user stack or NULL. */
struct ebt_error *page_quality_sample(struct page *page, uint32_t node,
				      const struct ebt_stack *user);
struct ebt_error *page_put_quality(struct page *page);

#endif
