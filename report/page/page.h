/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a page of a trace holds: sections of columns (columns.h), a head in JSON, and the texts that
 * columns name by number. Parts of the page add to it, one after the other; page_write() writes
 * the file.
 */
#ifndef REPORT_PAGE_PAGE_H
#define REPORT_PAGE_PAGE_H

#include <assert.h>

#include "format/base/map.h"
#include "report/base/interned.h"
#include "report/base/names.h"
#include "report/cli/command.h"
#include "report/events/events.h"
#include "report/page/columns.h"
#include "report/procs/model_procs.h"
#include "report/trace/trace.h"
#include "report/why/model_why.h"

#define PAGE_MAX_SECTIONS 16

struct page_thread {
	const struct ebt_task *task;
	uint64_t cpu_ns;
	uint64_t start, end; /* CLOCK_MONOTONIC; 0: not known */
	bool kernel, on_path;
};

/* Of the stacks of samples; see page_quality_sample(). */
struct page_quality {
	uint32_t *by_node; /* samples that ended at a node of the tree */
	size_t n;
	uint64_t user, whole; /* user stacks; of these, those that reach the root */
};

/* What is not exact in events and points. */
struct page_events_said {
	uint64_t within_ns[EVENT_N_KINDS]; /* those within such a time were put together */
	uint64_t
		details_ns; /* shorter system calls have no text, unless they failed; 0: all have */
	uint64_t texts_left_out;
	bool shared_tracks; /* there are too many for each to have one */
	uint64_t points_ns; /* of each such time there are two points of a counter at most */
};

struct page {
	struct report *report;
	struct trace *trace;
	const struct names *names;
	struct procs *procs;
	struct why *why;   /* its graph has the switches and stacks of the page */
	uint64_t start_ns; /* times of the page are since then */
	struct interned strings;
	struct page_thread *threads; /* by their number in the page */
	uint32_t n_threads;
	size_t threads_capacity;
	struct ebt_map by_task; /* ebt_task.id to that number */
	bool *used_nodes;	/* of the tree; see page_use_node() */
	size_t n_used_nodes;
	struct page_rows *sections[PAGE_MAX_SECTIONS];
	size_t n_sections;
	uint64_t within_ns;	    /* spells within such a time are put together; 0: none are */
	uint64_t samples_within_ns; /* likewise samples of one stack and thread */
	uint64_t path_least_ns;	    /* shorter segments of the path are left out */
	struct page_events_said events_said;
	struct page_quality quality;
	struct json json; /* members of the trace's object in the head */
	char *head;
	size_t head_len;
	FILE *head_file;
};

/* Reads the trace with the filters of the report, which must outlive the page. */
struct ebt_error *page_create(struct report *report, struct page **ret);
void page_destroy(struct page *page);
DEFINE_CLEANUP(struct page *, page_destroy);

/* A new section, which belongs to the page. */
struct ebt_error *page_add_rows(struct page *page, const char *name,
				const struct page_column *columns, size_t n,
				struct page_rows **ret);
/* The number of a text; where there is no more room that of the empty one, 0. */
struct ebt_error *page_string(struct page *page, struct ebt_str s, uint64_t *ret);
/* 1 + the number of a thread of the page, which it gets where it has none yet; 0 of NULL. */
struct ebt_error *page_thread(struct page *page, const struct ebt_task *task, uint64_t *ret);

/* The stack that ends at this node of the tree is in the page: it and its callers are written. */
struct ebt_error *page_use_node(struct page *page, uint32_t node);

static inline uint64_t page_time(const struct page *page, uint64_t time)
{
	return time - page->start_ns; /* negative before: as an int64_t */
}

/* Parts of a page, in this order. */
struct ebt_error *page_put_spells(struct page *page);
struct ebt_error *page_put_samples(struct page *page);
struct ebt_error *page_put_path(struct page *page);
struct ebt_error *page_put_events(struct page *page);
struct ebt_error *page_put_counters(struct page *page);
struct ebt_error *page_put_stacks(struct page *page); /* behind whatever has stacks */
struct ebt_error *page_put_losses(struct page *page);
struct ebt_error *page_put_threads(struct page *page); /* behind whatever has threads */
struct ebt_error *page_put_tables(struct page *page);
struct ebt_error *page_put_strings(struct page *page); /* behind whatever has texts */
struct ebt_error *page_put_facts(struct page *page);   /* behind whatever may warn */

/* The document; of one trace, or of two that are compared. */
struct ebt_error *page_write(FILE *f, struct page *const *pages, size_t n);

/* For a server. The document without data, whose script asks for it; kind: a word that tells it of
 * what. Its policy is for a header of HTTP. */
void page_write_served(FILE *f, const char *kind);
extern const char page_served_policy[];
/* The data: the head, and then what each section is that has rows, in their order in the head:
 * compressed by gzip. Before each of these stands its length, 4 bytes, little endian. */
struct ebt_error *page_write_data(FILE *f, const struct page *page);

#endif
