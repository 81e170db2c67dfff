/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One ring buffer a CPU. sideband_read() moves their content to memory of our own in one go,
 * because the kernel goes on writing; records are taken apart there.
 */
#include <errno.h>
#include <linux/limits.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/base/procmaps.h"
#include "record/base/topology.h"
#include "record/base/rows.h"
#include "record/sideband/parse.h"
#include "record/sideband/sideband.h"
#include "record/sideband/tasks.h"

/* Of one CPU: 16,000 mappings, which is what ld.so makes for some hundred programs that others
 * start in the seconds that loading takes on a busy machine. All CPUs together are bounded, and so
 * is what sideband_read() copies. */
#define RING_LEN      (2u << 20)
#define RING_LEN_MIN  (32u << 10)
#define ALL_RINGS_LEN (32u << 20)

/* Copies that emit did not take yet. Only a caller that never emits gets there. */
#define MAX_PENDING (2u * ALL_RINGS_LEN)

struct cpu_ring {
	int cpu;
	struct perf_event_mmap_page *page;
	size_t len;	    /* of the data, a power of two */
	uint64_t last_time; /* of the latest record; losses are after it */
};

/* What was read of one ring at once; the bytes are in sideband.pending. */
struct segment {
	struct cpu_ring *ring;
	size_t offset, len;
};

struct sideband {
	struct sideband_context *context;
	bool kernel_ids;	     /* the kernel reads build-ids */
	const char *detail;	     /* what the kernel does not offer, until it has been written */
	struct perf_event_attr attr; /* without what the kernel does not know */
	struct cpu_ring *rings;	     /* there is room for all CPUs: segments point to them */
	int *fds;
	size_t n, max;
	unsigned char *pending;
	size_t pending_len, pending_capacity;
	struct segment *segments;
	size_t n_segments, segments_capacity;
	struct buildid_map ids, known; /* the latter by struct known_key, then the path */
	struct buildid vdso;
	uint64_t lost; /* records */
};

struct known_key {
	uint64_t inode, generation;
	uint32_t dev_major, dev_minor;
};

static int open_event(const struct perf_event_attr *attr, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Opens one CPU's event, with less where the kernel refuses a bit that it does not know. */
static int open_with_less(struct sideband *sideband, struct perf_event_attr *attr, int cpu)
{
	int fd = open_event(attr, cpu);

	if (fd < 0 && errno == EINVAL && attr->build_id) {
		attr->build_id = 0;
		sideband->detail = "no build-ids from the kernel (before Linux 5.12): read from "
				   "files instead";
		fd = open_event(attr, cpu);
	}
	if (fd < 0 && errno == EINVAL && attr->ksymbol) {
		attr->ksymbol = 0;
		sideband->detail = "neither build-ids nor kernel symbols from the kernel (before "
				   "Linux 5.1)";
		fd = open_event(attr, cpu);
	}
	return fd;
}

/* Halves the ring until the limit on locked memory allows it. */
static int map_ring(struct cpu_ring *ring, int fd, size_t len)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (; len >= RING_LEN_MIN && len >= page; len /= 2) {
		void *p = mmap(NULL, page + len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (p != MAP_FAILED) {
			ring->page = p;
			ring->len = len;
			return 0;
		}
		if (errno != EPERM && errno != ENOMEM)
			break;
	}
	return -errno;
}

static void close_ring(const struct sideband *sideband, size_t n)
{
	munmap(sideband->rings[n].page, (size_t)sysconf(_SC_PAGESIZE) + sideband->rings[n].len);
	close(sideband->fds[n]);
}

static struct ebt_error *open_failed(int errnum, int cpu)
{
	if (errnum == EACCES || errnum == EPERM)
		return ebt_error_create(EBT_ERR_SYSTEM,
					"perf_event_open: no permission: run as root, or with "
					"the capabilities of `man ebrec`");
	return ebt_error_errno(errnum, "perf_event_open of the side-band on CPU %d", cpu);
}

/* The nth ring becomes that of this CPU; what it was before is gone. */
static struct ebt_error *open_cpu(struct sideband *sideband, int cpu, size_t n, size_t len)
{
	_cleanup_close_ int fd = open_with_less(sideband, &sideband->attr, cpu);
	struct cpu_ring ring = { .cpu = cpu, .last_time = clocks_now() };
	int r;

	if (fd < 0 && errno == ENODEV)
		return NULL; /* went offline meanwhile */
	if (fd < 0)
		return open_failed(errno, cpu);
	r = map_ring(&ring, fd, len);
	if (r)
		return ebt_error_errno(-r, "cannot map the side-band of CPU %d", cpu);
	if (n == sideband->n)
		sideband->n++;
	else
		close_ring(sideband, n);
	sideband->rings[n] = ring;
	sideband->fds[n] = take_fd(&fd);
	return NULL;
}

/* Of as many CPUs. */
static size_t ring_len(size_t n)
{
	size_t len = RING_LEN;

	while (len > RING_LEN_MIN && len * n > ALL_RINGS_LEN)
		len /= 2;
	return len;
}

static struct ebt_error *open_all(struct sideband *sideband, const int *cpus, size_t n)
{
	/* Without a watermark the kernel wakes us when half of a ring is full. To wake us for each
	 * record takes an interrupt, and there is one for each task that begins or ends: the kernel
	 * tells whoever wants to know of mappings of these too. */
	sideband->attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(sideband->attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = SIDEBAND_SAMPLE_TYPE,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = 1,
		.ksymbol = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	sideband->rings = calloc(sideband->max, sizeof(*sideband->rings));
	sideband->fds = calloc(sideband->max, sizeof(*sideband->fds));
	if (!sideband->rings || !sideband->fds)
		return &ebt_enomem;
	for (size_t i = 0; i < n && sideband->n < sideband->max; i++) {
		struct ebt_error *err = open_cpu(sideband, cpus[i], sideband->n, ring_len(n));

		if (err)
			return err;
	}
	if (!sideband->n)
		return ebt_error_create(EBT_ERR_SYSTEM, "no CPU is online");
	sideband->kernel_ids = sideband->attr.build_id;
	return NULL;
}

struct ebt_error *sideband_open(struct sideband_context *context, uint32_t n_cpus,
				struct sideband **ret)
{
	_cleanup_free_ int *cpus = NULL;
	_cleanup_(sideband_closep) struct sideband *sideband = NULL;
	const void *vdso;
	size_t n, vdso_len;
	struct ebt_error *err = cpus_online(&cpus, &n);

	if (err)
		return err;
	sideband = calloc(1, sizeof(*sideband));
	if (!sideband)
		return &ebt_enomem;
	sideband->context = context;
	sideband->max = n_cpus;
	sideband->ids.max = sideband->known.max = BUILDID_MAX_FILES;
	if (vdso_image(&vdso, &vdso_len))
		buildid_of_memory(vdso, vdso_len, &sideband->vdso);
	err = open_all(sideband, cpus, n);
	if (err)
		return err;
	*ret = take_ptr(sideband);
	return NULL;
}

void sideband_close(struct sideband *sideband)
{
	if (!sideband)
		return;
	for (size_t i = 0; i < sideband->n; i++)
		close_ring(sideband, i);
	buildid_map_deinit(&sideband->ids);
	buildid_map_deinit(&sideband->known);
	free(sideband->rings);
	free(sideband->fds);
	free(sideband->pending);
	free(sideband->segments);
	free(sideband);
}

void sideband_stop(const struct sideband *sideband)
{
	for (size_t i = 0; i < sideband->n; i++)
		ioctl(sideband->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

size_t sideband_fds(const struct sideband *sideband, const int **ret)
{
	*ret = sideband->fds;
	return sideband->n;
}

static struct ebt_error *read_ring(struct sideband *sideband, struct cpu_ring *ring)
{
	const unsigned char *data =
		(const unsigned char *)ring->page + (size_t)sysconf(_SC_PAGESIZE);
	const uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	const uint64_t tail = ring->page->data_tail;
	const size_t len = (size_t)(head - tail);
	const size_t at = (size_t)tail & (ring->len - 1);
	const size_t first = len < ring->len - at ? len : ring->len - at;
	struct ebt_error *err;

	/* What stays in the ring is counted by the kernel when the ring is full. */
	if (!len || len > ring->len || sideband->pending_len + len > MAX_PENDING)
		return NULL;
	err = ebt_array_reserve(&sideband->segments, sideband->n_segments,
				&sideband->segments_capacity);
	if (err)
		return err;
	err = ebt_array_reserve(&sideband->pending, sideband->pending_len + len,
				&sideband->pending_capacity);
	if (err)
		return err;
	memcpy(sideband->pending + sideband->pending_len, data + at, first);
	memcpy(sideband->pending + sideband->pending_len + first, data, len - first);
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	sideband->segments[sideband->n_segments++] = (struct segment){
		.ring = ring,
		.offset = sideband->pending_len,
		.len = len,
	};
	sideband->pending_len += len;
	return NULL;
}

struct ebt_error *sideband_read(struct sideband *sideband)
{
	for (size_t i = 0; i < sideband->n; i++) {
		struct ebt_error *err = read_ring(sideband, &sideband->rings[i]);

		if (err)
			return err;
	}
	return NULL;
}

struct ebt_error *sideband_add_cpu(struct sideband *sideband, int cpu)
{
	struct ebt_error *err = NULL;
	size_t n = 0;

	while (n < sideband->n && sideband->rings[n].cpu != cpu)
		n++;
	if (n == sideband->max)
		return NULL;
	/* What the CPU told before it went offline. */
	if (n < sideband->n)
		err = read_ring(sideband, &sideband->rings[n]);
	return err ?: open_cpu(sideband, cpu, n, ring_len(n + 1));
}

/* from: they were lost after it. */
static struct ebt_error *emit_lost(const struct sideband *sideband, const struct cpu_ring *ring,
				   uint64_t from, uint64_t time, uint64_t count, uint32_t reason)
{
	const struct lost_row lost = {
		.from = from,
		.count = count,
		.table_id = EBT_T_mmap,
		.reason = reason,
		.ring = (uint32_t)ring->cpu,
		.source = "sideband",
	};

	return add_lost(sideband->context->stream, time, &lost);
}

static struct ebt_error *emit_ksymbol(struct ebt_stream *stream, const struct sideband_event *event)
{
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	const struct mapping *symbol = &event->mapping;
	struct ebt_wire_ksymbol *row = ebt_record_begin(&rec, EBT_T_ksymbol, symbol->time);

	row->address = symbol->start;
	row->length = (uint32_t)symbol->length;
	row->type = event->type;
	row->unregister = event->unregister;
	ebt_record_bytes(&rec, offsetof(struct ebt_wire_ksymbol, name), symbol->path,
			 symbol->path_len);
	return ebt_record_add(&rec, stream);
}

/* The bytes that name a file of a record without build-id. */
static size_t known_key(const struct sideband_event *event, char *key, size_t size)
{
	const struct mapping *mapping = &event->mapping;
	const struct known_key head = {
		.inode = mapping->inode,
		.generation = event->generation,
		.dev_major = mapping->dev_major,
		.dev_minor = mapping->dev_minor,
	};

	if (!mapping->inode || mapping->path_len > size - sizeof(head))
		return 0;
	memcpy(key, &head, sizeof(head));
	memcpy(key + sizeof(head), mapping->path, mapping->path_len);
	return sizeof(head) + mapping->path_len;
}

/* What our own view of the path has, if that is the file. */
static int find_by_name(struct sideband *sideband, struct mapping *mapping)
{
	char path[PATH_MAX];

	if (!mapping->inode || mapping->path_len >= sizeof(path))
		return -ENOENT;
	memcpy(path, mapping->path, mapping->path_len);
	path[mapping->path_len] = '\0';
	return buildid_of_inode(&sideband->ids, path, mapping->dev_major, mapping->dev_minor,
				mapping->inode, &mapping->build_id);
}

/*
 * Where the kernel gave none. The process may have gone, or have unmapped the file since: then it
 * is the file of the same name and inode, or what was read for another mapping of it.
 */
static void find_buildid(struct sideband *sideband, struct sideband_event *event)
{
	char key[sizeof(struct known_key) + PATH_MAX];
	struct mapping *mapping = &event->mapping;
	size_t len;

	if (mapping->path_len == strlen("[vdso]") &&
	    !memcmp(mapping->path, "[vdso]", mapping->path_len)) {
		/* Ours is the 64-bit one; that of a 32-bit process lies low. */
		if (mapping->start > UINT32_MAX || sizeof(void *) == 4)
			mapping->build_id = sideband->vdso;
		return;
	}
	/* No file. */
	if (mapping->path_len < 2 || mapping->path[0] != '/' || mapping->path[1] == '/')
		return;
	len = known_key(event, key, sizeof(key));
	/* Had the file got a build-id since, the kernel would have told. */
	if (sideband->kernel_ids && len &&
	    buildid_map_find(&sideband->known, key, len, &mapping->build_id) &&
	    !mapping->build_id.len)
		return;
	if (!buildid_of_mapping(&sideband->ids, mapping->pid, mapping->start,
				mapping->start + mapping->length, &mapping->build_id) ||
	    !find_by_name(sideband, mapping)) {
		if (len)
			buildid_map_put(&sideband->known, key, len, &mapping->build_id);
	} else if (len) {
		buildid_map_find(&sideband->known, key, len, &mapping->build_id);
	}
}

static struct ebt_error *emit_mmap(struct sideband *sideband, struct sideband_event *event)
{
	struct tasks *tasks = sideband->context->tasks;
	struct mapping *mapping = &event->mapping;
	struct ebt_error *err;

	/* pid -1: of another pid namespace than ours. */
	if (!mapping->pid || mapping->pid == UINT32_MAX || !(mapping->prot & PROT_EXEC))
		return NULL;
	if (!sideband->context->all && !tasks_know_pid(tasks, mapping->pid))
		return NULL;
	err = tasks_hint(tasks, mapping->tid, mapping->pid, mapping->time);
	if (err)
		return err;
	if (!mapping->build_id.len)
		find_buildid(sideband, event);
	return add_mapping(sideband->context, mapping, EBT_V_mmap_origin_event);
}

static struct ebt_error *emit_event(struct sideband *sideband, struct cpu_ring *ring,
				    struct sideband_event *event)
{
	const uint64_t from = ring->last_time;
	uint64_t *time = &event->mapping.time;

	/* A row of time 0 would be the start of the trace. */
	if (!*time)
		*time = clocks_now();
	else if (*time > ring->last_time)
		ring->last_time = *time;
	switch (event->kind) {
	case SIDEBAND_MMAP:
		return emit_mmap(sideband, event);
	case SIDEBAND_KSYMBOL:
		return emit_ksymbol(sideband->context->stream, event);
	case SIDEBAND_LOST:
		sideband->lost += event->lost;
		return emit_lost(sideband, ring, from, *time, event->lost,
				 EBT_V_lost_reason_side_band_buffer_full);
	case SIDEBAND_MALFORMED:
		return emit_lost(sideband, ring, from, *time, 1,
				 EBT_V_lost_reason_record_malformed);
	case SIDEBAND_OTHER:
		break;
	}
	return NULL;
}

static struct ebt_error *emit_segment(struct sideband *sideband, const struct segment *segment)
{
	struct cpu_ring *ring = segment->ring;
	size_t done = 0;

	while (done < segment->len) {
		struct sideband_event event;
		struct ebt_error *err;
		size_t n = sideband_parse(sideband->pending + segment->offset + done,
					  segment->len - done, &event);

		if (!n)
			return emit_lost(sideband, ring, ring->last_time, clocks_now(), 1,
					 EBT_V_lost_reason_record_malformed);
		err = emit_event(sideband, ring, &event);
		if (err)
			return err;
		done += n;
	}
	return NULL;
}

uint64_t sideband_lost(const struct sideband *sideband)
{
	return sideband->lost;
}

struct ebt_error *sideband_emit(struct sideband *sideband)
{
	struct ebt_error *err = NULL;

	if (sideband->detail)
		err = add_meta(sideband->context->stream, "record.sideband", sideband->detail);
	sideband->detail = NULL;
	for (size_t i = 0; i < sideband->n_segments && !err; i++)
		err = emit_segment(sideband, &sideband->segments[i]);
	sideband->n_segments = 0;
	sideband->pending_len = 0;
	return err;
}
