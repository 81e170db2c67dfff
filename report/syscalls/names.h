/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of system calls and of their errors, by machine: the recorded one, not this one. */
#ifndef REPORT_SYSCALLS_NAMES_H
#define REPORT_SYSCALLS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/text.h"

/* What a call is about; calls.def says which is what. */
enum syscall_class {
	SYSCALL_FILE_IO,
	SYSCALL_MEMORY,
	SYSCALL_PROCESS,
	SYSCALL_NETWORK,
	SYSCALL_TIME,
	SYSCALL_IPC,
	SYSCALL_SECURITY,
	SYSCALL_SIGNAL,
	SYSCALL_SYSTEM,
	SYSCALL_OTHER,
	SYSCALL_N_CLASSES,
};

struct syscall_desc {
	const char *name; /* NULL: no such call */
	uint8_t n_args;
	uint8_t class; /* enum syscall_class */
};

/* "file_io", "memory", … */
const char *syscall_class_name(enum syscall_class class);

/* The calls of the native and the compat ABI of one machine. */
struct syscall_machine;

/* By `uname -m`, as in meta host.machine; NULL for a machine whose calls are not known here. */
const struct syscall_machine *syscall_machine(const char *name);

/* NULL: not known. machine may be NULL. */
const struct syscall_desc *syscall_desc(const struct syscall_machine *machine, bool compat,
					uint64_t nr);

/* "read"; "syscall_1000" where that is not known. */
void syscall_name_add(struct text *text, const struct syscall_machine *machine, bool compat,
		      uint32_t nr);

/* "ENOENT"; NULL: no such error. */
const char *errno_name(uint64_t errnum);

/* Is this the result of a call that failed? */
static inline bool syscall_failed(int64_t ret)
{
	return ret < 0 && ret >= -4095;
}

#endif
