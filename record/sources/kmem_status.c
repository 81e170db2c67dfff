/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of meminfo and process_memory; see kmem_status.h. */
#include "record/sources/kmem_status.h"

#include <bpf/bpf.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/write/writer.h"
#include "record/base/clocks.h"
#include "record/base/procfs.h"
#include "record/config/skeleton.h"

/* At a time: reading one takes about 20 us, for which the session's thread does nothing else. */
#define MAX_PROCESSES 4096
#define TEXT	      8192

struct kmem_status {
	const struct source_context *context;
	bool listed; /* processes, once */
};

/* Finds "NAME:   123 kB" at the beginning of a line; bytes, or 0 where there is none. */
static uint64_t bytes_of(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ':')
			return strtoull(line + len + 1, NULL, 10) * 1024;
	}
	return 0;
}

/* As the enum of the tables has it. */
static uint32_t moment_number(enum source_moment moment)
{
	switch (moment) {
	case SOURCE_BEGIN:
		return EBT_V_meminfo_moment_begin;
	case SOURCE_EPOCH:
		return EBT_V_meminfo_moment_epoch;
	default:
		return EBT_V_meminfo_moment_end;
	}
}

static struct ebt_error *add_meminfo(struct ebt_stream *stream, uint32_t moment)
{
	_cleanup_close_ int dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ebt_wire_meminfo row = {
		.head = { clocks_now(), sizeof(row), EBT_T_meminfo, 0 },
		.moment = moment,
	};
	char text[TEXT];

	if (dir < 0 || procfs_read(dir, "meminfo", text, sizeof(text)) <= 0)
		return NULL;
	row.total = bytes_of(text, "MemTotal");
	row.free = bytes_of(text, "MemFree");
	row.available = bytes_of(text, "MemAvailable");
	row.buffers = bytes_of(text, "Buffers");
	row.cached = bytes_of(text, "Cached");
	row.anon = bytes_of(text, "AnonPages");
	row.slab = bytes_of(text, "Slab");
	row.slab_unreclaimable = bytes_of(text, "SUnreclaim");
	row.page_tables = bytes_of(text, "PageTables");
	row.swap_total = bytes_of(text, "SwapTotal");
	row.swap_free = bytes_of(text, "SwapFree");
	return ebt_stream_add(stream, &row, sizeof(row));
}

static struct ebt_error *add_process(struct ebt_stream *stream, uint32_t pid, uint32_t moment)
{
	struct ebt_wire_process_memory row = {
		.head = { clocks_now(), sizeof(row), EBT_T_process_memory, 0 },
		.task = pid,
		.moment = moment,
	};
	_cleanup_close_ int dir = procfs_open(pid);
	char text[TEXT];

	if (dir < 0 || procfs_read(dir, "status", text, sizeof(text)) <= 0)
		return NULL; /* it has gone */
	row.vm_size = bytes_of(text, "VmSize");
	if (!row.vm_size)
		return NULL; /* a kernel thread, or it has ended */
	row.rss = bytes_of(text, "VmRSS");
	row.rss_peak = bytes_of(text, "VmHWM");
	row.rss_anon = bytes_of(text, "RssAnon");
	row.rss_file = bytes_of(text, "RssFile");
	row.rss_shmem = bytes_of(text, "RssShmem");
	row.swap = bytes_of(text, "VmSwap");
	return ebt_stream_add(stream, &row, sizeof(row));
}

static bool is_followed(const struct kmem_status *status, uint32_t pid)
{
	uint32_t key = pid / 64;
	struct ebrec_followed followed;

	if (status->context->options->target == TARGET_ALL)
		return pid != (uint32_t)getpid();
	return !bpf_map_lookup_elem(bpf_map__fd(status->context->skel->maps.followed), &key,
				    &followed) &&
	       followed.tid[pid % 64];
}

static struct ebt_error *add_processes(const struct kmem_status *status, struct ebt_stream *stream,
				       uint32_t moment)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc");
	struct ebt_error *err = NULL;
	const struct dirent *entry;
	size_t n = 0;

	while (!err && dir && n < MAX_PROCESSES && (entry = readdir(dir))) {
		unsigned long pid = strtoul(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)*entry->d_name) || !pid || pid > UINT32_MAX ||
		    !is_followed(status, (uint32_t)pid))
			continue;
		err = add_process(stream, (uint32_t)pid, moment);
		n++;
	}
	return err;
}

static struct ebt_error *status_open(const struct source_context *context,
				     struct source_state *state, void *worker)
{
	struct kmem_status *status = worker;

	(void)state;
	status->context = context;
	return NULL;
}

/* Who is followed is known a moment after the gate has been opened. */
static struct ebt_error *status_work(void *worker, struct ebt_stream *stream,
				     enum source_moment moment)
{
	struct kmem_status *status = worker;
	struct ebt_error *err = NULL;

	switch (moment) {
	case SOURCE_READY:
		return NULL;
	case SOURCE_BEGIN:
		return add_meminfo(stream, moment_number(moment));
	case SOURCE_SECOND:
		if (status->listed)
			return NULL;
		moment = SOURCE_BEGIN;
		break;
	case SOURCE_EPOCH:
	case SOURCE_END:
		err = add_meminfo(stream, moment_number(moment));
	}
	status->listed = true;
	return err ? err : add_processes(status, stream, moment_number(moment));
}

const struct source_worker kmem_status_worker = {
	.size = sizeof(struct kmem_status),
	.open = status_open,
	.work = status_work,
};
