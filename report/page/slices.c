/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables in slices of time; see slices.h. */
#include "report/page/slices.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "report/base/interned.h"

/* Figures of slices that are kept before slices are put together. */
#define MAX_VALUES (2u << 20)
/* What a figure takes as text, about. */
#define VALUE_BYTES 9u
#define MAX_LEVELS  32

enum slice_merge { MERGE_NONE, MERGE_KEY, MERGE_SUM, MERGE_MAX };

struct slice_column {
	char *name;
	enum out_type type;
	enum slice_merge merge;
	bool left_out;
};

struct slice_row {
	uint32_t slice, key;
	size_t values; /* the first of its values */
};

struct page_slices {
	struct slice_column *columns;
	size_t n_columns, n_values; /* n_values: of those that are sums or maxima */
	/* Depth, number of the one above or -1, and in JSON the value of each column of the key: a
	 * line each. */
	struct interned keys;
	size_t n_whole;		 /* those that the whole has, in the order of its rows */
	struct out_value *whole; /* its figures */
	uint32_t *seen;		 /* by key: 2 + the slice that had it last; 1: the whole */
	size_t seen_capacity;
	struct slice_row *rows;
	size_t n_rows, rows_capacity;
	struct out_value *values;
	size_t n_all_values, values_capacity;
	uint64_t start_ns;
	bool useless; /* rows of a slice could not be told apart, or are missing */
};

static enum slice_merge merge_of(const struct out_column *column)
{
	if (column->flags & OUT_KEY)
		return MERGE_KEY;
	if (column->flags & OUT_ADDS)
		return MERGE_SUM;
	return column->flags & OUT_PEAK ? MERGE_MAX : MERGE_NONE;
}

const char *page_slices_merge(const struct out_column *column)
{
	static const char *const names[] = {
		[MERGE_NONE] = NULL,
		[MERGE_KEY] = "key",
		[MERGE_SUM] = "sum",
		[MERGE_MAX] = "max",
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
	interned_deinit(&slices->keys);
	free(slices);
}
DEFINE_CLEANUP(struct page_slices *, page_slices_destroy);

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
		slices->n_values += column->merge > MERGE_KEY;
		if (!column->name)
			return &ebt_enomem;
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
		if (slices->columns[i].merge > MERGE_KEY)
			*to++ = values[i];
	}
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
	return NULL;
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
		slices->useless |= slices->seen[key] == stamp || (take && key >= slices->n_whole);
		slices->seen[key] = stamp;
		above[line->depth + 1] = key;
		if (take)
			err = add_row(slices, stamp - 2, key, line->values);
	}
	return err;
}

struct ebt_error *page_slices_create(const struct out_captured *whole, struct page_slices **ret)
{
	_cleanup_(page_slices_destroyp) struct page_slices *slices = calloc(1, sizeof(*slices));
	struct ebt_error *err = slices ? copy_columns(slices, whole->table) : &ebt_enomem;

	*ret = NULL;
	if (err || !slices->n_values || whole->left_out)
		return err;
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

static void add_value(struct out_value *to, const struct out_value *from,
		      const struct slice_column *column)
{
	const bool sum = column->merge == MERGE_SUM;

	if (from->null)
		return;
	if (to->null) {
		*to = *from;
		return;
	}
	switch (column->type) {
	case OUT_PERCENT:
	case OUT_FLOAT:
	case OUT_NUMBER:
		to->f = sum ? to->f + from->f : from->f > to->f ? from->f : to->f;
		break;
	case OUT_I64:
	case OUT_SIGNED_ID:
		if (!sum)
			to->i = from->i > to->i ? from->i : to->i;
		else if (__builtin_add_overflow(to->i, from->i, &to->i))
			to->i = from->i < 0 ? INT64_MIN : INT64_MAX;
		break;
	default:
		if (!sum)
			to->u = from->u > to->u ? from->u : to->u;
		else if (__builtin_add_overflow(to->u, from->u, &to->u))
			to->u = UINT64_MAX;
		break;
	}
}

/* The figures of a row into those of the same key. */
static void add_figures(const struct page_slices *slices, const struct slice_row *row,
			struct out_value *to)
{
	const struct out_value *values = &slices->values[row->values];

	for (size_t i = 0; i < slices->n_columns; i++) {
		if (slices->columns[i].merge > MERGE_KEY)
			add_value(to++, values++, &slices->columns[i]);
	}
}

static bool is_same(const struct out_value *a, const struct out_value *b, enum out_type type)
{
	if (a->null || b->null)
		return a->null == b->null;
	if (type == OUT_PERCENT || type == OUT_FLOAT || type == OUT_NUMBER)
		return fabs(a->f - b->f) <= 1e-9 * (fabs(a->f) + fabs(b->f));
	return a->u == b->u;
}

/*
 * A command that sees a part of a trace does not know what comes: where rows were lost, a wait may
 * be longer in a part than in the whole, which knows that nobody saw it end. Figures whose slices
 * are not the whole together are in no slice.
 */
static struct ebt_error *drop_doubtful(struct page_slices *slices)
{
	const size_t n = slices->n_values;
	_cleanup_free_ struct out_value *sums = calloc(slices->n_whole * n + 1, sizeof(*sums));

	if (!sums)
		return &ebt_enomem;
	for (size_t i = 0; i < slices->n_whole * n; i++)
		sums[i] = out_null();
	for (size_t i = 0; i < slices->n_rows; i++)
		add_figures(slices, &slices->rows[i], sums + slices->rows[i].key * n);
	for (size_t r = 0; r < slices->n_rows; r++) {
		struct out_value *value = &slices->values[slices->rows[r].values];
		size_t at = slices->rows[r].key * n;

		for (size_t i = 0; i < slices->n_columns; i++) {
			if (slices->columns[i].merge <= MERGE_KEY)
				continue;
			value->null |=
				!is_same(&sums[at], &slices->whole[at], slices->columns[i].type);
			value++;
			at++;
		}
	}
	return NULL;
}

/* --- putting slices together --- */

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct slice_row *x = a, *y = b;
	const uint32_t factor = *(const uint32_t *)arg;

	return ebt_compare(x->slice / factor, y->slice / factor) ?: ebt_compare(x->key, y->key);
}

/* What slices that are `factor` times as long take as text, about; sorts the rows by these. */
static size_t count_bytes(struct page_slices *slices, uint32_t factor)
{
	const size_t figures = VALUE_BYTES * slices->n_values;
	size_t n = 0;

	if (!slices->n_rows)
		return 0;
	qsort_r(slices->rows, slices->n_rows, sizeof(*slices->rows), compare_rows, &factor);
	for (size_t i = 0; i < slices->n_rows; i++) {
		if (!i || compare_rows(&slices->rows[i - 1], &slices->rows[i], &factor) != 0)
			n += figures + interned_get(&slices->keys, slices->rows[i].key).len;
	}
	return n;
}

/* The next line of a text, without its end. */
static struct ebt_str take_line(struct ebt_str *text)
{
	const char *end = memchr(text->data, '\n', text->len);
	const struct ebt_str line = { text->data, end ? (size_t)(end - text->data) : text->len };
	const size_t n = line.len + (end != NULL);

	*text = (struct ebt_str){ text->data + n, text->len - n };
	return line;
}

static void put_values(const struct page_slices *slices, uint32_t number,
		       const struct out_value *sums, struct json *json)
{
	struct ebt_str key = interned_get(&slices->keys, number);
	const struct ebt_str depth = take_line(&key);

	take_line(&key);
	json_open_array(json);
	for (size_t i = 0; i < slices->n_columns; i++) {
		const struct slice_column *column = &slices->columns[i];

		if (column->left_out)
			continue;
		if (column->merge == MERGE_KEY) {
			const struct ebt_str value = take_line(&key);

			json_written(json, value.data, value.len);
		} else if (column->merge == MERGE_NONE) {
			json_put_null(json);
		} else {
			out_json_value(json, 0, column->type, sums);
		}
		sums += column->merge > MERGE_KEY;
	}
	if (depth.data[0] != '0')
		json_written(json, depth.data, depth.len);
	json_end(json);
}

/* The rows from `at` on that are of one slice and key, as one; where the next begins. */
static size_t put_row(const struct page_slices *slices, size_t at, uint32_t factor,
		      struct out_value *sums, struct json *json)
{
	const struct slice_row *first = &slices->rows[at];

	for (size_t i = 0; i < slices->n_values; i++)
		sums[i] = out_null();
	for (; at < slices->n_rows && !compare_rows(first, &slices->rows[at], &factor); at++)
		add_figures(slices, &slices->rows[at], sums);
	put_values(slices, first->key, sums, json);
	return at;
}

static void put_slices(const struct page_slices *slices, const struct page_slice_times *times,
		       uint32_t factor, struct out_value *sums, struct json *json)
{
	const uint64_t length = times->length_ns * factor;
	size_t at = 0;

	json_put(json, "slices", open_array);
	for (uint32_t i = 0; i * factor < times->n; i++) {
		const uint64_t from = times->from_ns + i * length;
		const bool last = (i + 1) * factor >= times->n;

		json_newline(json);
		json_open_object(json);
		json_put(json, "from_ns", i64, (int64_t)from);
		json_put(json, "to_ns", i64, (int64_t)(last ? times->to_ns : from + length));
		json_put(json, "rows", open_array);
		while (at < slices->n_rows && slices->rows[at].slice / factor == i)
			at = put_row(slices, at, factor, sums, json);
		json_end(json);
		json_end(json);
	}
	json_end(json);
}

struct ebt_error *page_slices_put(struct page_slices *slices, const struct page_slice_times *times,
				  size_t max_bytes, struct json *json, size_t *ret_bytes)
{
	static const uint32_t factors[] = { 1, 2, 4, 10, 20 };
	_cleanup_free_ struct out_value *sums = calloc(slices->n_values, sizeof(*sums));
	const size_t n = sizeof(factors) / sizeof(factors[0]);
	size_t bytes = 0, i = 0;
	struct ebt_error *err;

	*ret_bytes = 0;
	if (!sums)
		return &ebt_enomem;
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
	put_slices(slices, times, factors[i], sums, json);
	*ret_bytes = bytes;
	return NULL;
}
