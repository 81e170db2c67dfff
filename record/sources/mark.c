/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `mark`: what programs say of themselves by ebmark.h. There is nothing to name: each file
 * that is met is looked at once, and where it has such probes, they are attached to the file, for
 * all who have it mapped, now or later.
 */
#include <bpf/libbpf.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "format/write/writer.h"
#include "record/base/clocks.h"
#include "record/base/rows.h"
#include "record/config/skeleton.h"
#include "record/config/source.h"
#include "record/probes/attach.h"
#include "record/probes/mark_sites.h"

/* Files with marks, probes of all of them and of one: attaching takes up to 0.1 ms each, and
 * holds up the session's thread. */
#define MAX_FILES      1000u
#define MAX_SITES      65536u
#define MAX_FILE_SITES 16384u
/* Where each has a link of its own, which takes the kernel tens of milliseconds to let go of. */
#define MAX_SITES_EACH 256u

#define DETACH_THREADS 32u

/* A file, whatever name it has: on overlays a device number says nothing. */
struct marked_file {
	uint64_t inode, size;
	struct timespec mtime, ctime;
	dev_t dev;
	size_t n_sites; /* that are attached */
	struct probe_links links;
};

struct mark_worker {
	const struct bpf_program *program;
	size_t most_sites;
	struct marked_file *files;
	size_t n, capacity, n_sites; /* of all files */
	bool full;		     /* no other file has room, and that was said */
	bool ended;
};

/* --- before --- */

static void probe(const struct kernel *kernel, struct source_state *state)
{
	(void)kernel;
	if (!probe_attach_can_load(false)) {
		state->status = EBT_V_source_status_unavailable;
		snprintf(state->detail, sizeof(state->detail),
			 "this kernel has no cookies of uprobes (Linux 5.15)");
	} else if (!probe_attach_can_load(true)) {
		state->status = EBT_V_source_status_partial;
		snprintf(state->detail, sizeof(state->detail),
			 "no texts on pages that nobody has touched (before Linux 6.0)");
	}
}

static void configure(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;
	struct bpf_program *program = skel->progs.ebrec_mark;

	skel->rodata->config.mark_sleeps = probe_attach_can_load(true);
	if (skel->rodata->config.mark_sleeps)
		bpf_program__set_flags(program, bpf_program__flags(program) | BPF_F_SLEEPABLE);
	probe_attach_prepare(program, probe_attach_can_multi(context->kernel));
}

static struct ebt_error *open_worker(const struct source_context *context,
				     struct source_state *state, void *arg)
{
	struct mark_worker *worker = arg;

	(void)state;
	worker->program = context->skel->progs.ebrec_mark;
	worker->most_sites = probe_attach_can_multi(context->kernel) ? MAX_SITES : MAX_SITES_EACH;
	return NULL;
}

static void close_worker(void *arg)
{
	struct mark_worker *worker = arg;

	for (size_t i = 0; i < worker->n; i++)
		probe_links_deinit(&worker->files[i].links);
	free(worker->files);
}

/* --- files --- */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/*
 * Two overlays show one file under two devices; its inode number and its times tell then. Where the
 * device is the same, who may have changed the owner does not matter.
 */
static bool is_same(const struct marked_file *file, const struct stat *st)
{
	return file->inode == st->st_ino && file->size == (uint64_t)st->st_size &&
	       same_time(&file->mtime, &st->st_mtim) &&
	       (file->dev == st->st_dev || same_time(&file->ctime, &st->st_ctim));
}

static bool is_known(const struct mark_worker *worker, const struct stat *st)
{
	for (size_t i = 0; i < worker->n; i++) {
		if (is_same(&worker->files[i], st))
			return true;
	}
	return false;
}

/* What is known of marks that are not in the file: how many, nobody knows. */
static struct ebt_error *say(struct ebt_stream *stream, uint64_t from, const char *format,
			     const char *path, const char *more)
{
	struct lost_row lost = {
		.from = from,
		.table_id = EBT_T_mark,
		.reason = EBT_V_lost_reason_other,
		.source = "mark",
	};
	_cleanup_free_ char *detail = NULL;

	if (asprintf(&detail, format, path, more) < 0)
		return &ebt_enomem;
	lost.detail = detail;
	return add_lost(stream, clocks_now(), &lost);
}

/* A file that was written to: its old probes are in the middle of something by now. */
static void forget_older(struct mark_worker *worker, const struct stat *st)
{
	for (size_t i = 0; i < worker->n; i++) {
		struct marked_file *file = &worker->files[i];

		if (file->inode != st->st_ino || file->dev != st->st_dev)
			continue;
		worker->n_sites -= file->n_sites;
		probe_links_deinit(&file->links);
		*file = worker->files[--worker->n];
		return;
	}
}

/* The file is known from now on, whatever comes of it. Places that are not attached are all of it,
 * where there are too many (error is 0 then), or some. */
static struct probe_refusal attach_file(struct mark_worker *worker, const struct source_file *file,
					const struct probe_sites *sites)
{
	const struct stat *st = &file->identity->st;
	struct probe_refusal refusal = { .n = sites->n };
	struct marked_file *added = &worker->files[worker->n++];
	char path[32];
	const struct probe_attach how = {
		.program = worker->program,
		.path = path,
	};

	*added = (struct marked_file){
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime = st->st_mtim,
		.ctime = st->st_ctim,
		.dev = st->st_dev,
	};
	if (sites->n > MAX_FILE_SITES || sites->n > worker->most_sites - worker->n_sites)
		return refusal;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	refusal = probe_attach(&how, sites, &added->links);
	added->n_sites = sites->n - refusal.n;
	worker->n_sites += added->n_sites;
	return refusal;
}

static struct ebt_error *say_refused(struct ebt_stream *stream, uint64_t now, const char *path,
				     const struct probe_refusal *refusal, size_t n)
{
	const char *why =
		refusal->error ? probe_attach_strerror(refusal->error) : "there are too many";
	char more[160];

	if (refusal->n == n)
		return say(stream, now, "marks of %s: %s", path, why);
	snprintf(more, sizeof(more), "%zu of %zu places: %s", refusal->n, n, why);
	return say(stream, now, "marks of %s: %s", path, more);
}

static struct ebt_error *attach(struct mark_worker *worker, struct ebt_stream *stream,
				const struct source_file *file, const struct probe_sites *sites)
{
	const uint64_t now = clocks_now();
	struct probe_refusal refusal;
	struct ebt_error *err;

	forget_older(worker, &file->identity->st);
	if (worker->n == MAX_FILES) {
		worker->full = true;
		return say(stream, now, "marks of %s and files after it: %s", file->path,
			   "there are too many");
	}
	err = ebt_array_reserve(&worker->files, worker->n, &worker->capacity);
	if (err)
		return err;
	refusal = attach_file(worker, file, sites);
	if (refusal.n)
		err = say_refused(stream, now, file->path, &refusal, sites->n);
	if (err || refusal.n == sites->n || !file->since)
		return err;
	return say(stream, file->since, "marks of %s before it was met, if there were any%s",
		   file->path, "");
}

static struct ebt_error *on_file(void *arg, struct ebt_stream *stream,
				 const struct source_file *file, bool *ret)
{
	_cleanup_(probe_sites_deinit) struct probe_sites sites = { 0 };
	const struct elfparts *parts = &file->identity->parts;
	struct mark_worker *worker = arg;
	struct ebt_error *err;
	size_t unknown;

	if (!parts->stapsdt.len || worker->ended || worker->full)
		return NULL;
	if (is_known(worker, &file->identity->st)) {
		*ret = true;
		return NULL;
	}
	err = mark_sites_find(file->fd, parts, &sites, &unknown);
	if (err)
		return err;
	if (unknown)
		err = say(stream, clocks_now(), "marks of %s that are of a later ebmark.h%s",
			  file->path, "");
	if (err || !sites.n)
		return err;
	*ret = true;
	return attach(worker, stream, file, &sites);
}

/* Every nth file. */
struct share {
	struct mark_worker *worker;
	size_t first;
};

static void *detach_share(void *arg)
{
	const struct share *share = arg;

	for (size_t i = share->first; i < share->worker->n; i += DETACH_THREADS)
		probe_links_deinit(&share->worker->files[i].links);
	return NULL;
}

/* The kernel waits for all CPUs at each, which several threads may do at the same time. */
static void detach_all(struct mark_worker *worker)
{
	struct share shares[DETACH_THREADS];
	pthread_t threads[DETACH_THREADS];
	bool started[DETACH_THREADS];

	for (size_t i = 0; i < DETACH_THREADS && i < worker->n; i++) {
		shares[i] = (struct share){ worker, i };
		started[i] = worker->n > 1 &&
			     !pthread_create(&threads[i], NULL, detach_share, &shares[i]);
		if (!started[i])
			detach_share(&shares[i]);
	}
	for (size_t i = 0; i < DETACH_THREADS && i < worker->n; i++) {
		if (started[i])
			pthread_join(threads[i], NULL);
	}
}

static struct ebt_error *work(void *arg, struct ebt_stream *stream, enum source_moment moment)
{
	struct mark_worker *worker = arg;

	(void)stream;
	if (moment != SOURCE_END)
		return NULL;
	/* Rows that are being made are in the rings after this. */
	worker->ended = true;
	detach_all(worker);
	return NULL;
}

static const struct source_worker worker_of_mark = {
	.size = sizeof(struct mark_worker),
	.open = open_worker,
	.work = work,
	.on_file = on_file,
	.close = close_worker,
};

const struct ebrec_source source_mark = {
	.name = "mark",
	.doc = "what programs say of themselves by ebmark.h: marks, counters, logs",
	.cost = "about 1 us for each mark, for all who run the file",
	.by_default = true,
	.tables = (const uint16_t[]){ EBT_T_mark, EBT_T_mark_counter, EBT_T_log, 0 },
	.programs = (const char *const[]){ "ebrec_mark", NULL },
	.maps = (const char *const[]){ "mark_", NULL },
	.probe = probe,
	.configure = configure,
	.worker = &worker_of_mark,
};
