/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The generated skeleton of the BPF programs, with the types that its read-only data needs. */
#ifndef RECORD_CONFIG_SKELETON_H
#define RECORD_CONFIG_SKELETON_H

#include <linux/types.h>

#include "record/bpf/shared.h"
#include "record/bpf/thread_stack.h"
#include "record/ebrec.skel.h"

/* Maps are made if a program that is loaded needs them: whoever configures it says so. */
static inline void source_use_map(struct bpf_map *map)
{
	bpf_map__set_autocreate(map, true);
}

#endif
