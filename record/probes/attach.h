/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attaching a BPF program to places in the code of a file, for whoever has it mapped: by one link
 * for all of them where the kernel has such, else by one for each.
 */
#ifndef RECORD_PROBES_ATTACH_H
#define RECORD_PROBES_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;
struct kernel;

/* Places of a file, as the kernel takes them: arrays of n. A zeroed one is empty. */
struct probe_sites {
	uint64_t *offsets, *semaphores, *cookies; /* in the file; semaphore 0: there is none */
	size_t n, capacity;
};

/* False: no memory. */
bool probe_sites_add(struct probe_sites *sites, uint64_t offset, uint64_t semaphore,
		     uint64_t cookie);
void probe_sites_deinit(struct probe_sites *sites);

/* What keeps programs there. A zeroed one is empty. */
struct probe_links {
	int *fds; /* of many places each, but for the last ones of a file */
	size_t n_fds, fds_capacity;
	struct bpf_link **links; /* of one place each */
	size_t n_links, links_capacity;
};

/* Waits for programs that run there, which takes the kernel tens of milliseconds for each link. */
void probe_links_deinit(struct probe_links *links);

/* Can programs of places be loaded: with cookies (Linux 5.15), and such that may sleep (6.0)? */
bool probe_attach_can_load(bool sleeping);

/* Can one link attach a program to many places here? Linux 6.6. */
bool probe_attach_can_multi(const struct kernel *kernel);

/* Before the program, or one that it goes on in by a tail call, is loaded. */
void probe_attach_prepare(struct bpf_program *program, bool multi);

/* Which program where. */
struct probe_attach {
	const struct bpf_program *program; /* prepared */
	const char *path;
	bool at_return; /* of the functions that begin there */
	int *errors;	/* of each place: why it is not taken, an errno, or 0; then all are tried.
			 * NULL: of no interest */
};

/* Places that the kernel does not take, as some instructions cannot be probed. */
struct probe_refusal {
	size_t n;
	size_t first; /* index of one of them */
	int error;    /* why that: an errno */
};

/* Attaches to all places that the kernel takes; where many are refused, and not all are to be
 * tried, it gives up, and counts the rest with them. A command that has not been forked would
 * inherit a higher limit of descriptors.
 */
struct probe_refusal probe_attach(const struct probe_attach *how, const struct probe_sites *sites,
				  struct probe_links *links);

/* strerror(), with what only the kernel knows; static or of the thread. */
const char *probe_attach_strerror(int error);

#endif
