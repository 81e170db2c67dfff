/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of system calls and of their errors, by machine: the recorded one, not this one. */
#ifndef REPORT_CALLS_NAMES_H
#define REPORT_CALLS_NAMES_H

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

/* Whose numbers of flags, and whose order of arguments. */
enum syscall_arch {
	SYSCALL_X86_64,
	SYSCALL_I386,
	SYSCALL_ARM64,
	SYSCALL_N_ARCHES,
};

/* CALL_read, …: a call on whatever machine. */
enum syscall_call {
#define CALL(name, ...) CALL_##name,
#define CALL_OF(machine, name, ...)
#include "format/calls/arguments.def"
#undef CALL
#undef CALL_OF
	N_CALLS
};

struct syscall_desc {
	const char *name; /* NULL: no such call */
	uint8_t n_args;
	uint8_t class; /* enum syscall_class */
	uint16_t call; /* enum syscall_call */
};

/* How programs of a machine, or those of its compat ABI, call. */
struct syscall_abi {
	enum syscall_arch order; /* of arguments */
	enum syscall_arch flags;
	uint8_t word; /* bytes */
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

/* machine may be NULL: as x86_64. */
const struct syscall_abi *syscall_abi(const struct syscall_machine *machine, bool compat);

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
