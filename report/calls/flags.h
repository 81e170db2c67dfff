/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of flags and other constants of system calls, by set and machine: those of flags.def. */
#ifndef REPORT_CALLS_FLAGS_H
#define REPORT_CALLS_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/text.h"
#include "report/calls/names.h"

/* FLAGS_open, …; FLAGS_NONE is no set. */
enum flag_set {
	FLAGS_NONE,
#define SET(set) FLAGS_##set,
#define FLAG(set, name, value)
#define FLAG_OF(set, name, x86_64, i386, arm64)
#include "report/calls/flags.def"
#undef SET
#undef FLAG
#undef FLAG_OF
};

/* Constants that are the same on all machines: FLAG_fcntl_F_GETFL, … */
enum flag_value {
#define SET(set)
#define FLAG(set, name, value) FLAG_##set##_##name = value,
#define FLAG_OF(set, name, x86_64, i386, arm64)
#include "report/calls/flags.def"
#undef SET
#undef FLAG
#undef FLAG_OF
};

/* The name of a value, the first of several; NULL: not known. */
const char *flag_name(enum flag_set set, enum syscall_arch arch, uint64_t value);

/* Names of those bits that have one, with | between them; returns the others. */
uint64_t flags_add_known(struct text *text, enum flag_set set, enum syscall_arch arch,
			 uint64_t value);

/* "PROT_READ|PROT_WRITE", "PROT_READ|0x100", and a number with a comment where nothing has one. A
 * value of 0 is the name of 0, or 0. unknown: what the comment says. */
void flags_add(struct text *text, enum flag_set set, enum syscall_arch arch, uint64_t value,
	       const char *unknown);

/* The name of a value, or the number and a comment. */
void flag_add(struct text *text, enum flag_set set, enum syscall_arch arch, uint64_t value,
	      const char *unknown);

/* Of an ioctl: its name, "A or B" where several drivers have the number, else its parts. */
void ioctl_add(struct text *text, enum syscall_arch arch, uint32_t command);

/* 0x1f, and 0 for 0. */
void text_0x(struct text *text, uint64_t v);

#endif
