/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts tables and address spaces together; see unwinder.h. */
#include "record/unwind/unwinder.h"

#include <bpf/bpf.h>
#include <stdlib.h>

#include "record/bpf/unwind_maps.h"
#include "record/config/skeleton.h"
#include "record/unwind/files.h"
#include "record/unwind/python.h"

/* Copies of 16 KiB a second and CPU: 3 MB/s at the most. */
#define DUMPS	      200

#define MAX_PROCESSES 16384u
#define MAX_MAPPINGS  (1u << 18)
#define MAX_FILES     16384u

void unwinder_configure(struct ebrec_bpf *skel, const struct kernel *kernel,
			const struct record_options *options)
{
	source_use_map(skel->maps.unwind_states);
	source_use_map(skel->maps.unwind_dumps);
	source_use_map(skel->maps.unwind_mappings);
	source_use_map(skel->maps.unwind_processes);
	source_use_map(skel->maps.unwind_published);
	source_use_map(skel->maps.unwind_files);
	source_use_map(skel->maps.unwind_asked);
	source_use_map(skel->maps.unwind_called);
	unwind_tables_configure(skel, options->unwind_memory);
	bpf_map__set_max_entries(skel->maps.unwind_mappings, MAX_MAPPINGS);
	bpf_map__set_max_entries(skel->maps.unwind_processes, MAX_PROCESSES);
	bpf_map__set_max_entries(skel->maps.unwind_published, MAX_PROCESSES);
	bpf_map__set_max_entries(skel->maps.unwind_files, MAX_FILES);
	skel->rodata->config.unwind = 1;
	skel->rodata->config.dumps = options->no_stack_dump ? 0 : DUMPS;
	skel->rodata->config.dump_all = options->call_graph == CALL_GRAPH_DUMP;
	skel->rodata->config.unwind_exec = kernel_has_function(kernel, "bpf_iter_task_vma_new");
	bpf_program__set_autoload(skel->progs.ebrec_unwind_exec, true);
	if (!options->no_python)
		python_configure(skel);
}

/* --- sources whose rows have stacks --- */

void source_use_chains(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;

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

/* --- maps of the BPF programs --- */

static uint32_t find_table(void *arg, const struct mapping *mapping, uint64_t *ret_bias)
{
	const struct unwinder *u = arg;

	return unwind_files_table(u->tables, mapping, ret_bias);
}

static bool publish(void *arg, uint32_t pid, const struct ebrec_unwind_published *entry)
{
	const struct unwinder *u = arg;
	int fd = bpf_map__fd(u->skel->maps.unwind_published);

	return !(entry ? bpf_map_update_elem(fd, &pid, entry, BPF_ANY)
		       : bpf_map_delete_elem(fd, &pid));
}

static bool published(void *arg, uint32_t pid, struct ebrec_unwind_published *ret)
{
	const struct unwinder *u = arg;

	return !bpf_map_lookup_elem(bpf_map__fd(u->skel->maps.unwind_published), &pid, ret);
}

static bool own(void *arg, uint32_t pid, struct ebrec_unwind_process *ret)
{
	const struct unwinder *u = arg;

	return !bpf_map_lookup_elem(bpf_map__fd(u->skel->maps.unwind_processes), &pid, ret);
}

static void remove_process(void *arg, uint32_t pid)
{
	const struct unwinder *u = arg;

	bpf_map_delete_elem(bpf_map__fd(u->skel->maps.unwind_published), &pid);
	bpf_map_delete_elem(bpf_map__fd(u->skel->maps.unwind_processes), &pid);
}

/* --- */

struct ebt_error *unwinder_create(const struct ebrec_bpf *skel,
				  const struct record_options *options, struct unwinder **ret)
{
	_cleanup_(unwinder_destroyp) struct unwinder *u = calloc(1, sizeof(*u));
	const struct unwind_spaces_maps maps = {
		.table = find_table,
		.publish = publish,
		.published = published,
		.own = own,
		.remove = remove_process,
		.arg = u,
		.mappings_fd = bpf_map__fd(skel->maps.unwind_mappings),
		.first = UNWIND_OWN_ROOM,
		.n = MAX_MAPPINGS,
	};
	struct ebt_error *err;

	if (!u)
		return &ebt_enomem;
	u->skel = skel;
	u->max_stack = skel->rodata->config.max_entries;
	u->finishes = !options->no_stack_dump && !options->keep_stack_dumps;
	err = unwind_tables_create(skel, &u->tables)
		      ?: unwind_spaces_create(&maps, u->finishes ? &u->past : NULL, &u->spaces);
	if (err)
		return err;
	*ret = take_ptr(u);
	return NULL;
}

void unwinder_destroy(struct unwinder *u)
{
	if (!u)
		return;
	unwind_spaces_destroy(u->spaces);
	unwind_tables_destroy(u->tables);
	unwind_model_deinit(&u->past);
	free(u);
}

void unwinder_expect(struct unwinder *u, int fd, const char *path)
{
	unwind_files_learn(u->tables, fd, path);
}

void unwinder_expect_end(struct unwinder *u)
{
	unwind_files_vdso(u->tables);
	unwind_tables_wait(u->tables);
}

enum unwind_code unwinder_code(const struct unwinder *u, const struct ebrec_unwind_mapping *mapping,
			       uint64_t until, const struct unwind_table **ret, uint64_t *ret_bias)
{
	if (!mapping)
		return UNWIND_CODE_NONE;
	switch (mapping->table) {
	case UNWIND_TABLE_LATER:
	case UNWIND_TABLE_FULL:
		return UNWIND_CODE_LATER;
	case UNWIND_TABLE_NONE:
	case UNWIND_TABLE_ANON:
		return UNWIND_CODE_UNTOLD;
	}
	*ret = unwind_tables_get(u->tables, mapping->table, until);
	*ret_bias = mapping->bias;
	return *ret ? UNWIND_CODE_TABLE : UNWIND_CODE_LATER;
}

struct ebt_error *unwinder_work(struct unwinder *u, uint64_t now_ns)
{
	unwind_tables_work(u->tables, now_ns, unwind_files_open);
	return unwind_spaces_publish(u->spaces, now_ns);
}
