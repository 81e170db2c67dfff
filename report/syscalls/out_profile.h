/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classes of system calls as a table, and the verdict with the thresholds that led to it. */
#ifndef REPORT_SYSCALLS_OUT_PROFILE_H
#define REPORT_SYSCALLS_OUT_PROFILE_H

#include "report/out/out.h"
#include "report/syscalls/profile.h"

/* JSON: array `categories`. */
struct ebt_error *out_categories(struct out *out, const struct syscall_profile *profile);

/* JSON: object `classification`. */
void out_classification(struct out *out, const struct syscall_profile *profile);

#endif
