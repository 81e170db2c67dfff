/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library to preload (LD_PRELOAD) into what loads BPF programs: appends a line for each load to
 * the file that VERIFIED names: the program's name, and how many instructions the kernel's verifier
 * went through, or `refused` and the error number.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef long (*syscall_function)(long number, ...);

static void report(const char *path, const union bpf_attr *load, long result, int error,
		   syscall_function call)
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attr = { 0 };
	FILE *f = fopen(path, "ae");

	if (!f)
		abort();
	if (result < 0) {
		fprintf(f, "%.15s refused %d\n", load->prog_name, error);
	} else {
		attr.info.bpf_fd = (unsigned int)result;
		attr.info.info_len = sizeof(info);
		attr.info.info = (unsigned long)&info;
		if (call(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)))
			abort();
		fprintf(f, "%.15s %u\n", load->prog_name, info.verified_insns);
	}
	if (fclose(f))
		abort();
}

/* libbpf has no other way to bpf(2). */
long syscall(long number, ...)
{
	syscall_function call = (syscall_function)dlsym(RTLD_NEXT, "syscall");
	const char *path = getenv("VERIFIED");
	long args[6], result;
	int error;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	result = call(number, args[0], args[1], args[2], args[3], args[4], args[5]);
	error = errno;
	if (path && number == SYS_bpf && args[0] == BPF_PROG_LOAD)
		report(path, (const union bpf_attr *)args[1], result, error, call);
	errno = error;
	return result;
}
