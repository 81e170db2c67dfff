/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file was mapped at this address of this process at this time. Made once from the tables
 * mmap, task_fork, task_exec, task_exit and process of a trace.
 *
 * A process is one incarnation of a process id. An incarnation is a sequence of images: the one it
 * was born with, and one for each exec. An image has the mappings that were seen to come; under
 * them those that the snapshot found, which were there before anything was recorded; under those,
 * what its parent had when it forked. Nothing is copied at a fork.
 */
#ifndef SYMBOLIZE_SPACES_ADDRSPACE_H
#define SYMBOLIZE_SPACES_ADDRSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "symbolize/elf/elffile.h"

struct addrspace;

#define ADDRSPACE_NO_INCARNATION UINT32_MAX
#define ADDRSPACE_NO_IMAGE	 UINT32_MAX

/* A mapped file: the same path with the same build-id. */
struct addrspace_object {
	char *path; /* as recorded, NUL-terminated */
	struct sym_build_id id;
};

/* Where an address was. */
struct addrspace_place {
	bool found;
	uint32_t object;
	uint64_t offset;	/* of the address in the file */
	uint64_t pgoff, length; /* of the mapping */
	uint64_t from, to;	/* the same answer holds for from <= time < to */
};

struct ebt_error *addrspace_create(struct ebt_reader *reader, struct addrspace **ret);
void addrspace_destroy(struct addrspace *space);

/* The process that the task belonged to, or ADDRSPACE_NO_INCARNATION. */
uint32_t addrspace_incarnation(const struct addrspace *space, const struct ebt_task *task,
			       uint64_t time_ns);

/* *ret has found false where nothing is known to have been mapped. */
struct ebt_error *addrspace_find(struct addrspace *space, uint32_t incarnation, uint64_t address,
				 uint64_t time_ns, struct addrspace_place *ret);

/*
 * The mapping that begins closest below the address, or at it: where that is code of a file, data
 * of the file may be at the address. offset and times of *ret are 0; *ret_start is where it begins.
 * At most *steps mappings are looked at, and counted there.
 */
bool addrspace_below(const struct addrspace *space, uint32_t incarnation, uint64_t address,
		     uint64_t time_ns, uint64_t *steps, struct addrspace_place *ret,
		     uint64_t *ret_start);

/* The number of the image that the incarnation had then, and for how long it has it. */
uint32_t addrspace_image(const struct addrspace *space, uint32_t incarnation, uint64_t time_ns,
			 uint64_t *ret_from, uint64_t *ret_to);

/* The image that this one is a copy of, and since when; or ADDRSPACE_NO_IMAGE. */
uint32_t addrspace_forked_from(const struct addrspace *space, uint32_t image, uint64_t *ret_time);

const struct addrspace_object *addrspace_objects(const struct addrspace *space, size_t *ret_n);

#endif
