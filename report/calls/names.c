/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of system calls and errors; the rows of calls are in format/calls/calls.def. */
#include "report/calls/names.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* All rows of a name are of one class, else this does not compile. */
#define SYSCALL(name, class, ...) typedef char class_of_##name[1 + SYSCALL_##class];
#include "format/calls/calls.def"
#undef SYSCALL

/* A number of calls.def where there is none: the row is left out. */
#define NO
#define ROW(name, class, n_args, ...) \
	__VA_OPT__([__VA_ARGS__] = { #name, n_args, SYSCALL_##class, CALL_##name }, )

#define SYSCALL(name, class, n_args, x86_64, i386, arm64) ROW(name, class, n_args, x86_64)
static const struct syscall_desc x86_64[] = {
#include "format/calls/calls.def"
};
#undef SYSCALL

#define SYSCALL(name, class, n_args, x86_64, i386, arm64) ROW(name, class, n_args, i386)
static const struct syscall_desc i386[] = {
#include "format/calls/calls.def"
};
#undef SYSCALL

#define SYSCALL(name, class, n_args, x86_64, i386, arm64) ROW(name, class, n_args, arm64)
static const struct syscall_desc arm64[] = {
#include "format/calls/calls.def"
};
#undef SYSCALL

#define N(array) (sizeof(array) / sizeof((array)[0]))

struct syscall_table {
	const struct syscall_desc *calls;
	size_t n;
	struct syscall_abi abi;
};

struct syscall_machine {
	const char *name;
	struct syscall_table native, compat;
};

#define AS_X86_64                                 \
	{                                         \
		SYSCALL_X86_64, SYSCALL_X86_64, 8 \
	}
#define AS_I386                               \
	{                                     \
		SYSCALL_I386, SYSCALL_I386, 4 \
	}
#define AS_ARM64                                \
	{                                       \
		SYSCALL_ARM64, SYSCALL_ARM64, 8 \
	}
/* Flags of files are those of asm-generic, as x86 has them. */
#define AS_RISCV64                               \
	{                                        \
		SYSCALL_ARM64, SYSCALL_X86_64, 8 \
	}

static const struct syscall_machine machines[] = {
	{ "x86_64", { x86_64, N(x86_64), AS_X86_64 }, { i386, N(i386), AS_I386 } },
	{ "i686", { i386, N(i386), AS_I386 }, { NULL, 0, AS_I386 } },
	{ "aarch64", { arm64, N(arm64), AS_ARM64 }, { NULL, 0, AS_ARM64 } },
	{ "riscv64", { arm64, N(arm64), AS_RISCV64 }, { NULL, 0, AS_RISCV64 } },
};

const struct syscall_machine *syscall_machine(const char *name)
{
	for (size_t i = 0; i < N(machines); i++) {
		if (!strcmp(machines[i].name, name))
			return &machines[i];
	}
	return NULL;
}

const struct syscall_desc *syscall_desc(const struct syscall_machine *machine, bool compat,
					uint64_t nr)
{
	/* It replaces the registers, its own number among them, before it returns. */
	static const struct syscall_desc rt_sigreturn = { "rt_sigreturn", 0, SYSCALL_SIGNAL,
							  CALL_rt_sigreturn };
	const struct syscall_table *table;

	if (!machine)
		return NULL;
	if (nr == UINT32_MAX)
		return &rt_sigreturn;
	table = compat ? &machine->compat : &machine->native;
	return nr < table->n && table->calls[nr].name ? &table->calls[nr] : NULL;
}

const struct syscall_abi *syscall_abi(const struct syscall_machine *machine, bool compat)
{
	const struct syscall_machine *m = machine ? machine : &machines[0];

	return compat ? &m->compat.abi : &m->native.abi;
}

void syscall_name_add(struct text *text, const struct syscall_machine *machine, bool compat,
		      uint32_t nr)
{
	const struct syscall_desc *desc = syscall_desc(machine, compat, nr);

	if (desc)
		text_cstr(text, desc->name);
	else
		text_printf(text, "syscall_%" PRIu32, nr);
}

const char *syscall_class_name(enum syscall_class class)
{
	static const char *const class_names[SYSCALL_N_CLASSES] = {
		[SYSCALL_FILE_IO] = "file_io",	 [SYSCALL_MEMORY] = "memory",
		[SYSCALL_PROCESS] = "process",	 [SYSCALL_NETWORK] = "network",
		[SYSCALL_TIME] = "time",	 [SYSCALL_IPC] = "ipc",
		[SYSCALL_SECURITY] = "security", [SYSCALL_SIGNAL] = "signal",
		[SYSCALL_SYSTEM] = "system",	 [SYSCALL_OTHER] = "other",
	};

	return class_names[class];
}

const char *errno_name(uint64_t errnum)
{
	/* From 512 on; those below are the same on x86 and arm64. */
	static const char *const in_kernel[] = {
		"ERESTARTSYS",
		"ERESTARTNOINTR",
		"ERESTARTNOHAND",
		"ENOIOCTLCMD",
		"ERESTART_RESTARTBLOCK",
		"EPROBE_DEFER",
		"EOPENSTALE",
		"ENOPARAM",
		NULL,
		"EBADHANDLE",
		"ENOTSYNC",
		"EBADCOOKIE",
		"ENOTSUPP",
		"ETOOSMALL",
		"ESERVERFAULT",
		"EBADTYPE",
		"EJUKEBOX",
		"EIOCBQUEUED",
		"ERECALLCONFLICT",
	};

	if (errnum >= 512)
		return errnum - 512 < N(in_kernel) ? in_kernel[errnum - 512] : NULL;
	return errnum ? strerrorname_np((int)errnum) : NULL;
}
