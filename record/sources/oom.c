/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source `oom`. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

#include "record/config/skeleton.h"
#include "record/config/source.h"

#define FUNCTION "oom_kill_process"

/* Does the kernel let a program be called by its function? Not where it is locked down. */
static bool can_trace_function(const struct kernel *kernel)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int id = btf__find_by_name_kind(kernel->btf, FUNCTION, BTF_KIND_FUNC), fd;
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = (__u32)id);

	if (id <= 0)
		return false;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "try_function", "GPL", nothing,
			   sizeof(nothing) / sizeof(nothing[0]), &opts);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void without_function(struct source_state *state)
{
	state->status = EBT_V_source_status_partial;
	snprintf(state->detail, sizeof(state->detail),
		 "programs cannot be attached to the kernel's function " FUNCTION
		 " here: points and total are not known");
}

static void probe(const struct kernel *kernel, struct source_state *state)
{
	if (state->status == EBT_V_source_status_on && !can_trace_function(kernel))
		without_function(state);
}

static void configure(struct source_context *context)
{
	const struct kernel *kernel = context->kernel;
	struct ebrec_bpf *skel = context->skel;

	skel->rodata->oom_victim_is_task =
		!kernel_tracepoint_arg_is(kernel, "mark_victim", 0, "int");
	bpf_program__set_autoload(skel->progs.ebrec_oom_choice, can_trace_function(kernel));
}

static struct ebt_error *attach(struct source_context *context, struct source_state *state)
{
	const struct bpf_program *program = context->skel->progs.ebrec_oom_choice;
	struct bpf_link *link;

	if (!bpf_program__autoload(program))
		return NULL;
	link = bpf_program__attach(program);
	if (link)
		return source_keep_link(context, link);
	without_function(state);
	return NULL;
}

const struct ebrec_source source_oom = {
	.name = "oom",
	.doc = "processes that the kernel kills as there is no memory left: which, for whom, why",
	.cost = "about 1 us for each line of the kernel's log, 0.2 us for each signal",
	.tables = (const uint16_t[]){ EBT_T_oom_kill, 0 },
	.needs = (const char *const[]){ "mark_victim", "signal_generate", NULL },
	.wants =
		(const struct source_want[]){
			{ "console", "order, flags, cgroups and what was used up" }, { NULL } },
	.programs = (const char *const[]){ "ebrec_oom_", NULL },
	.maps = (const char *const[]){ "oom_", NULL },
	.probe = probe,
	.configure = configure,
	.attach = attach,
};
