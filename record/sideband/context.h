/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the side-band share, and the rows that several of them write. */
#ifndef RECORD_SIDEBAND_CONTEXT_H
#define RECORD_SIDEBAND_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/write/writer.h"
#include "record/base/identity.h"
#include "record/base/mapping.h"

struct bpf_program;
struct ebrec_known;
struct tasks;

/* One for a recording, used by one thread at a time. It must live longer than the parts. */
struct sideband_context {
	struct ebt_stream *stream;
	struct tasks *tasks;
	uint64_t last_file_id; /* the number of the trace's latest embedded file */
	bool all;	       /* else only processes that tasks_know_pid() knows are recorded */
	bool no_containers;    /* nothing about them is stored */
	const struct bpf_program *task_iterator;
	/* Of record/bpf/facts.h; both are there or are NULL. */
	volatile uint32_t *task_keys;
	struct ebrec_known *known_programs;

	/* Is the process recorded? */
	bool (*wanted)(void *arg, uint32_t pid);
	/* Told of each mapping that becomes a row of table mmap; or NULL. */
	struct ebt_error *(*on_mapping)(void *arg, const struct mapping *mapping);
	/*
	 * Told of each mapped file when it is met first; or NULL. *ret: tell again of each mapping
	 * of a file of this name and build-id, as it may be a copy of it.
	 */
	struct ebt_error *(*on_file)(void *arg, int fd, const struct mapping *mapping,
				     const struct identity *identity, bool *ret);
	void *arg; /* of these functions */
};

/* A row of file_data holds this much at the most: well below the size of a chunk. */
#define EMBED_PIECE (256u << 10)

/* A file of the recorded machine that travels in the trace: tables file and file_data. */
struct embed_file {
	const char *role, *path;
	enum ebt_file_sensitivity sensitivity;
	uint32_t pid;	  /* 0: of no process */
	uint64_t ns;	  /* inode of the namespace, or 0 */
	int64_t mtime_ns; /* 0: not known */
	uint64_t time;	  /* that it is of; 0: now */
	bool truncated;
};

struct ebt_error *embed_bytes(struct sideband_context *context, const struct embed_file *file,
			      const void *content, size_t len);

/* Writes a row of table mmap, and tells on_mapping. */
struct ebt_error *add_mapping(const struct sideband_context *context, const struct mapping *mapping,
			      enum ebt_mmap_origin origin);

#endif
