/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A distribution as a table; see histogram.h. */
#include "report/out/histogram.h"

#define N_COLUMNS 4

struct ebt_error *out_histogram(struct out *out, const char *key, const char *title,
				const struct histogram *histogram, enum out_type unit)
{
	bool time = unit == OUT_DURATION;
	const struct out_column columns[N_COLUMNS] = {
		{ time ? "least_ns" : "least", "FROM", unit, 0 },
		{ time ? "below_ns" : "below", "BELOW", unit, 0 },
		{ "count", "COUNT", OUT_U64, 0 },
		{ NULL, "", OUT_STRING, OUT_TEXT_ONLY },
	};
	const struct out_table table =
		OUT_TABLE(key, columns, .title = title, .flags = OUT_FIXED | OUT_KEEP_ORDER);
	static const char bar[] = "########################################";
	uint64_t buckets[65], most = 1;
	int first = 65, last = -1;
	struct ebt_error *err;

	histogram_log2(histogram, buckets);
	for (int i = 0; i < 65; i++) {
		if (!buckets[i])
			continue;
		first = first < i ? first : i;
		last = i;
		most = buckets[i] > most ? buckets[i] : most;
	}
	err = out_begin(out, &table);
	for (int i = first; !err && i <= last; i++) {
		double share = (double)buckets[i] / (double)most;
		size_t n = (size_t)(share * (double)(sizeof(bar) - 1) + 0.5);

		err = out_row(out, 0,
			      (struct out_value[]){
				      out_u64(i ? UINT64_C(1) << (i - 1) : 0),
				      out_u64(i < 64 ? UINT64_C(1) << i : UINT64_MAX),
				      out_u64(buckets[i]),
				      out_str((struct ebt_str){ bar, n }),
			      });
	}
	return err ? err : out_end(out);
}

struct out_value out_average(const struct histogram *histogram)
{
	return out_u64_if(histogram->count, histogram_avg(histogram));
}

struct out_value out_percentile(const struct histogram *histogram, double percent)
{
	return (struct out_value){
		.u = histogram_percentile(histogram, percent),
		.spread = histogram,
		.null = !histogram->count,
	};
}

struct out_value out_maximum(const struct histogram *histogram)
{
	return out_u64_if(histogram->count, histogram->max);
}
