/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates, shares and rules; see profile.h. */
#include "report/syscalls/profile.h"

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

double syscall_profile_class_rate(const struct syscall_profile *profile, enum syscall_class class)
{
	return per_second(profile, profile->by_class[class]);
}

double syscall_profile_share(const struct syscall_profile *profile, enum syscall_class class)
{
	return profile->total ? (double)profile->by_class[class] / (double)profile->total : 0;
}

/* --- verdicts --- */

static bool io_bound(const struct syscall_profile *p)
{
	return syscall_profile_share(p, SYSCALL_FILE_IO) > 0.6 && syscall_profile_rate(p) > 100;
}

static bool network_bound(const struct syscall_profile *p)
{
	return syscall_profile_share(p, SYSCALL_NETWORK) > 0.4;
}

static bool memory_bound(const struct syscall_profile *p)
{
	return syscall_profile_share(p, SYSCALL_MEMORY) > 0.3;
}

static bool cpu_bound(const struct syscall_profile *p)
{
	return syscall_profile_rate(p) < 50 && p->cpu > 50;
}

static bool mixed(const struct syscall_profile *p)
{
	return syscall_profile_share(p, SYSCALL_FILE_IO) > 0.2 &&
	       syscall_profile_share(p, SYSCALL_MEMORY) > 0.1;
}

static bool always(const struct syscall_profile *p)
{
	(void)p;
	return true;
}

const struct syscall_rule syscall_verdicts[] = {
	{ "io_bound", "file_io > 60 % of calls, and > 100 calls/s", io_bound },
	{ "network_bound", "network > 40 % of calls", network_bound },
	{ "memory_bound", "memory > 30 % of calls", memory_bound },
	{ "cpu_bound", "< 50 calls/s, and > 50 % of a CPU", cpu_bound },
	{ "mixed", "file_io > 20 % and memory > 10 % of calls", mixed },
	{ "unknown", "none of these", always },
};
const size_t syscall_n_verdicts = sizeof(syscall_verdicts) / sizeof(syscall_verdicts[0]);

const struct syscall_rule *syscall_profile_verdict(const struct syscall_profile *profile)
{
	const struct syscall_rule *rule = syscall_verdicts;

	while (!rule->holds(profile))
		rule++;
	return rule;
}

/* --- indicators --- */

static bool high_file_io(const struct syscall_profile *p)
{
	return syscall_profile_class_rate(p, SYSCALL_FILE_IO) > 500;
}

static bool high_rate(const struct syscall_profile *p)
{
	return syscall_profile_rate(p) > 1000;
}

static bool frequent_memory(const struct syscall_profile *p)
{
	return syscall_profile_class_rate(p, SYSCALL_MEMORY) > 100;
}

static bool high_network(const struct syscall_profile *p)
{
	return syscall_profile_class_rate(p, SYSCALL_NETWORK) > 200;
}

static bool cpu_intensive(const struct syscall_profile *p)
{
	return p->cpu > 80 && syscall_profile_rate(p) < 100;
}

static bool io_and_memory(const struct syscall_profile *p)
{
	return syscall_profile_class_rate(p, SYSCALL_FILE_IO) > 300 &&
	       syscall_profile_class_rate(p, SYSCALL_MEMORY) > 50;
}

const struct syscall_rule syscall_indicators[] = {
	{ "high_file_io", "file_io > 500/s", high_file_io },
	{ "very_high_syscall_rate", "> 1000 calls/s", high_rate },
	{ "frequent_memory_management", "memory > 100/s", frequent_memory },
	{ "high_network_activity", "network > 200/s", high_network },
	{ "cpu_intensive", "> 80 % of a CPU, and < 100 calls/s", cpu_intensive },
	{ "io_memory_contention", "file_io > 300/s and memory > 50/s", io_and_memory },
};
const size_t syscall_n_indicators = sizeof(syscall_indicators) / sizeof(syscall_indicators[0]);
