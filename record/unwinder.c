/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts tables and address spaces together; see unwinder.h. */
#include "unwinder.h"

#include <stdlib.h>

#include "python.h"
#include "skeleton.h"
#include "unwind_files.h"

/* Copies of 16 KiB a second and CPU: 3 MB/s at the most. */
#define DUMPS 200

void unwinder_configure(struct ebrec_bpf *skel, const struct kernel *kernel,
			const struct record_options *options)
{
	bpf_map__set_autocreate(skel->maps.unwind_states, true);
	unwind_tables_configure(skel, options->unwind_memory);
	unwind_spaces_configure(skel);
	skel->rodata->config.unwind = 1;
	skel->rodata->config.dumps = options->no_stack_dump ? 0 : DUMPS;
	skel->rodata->config.dump_all = options->call_graph == CALL_GRAPH_DUMP;
	skel->rodata->config.unwind_exec = kernel_has_function(kernel, "bpf_iter_task_vma_new");
	bpf_program__set_autoload(skel->progs.ebrec_unwind_exec, true);
	if (!options->no_python)
		python_configure(skel);
}

struct ebt_error *unwinder_create(const struct ebrec_bpf *skel,
				  const struct record_options *options, struct unwinder **ret)
{
	_cleanup_(unwinder_destroyp) struct unwinder *u = calloc(1, sizeof(*u));
	struct ebt_error *err;

	if (!u)
		return &ebt_enomem;
	u->max_stack = skel->rodata->config.max_entries;
	if (!options->no_stack_dump && !options->keep_stack_dumps) {
		u->history = unwind_history_create();
		if (!u->history)
			return &ebt_enomem;
	}
	err = unwind_tables_create(skel, &u->tables);
	if (!err)
		err = unwind_spaces_create(skel, u->tables, u->history, &u->spaces);
	if (err)
		return err;
	unwind_tables_listen(u->tables, python_file);
	*ret = take_ptr(u);
	return NULL;
}

void unwinder_destroy(struct unwinder *u)
{
	if (!u)
		return;
	unwind_spaces_destroy(u->spaces);
	unwind_tables_destroy(u->tables);
	unwind_history_destroy(u->history);
	free(u);
}

struct ebt_error *unwinder_work(struct unwinder *u, uint64_t now_ns)
{
	unwind_tables_work(u->tables, now_ns, unwind_files_open);
	return unwind_spaces_publish(u->spaces, now_ns);
}

static struct ebt_error *on_mapping(void *arg, const struct mapping *mapping)
{
	struct unwinder *u = arg;

	return unwind_spaces_map(u->spaces, mapping);
}

struct mapping_listener unwinder_listener(struct unwinder *u)
{
	return (struct mapping_listener){ on_mapping, u };
}
