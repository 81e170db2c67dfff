/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Grouping CPUs by package and last-level cache; see topology.h. */
#include "record/base/topology.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/base/cleanup.h"
#include "format/base/compare.h"

#define MAX_OWN_RINGS	16
#define CPUS_PER_RING	8
#define CPUS_PER_THREAD 16
#define MAX_THREADS	8
#define MIN_RING	(64u << 10)
#define MAX_RING	(1u << 30)

struct cpu_place {
	uint32_t package, cache, cpu;
};

static uint32_t read_id(uint32_t cpu, const char *what)
{
	char path[96];
	_cleanup_fclose_ FILE *f = NULL;
	unsigned int id;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/%s", cpu, what);
	f = fopen(path, "re");
	return f && fscanf(f, "%u", &id) == 1 ? id : 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct cpu_place *x = a, *y = b;
	int order = ebt_compare(x->package, y->package) ?: ebt_compare(x->cache, y->cache);

	return order ?: ebt_compare(x->cpu, y->cpu);
}

struct ebt_error *topology_init(uint32_t n_cpus, struct topology *ret)
{
	_cleanup_free_ struct cpu_place *places = calloc(n_cpus, sizeof(*places));
	struct topology t = { .n_cpus = n_cpus, .n_rings = n_cpus };

	t.cpu_ring = calloc(n_cpus, sizeof(*t.cpu_ring));
	if (!places || !t.cpu_ring) {
		free(t.cpu_ring);
		return &ebt_enomem;
	}
	if (n_cpus > MAX_OWN_RINGS) {
		t.n_rings = n_cpus / CPUS_PER_RING;
		if (t.n_rings < MAX_OWN_RINGS)
			t.n_rings = MAX_OWN_RINGS;
	}
	t.n_threads = (n_cpus + CPUS_PER_THREAD - 1) / CPUS_PER_THREAD;
	if (t.n_threads > MAX_THREADS)
		t.n_threads = MAX_THREADS;
	for (uint32_t i = 0; i < n_cpus; i++)
		places[i] = (struct cpu_place){
			.package = read_id(i, "topology/physical_package_id"),
			.cache = read_id(i, "cache/index3/id"),
			.cpu = i,
		};
	if (t.n_rings < n_cpus)
		qsort(places, n_cpus, sizeof(*places), compare_places);
	for (uint32_t i = 0; i < n_cpus; i++)
		t.cpu_ring[places[i].cpu] = (uint32_t)((uint64_t)i * t.n_rings / n_cpus);
	*ret = t;
	return NULL;
}

void topology_deinit(struct topology *topology)
{
	free(topology->cpu_ring);
	topology->cpu_ring = NULL;
}

uint32_t topology_ring_thread(const struct topology *topology, uint32_t ring)
{
	return (uint32_t)((uint64_t)ring * topology->n_threads / topology->n_rings);
}

uint64_t topology_ring_size(uint64_t total, uint32_t n_rings)
{
	uint64_t size = MIN_RING;

	while (size < MAX_RING && 2 * size * n_rings <= total)
		size *= 2;
	return size;
}
