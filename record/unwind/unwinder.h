/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User-space side of stack walks by unwind tables: tables of files and address spaces of
 * processes, kept up to date for the BPF programs. Used by one thread at a time.
 */
#ifndef RECORD_UNWIND_UNWINDER_H
#define RECORD_UNWIND_UNWINDER_H

#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/base/kernel.h"
#include "record/base/mapping.h"
#include "record/config/options.h"
#include "record/config/source.h"
#include "record/unwind/model.h"
#include "record/unwind/spaces.h"
#include "record/unwind/tables.h"
#include "unwind/step.h"

struct unwinder {
	const struct ebrec_bpf *skel;
	struct unwind_tables *tables;
	struct unwind_spaces *spaces;
	struct unwind_model past; /* for stacks that are walked later than they were copied */
	bool finishes;		  /* there are such; else nothing is in the past */
	uint32_t max_stack;	  /* entries */
};

/* Sizes and maps, before the programs are loaded. */
void unwinder_configure(struct ebrec_bpf *skel, const struct kernel *kernel,
			const struct record_options *options);

/* For configure() of a source whose rows have stacks, by record/bpf/event_stack.bpf.h. */
void source_use_event_stacks(struct source_context *context);
/* For configure(): stacks that were walked before are recognised (record/bpf/unwind_chain.bpf.h).
 */
void source_use_chains(struct source_context *context);

/* After that. The skeleton must live longer. */
struct ebt_error *unwinder_create(const struct ebrec_bpf *skel,
				  const struct record_options *options, struct unwinder **ret);
/* Accepts NULL. */
void unwinder_destroy(struct unwinder *unwinder);
DEFINE_CLEANUP(struct unwinder *, unwinder_destroy);

/* Makes the tables of a file that is going to be run or loaded; after the last, waits for them. */
void unwinder_expect(struct unwinder *unwinder, int fd, const char *path);
void unwinder_expect_end(struct unwinder *unwinder);

/* What is mapped at an address, for walks outside the kernel; mapping NULL: nothing that is known.
 * until, *ret: see unwind_tables_get(). */
enum unwind_code unwinder_code(const struct unwinder *unwinder,
			       const struct ebrec_unwind_mapping *mapping, uint64_t until,
			       const struct unwind_table **ret, uint64_t *ret_bias);

/* To be called often: publishes what happened, and keeps the tables that are in use. */
struct ebt_error *unwinder_work(struct unwinder *unwinder, uint64_t now_ns);

#endif
