/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this kernel offers, found out once: from its BTF and by asking, never from its version
 * number, as distributions move features between versions.
 */
#ifndef RECORD_BASE_KERNEL_H
#define RECORD_BASE_KERNEL_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "record/base/privileges.h"
#include "record/bpf/shared.h"

struct btf;

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

struct kernel {
	struct btf *btf;
	struct privileges privileges;
	uint32_t n_cpus; /* possible ones: CPU numbers are below this */
	uint32_t pid_max;
	uint32_t max_frames;   /* of a stack */
	uint32_t switch_args;  /* EBREC_SWITCH_* of bpf/shared.h */
	int64_t preempt_count; /* see bpf/shared.h */
	bool cycles;	       /* there is a hardware counter to sample with */
	/* Functions through which the scheduler calls our programs; zero: not there. */
	struct ebrec_range trampolines[EBREC_TRAMPOLINES];
};

/* EBT_ERR_UNSUPPORTED: what is missing and what to do about it, in one sentence. */
struct ebt_error *kernel_probe(struct kernel *ret);
void kernel_deinit(struct kernel *kernel);

/* Fills in trampolines, which takes a while. Not finding it is no error: stacks then begin with the
 * frames of the tracing itself. */
void kernel_find_trampolines(struct kernel *kernel);

/* Does the kernel have this function for BPF programs (or any function of that name)? */
bool kernel_has_function(const struct kernel *kernel, const char *name);

/* Does it have this helper of BPF programs, as BPF_FUNC_loop? */
bool kernel_has_helper(const struct kernel *kernel, const char *helper);

/* Have BPF programs a function that loops (Linux 5.17)? */
bool kernel_has_loops(const struct kernel *kernel);

/* Can BPF programs walk stacks by unwind tables here? Linux 5.17, x86-64. */
bool kernel_can_unwind(const struct kernel *kernel);

/* Does the kernel have this tracepoint, as tp_btf sees it? */
bool kernel_has_tracepoint(const struct kernel *kernel, const char *name);

/* How many arguments the tracepoint has; 0: it is not there. */
uint32_t kernel_tracepoint_args(const struct kernel *kernel, const char *name);

/* Is its nth argument, from 0, of the type or typedef of this name? */
bool kernel_tracepoint_arg_is(const struct kernel *kernel, const char *name, uint32_t n,
			      const char *type_name);

#endif
