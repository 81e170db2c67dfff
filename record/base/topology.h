/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which CPUs there are, which of them share a ring buffer, and which rings a thread reads. */
#ifndef RECORD_BASE_TOPOLOGY_H
#define RECORD_BASE_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"

struct topology {
	uint32_t n_cpus;
	uint32_t n_rings;   /* at most n_cpus */
	uint32_t n_threads; /* at most n_rings */
	uint32_t *cpu_ring; /* by CPU number */
};

/*
 * A ring for each CPU up to 16 CPUs; beyond that CPUs that share a cache share a ring, so that
 * its lock stays near. One thread for 16 CPUs, at most 8.
 */
struct ebt_error *topology_init(uint32_t n_cpus, struct topology *ret);
void topology_deinit(struct topology *topology);

/* The thread that reads this ring: neighbours have the same. */
uint32_t topology_ring_thread(const struct topology *topology, uint32_t ring);

/* Largest power of two of at least 64 KiB for which n rings stay within total. */
uint64_t topology_ring_size(uint64_t total, uint32_t n_rings);

/* Takes apart a list as the kernel prints them, "0-3,8". The caller frees *ret. */
struct ebt_error *cpus_parse(const char *list, int **ret, size_t *ret_n);

/* The CPUs that are online. The caller frees *ret. */
struct ebt_error *cpus_online(int **ret, size_t *ret_n);

#endif
