/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What system calls say about a workload: counts by class, rates, shares, and a verdict by fixed
 * thresholds, which are part of the answer.
 */
#ifndef REPORT_SYSCALLS_PROFILE_H
#define REPORT_SYSCALLS_PROFILE_H

#include "report/calls/names.h"
#include "report/out/out.h"
#include "report/syscalls/model_syscalls.h"

struct syscall_profile {
	uint64_t total, by_class[SYSCALL_N_CLASSES];
	double seconds; /* of the window */
	/* In percent of one CPU; negative: the scheduler was not recorded. */
	double cpu;
};

/* Calls that are not known by name are SYSCALL_OTHER. */
struct syscall_profile syscall_profile_make(const struct syscall_model *model,
					    const struct syscall_machine *machine, double seconds,
					    double cpu);

/* Calls a second. */
double syscall_profile_rate(const struct syscall_profile *profile);

/* A table of classes; JSON: array `categories`. */
struct ebt_error *syscall_profile_put_classes(struct out *out,
					      const struct syscall_profile *profile);

/* The verdict with the thresholds that led to it; JSON: object `classification`. */
void syscall_profile_put_verdict(struct out *out, const struct syscall_profile *profile);

#endif
