/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates, shares and rules; see profile.h. */
#include "report/syscalls/profile.h"

#include <math.h>

#define N_VERDICTS   6
#define N_INDICATORS 6

struct verdict_rule {
	const char *name, *thresholds; /* as words */
	bool holds;
};

struct verdict_rules {
	struct verdict_rule verdicts[N_VERDICTS];     /* the first that holds is the verdict */
	struct verdict_rule indicators[N_INDICATORS]; /* each for itself */
};

struct syscall_profile syscall_profile_make(const struct syscall_model *model,
					    const struct syscall_machine *machine, double seconds,
					    double cpu)
{
	struct syscall_profile profile = { .seconds = seconds, .cpu = cpu };
	const struct syscall_stat *stats;
	size_t n;

	stats = syscall_model_stats(model, &n);
	for (size_t i = 0; i < n; i++) {
		const struct syscall_desc *desc =
			syscall_desc(machine, stats[i].compat, stats[i].nr);

		profile.by_class[desc ? desc->class : SYSCALL_OTHER] += stats[i].sum.time.count;
		profile.total += stats[i].sum.time.count;
	}
	return profile;
}

static double per_second(const struct syscall_profile *profile, uint64_t n)
{
	return profile->seconds > 0 ? (double)n / profile->seconds : 0;
}

double syscall_profile_rate(const struct syscall_profile *profile)
{
	return per_second(profile, profile->total);
}

/* Of all calls, 0 to 1. */
static double share(const struct syscall_profile *profile, uint64_t n)
{
	return profile->total ? (double)n / (double)profile->total : 0;
}

#define CLASSES(X)                                                                         \
	X("category", "CATEGORY", OUT_STRING, out_cstr(syscall_class_name(class)))         \
	X("count", "COUNT", OUT_U64, out_u64(p->by_class[class]), OUT_SORT)                \
	X("count_per_s", "COUNT/s", OUT_FLOAT, out_f64(per_second(p, p->by_class[class]))) \
	X("percent", "%", OUT_PERCENT, out_f64(100 * share(p, p->by_class[class])))

struct ebt_error *syscall_profile_put_classes(struct out *out, const struct syscall_profile *p)
{
	const struct out_table table =
		OUT_TABLE_OF("categories", CLASSES, .title = "\nBy category", .flags = OUT_FIXED);

	return out_rows(out, &table, SYSCALL_N_CLASSES, class,
			out_row(out, 0, OUT_VALUES(CLASSES)));
}

/* --- the verdict --- */

static struct verdict_rules judge(const struct syscall_profile *p)
{
	const uint64_t *n = p->by_class;
	const double files = share(p, n[SYSCALL_FILE_IO]), memory = share(p, n[SYSCALL_MEMORY]);
	const double files_s = per_second(p, n[SYSCALL_FILE_IO]);
	const double memory_s = per_second(p, n[SYSCALL_MEMORY]);
	const double network_s = per_second(p, n[SYSCALL_NETWORK]);
	const double rate = syscall_profile_rate(p), cpu = p->cpu;

	return (struct verdict_rules){
		.verdicts = {
			{ "io_bound", "file_io > 60 % of calls, and > 100 calls/s",
			  files > 0.6 && rate > 100 },
			{ "network_bound", "network > 40 % of calls",
			  share(p, n[SYSCALL_NETWORK]) > 0.4 },
			{ "memory_bound", "memory > 30 % of calls", memory > 0.3 },
			{ "cpu_bound", "< 50 calls/s, and > 50 % of a CPU", rate < 50 && cpu > 50 },
			{ "mixed", "file_io > 20 % and memory > 10 % of calls",
			  files > 0.2 && memory > 0.1 },
			{ "unknown", "none of these", true },
		},
		.indicators = {
			{ "high_file_io", "file_io > 500/s", files_s > 500 },
			{ "very_high_syscall_rate", "> 1000 calls/s", rate > 1000 },
			{ "frequent_memory_management", "memory > 100/s", memory_s > 100 },
			{ "high_network_activity", "network > 200/s", network_s > 200 },
			{ "cpu_intensive", "> 80 % of a CPU, and < 100 calls/s",
			  cpu > 80 && rate < 100 },
			{ "io_memory_contention", "file_io > 300/s and memory > 50/s",
			  files_s > 300 && memory_s > 50 },
		},
	};
}

static void put_rules(struct json *json, const char *key, const struct verdict_rule *rules,
		      size_t n)
{
	json_put(json, key, open_array);
	for (size_t i = 0; i < n; i++) {
		json_open_object(json);
		json_put(json, "name", cstr, rules[i].name);
		json_put(json, "thresholds", cstr, rules[i].thresholds);
		json_put(json, "holds", bool, rules[i].holds);
		json_end(json);
	}
	json_end(json);
}

void syscall_profile_put_verdict(struct out *out, const struct syscall_profile *p)
{
	const struct verdict_rules rules = judge(p);
	const struct verdict_rule *verdict = rules.verdicts;
	struct json *json = out_json(out);

	while (!verdict->holds)
		verdict++;
	if (json) {
		json_put(json, "classification", open_object);
		json_put(json, "verdict", cstr, verdict->name);
		json_put(json, "cpu_percent", f64, p->cpu < 0 ? NAN : p->cpu);
		put_rules(json, "rules", rules.verdicts, N_VERDICTS);
		put_rules(json, "indicators", rules.indicators, N_INDICATORS);
		json_end(json);
		return;
	}
	out_printf(out, "\nVerdict: %s. The first of these rules that holds:\n", verdict->name);
	for (const struct verdict_rule *r = rules.verdicts; r < rules.verdicts + N_VERDICTS; r++)
		out_printf(out, "  %c %-14s %s\n", r == verdict ? '*' : ' ', r->name,
			   r->thresholds);
	out_printf(out, "Each of these for itself:\n");
	for (const struct verdict_rule *r = rules.indicators; r < rules.indicators + N_INDICATORS;
	     r++)
		out_printf(out, "  %c %-26s %s\n", r->holds ? '*' : ' ', r->name, r->thresholds);
	if (p->cpu < 0)
		out_printf(out, "Rules about a CPU do not hold: -e sched was not recorded.\n");
	else
		out_printf(out, "CPU: %.1f %% of one.\n", p->cpu);
}
