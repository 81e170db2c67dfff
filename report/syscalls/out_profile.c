/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classes of system calls; see out_profile.h. */
#include "report/syscalls/out_profile.h"

struct ebt_error *out_categories(struct out *out, const struct syscall_profile *profile)
{
	static const struct out_column columns[] = {
		{ "category", "CATEGORY", OUT_STRING, 0 },
		{ "count", "COUNT", OUT_U64, OUT_SORT },
		{ "count_per_s", "PER SECOND", OUT_FLOAT, 0 },
		{ "percent", "% OF CALLS", OUT_PERCENT, 0 },
	};
	static const struct out_table table =
		OUT_TABLE("categories", columns, .title = "\nBy category", .flags = OUT_FIXED);

	return out_rows(out, &table, SYSCALL_N_CLASSES, i,
			out_row(out, 0,
				(struct out_value[]){
					out_cstr(syscall_class_name((enum syscall_class)i)),
					out_u64(profile->by_class[i]),
					out_f64(syscall_profile_class_rate(profile, i)),
					out_f64(100 * syscall_profile_share(profile, i)),
				}));
}

static void put_rules(struct json *json, const struct syscall_rule *rules, size_t n,
		      const struct syscall_profile *profile)
{
	json_open_array(json);
	for (size_t i = 0; i < n; i++) {
		json_open_object(json);
		json_key(json, "name");
		json_cstr(json, rules[i].name);
		json_key(json, "thresholds");
		json_cstr(json, rules[i].thresholds);
		json_key(json, "holds");
		json_bool(json, rules[i].holds(profile));
		json_end(json);
	}
	json_end(json);
}

static void put_json(struct json *json, const struct syscall_profile *profile)
{
	json_key(json, "classification");
	json_open_object(json);
	json_key(json, "verdict");
	json_cstr(json, syscall_profile_verdict(profile)->name);
	json_key(json, "cpu_percent");
	if (profile->cpu < 0)
		json_put_null(json);
	else
		json_f64(json, profile->cpu);
	json_key(json, "rules");
	put_rules(json, syscall_verdicts, syscall_n_verdicts, profile);
	json_key(json, "indicators");
	put_rules(json, syscall_indicators, syscall_n_indicators, profile);
	json_end(json);
}

void out_classification(struct out *out, const struct syscall_profile *profile)
{
	const struct syscall_rule *verdict = syscall_profile_verdict(profile);

	if (out_json(out)) {
		put_json(out_json(out), profile);
		return;
	}
	out_printf(out, "\nVerdict: %s. The first of these rules that holds:\n", verdict->name);
	for (size_t i = 0; i < syscall_n_verdicts; i++)
		out_printf(out, "  %c %-14s %s\n", &syscall_verdicts[i] == verdict ? '*' : ' ',
			   syscall_verdicts[i].name, syscall_verdicts[i].thresholds);
	out_printf(out, "Each of these for itself:\n");
	for (size_t i = 0; i < syscall_n_indicators; i++)
		out_printf(out, "  %c %-26s %s\n", syscall_indicators[i].holds(profile) ? '*' : ' ',
			   syscall_indicators[i].name, syscall_indicators[i].thresholds);
	if (profile->cpu < 0)
		out_printf(out, "Rules about a CPU do not hold: -e sched was not recorded.\n");
	else
		out_printf(out, "CPU: %.1f %% of one.\n", profile->cpu);
}
