/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps and programs of stacks; see source_stacks.h. */
#include "record/unwind/source_stacks.h"

#include "record/config/skeleton.h"
#include "record/unwind/python.h"

void source_use_chains(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;

	python_make_maps(skel);
	if (!skel->rodata->config.unwind)
		return;
	source_use_map(skel->maps.unwind_chains);
	source_use_map(skel->maps.unwind_lessons);
}

void source_use_event_stacks(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;

	source_use_map(skel->maps.event_scratch);
	source_use_map(skel->maps.event_depth);
	source_use_map(skel->maps.event_programs);
	if (!context->options->call_graph)
		return;
	skel->rodata->config.event_stacks = 1;
	source_use_chains(context);
	bpf_program__set_autoload(skel->progs.ebrec_event_stacks, true);
}
