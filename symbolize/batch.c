/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses by many threads; see batch.h. First each thread reads modules, then each looks up
 * slices of the addresses of a module, cut where another unit of debug information begins. What a
 * slice found is added in the order of slices, so that the result does not depend on who was fast.
 */
#include "symbolize/batch.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/compare.h"
#include "symbolize/dwarf/units.h"

#define MAX_THREADS 32

/* Addresses of a slice, more or less: a unit is read by one thread. */
#define SLICE	  64
#define MAX_SLICE 4096

/* Modules that are open at the same time: each has a few file descriptors, and symbols. */
#define MAX_OPEN 48

struct slice {
	struct module *module;
	const struct batch_address *addresses;
	size_t n;
	struct frame_cache frames;
	struct ebt_error *err;
};

struct batch_job {
	struct module **modules;
	size_t n_modules;
	struct slice *slices;
	size_t n_slices;
	atomic_size_t next;
	struct ebt_error **errors; /* of modules */
};

/* --- threads --- */

static unsigned int good_number(void)
{
	cpu_set_t cpus;
	int n = sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : CPU_COUNT(&cpus);

	return n < MAX_THREADS ? (unsigned int)n : MAX_THREADS;
}

/* Runs the function in several threads, this one included. With fewer it only takes longer. */
static void in_threads(struct batch_job *job, unsigned int n, void *(*function)(void *))
{
	pthread_t threads[MAX_THREADS];
	unsigned int started = 0;

	atomic_store(&job->next, 0);
	while (started + 1 < n && !pthread_create(&threads[started], NULL, function, job))
		started++;
	function(job);
	while (started-- > 0)
		pthread_join(threads[started], NULL);
}

static void *read_modules(void *arg)
{
	struct batch_job *job = arg;
	size_t i;

	while ((i = atomic_fetch_add(&job->next, 1)) < job->n_modules)
		job->errors[i] = module_need_names(job->modules[i]);
	return NULL;
}

static struct ebt_error *look_up(struct slice *slice, struct dwarf_info *dwarf)
{
	struct module_frame frames[DWARF_MAX_FRAMES];

	for (size_t i = 0; i < slice->n; i++) {
		uint64_t address = slice->addresses[i].address;
		struct ebt_error *err;
		bool passing;
		size_t n;

		err = module_look_up(slice->module, dwarf, address, frames, &n, &passing);
		if (err)
			return err;
		err = frame_cache_add(&slice->frames, address, frames, n, passing);
		if (err)
			return err;
	}
	return NULL;
}

static void *read_slices(void *arg)
{
	struct dwarf_info *dwarf = NULL;
	const struct module *of = NULL;
	struct batch_job *job = arg;
	size_t i;

	while ((i = atomic_fetch_add(&job->next, 1)) < job->n_slices) {
		struct slice *slice = &job->slices[i];

		if (of != slice->module) {
			dwarf_info_destroy(dwarf);
			dwarf = NULL;
			of = slice->module;
			if (of->units)
				slice->err = dwarf_info_create(of->units, &dwarf);
		}
		if (!slice->err)
			slice->err = look_up(slice, dwarf);
	}
	dwarf_info_destroy(dwarf);
	return NULL;
}

/* --- what there is to do --- */

static int compare_addresses(const void *a, const void *b)
{
	const struct batch_address *x = a, *y = b;

	return ebt_compare(x->module, y->module) ?: ebt_compare(x->address, y->address);
}

/* Sorts, and drops what is known or there twice. */
static size_t drop_known(struct batch_address *addresses, size_t n)
{
	struct module_frame frames[DWARF_MAX_FRAMES];
	size_t kept = 0, n_frames;

	if (n)
		qsort(addresses, n, sizeof(*addresses), compare_addresses);
	for (size_t i = 0; i < n; i++) {
		const struct batch_address *a = &addresses[i];

		if (kept && !compare_addresses(a, &addresses[kept - 1]))
			continue;
		if (a->module->unusable ||
		    frame_cache_find(&a->module->build.frames, a->address, frames, &n_frames))
			continue;
		addresses[kept++] = *a;
	}
	return kept;
}

static uint32_t unit_of(const struct batch_address *a)
{
	return a->module->units ? dwarf_units_find(a->module->units, a->address) : DWARF_NO_UNIT;
}

/* Where the slice that begins with the first address ends. */
static size_t slice_len(const struct batch_address *addresses, size_t n)
{
	size_t len = 1;

	for (; len < n && len < MAX_SLICE; len++) {
		if (addresses[len].module != addresses->module)
			break;
		if (len >= SLICE && unit_of(&addresses[len]) != unit_of(&addresses[len - 1]))
			break;
	}
	return len;
}

static struct ebt_error *cut(struct batch_job *job, const struct batch_address *addresses, size_t n)
{
	job->slices = calloc(n + 1, sizeof(*job->slices));
	if (!job->slices)
		return &ebt_enomem;
	for (size_t at = 0; at < n;) {
		struct slice *slice = &job->slices[job->n_slices];
		size_t len = slice_len(addresses + at, n - at);

		slice->module = addresses[at].module;
		slice->addresses = addresses + at;
		slice->n = len;
		/* Without symbols there is nothing to look up: the module says why. */
		job->n_slices += slice->module->names_read;
		at += len;
	}
	return NULL;
}

/* Adds what was found to the modules. */
static struct ebt_error *collect(struct batch_job *job)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < job->n_slices; i++) {
		struct slice *slice = &job->slices[i];

		if (!err) {
			err = slice->err;
			slice->err = NULL;
		}
		if (!err)
			err = frame_cache_merge(&slice->module->build.frames, &slice->frames);
		ebt_error_destroy(slice->err);
		frame_cache_deinit(&slice->frames);
	}
	free(job->slices);
	job->slices = NULL;
	job->n_slices = 0;
	return err;
}

/* Looks up the sorted addresses of some modules. */
static struct ebt_error *find_some(struct batch_job *job, const struct batch_address *addresses,
				   size_t n, unsigned int threads)
{
	struct ebt_error *err = NULL;

	/* The finder may ask a server, and tell about it: one file after the other. */
	for (size_t i = 0; !err && i < job->n_modules; i++)
		err = module_need_files(job->modules[i]);
	if (err)
		return err;
	in_threads(job, threads, read_modules);
	for (size_t i = 0; i < job->n_modules; i++) {
		if (!err)
			err = job->errors[i];
		else
			ebt_error_destroy(job->errors[i]);
		job->errors[i] = NULL;
	}
	if (!err)
		err = cut(job, addresses, n);
	if (err)
		return err;
	in_threads(job, threads, read_slices);
	err = collect(job);
	for (size_t i = 0; !err && i < job->n_modules; i++) {
		err = module_save(job->modules[i]);
		module_release(job->modules[i]);
	}
	return err;
}

struct ebt_error *batch_find(struct batch_address *addresses, size_t n, unsigned int threads)
{
	struct module *modules[MAX_OPEN];
	struct ebt_error *errors[MAX_OPEN] = { NULL }, *err = NULL;
	size_t kept = drop_known(addresses, n);

	threads = threads ? threads : good_number();
	for (size_t from = 0, to; !err && from < kept; from = to) {
		struct batch_job job = { .modules = modules, .errors = errors };

		for (to = from; to < kept; to++) {
			if (to > from && addresses[to].module == addresses[to - 1].module)
				continue;
			if (job.n_modules == MAX_OPEN)
				break;
			modules[job.n_modules++] = addresses[to].module;
		}
		err = find_some(&job, addresses + from, to - from,
				threads < MAX_THREADS ? threads : MAX_THREADS);
	}
	return err;
}
