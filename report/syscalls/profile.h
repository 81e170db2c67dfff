/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What system calls say about a workload: counts by class, rates, shares, and a verdict by fixed
 * thresholds, which are part of the answer.
 */
#ifndef REPORT_SYSCALLS_PROFILE_H
#define REPORT_SYSCALLS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/syscalls/model_syscalls.h"
#include "report/syscalls/names.h"

struct syscall_profile {
	uint64_t total, by_class[SYSCALL_N_CLASSES];
	double seconds; /* of the window */
	/* In percent of one CPU; negative: the scheduler was not recorded. */
	double cpu;
};

/* The model is SYSCALLS_BY_CALL. Calls that are not known by name are SYSCALL_OTHER. */
struct syscall_profile syscall_profile_make(const struct syscall_model *model,
					    const struct syscall_machine *machine, double seconds,
					    double cpu);

/* Calls a second: of all, and of one class. */
double syscall_profile_rate(const struct syscall_profile *profile);
double syscall_profile_class_rate(const struct syscall_profile *profile, enum syscall_class class);

/* Share of all calls, 0 to 1. */
double syscall_profile_share(const struct syscall_profile *profile, enum syscall_class class);

/* A rule of the verdict, or an indicator. */
struct syscall_rule {
	const char *name, *thresholds; /* as words */
	bool (*holds)(const struct syscall_profile *profile);
};

/* In order: the first that holds is the verdict; the last one always does. */
extern const struct syscall_rule syscall_verdicts[];
extern const size_t syscall_n_verdicts;
/* Each for itself. */
extern const struct syscall_rule syscall_indicators[];
extern const size_t syscall_n_indicators;

const struct syscall_rule *syscall_profile_verdict(const struct syscall_profile *profile);

#endif
