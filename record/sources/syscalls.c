/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `syscalls`. */
#include <string.h>

#include "record/base/ring.h"
#include "record/config/skeleton.h"
#include "record/sources/call_plans.h"
#include "record/sources/sources.h"

static struct ebt_error *check_args(const char *args)
{
	if (strcmp(args, "args") && strcmp(args, "raw"))
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not known here", args);
	return NULL;
}

static void configure(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;
	const char *words = source_args(context, &source_syscalls);
	bool args = !words || strcmp(words, "raw") != 0;

	skel->rodata->config.syscalls = 1;
	bpf_map__set_max_entries(skel->maps.syscall_start, context->kernel->pid_max);
	skel->rodata->config.spsc_bytes = context->spsc_bytes;
	bpf_map__set_max_entries(skel->maps.spsc_queues, context->n_spsc);
	bpf_map__set_value_size(skel->maps.spsc_queues, (__u32)spsc_size(context->spsc_bytes));
	source_load(context, args ? "ebrec_args_" : "ebrec_sys_");
	if (!args)
		return;
	skel->rodata->config.syscall_args = 1;
	call_plans_fill((struct ebrec_call_plan *)skel->rodata->call_plans,
			(struct ebrec_call_plan *)skel->rodata->compat_call_plans,
			(__u8 *)skel->rodata->calls_that_close);
	source_use_map(skel->maps.call_rows);
	source_use_map(skel->maps.held_fd);
	source_use_map(skel->maps.call_scratch);
	source_use_map(skel->maps.fds);
	source_use_map(skel->maps.fds_high);
	source_use_map(skel->maps.inode_seen);
	source_use_map(skel->maps.inode_path_scratch);
	bpf_map__set_max_entries(skel->maps.fds, EBREC_FDS);
	bpf_map__set_max_entries(skel->maps.fds_high, EBREC_FDS);
}

/* Of the descriptors that processes have; where only numbers are recorded, nothing. */
static struct ebt_error *note_held(const struct ebrec_bpf *skel)
{
	return iterator_run(skel->progs.ebrec_args_held, "the open files");
}

static struct ebt_error *open_worker(const struct source_context *context,
				     struct source_state *state, void *worker)
{
	(void)state;
	*(const struct ebrec_bpf **)worker = context->skel;
	return NULL;
}

static struct ebt_error *work(void *worker, struct ebt_stream *stream, enum source_moment moment)
{
	(void)stream; /* the program writes the rows */
	return moment == SOURCE_EPOCH ? note_held(*(const struct ebrec_bpf **)worker) : NULL;
}

/* Whoever is to be recorded is known by now. */
static struct ebt_error *attach(struct source_context *context, struct source_state *state)
{
	(void)state;
	return note_held(context->skel);
}

static const struct source_worker worker = {
	.size = sizeof(struct ebrec_bpf *),
	.open = open_worker,
	.work = work,
};

const struct ebrec_source source_syscalls = {
	.name = "syscalls",
	.doc = "system calls: arguments, files, result, duration",
	.elsewhere = "strace",
	.cost = "about 0.1 us for each call, 0.1 us more for a path, 0.2 us for an open and its "
		"close; raw: without these",
	.args_doc = "args: paths, addresses and descriptors, too; raw: numbers only (args)",
	.check_args = check_args,
	.tables = (const uint16_t[]){ EBT_T_syscall, EBT_T_syscall_arg, EBT_T_fd, EBT_T_socket,
				      EBT_T_inode_path, 0 },
	.needs = (const char *const[]){ "sys_enter", "sys_exit", NULL },
	.maps = (const char *const[]){ "syscall_start", "spsc_queues", NULL },
	.configure = configure,
	.attach = attach,
	.worker = &worker,
};
