/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `syscalls`. */
#include <string.h>

#include "record/base/ring.h"
#include "record/config/skeleton.h"
#include "record/sources/call_plans.h"
#include "record/sources/sources.h"
#include "record/unwind/unwinder.h"

struct syscalls_args {
	bool raw, args, structs, stacks;
};

static struct ebt_error *parse_word(const char *word, struct syscalls_args *args)
{
	if (!strcmp(word, "raw"))
		args->raw = true;
	else if (!strcmp(word, "args"))
		args->args = true;
	else if (!strcmp(word, "structs"))
		args->structs = true;
	else if (!strcmp(word, "stacks"))
		args->stacks = true;
	else
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not known here", word);
	return NULL;
}

/* "structs:stacks" */
static struct ebt_error *parse_args(const char *text, struct syscalls_args *ret)
{
	_cleanup_free_ char *words = strdup(text ? text : "args");
	char *rest = words, *word;
	struct ebt_error *err = NULL;

	*ret = (struct syscalls_args){ 0 };
	if (!words)
		return &ebt_enomem;
	while (!err && (word = strsep(&rest, ":")))
		err = parse_word(word, ret);
	if (!err && ret->raw && (ret->args || ret->structs))
		err = ebt_error_create(EBT_ERR_INVALID,
				       "'raw' leaves out what 'args' and 'structs' ask for");
	return err;
}

static struct ebt_error *check_args(const char *text)
{
	struct syscalls_args args;

	return parse_args(text, &args);
}

static void fill_plans(struct ebrec_bpf *skel, bool structs)
{
	const struct call_tables tables = {
		.native = (struct ebrec_call_plan *)skel->rodata->call_plans,
		.compat = (struct ebrec_call_plan *)skel->rodata->compat_call_plans,
		.native_structs = (struct ebrec_call_structs *)skel->rodata->call_structs,
		.compat_structs = (struct ebrec_call_structs *)skel->rodata->compat_call_structs,
		.closes = (__u8 *)skel->rodata->calls_that_close,
	};

	call_plans_fill(structs, &tables);
}

static void configure_args(struct ebrec_bpf *skel)
{
	skel->rodata->config.syscall_args = 1;
	source_use_map(skel->maps.call_rows);
	source_use_map(skel->maps.held_fd);
	source_use_map(skel->maps.call_scratch);
	source_use_map(skel->maps.fds);
	source_use_map(skel->maps.fds_high);
	source_use_map(skel->maps.named_lately);
	source_use_map(skel->maps.inode_seen);
	source_use_map(skel->maps.inode_path_scratch);
	bpf_map__set_max_entries(skel->maps.fds, EBREC_FDS);
	bpf_map__set_max_entries(skel->maps.fds_high, EBREC_FDS);
}

static void configure(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;
	struct syscalls_args args;

	ebt_error_destroy(parse_args(source_args(context, &source_syscalls),
				     &args)); /* it has been checked */
	skel->rodata->config.syscalls = 1;
	bpf_map__set_max_entries(skel->maps.syscall_start, context->kernel->pid_max);
	skel->rodata->config.spsc_bytes = context->spsc_bytes;
	bpf_map__set_max_entries(skel->maps.spsc_queues, context->n_spsc);
	bpf_map__set_value_size(skel->maps.spsc_queues, (__u32)spsc_size(context->spsc_bytes));
	source_load(context, args.raw ? "ebrec_sys_" : "ebrec_args_");
	if (!args.raw || args.stacks)
		fill_plans(skel, args.structs);
	if (!args.raw)
		configure_args(skel);
	if (args.stacks) {
		source_load(context, "ebrec_stack_sys_");
		source_use_event_stacks(context);
	}
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
		"close; structs: 0.1 us more for a call that has one; stacks: 0.1 us for each "
		"call, 0.2 us and more for one that has a stack; raw: none of these",
	.args_doc = "args: paths, addresses and descriptors, too; raw: numbers only (args); "
		    "structs: also times, signals, modes, limits; stacks: where calls were made "
		    "that failed, or made a descriptor; with colons between",
	.check_args = check_args,
	.tables = (const uint16_t[]){ EBT_T_syscall, EBT_T_syscall_arg, EBT_T_fd, EBT_T_socket,
				      EBT_T_syscall_stack, EBT_T_inode_path, 0 },
	.needs = (const char *const[]){ "sys_enter", "sys_exit", NULL },
	.maps = (const char *const[]){ "syscall_start", "spsc_queues", NULL },
	.configure = configure,
	.attach = attach,
	.worker = &worker,
};
