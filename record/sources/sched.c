/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources `sched` and `offcpu`. Both live on the same switches and wake-ups: `offcpu` adds stacks
 * to the switches, `sched` adds migrations.
 */
#include "record/config/skeleton.h"
#include "record/config/source.h"
#include "record/unwind/unwinder.h"

static const char *const needs[] = { "sched_switch", NULL };

static const struct source_want wants[] = {
	{ "sched_waking", "wake-ups" },
	{ "sched_wakeup_new", "first wake-ups of new tasks" },
	{ NULL },
};

static void configure_offcpu(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;

	if (!context->options->call_graph)
		return;
	source_use_map(skel->maps.switch_scratch);
	source_use_map(skel->maps.chains);
	source_use_map(skel->maps.chain_scratch);
	source_use_chains(context);
	skel->rodata->config.min_block = context->options->min_block;
	if (!context->options->min_block) {
		skel->rodata->config.stacks = 1;
		return;
	}
	/* One of them is used; the other takes no memory. */
	source_use_map(skel->maps.offcpu_storage);
	source_use_map(skel->maps.offcpu_storage_small);
	source_load(context, "ebrec_offcpu_");
}

/* Makes the memory for stacks of tasks that are there. */
static struct ebt_error *prepare_tasks(struct source_context *context, struct source_state *state)
{
	(void)state;
	return iterator_run(context->skel->progs.ebrec_offcpu_prepare, "the tasks");
}

const struct ebrec_source source_sched = {
	.name = "sched",
	.doc = "which task runs where and when, who wakes whom, migrations",
	.cost = "about 0.3 us for each context switch and wake-up",
	.by_default = true,
	.tables = (const uint16_t[]){ EBT_T_sched_switch, EBT_T_sched_waking, EBT_T_sched_migrate,
				      EBT_T_task_end, 0 },
	.needs = needs,
	.wants =
		(const struct source_want[]){ { "sched_waking", "wake-ups" },
					      { "sched_wakeup_new", "first wake-ups of new tasks" },
					      { "sched_migrate_task", "migrations" },
					      { NULL } },
	.programs = (const char *const[]){ "ebrec_sched_", NULL },
};

const struct ebrec_source source_offcpu = {
	.name = "offcpu",
	.doc = "where tasks block: kernel and user stacks at each switch, and who wakes them",
	.cost = "about 1 us for each context switch; see --min-block",
	.by_default = true,
	.tables =
		(const uint16_t[]){ EBT_T_offcpu_stack, EBT_T_sched_switch, EBT_T_sched_waking, 0 },
	.stacks = true,
	.needs = needs,
	.wants = wants,
	.programs = (const char *const[]){ "ebrec_sched_switch", "ebrec_sched_wak", NULL },
	.configure = configure_offcpu,
	.attach = prepare_tasks,
};
