/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables in slices of time; see slices.h. */
#include "report/page/slices.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "report/base/histogram.h"
#include "report/base/interned.h"

/* Figures of slices that are kept before slices are put together. */
#define MAX_VALUES  (2u << 20)
#define MAX_SPREADS (1u << 17)
/* What a figure takes as text, about. */
#define VALUE_BYTES  9u
#define BUCKET_BYTES 5u
#define MAX_LEVELS   32

/* Those behind MERGE_RATE have a value in each row of a slice: the page makes the others of them.
 */
enum slice_merge {
	MERGE_NONE,
	MERGE_KEY,
	MERGE_PERCENTILE,
	MERGE_MEAN,
	MERGE_SHARE,
	MERGE_RATE,
	MERGE_SUM,
	MERGE_MAX,
	MERGE_LEAST,
	MERGE_LAST,
	MERGE_AT,
	MERGE_LAST_AT,
	MERGE_SPREAD,
};

struct slice_column {
	char *name;
	enum out_type type;
	enum slice_merge merge;
	bool left_out;
	double percent;
	size_t value; /* its place among the values of a row */
	size_t peak;  /* MERGE_AT, MERGE_LAST_AT: that of the value which it is of */
	enum out_type peak_type;
};

/* Of some slices together. */
struct slice_figure {
	struct out_value value;
	struct histogram *spread; /* NULL: nothing yet */
};

struct slice_row {
	uint32_t slice, key;
	size_t values; /* the first of its values */
};

struct page_slices {
	struct slice_column *columns;
	size_t n_columns, n_values; /* n_values: in a row of a slice */
	/* Depth, number of the one above or -1, and in JSON the value of each column of the key: a
	 * line each. */
	struct interned keys;
	size_t n_whole;		 /* those that the whole has, in the order of its rows */
	bool some;		 /* the whole has only some of its rows; others are in no slice */
	struct out_value *whole; /* its figures */
	uint32_t *seen;		 /* by key: 2 + the slice that had it last; 1: the whole */
	size_t seen_capacity;
	struct slice_row *rows;
	size_t n_rows, rows_capacity;
	struct out_value *values; /* a spread is u, its place in spreads, or null */
	size_t n_all_values, values_capacity;
	struct histogram *spreads;
	size_t n_spreads, spreads_capacity;
	uint64_t start_ns;
	bool useless; /* rows of a slice could not be told apart, or are missing */
};

static enum slice_merge merge_of(const struct out_column *column)
{
	static const struct {
		unsigned int flag;
		enum slice_merge merge;
	} flags[] = {
		{ OUT_ADDS, MERGE_SUM },  { OUT_PEAK, MERGE_MAX },  { OUT_LEAST, MERGE_LEAST },
		{ OUT_LAST, MERGE_LAST }, { OUT_MEAN, MERGE_MEAN }, { OUT_SHARE, MERGE_SHARE },
		{ OUT_RATE, MERGE_RATE },
	};

	if (column->flags & OUT_KEY)
		return MERGE_KEY;
	if (column->flags & OUT_AT)
		return column->flags & OUT_LAST ? MERGE_LAST_AT : MERGE_AT;
	if (column->flags & OUT_SPREAD)
		return column->of ? MERGE_PERCENTILE : MERGE_SPREAD;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (column->flags & flags[i].flag)
			return flags[i].merge;
	}
	return MERGE_NONE;
}

const char *page_slices_merge(const struct out_column *column)
{
	static const char *const names[] = {
		[MERGE_NONE] = NULL,
		[MERGE_KEY] = "key",
		[MERGE_PERCENTILE] = "percentile",
		[MERGE_MEAN] = "mean",
		[MERGE_SHARE] = "share",
		[MERGE_RATE] = "rate",
		[MERGE_SUM] = "sum",
		[MERGE_MAX] = "max",
		[MERGE_LEAST] = "min",
		[MERGE_LAST] = "last",
		[MERGE_AT] = "at",
		[MERGE_LAST_AT] = "last_at",
		[MERGE_SPREAD] = "spread",
	};

	return names[merge_of(column)];
}

void page_slices_destroy(struct page_slices *slices)
{
	if (!slices)
		return;
	for (size_t i = 0; i < slices->n_columns; i++)
		free(slices->columns[i].name);
	free(slices->columns);
	free(slices->seen);
	free(slices->rows);
	free(slices->values);
	free(slices->whole);
	for (size_t i = 0; i < slices->n_spreads; i++)
		histogram_deinit(&slices->spreads[i]);
	free(slices->spreads);
	interned_deinit(&slices->keys);
	free(slices);
}
DEFINE_CLEANUP(struct page_slices *, page_slices_destroy);

static bool has_value(const struct slice_column *column)
{
	return column->merge > MERGE_RATE;
}

static bool is_at(const struct slice_column *column)
{
	return column->merge == MERGE_AT || column->merge == MERGE_LAST_AT;
}

/* A column without its peak is known of the whole only. */
static void find_peak(struct page_slices *slices, struct slice_column *column, const char *of)
{
	for (size_t i = 0; i < slices->n_columns; i++) {
		const struct slice_column *other = &slices->columns[i];

		if (other->merge == MERGE_MAX && !strcmp(other->name, of)) {
			column->peak = other->value;
			column->peak_type = other->type;
			return;
		}
	}
	column->peak = SIZE_MAX;
}

static struct ebt_error *copy_columns(struct page_slices *slices, const struct out_table *table)
{
	slices->columns = calloc(table->n_columns + 1, sizeof(*slices->columns));
	if (!slices->columns)
		return &ebt_enomem;
	for (size_t i = 0; i < table->n_columns; i++) {
		struct slice_column *column = &slices->columns[slices->n_columns++];

		column->name = strdup(table->columns[i].key);
		column->type = table->columns[i].type;
		column->left_out = page_slices_leave_out(&table->columns[i]);
		column->merge = column->left_out ? MERGE_NONE : merge_of(&table->columns[i]);
		column->percent = table->columns[i].percent;
		column->value = slices->n_values;
		slices->n_values += has_value(column);
		if (!column->name)
			return &ebt_enomem;
	}
	for (size_t i = 0; i < table->n_columns; i++) {
		if (is_at(&slices->columns[i]))
			find_peak(slices, &slices->columns[i], table->columns[i].of);
	}
	return NULL;
}

static bool is_same_table(const struct page_slices *slices, const struct out_table *table)
{
	bool same = table->n_columns == slices->n_columns;

	for (size_t i = 0; same && i < table->n_columns; i++)
		same = !strcmp(table->columns[i].key, slices->columns[i].name) &&
		       table->columns[i].type == slices->columns[i].type;
	return same;
}

/* The number of what a row is of. */
static struct ebt_error *find_key(struct page_slices *slices, const struct out_line *line,
				  int64_t above, uint32_t *ret)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct ebt_error *err;
	struct json json;

	if (!f)
		return &ebt_enomem;
	json_init(&json, f);
	fprintf(f, "%" PRIu32 "\n%" PRId64 "\n", line->depth, above);
	for (size_t i = 0; i < slices->n_columns; i++) {
		if (slices->columns[i].merge != MERGE_KEY)
			continue;
		out_json_value(&json, 0, slices->columns[i].type, &line->values[i]);
		fputc('\n', f);
		json.comma = false;
	}
	if (fclose(f)) {
		free(text);
		return &ebt_enomem;
	}
	err = interned_add(&slices->keys, (struct ebt_str){ text, len }, ret);
	free(text);
	return err;
}

static void copy_figures(const struct page_slices *slices, const struct out_value *values,
			 struct out_value *to)
{
	for (size_t i = 0; i < slices->n_columns; i++) {
		if (has_value(&slices->columns[i]))
			to[slices->columns[i].value] = values[i];
	}
}

/* The values of a row of a slice, which are gone when the next one comes. */
static struct ebt_error *keep_spread(struct page_slices *slices, struct out_value *value)
{
	const struct histogram *spread = value->spread;
	struct ebt_error *err;

	if (value->null || slices->n_spreads >= MAX_SPREADS) {
		*value = out_null();
		return NULL;
	}
	err = ebt_array_reserve_zeroed(&slices->spreads, slices->n_spreads,
				       &slices->spreads_capacity);
	if (err)
		return err;
	value->u = slices->n_spreads++;
	return histogram_merge(&slices->spreads[value->u], spread);
}

static struct ebt_error *add_row(struct page_slices *slices, uint32_t slice, uint32_t key,
				 const struct out_value *values)
{
	struct ebt_error *err =
		ebt_array_reserve(&slices->rows, slices->n_rows, &slices->rows_capacity);
	const size_t n = slices->n_all_values;

	if (err)
		return err;
	slices->rows[slices->n_rows++] = (struct slice_row){ slice, key, n };
	err = ebt_array_reserve(&slices->values, n + slices->n_values, &slices->values_capacity);
	if (err)
		return err;
	copy_figures(slices, values, slices->values + n);
	slices->n_all_values += slices->n_values;
	for (size_t i = 0; !err && i < slices->n_columns; i++) {
		if (slices->columns[i].merge == MERGE_SPREAD)
			err = keep_spread(slices, &slices->values[n + slices->columns[i].value]);
	}
	return err;
}

/* Of each row its key; `stamp` is no other table's. With `take` its figures, too. */
static struct ebt_error *read_rows(struct page_slices *slices, const struct out_captured *table,
				   uint32_t stamp, bool take)
{
	int64_t above[MAX_LEVELS + 1] = { -1 };
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < table->n && !slices->useless; i++) {
		const struct out_line *line = &table->lines[table->order ? table->order[i] : i];
		uint32_t key;

		if (line->depth >= MAX_LEVELS) {
			slices->useless = true;
			break;
		}
		err = find_key(slices, line, above[line->depth], &key);
		if (err)
			break;
		if (key == INTERNED_NONE) {
			slices->useless = true;
			break;
		}
		err = ebt_array_reserve_zeroed(&slices->seen, key, &slices->seen_capacity);
		if (err)
			break;
		slices->useless |= slices->seen[key] == stamp ||
				   (take && key >= slices->n_whole && !slices->some);
		slices->seen[key] = stamp;
		above[line->depth + 1] = key;
		if (take && key < slices->n_whole)
			err = add_row(slices, stamp - 2, key, line->values);
	}
	return err;
}

struct ebt_error *page_slices_create(const struct out_captured *whole, uint64_t start_ns,
				     struct page_slices **ret)
{
	_cleanup_(page_slices_destroyp) struct page_slices *slices = calloc(1, sizeof(*slices));
	struct ebt_error *err = slices ? copy_columns(slices, whole->table) : &ebt_enomem;

	*ret = NULL;
	if (err || !slices->n_values)
		return err;
	slices->some = whole->left_out;
	slices->start_ns = start_ns;
	err = read_rows(slices, whole, 1, false);
	if (err || slices->useless)
		return err;
	slices->n_whole = slices->keys.n;
	slices->whole = calloc(slices->n_whole * slices->n_values + 1, sizeof(*slices->whole));
	if (!slices->whole)
		return &ebt_enomem;
	for (size_t i = 0; i < slices->n_whole; i++)
		copy_figures(slices, whole->lines[whole->order ? whole->order[i] : i].values,
			     slices->whole + i * slices->n_values);
	*ret = take_ptr(slices);
	return NULL;
}

struct ebt_error *page_slices_add(struct page_slices *slices, uint32_t number,
				  const struct out_captured *table)
{
	slices->useless |= table->left_out || !is_same_table(slices, table->table) ||
			   slices->n_all_values > MAX_VALUES;
	return read_rows(slices, table, number + 2, true);
}

/* --- figures --- */

static bool is_more(const struct out_value *a, const struct out_value *b, enum out_type type)
{
	switch (type) {
	case OUT_PERCENT:
	case OUT_FLOAT:
	case OUT_NUMBER:
		return a->f > b->f;
	case OUT_I64:
	case OUT_SIGNED_ID:
		return a->i > b->i;
	default:
		return a->u > b->u;
	}
}

static void add_sum(struct out_value *to, const struct out_value *from, enum out_type type)
{
	switch (type) {
	case OUT_PERCENT:
	case OUT_FLOAT:
	case OUT_NUMBER:
		to->f += from->f;
		break;
	case OUT_I64:
	case OUT_SIGNED_ID:
		if (__builtin_add_overflow(to->i, from->i, &to->i))
			to->i = from->i < 0 ? INT64_MIN : INT64_MAX;
		break;
	default:
		if (__builtin_add_overflow(to->u, from->u, &to->u))
			to->u = UINT64_MAX;
		break;
	}
}

static struct ebt_error *add_spread(const struct page_slices *slices, struct slice_figure *to,
				    const struct out_value *from)
{
	if (from->null)
		return NULL;
	if (!to->spread)
		to->spread = calloc(1, sizeof(*to->spread));
	return to->spread ? histogram_merge(to->spread, &slices->spreads[from->u]) : &ebt_enomem;
}

static void add_value(struct out_value *to, const struct out_value *from,
		      const struct slice_column *column)
{
	bool takes = to->null || column->merge == MERGE_LAST;

	if (from->null)
		return;
	if (column->merge == MERGE_MAX)
		takes |= is_more(from, to, column->type);
	else if (column->merge == MERGE_LEAST)
		takes |= is_more(to, from, column->type);
	if (takes)
		*to = *from;
	else if (column->merge == MERGE_SUM)
		add_sum(to, from, column->type);
}

/* Is the peak of both that of these values, which are the later ones? */
static bool has_peak(const struct slice_column *column, const struct out_value *values,
		     const struct slice_figure *to)
{
	const struct out_value *from = &values[column->peak], *old = &to[column->peak].value;

	if (from->null || old->null)
		return !from->null;
	return column->merge == MERGE_AT ? is_more(from, old, column->peak_type)
					 : !is_more(old, from, column->peak_type);
}

/* The figures of a row into those of the same key, of which rows before it are. */
static struct ebt_error *add_figures(const struct page_slices *slices, const struct slice_row *row,
				     struct slice_figure *to)
{
	const struct out_value *values = &slices->values[row->values];
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < slices->n_columns; i++) {
		const struct slice_column *column = &slices->columns[i];

		if (is_at(column) && column->peak < slices->n_values &&
		    has_peak(column, values, to))
			to[column->value].value = values[column->value];
	}
	for (size_t i = 0; !err && i < slices->n_columns; i++) {
		const struct slice_column *column = &slices->columns[i];
		const struct out_value *from = &values[column->value];

		if (column->merge == MERGE_SPREAD)
			err = add_spread(slices, &to[column->value], from);
		else if (has_value(column) && !is_at(column))
			add_value(&to[column->value].value, from, column);
	}
	return err;
}

static void reset_figures(struct slice_figure *figures, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (figures[i].spread)
			histogram_deinit(figures[i].spread);
		free(figures[i].spread);
		figures[i] = (struct slice_figure){ .value = out_null() };
	}
}

static struct slice_figure *make_figures(size_t n)
{
	struct slice_figure *figures = calloc(n + 1, sizeof(*figures));

	if (figures)
		reset_figures(figures, n);
	return figures;
}

static bool is_same(const struct slice_figure *a, const struct out_value *b,
		    const struct slice_column *column)
{
	const enum out_type type = column->type;

	if (column->merge == MERGE_SPREAD)
		return a->spread ? !b->null &&
					   histogram_percentile(a->spread, column->percent) == b->u
				 : b->null;
	if (a->value.null || b->null)
		return a->value.null == b->null;
	if (type == OUT_PERCENT || type == OUT_FLOAT || type == OUT_NUMBER)
		return fabs(a->value.f - b->f) <= 1e-9 * (fabs(a->value.f) + fabs(b->f));
	return a->value.u == b->u;
}

/* Values of a row of whose key some are not those of the whole. */
static void drop_values(struct page_slices *slices, const struct slice_row *row,
			const struct slice_figure *sums, const struct out_value *whole)
{
	for (size_t i = 0; i < slices->n_columns; i++) {
		const struct slice_column *column = &slices->columns[i];
		const size_t v = column->value;

		if (has_value(column) && !is_same(&sums[v], &whole[v], column))
			slices->values[row->values + v].null = true;
	}
}

/*
 * A command that sees a part of a trace does not know what comes: where rows were lost, a wait may
 * be longer in a part than in the whole, which knows that nobody saw it end. Figures whose slices
 * are not the whole together are in no slice.
 */
static struct ebt_error *drop_doubtful(struct page_slices *slices)
{
	const size_t n = slices->n_values;
	struct slice_figure *sums = make_figures(slices->n_whole * n);
	struct ebt_error *err = sums ? NULL : &ebt_enomem;

	for (size_t i = 0; !err && i < slices->n_rows; i++)
		err = add_figures(slices, &slices->rows[i], sums + slices->rows[i].key * n);
	for (size_t i = 0; !err && i < slices->n_rows; i++) {
		const size_t at = slices->rows[i].key * n;

		drop_values(slices, &slices->rows[i], sums + at, slices->whole + at);
	}
	if (sums)
		reset_figures(sums, slices->n_whole * n);
	free(sums);
	return err;
}

/* --- putting slices together --- */

/* Are they of one, where slices are `factor` times as long? */
static bool are_together(const struct slice_row *a, const struct slice_row *b, uint32_t factor)
{
	return a->slice / factor == b->slice / factor && a->key == b->key;
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct slice_row *x = a, *y = b;
	const uint32_t factor = *(const uint32_t *)arg;

	return ebt_compare(x->slice / factor, y->slice / factor)
		       ?: ebt_compare(x->key, y->key)
		       ?: ebt_compare(x->slice, y->slice);
}

static size_t spreads_bytes(const struct page_slices *slices, const struct slice_row *row)
{
	size_t n = 0;

	for (size_t i = 0; i < slices->n_columns; i++) {
		const struct slice_column *column = &slices->columns[i];
		const struct out_value *value = &slices->values[row->values + column->value];
		struct histogram_bucket bucket = { 0 };

		if (column->merge != MERGE_SPREAD || value->null)
			continue;
		n += 2 * VALUE_BYTES;
		for (; histogram_next(&slices->spreads[value->u], &bucket); bucket.number++)
			n += BUCKET_BYTES;
		if (!slices->spreads[value->u].buckets)
			n += VALUE_BYTES * slices->spreads[value->u].count;
	}
	return n;
}

/* What slices that are `factor` times as long take as text, about; sorts the rows by these. */
static size_t count_bytes(struct page_slices *slices, uint32_t factor)
{
	const size_t figures = VALUE_BYTES * (slices->n_values + 1);
	size_t n = 0;

	if (!slices->n_rows)
		return 0;
	qsort_r(slices->rows, slices->n_rows, sizeof(*slices->rows), compare_rows, &factor);
	for (size_t i = 0; i < slices->n_rows; i++) {
		if (!i || !are_together(&slices->rows[i - 1], &slices->rows[i], factor))
			n += figures;
		n += spreads_bytes(slices, &slices->rows[i]);
	}
	return n;
}

/*
 * A few values as they are, ascending; more than that as -1, the least, the largest, the sum, and
 * of each bucket how much its number (histogram_next()) is more than the one before, and its
 * values.
 */
static void put_spread(const struct histogram *spread, struct json *json)
{
	struct histogram_bucket bucket = { 0 };
	uint64_t few[HISTOGRAM_FEW];
	uint32_t last = 0;

	json_open_array(json);
	if (spread->buckets) {
		json_i64(json, -1);
		json_u64(json, spread->min);
		json_u64(json, spread->max);
		json_u64(json, spread->sum);
	} else {
		memcpy(few, spread->few, sizeof(few));
		qsort(few, spread->count, sizeof(few[0]), ebt_compare_u64);
		for (size_t i = 0; i < spread->count; i++)
			json_u64(json, few[i]);
	}
	for (; histogram_next(spread, &bucket); bucket.number++) {
		json_u64(json, bucket.number - last);
		json_u64(json, bucket.n);
		last = bucket.number;
	}
	json_end(json);
}

static void put_figure(const struct page_slices *slices, const struct slice_column *column,
		       const struct slice_figure *figure, struct json *json)
{
	if (column->merge != MERGE_SPREAD)
		out_json_value(json, slices->start_ns, column->type, &figure->value);
	else if (figure->spread)
		put_spread(figure->spread, json);
	else
		json_put_null(json);
}

static void put_values(const struct page_slices *slices, uint32_t row,
		       const struct slice_figure *figures, struct json *json)
{
	json_open_array(json);
	json_u64(json, row);
	for (size_t i = 0; i < slices->n_columns; i++) {
		const struct slice_column *column = &slices->columns[i];

		if (has_value(column))
			put_figure(slices, column, &figures[column->value], json);
	}
	json_end(json);
}

/* The rows from *at on that are of one slice and key, as one; *at is where the next begins. */
static struct ebt_error *put_row(const struct page_slices *slices, size_t *at, uint32_t factor,
				 struct slice_figure *figures, struct json *json)
{
	const struct slice_row *first = &slices->rows[*at];
	struct ebt_error *err = NULL;

	reset_figures(figures, slices->n_values);
	for (; !err && *at < slices->n_rows && are_together(first, &slices->rows[*at], factor);
	     ++*at)
		err = add_figures(slices, &slices->rows[*at], figures);
	put_values(slices, first->key, figures, json);
	return err;
}

static struct ebt_error *put_slices(const struct page_slices *slices,
				    const struct page_slice_times *times, uint32_t factor,
				    struct slice_figure *figures, struct json *json)
{
	const uint64_t length = times->length_ns * factor;
	struct ebt_error *err = NULL;
	size_t at = 0;

	json_put(json, "slices", open_array);
	for (uint32_t i = 0; !err && i * factor < times->n; i++) {
		const uint64_t from = times->from_ns + i * length;
		const bool last = (i + 1) * factor >= times->n;

		json_newline(json);
		json_open_object(json);
		json_put(json, "from_ns", i64, (int64_t)from);
		json_put(json, "to_ns", i64, (int64_t)(last ? times->to_ns : from + length));
		json_put(json, "rows", open_array);
		while (!err && at < slices->n_rows && slices->rows[at].slice / factor == i)
			err = put_row(slices, &at, factor, figures, json);
		json_end(json);
		json_end(json);
	}
	json_end(json);
	return err;
}

struct ebt_error *page_slices_put(struct page_slices *slices, const struct page_slice_times *times,
				  size_t max_bytes, struct json *json, size_t *ret_bytes)
{
	static const uint32_t factors[] = { 1, 2, 4, 10, 20 };
	struct slice_figure *figures;
	const size_t n = sizeof(factors) / sizeof(factors[0]);
	size_t bytes = 0, i = 0;
	struct ebt_error *err;

	*ret_bytes = 0;
	if (slices->useless)
		return NULL;
	err = drop_doubtful(slices);
	if (err)
		return err;
	for (; i < n; i++) {
		bytes = count_bytes(slices, factors[i]);
		if (bytes <= max_bytes)
			break;
	}
	if (i == n || !bytes)
		return NULL;
	json_put(json, "slice_ns", u64, times->length_ns * factors[i]);
	json_newline(json);
	*ret_bytes = bytes;
	figures = make_figures(slices->n_values);
	if (!figures)
		return &ebt_enomem;
	err = put_slices(slices, times, factors[i], figures, json);
	reset_figures(figures, slices->n_values);
	free(figures);
	return err;
}
