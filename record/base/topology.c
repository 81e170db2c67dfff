/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs are grouped by package and last-level cache. Those that are online stand in
 * /sys/devices/system/cpu/online; without /sys there are as many as libc counts.
 */
#include "record/base/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "record/base/procfs.h"

#define MAX_OWN_RINGS	16
#define CPUS_PER_RING	8
#define CPUS_PER_THREAD 16
#define MAX_THREADS	8
#define MIN_RING	(64u << 10)
#define MAX_RING	(1u << 30)

/* More than any Linux is built for. */
#define MAX_CPUS 65536

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

/* --- those that are online --- */

struct ebt_error *cpus_parse(const char *text, int **ret, size_t *ret_n)
{
	_cleanup_free_ int *cpus = NULL;
	const char *at = text;
	size_t n = 0, capacity = 0;

	while (*at && *at != '\n') {
		struct ebt_error *err;
		char *end;
		long first = strtol(at, &end, 10), last = first;

		if (end != at && *end == '-') {
			at = end + 1;
			last = strtol(at, &end, 10);
		}
		if (end == at || (*end && *end != ',' && *end != '\n'))
			return ebt_error_create(EBT_ERR_INVALID, "no list of CPUs: %.40s", text);
		if (first < 0 || last < first || last >= MAX_CPUS ||
		    n + (size_t)(last - first) >= MAX_CPUS)
			return ebt_error_create(EBT_ERR_INVALID, "a list of CPUs has %ld-%ld",
						first, last);
		err = ebt_array_reserve(&cpus, n + (size_t)(last - first), &capacity);
		if (err)
			return err;
		for (long cpu = first; cpu <= last; cpu++)
			cpus[n++] = (int)cpu;
		at = *end == ',' ? end + 1 : end;
	}
	if (!n)
		return ebt_error_create(EBT_ERR_INVALID, "an empty list of CPUs");
	*ret = take_ptr(cpus);
	*ret_n = n;
	return NULL;
}

struct ebt_error *cpus_online(int **ret, size_t *ret_n)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	_cleanup_free_ char *text = NULL;
	char fallback[32];
	bool truncated;
	size_t len;

	err = procfs_slurp("/sys/devices/system/cpu/online", 64u << 10, &text, &len, &truncated);
	if (!err)
		return cpus_parse(text, ret, ret_n);
	snprintf(fallback, sizeof(fallback), "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
	return cpus_parse(fallback, ret, ret_n);
}
