/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Incarnations of process ids, their images and the files in them: what addrspace.h is made of.
 * Built row by row in order of time by addrspace.c.
 */
#ifndef SYMBOLIZE_SPACES_INCARNATIONS_H
#define SYMBOLIZE_SPACES_INCARNATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"
#include "symbolize/spaces/addrspace.h"
#include "symbolize/spaces/timeline.h"

#define INCARNATION_NONE ADDRSPACE_NO_INCARNATION
#define IMAGE_NONE	 UINT32_MAX

/* A file mapped with an offset: the value of a timeline's entry. */
struct segment {
	uint32_t object;
	uint64_t pgoff;
};

/* The address space between two execs. */
struct image {
	uint64_t from;	      /* 0: since the process began */
	uint32_t before;      /* the incarnation's previous image, or IMAGE_NONE */
	uint32_t parent;      /* image that it was forked from, or IMAGE_NONE */
	uint64_t forked;      /* when */
	struct timeline seen; /* mappings that came */
	struct timeline base; /* mappings that the snapshot found */
	uint64_t base_time;   /* when it did; 0: not */
	uint32_t vdso; /* entry of the vdso that this image's exec mapped, or TIMELINE_NONE */
	bool by_exec;
};

struct incarnation {
	uint32_t pid;
	uint32_t before; /* the incarnation made before with this pid, or INCARNATION_NONE */
	uint32_t image;	 /* newest */
	bool dead;
	uint64_t start; /* start_time of its leader; 0: not known */
};

struct addrspace {
	uint32_t *newest; /* incarnation of each pid */
	size_t n_pids, pids_capacity;
	struct incarnation *incarnations;
	size_t n_incarnations, incarnations_capacity;
	struct image *images;
	size_t n_images, images_capacity;
	struct segment *segments;
	size_t n_segments, segments_capacity;
	struct addrspace_object *objects;
	size_t n_objects, objects_capacity;
	struct ebt_map by_pid, by_segment, by_object;
	struct timeline_store store;
};

/*
 * The incarnation of a pid that a task with this start time belongs to; made where there is none.
 * leader: the task is the process's first thread, so that its start is the process's. start 0: not
 * known.
 */
struct ebt_error *incarnations_get(struct addrspace *space, uint32_t pid, uint64_t start,
				   bool leader, uint32_t *ret);

/* The same, INCARNATION_NONE where there is none. */
uint32_t incarnations_find(const struct addrspace *space, uint32_t pid, uint64_t start,
			   bool leader);

/* Begins a new image of the incarnation, empty. */
struct ebt_error *incarnations_add_image(struct addrspace *space, uint32_t incarnation,
					 uint64_t from, uint32_t *ret);

struct ebt_error *incarnations_segment(struct addrspace *space, struct ebt_str path,
				       struct ebt_str id, uint64_t pgoff, uint32_t *ret);

#endif
