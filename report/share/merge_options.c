/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of recordings that are merged; see merge_options.h. */
#include "report/share/merge_options.h"

#include <string.h>

#include "format/base/cleanup.h"
#include "report/trace/followed.h"

DEFINE_CLEANUP(struct followed *, followed_destroy);
DEFINE_CLEANUP(struct ebt_cursor *, ebt_cursor_destroy);

struct pair {
	struct ebt_reader *readers[2];
	bool shared;
};

/* What a difference is to a pair. */
enum concern {
	NO_CONCERN,
	OF_SHARED,  /* rows of what both recorded are as the first has them */
	OF_REPORTS, /* reports treat rows of one as those of the other */
};

static bool have_both(const struct pair *pair, uint16_t table)
{
	return ebt_reader_has_rows(pair->readers[0], table) &&
	       ebt_reader_has_rows(pair->readers[1], table);
}

static struct ebt_error *has_stack(struct ebt_reader *reader, uint16_t table, int field, bool *ret)
{
	const struct ebt_want want = { table, UINT64_C(1) << field };
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };
	_cleanup_(ebt_cursor_destroyp) struct ebt_cursor *cursor = NULL;
	struct ebt_row row = { 0 };
	struct ebt_error *err = ebt_cursor_create(reader, &query, &cursor);

	*ret = false;
	while (!err && !*ret) {
		err = ebt_cursor_next(cursor, &row);
		if (err || !row.batch)
			break;
		*ret = ebt_stack(&row, (unsigned int)field);
	}
	return err;
}

/* User stacks of one table: those of the kernel are the same, however it is asked for. */
static struct ebt_error *concern_stacks(const struct pair *pair, enum concern *ret)
{
	struct ebt_error *err = NULL;
	size_t n;
	const struct ebt_table *tables = ebt_reader_tables(pair->readers[0], &n);
	bool has[2] = { false, false };

	for (size_t t = 0; !err && pair->shared && !(has[0] && has[1]) && t < n; t++) {
		const int field = ebt_field_by_name(&tables[t], "ustack");

		if (field < 0 || !have_both(pair, tables[t].id))
			continue;
		for (size_t i = 0; !err && i < 2; i++)
			err = has_stack(pair->readers[i], tables[t].id, field, &has[i]);
	}
	*ret = has[0] && has[1] ? OF_SHARED : NO_CONCERN;
	return err;
}

static struct ebt_error *concern_samples(const struct pair *pair, enum concern *ret)
{
	*ret = pair->shared && have_both(pair, EBT_T_sample) ? OF_SHARED : NO_CONCERN;
	return NULL;
}

/* A sample of cycles does not say for how much time it stands: that is the rate's to say, and a
 * trace has one. */
static struct ebt_error *concern_rate(const struct pair *pair, enum concern *ret)
{
	const char *events[2];
	struct ebt_error *err = ebt_reader_meta(pair->readers[0], "sample.event", &events[0])
					?: ebt_reader_meta(pair->readers[1], "sample.event",
							   &events[1])
					?: concern_samples(pair, ret);

	for (size_t i = 0; !err && i < 2; i++) {
		if (have_both(pair, EBT_T_sample) && events[i] && !strcmp(events[i], "cycles"))
			*ret = OF_REPORTS;
	}
	return err;
}

static struct ebt_error *has_blocks(struct ebt_reader *reader, bool *ret)
{
	struct ebt_error *err = NULL;

	*ret = ebt_reader_has_rows(reader, EBT_T_offcpu_stack);
	if (!*ret)
		err = has_stack(reader, EBT_T_sched_switch, EBT_F_sched_switch_kstack, ret);
	if (!err && !*ret)
		err = has_stack(reader, EBT_T_sched_switch, EBT_F_sched_switch_ustack, ret);
	return err;
}

/* With --min-block stacks stand in a table of their own: where it has rows, those of switches are
 * not looked at. */
static struct ebt_error *concern_blocks(const struct pair *pair, enum concern *ret)
{
	bool has[2];
	struct ebt_error *err =
		has_blocks(pair->readers[0], &has[0]) ?: has_blocks(pair->readers[1], &has[1]);

	*ret = NO_CONCERN;
	if (err || !has[0] || !has[1])
		return err;
	if (ebt_reader_has_rows(pair->readers[0], EBT_T_offcpu_stack) !=
	    ebt_reader_has_rows(pair->readers[1], EBT_T_offcpu_stack))
		*ret = OF_REPORTS;
	else if (pair->shared)
		*ret = OF_SHARED;
	return NULL;
}

static const struct {
	const char *key, *said;
	struct ebt_error *(*concern)(const struct pair *pair, enum concern *ret);
	const char *of_reports;
} compared[] = {
	{ "sample.freq", "-F", concern_rate, "reports count samples by cycles at the first rate" },
	{ "sample.event", "samples by", concern_samples },
	{ "options.call_graph", "--call-graph", concern_stacks },
	{ "options.min_block_ns", "--min-block (ns)", concern_blocks,
	  "reports show off-CPU stacks only where there is one" },
};

static bool at_once(const struct pair *pair)
{
	const struct ebt_reader_info *a = ebt_reader_info(pair->readers[0]);
	const struct ebt_reader_info *b = ebt_reader_info(pair->readers[1]);

	return a->start_ns <= b->end_ns && b->start_ns <= a->end_ns;
}

static struct ebt_error *find_shared(struct pair *pair)
{
	_cleanup_(followed_destroyp) struct followed *a = NULL, *b = NULL;
	struct ebt_error *err;

	if (!at_once(pair))
		return NULL;
	err = followed_create(pair->readers[0], &a) ?: followed_create(pair->readers[1], &b);
	if (!err)
		pair->shared = followed_meet(a, b);
	return err;
}

struct ebt_error *merge_options_compare(struct ebt_reader *a, struct ebt_reader *b,
					struct text *said, struct text *ret, bool *ret_shared)
{
	struct pair pair = { .readers = { a, b } };
	struct ebt_error *err = NULL;
	bool looked = false;

	for (size_t i = 0; !err && i < sizeof(compared) / sizeof(compared[0]); i++) {
		_cleanup_text_ struct text line = TEXT_INIT;
		enum concern concern = NO_CONCERN;
		const char *x, *y;

		err = ebt_reader_meta(a, compared[i].key, &x)
			      ?: ebt_reader_meta(b, compared[i].key, &y);
		if (err || !x || !y || !strcmp(x, y))
			continue;
		text_printf(&line, "%s %s and %s\n", compared[i].said, x, y);
		err = text_error(&line);
		if (err || strstr(text_get(said), text_get(&line)))
			continue;
		/* Reads all processes of both, which most recordings need not. */
		if (!looked)
			err = find_shared(&pair);
		looked = true;
		err = err ?: compared[i].concern(&pair, &concern);
		if (err || concern == NO_CONCERN)
			continue;
		text_cstr(said, text_get(&line));
		text_printf(ret, "%s%.*s", ret->len ? ", " : "", (int)line.len - 1,
			    text_get(&line));
		if (concern == OF_REPORTS)
			text_printf(ret, " (%s)", compared[i].of_reports);
	}
	*ret_shared = pair.shared;
	return err ?: text_error(said) ?: text_error(ret);
}
