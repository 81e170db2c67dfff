/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fetching from debuginfod; see fetch.h. */
#include "symbolize/files/fetch.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/base/array.h"
#include "format/base/map.h"
#include "symbolize/files/clientcache.h"

#define N_WORKERS 8

/* How often a waiting thread looks for an interrupt and at the clock. */
#define TICK_NS 50000000

/* What libdebuginfod counts while nothing comes grows by one a call; bytes do so faster. */
#define MIN_BYTES 64

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_DONE };

struct fetch_job {
	enum fetch_kind kind;
	struct sym_build_id id;
	enum job_state state;
	char *path;
	enum sym_reason reason; /* why there is none */
};

/* What a worker's client tells about its download. */
struct worker {
	struct fetch *fetch;
	pthread_t thread;
	bool started;
	struct fetch_job *job;
	long done, total; /* bytes */
};

struct fetch {
	struct sym_servers servers;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a job is there, or is done; or it is over */
	struct worker workers[N_WORKERS];
	struct fetch_job **jobs;
	size_t n, capacity;
	struct ebt_map by_id;
	size_t next; /* first that may be queued */
	size_t n_done;
	uint64_t silent_ns;   /* time that was waited since servers last gave a sign of life */
	uint64_t tick_ns;     /* when that was last added to */
	unsigned int waiting; /* threads */
	bool over;	      /* nothing is fetched any more */
	enum sym_reason why_over;
};

DEFINE_CLEANUP(struct fetch *, fetch_destroy);

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* --- libdebuginfod --- */

/* Loaded by who fetches: it brings some twenty libraries, which took most of a start. */
#define LIBRARY "libdebuginfod.so.1"

#define LIBRARY_CALLS(CALL)   \
	CALL(begin)           \
	CALL(end)             \
	CALL(find_debuginfo)  \
	CALL(find_executable) \
	CALL(get_user_data)   \
	CALL(set_progressfn)  \
	CALL(set_user_data)

/* clang-format off */
static struct {
#define CALL(name) __typeof__(&debuginfod_##name) name;
	LIBRARY_CALLS(CALL)
#undef CALL
} library;
/* clang-format on */

/* It stays: curl cannot be loaded twice. */
static struct ebt_error *load_library(void)
{
	void *handle;

	if (library.begin)
		return NULL;
	handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return ebt_error_create(EBT_ERR_UNSUPPORTED,
					"--debuginfod: %s: install libdebuginfod1, or leave out "
					"--debuginfod",
					dlerror());
#define CALL(name) { &library.name, "debuginfod_" #name },
	const struct {
		void *to;
		const char *name;
	} calls[] = { LIBRARY_CALLS(CALL) };
#undef CALL
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *call = dlsym(handle, calls[i].name);

		if (!call) {
			memset(&library, 0, sizeof(library));
			return ebt_error_create(EBT_ERR_UNSUPPORTED, "--debuginfod: %s", dlerror());
		}
		memcpy(calls[i].to, &call, sizeof(call));
	}
	return NULL;
}

/* --- workers --- */

/* Called by libdebuginfod about once a second, and when bytes come. Not 0: give up. */
static int hear_progress(debuginfod_client *client, long done, long total)
{
	struct worker *worker = library.get_user_data(client);
	struct fetch *fetch = worker->fetch;
	int over;

	pthread_mutex_lock(&fetch->lock);
	if (done - worker->done >= MIN_BYTES || total != worker->total)
		fetch->silent_ns = 0;
	worker->done = done;
	worker->total = total;
	over = fetch->over;
	pthread_mutex_unlock(&fetch->lock);
	return over;
}

/* libdebuginfod calls a transfer that broke off a file that is not there, and remembers that for
 * minutes. */
static void forget_broken(const struct fetch_job *job)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;

	ebt_error_destroy(client_cache_file(
		&job->id, job->kind == FETCH_DEBUGINFO ? "debuginfo" : "executable", &path));
	if (path && !lstat(path, &st) && S_ISREG(st.st_mode) && !st.st_size)
		unlink(path);
}

static enum sym_reason reason_of(int r)
{
	switch (-r) {
	case ENOENT:
		return SYM_SERVER_LACKS;
	case ETIME:
	case ETIMEDOUT:
		return SYM_SERVER_SILENT;
	}
	return SYM_SERVER_FAILED;
}

static void work_on(struct worker *worker, debuginfod_client *client)
{
	struct fetch *fetch = worker->fetch;
	struct fetch_job *job = worker->job;
	char *path = NULL;
	int r;

	pthread_mutex_unlock(&fetch->lock);
	r = job->kind == FETCH_DEBUGINFO
		    ? library.find_debuginfo(client, job->id.bytes, job->id.len, &path)
		    : library.find_executable(client, job->id.bytes, job->id.len, &path);
	if (r >= 0)
		close(r);
	/* Only this thread's client changes it now. */
	if (r == -ENOENT && (worker->total > 0 || worker->done >= MIN_BYTES)) {
		forget_broken(job);
		r = -EIO;
	}
	pthread_mutex_lock(&fetch->lock);
	if (r >= 0 || r == -ENOENT)
		fetch->silent_ns = 0;
	job->path = r >= 0 ? path : NULL;
	job->reason = r >= 0 ? SYM_OK : fetch->over ? fetch->why_over : reason_of(r);
	job->state = JOB_DONE;
	worker->job = NULL;
	fetch->n_done++;
	pthread_cond_broadcast(&fetch->changed);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct fetch *fetch = worker->fetch;
	debuginfod_client *client = library.begin();

	pthread_mutex_lock(&fetch->lock);
	if (client) {
		library.set_user_data(client, worker);
		library.set_progressfn(client, hear_progress);
	}
	while (!fetch->over) {
		if (fetch->next == fetch->n) {
			pthread_cond_wait(&fetch->changed, &fetch->lock);
			continue;
		}
		worker->job = fetch->jobs[fetch->next++];
		worker->job->state = JOB_RUNNING;
		worker->done = worker->total = 0;
		if (client) {
			work_on(worker, client);
			continue;
		}
		worker->job->state = JOB_DONE;
		worker->job->reason = SYM_SERVER_FAILED;
		pthread_cond_broadcast(&fetch->changed);
	}
	pthread_mutex_unlock(&fetch->lock);
	if (client)
		library.end(client);
	return NULL;
}

/* One more thread, as long as there is work for it. */
static void start_worker(struct fetch *fetch)
{
	for (size_t i = 0; i < N_WORKERS; i++) {
		struct worker *worker = &fetch->workers[i];

		if (worker->started)
			continue;
		worker->fetch = fetch;
		worker->started = !pthread_create(&worker->thread, NULL, work, worker);
		return;
	}
}

/* --- for the finder --- */

struct ebt_error *fetch_create(const struct sym_servers *servers, struct fetch **ret)
{
	_cleanup_(fetch_destroyp) struct fetch *fetch = NULL;
	struct ebt_error *err = load_library();

	if (err)
		return err;
	fetch = calloc(1, sizeof(*fetch));
	if (!fetch)
		return &ebt_enomem;
	fetch->servers = *servers;
	fetch->why_over = SYM_SERVER_SILENT;
	pthread_mutex_init(&fetch->lock, NULL);
	pthread_cond_init(&fetch->changed, NULL);
	if (servers->urls && setenv("DEBUGINFOD_URLS", servers->urls, 1))
		return &ebt_enomem;
	*ret = take_ptr(fetch);
	return NULL;
}

static void stop(struct fetch *fetch, enum sym_reason why)
{
	fetch->over = true;
	fetch->why_over = why;
	pthread_cond_broadcast(&fetch->changed);
}

void fetch_destroy(struct fetch *fetch)
{
	if (!fetch)
		return;
	pthread_mutex_lock(&fetch->lock);
	if (!fetch->over)
		stop(fetch, SYM_INTERRUPTED);
	pthread_mutex_unlock(&fetch->lock);
	for (size_t i = 0; i < N_WORKERS; i++) {
		if (fetch->workers[i].started)
			pthread_join(fetch->workers[i].thread, NULL);
	}
	for (size_t i = 0; i < fetch->n; i++) {
		free(fetch->jobs[i]->path);
		free(fetch->jobs[i]);
	}
	free(fetch->jobs);
	ebt_map_deinit(&fetch->by_id);
	pthread_cond_destroy(&fetch->changed);
	pthread_mutex_destroy(&fetch->lock);
	free(fetch);
}

static uint64_t hash_job(enum fetch_kind kind, const struct sym_build_id *id)
{
	return ebt_hash_bytes(kind, id->bytes, id->len);
}

static struct fetch_job *find_job(const struct fetch *fetch, enum fetch_kind kind,
				  const struct sym_build_id *id)
{
	uint32_t found = ebt_map_search(&fetch->by_id, hash_job(kind, id), i,
					fetch->jobs[i]->kind == kind &&
						sym_build_id_equal(&fetch->jobs[i]->id, id));

	return found == EBT_MAP_NONE ? NULL : fetch->jobs[found];
}

static struct ebt_error *get_job(struct fetch *fetch, enum fetch_kind kind,
				 const struct sym_build_id *id, struct fetch_job **ret)
{
	struct ebt_error *err;
	struct fetch_job *job;

	*ret = find_job(fetch, kind, id);
	if (*ret)
		return NULL;
	err = ebt_array_reserve(&fetch->jobs, fetch->n, &fetch->capacity);
	if (err)
		return err;
	job = calloc(1, sizeof(*job));
	if (!job)
		return &ebt_enomem;
	*job = (struct fetch_job){ .kind = kind, .id = *id };
	err = ebt_map_insert(&fetch->by_id, hash_job(kind, id), fetch->n);
	if (err) {
		free(job);
		return err;
	}
	fetch->jobs[fetch->n++] = *ret = job;
	start_worker(fetch);
	pthread_cond_broadcast(&fetch->changed);
	return NULL;
}

struct ebt_error *fetch_begin(struct fetch *fetch, enum fetch_kind kind,
			      const struct sym_build_id *id)
{
	struct ebt_error *err = NULL;
	struct fetch_job *job;

	pthread_mutex_lock(&fetch->lock);
	if (!fetch->over)
		err = get_job(fetch, kind, id, &job);
	pthread_mutex_unlock(&fetch->lock);
	return err;
}

/* What the user sees meanwhile; false: he interrupted. */
static bool show(struct fetch *fetch)
{
	struct sym_fetching shown = { .done = fetch->n_done, .files = fetch->n };

	for (size_t i = 0; i < N_WORKERS; i++) {
		const struct worker *worker = &fetch->workers[i];

		if (worker->job && worker->total > 0)
			shown.bytes += worker->done;
	}
	return !fetch->servers.watch || fetch->servers.watch(fetch->servers.arg, &shown);
}

/* Time that is waited counts once, however many threads wait. */
static void count_silence(struct fetch *fetch)
{
	uint64_t now = now_ns();

	fetch->silent_ns += now - fetch->tick_ns;
	fetch->tick_ns = now;
	if (fetch->silent_ns >= fetch->servers.timeout_ns)
		stop(fetch, SYM_SERVER_SILENT);
}

static void wait_for(struct fetch *fetch, const struct fetch_job *job)
{
	if (!fetch->waiting++)
		fetch->tick_ns = now_ns();
	while (job->state != JOB_DONE && !fetch->over) {
		struct timespec until;

		if (!show(fetch)) {
			stop(fetch, SYM_INTERRUPTED);
			break;
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += TICK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&fetch->changed, &fetch->lock, &until);
		count_silence(fetch);
	}
	if (!--fetch->waiting && fetch->servers.watch)
		fetch->servers.watch(fetch->servers.arg, NULL);
}

struct ebt_error *fetch_wait(struct fetch *fetch, enum fetch_kind kind,
			     const struct sym_build_id *id, char **ret_path,
			     enum sym_reason *ret_reason)
{
	struct ebt_error *err = NULL;
	struct fetch_job *job;

	*ret_path = NULL;
	pthread_mutex_lock(&fetch->lock);
	job = find_job(fetch, kind, id);
	if (!job || job->state != JOB_DONE) {
		err = get_job(fetch, kind, id, &job);
		if (!err)
			wait_for(fetch, job);
	}
	if (!err && job->state == JOB_DONE && job->path) {
		*ret_path = strdup(job->path);
		err = *ret_path ? NULL : &ebt_enomem;
	} else if (!err) {
		*ret_reason = job->state == JOB_DONE ? job->reason : fetch->why_over;
	}
	pthread_mutex_unlock(&fetch->lock);
	return err;
}

void fetch_refuse(struct fetch *fetch, enum fetch_kind kind, const struct sym_build_id *id,
		  const char *path)
{
	struct fetch_job *job;

	pthread_mutex_lock(&fetch->lock);
	job = find_job(fetch, kind, id);
	if (job && job->path) {
		free(job->path);
		job->path = NULL;
		job->reason = SYM_SERVER_OTHER;
		/* Other programs would believe it. */
		unlink(path);
	}
	pthread_mutex_unlock(&fetch->lock);
}

void fetch_failures(struct fetch *fetch, uint32_t *ret)
{
	pthread_mutex_lock(&fetch->lock);
	for (size_t i = 0; i < fetch->n; i++) {
		const struct fetch_job *job = fetch->jobs[i];

		if (!job->path)
			ret[job->state == JOB_DONE ? job->reason : fetch->why_over]++;
	}
	pthread_mutex_unlock(&fetch->lock);
}
