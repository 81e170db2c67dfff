/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds of CPython for the BPF programs; see python.h. */
#include "record/unwind/python.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "format/base/cleanup.h"
#include "record/bpf/python.h"
#include "record/config/skeleton.h"

/* Entries of arrays whose numbers the programs know too: python.bpf.h. */
#define THREAD_SLOTS 8192
#define CODE_SETS    8192
#define WALKS	     3

void python_configure(struct ebrec_bpf *skel)
{
	struct ebrec_bpf_config *config = &skel->rodata->config;

	source_use_map(skel->maps.python_builds);
	source_use_map(skel->maps.python_threads);
	source_use_map(skel->maps.python_codes);
	source_use_map(skel->maps.python_counts);
	source_use_map(skel->maps.python_walks);
	bpf_map__set_max_entries(skel->maps.python_builds, PYTHON_MAX_BUILDS);
	bpf_map__set_max_entries(skel->maps.python_threads, THREAD_SLOTS);
	bpf_map__set_max_entries(skel->maps.python_codes, CODE_SETS);
	bpf_map__set_max_entries(skel->maps.python_walks, WALKS);
	config->python = 1;
	config->max_entries = 2 * config->max_stack;
	if (config->max_entries > EBREC_MAX_STACK)
		config->max_entries = EBREC_MAX_STACK;
}

void python_file(const struct ebrec_bpf *skel, int fd, uint32_t number, uint64_t base)
{
	struct ebrec_python_build build = { 0 };

	if (!skel->rodata->config.python || !python_build_read(fd, &build))
		return;
	build.runtime -= base;
	if (!bpf_map_update_elem(bpf_map__fd(skel->maps.python_builds), &number, &build, BPF_ANY))
		__atomic_add_fetch(&skel->bss->python_n_builds, 1, __ATOMIC_RELEASE);
}

bool python_find_build(const struct ebrec_bpf *skel, uint32_t number,
		       struct ebrec_python_build *ret)
{
	return skel->rodata->config.python &&
	       __atomic_load_n(&skel->bss->python_n_builds, __ATOMIC_ACQUIRE) &&
	       !bpf_map_lookup_elem(bpf_map__fd(skel->maps.python_builds), &number, ret);
}

struct ebt_error *python_stats(const struct ebrec_bpf *skel, struct python_stats *ret)
{
	int n_cpus = libbpf_num_possible_cpus(), fd = bpf_map__fd(skel->maps.python_counts);
	_cleanup_free_ struct ebrec_python_counts *counts = NULL;
	struct python_stats sum = { .builds = skel->bss->python_n_builds };
	__u32 zero = 0;

	if (!skel->rodata->config.python) {
		*ret = sum;
		return NULL;
	}
	counts = n_cpus > 0 ? calloc((size_t)n_cpus, sizeof(*counts)) : NULL;
	if (!counts)
		return &ebt_enomem;
	if (bpf_map_lookup_elem(fd, &zero, counts))
		return ebt_error_errno(errno, "cannot read what became of Python frames");
	for (int i = 0; i < n_cpus; i++) {
		sum.stacks += counts[i].stacks;
		sum.no_thread += counts[i].no_thread;
		sum.unplaced += counts[i].unplaced;
		sum.refused += counts[i].codes.refused;
	}
	*ret = sum;
	return NULL;
}
