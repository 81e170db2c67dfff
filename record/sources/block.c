/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `block`. Names and properties of disks and partitions are from /sys, as rows of table
 * `block_device`; the kernel tells of devices that come and change while recording (uevents).
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "format/write/writer.h"
#include "record/base/clocks.h"
#include "record/base/procfs.h"
#include "record/bpf/block.h"
#include "record/config/skeleton.h"
#include "record/config/source.h"

#define FOLDER	     "/sys/dev/block"
#define UEVENT_BYTES 8192 /* the kernel's are at most 2 KiB */
#define MAX_UEVENTS  256  /* at a time: the session thread has more to do */
#define MAX_TEXT     4096

struct block_worker {
	int requests; /* the map; belongs to the skeleton */
	int uevents;  /* a socket, or -1 */
	struct ebt_record rec;
};

struct device {
	uint32_t major, minor;
};

/* Until 5.11 a queue comes first, unless a stable release took it out. */
static uint32_t find_args(const struct kernel *kernel)
{
	uint32_t args = 0;

	if (kernel_tracepoint_args(kernel, "block_rq_issue") > 1)
		args |= EBREC_BLOCK_RQ_SECOND;
	if (kernel_tracepoint_args(kernel, "block_bio_queue") > 1)
		args |= EBREC_BLOCK_BIO_SECOND;
	if (!kernel_has_tracepoint(kernel, "block_io_start"))
		args |= EBREC_BLOCK_NO_START;
	if (kernel_tracepoint_arg_is(kernel, "block_rq_complete", 1, "int"))
		args |= EBREC_BLOCK_ERRNO;
	return args;
}

static void configure(struct source_context *context)
{
	context->skel->rodata->block_args = find_args(context->kernel);
}

/* --- one device --- */

/* A file's text without the newline; empty where there is none. */
static void read_text(int dir, const char *name, char text[MAX_TEXT])
{
	ssize_t n = procfs_read(dir, name, text, MAX_TEXT);

	text[n > 0 ? n : 0] = '\0';
	n = (ssize_t)strlen(text);
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
		text[--n] = '\0';
}

static uint64_t read_number(int dir, const char *name)
{
	char text[MAX_TEXT];

	read_text(dir, name, text);
	return strtoull(text, NULL, 10);
}

static bool parse_device(const char *text, struct device *ret)
{
	struct device device;
	int end = 0;

	if (sscanf(text, "%u:%u%n", &device.major, &device.minor, &end) != 2 || text[end])
		return false;
	*ret = device;
	return true;
}

/* The chosen one of "none [mq-deadline] kyber". */
static void read_scheduler(int disk, char text[MAX_TEXT])
{
	char *open, *end;

	read_text(disk, "queue/scheduler", text);
	open = strchr(text, '[');
	end = open ? strchr(open, ']') : NULL;
	if (!end)
		return;
	*end = '\0';
	memmove(text, open + 1, (size_t)(end - open));
}

static void add_text(struct ebt_record *rec, size_t offset, int dir, const char *name)
{
	char text[MAX_TEXT];

	read_text(dir, name, text);
	ebt_record_str(rec, offset, text);
}

/* dir: of the device; disk: of its disk, which may be the same. name: empty where /sys has it. */
static struct ebt_error *add_row(struct block_worker *worker, struct ebt_stream *stream,
				 struct device device, int dir, int disk, const char *name)
{
	struct ebt_record *rec = &worker->rec;
	struct ebt_wire_block_device *row;
	struct device whole = device;
	char text[MAX_TEXT];

	row = ebt_record_begin(rec, EBT_T_block_device, clocks_now());
	row->major = device.major;
	row->minor = device.minor;
	read_text(disk, "dev", text);
	if (!parse_device(text, &whole))
		whole = device;
	row->disk_major = whole.major;
	row->disk_minor = whole.minor;
	row->rotational = (uint32_t)read_number(disk, "queue/rotational");
	row->logical_block = (uint32_t)read_number(disk, "queue/logical_block_size");
	row->nr_requests = (uint32_t)read_number(disk, "queue/nr_requests");
	read_text(disk, "queue/write_cache", text);
	row->write_cache = !strcmp(text, "write back");
	row->size = read_number(dir, "size") * 512;
	row->start = read_number(dir, "start");
	ebt_record_str(rec, offsetof(struct ebt_wire_block_device, name), name);
	add_text(rec, offsetof(struct ebt_wire_block_device, alias), disk, "dm/name");
	read_scheduler(disk, text);
	ebt_record_str(rec, offsetof(struct ebt_wire_block_device, scheduler), text);
	add_text(rec, offsetof(struct ebt_wire_block_device, model), disk, "device/model");
	add_text(rec, offsetof(struct ebt_wire_block_device, backing), disk, "loop/backing_file");
	return ebt_record_add(rec, stream);
}

/* The last part of where the link points to, which is the device's name. */
static void read_name(int dir, const char *link, char name[MAX_TEXT])
{
	ssize_t n = procfs_link(dir, link, name, MAX_TEXT);
	const char *slash;

	name[n > 0 ? n : 0] = '\0';
	slash = strrchr(name, '/');
	if (slash)
		memmove(name, slash + 1, strlen(slash));
}

/* named: by whom the kernel told of the device; it may be gone from /sys already. */
static struct ebt_error *add_device(struct block_worker *worker, struct ebt_stream *stream,
				    struct device device, const char *named)
{
	_cleanup_close_ int folder = open(FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int dir = -1, disk = -1;
	char number[32], name[MAX_TEXT];

	snprintf(number, sizeof(number), "%u:%u", device.major, device.minor);
	dir = openat(folder, number, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && !*named)
		return NULL;
	read_name(folder, number, name);
	/* A partition's folder is in its disk's. */
	if (!faccessat(dir, "partition", F_OK, 0))
		disk = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return add_row(worker, stream, device, dir, disk >= 0 ? disk : dir, *name ? name : named);
}

/* A row for each device that is there. */
static struct ebt_error *add_all(struct block_worker *worker, struct ebt_stream *stream)
{
	_cleanup_(closedirp) DIR *folder = opendir(FOLDER);
	struct ebt_error *err = NULL;
	struct dirent *entry;
	struct device device;

	/* A kernel without block devices has no such folder. */
	while (!err && folder && (entry = readdir(folder))) {
		if (parse_device(entry->d_name, &device))
			err = add_device(worker, stream, device, "");
	}
	return err;
}

/* --- uevents --- */

/* "add@/devices/…", then KEY=VALUE, a NUL after each. */
static const char *uevent_value(const char *event, size_t len, const char *key)
{
	size_t key_len = strlen(key);

	for (size_t at = 0; at < len; at += strlen(event + at) + 1) {
		if (!strncmp(event + at, key, key_len) && event[at + key_len] == '=')
			return event + at + key_len + 1;
	}
	return "";
}

static struct ebt_error *add_event(struct block_worker *worker, struct ebt_stream *stream,
				   const char *event, size_t len)
{
	struct device device;
	char number[64];

	if (strcmp(uevent_value(event, len, "SUBSYSTEM"), "block") ||
	    !strcmp(uevent_value(event, len, "ACTION"), "remove"))
		return NULL;
	snprintf(number, sizeof(number), "%s:%s", uevent_value(event, len, "MAJOR"),
		 uevent_value(event, len, "MINOR"));
	if (!parse_device(number, &device))
		return NULL;
	return add_device(worker, stream, device, uevent_value(event, len, "DEVNAME"));
}

/* A row for each that the kernel told of since. */
static struct ebt_error *add_changed(struct block_worker *worker, struct ebt_stream *stream)
{
	struct sockaddr_nl sender;
	socklen_t sender_len;
	char event[UEVENT_BYTES + 1];
	struct ebt_error *err = NULL;

	for (int i = 0; !err && i < MAX_UEVENTS; i++) {
		ssize_t n;

		sender_len = sizeof(sender);
		n = recvfrom(worker->uevents, event, UEVENT_BYTES, 0, (struct sockaddr *)&sender,
			     &sender_len);
		/* Some were lost: the epoch that comes reads all. */
		if (n < 0 && errno == ENOBUFS)
			continue;
		if (n < 0)
			break;
		event[n] = '\0';
		if (!sender.nl_pid) /* the kernel */
			err = add_event(worker, stream, event, (size_t)n);
	}
	return err;
}

/* --- the worker --- */

static void close_worker(void *arg)
{
	struct block_worker *worker = arg;

	ebt_closep(&worker->uevents);
	ebt_record_deinit(&worker->rec);
}

static struct ebt_error *open_worker(const struct source_context *context,
				     struct source_state *state, void *arg)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	struct block_worker *worker = arg;

	(void)state;
	worker->requests = bpf_map__fd(context->skel->maps.block_requests);
	worker->uevents = socket(AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
				 NETLINK_KOBJECT_UEVENT);
	/* Without it, what comes is named at the next epoch. */
	if (worker->uevents >= 0 &&
	    bind(worker->uevents, (struct sockaddr *)&address, sizeof(address)))
		close(take_fd(&worker->uevents));
	return NULL;
}

static struct ebt_error *add_in_flight(const struct ebrec_block_request *r, uint64_t now,
				       struct ebt_stream *stream)
{
	struct ebt_wire_block_io row = {
		.head = { .time = now, .len = sizeof(row), .table = EBT_T_block_io }
	};

	ebrec_block_fill(&row, r, now);
	row.state = EBT_V_block_io_state_in_flight;
	row.bytes = r->expected;
	return ebt_stream_add(stream, &row, sizeof(row));
}

/* Programs may still be at work on the map, but the gate is closed: nothing is added. */
static struct ebt_error *add_all_in_flight(struct block_worker *worker, struct ebt_stream *stream)
{
	struct ebrec_block_request request;
	uint64_t now = clocks_now(), key, *last = NULL;
	struct ebt_error *err = NULL;

	for (unsigned int i = 0; !err && i < EBREC_BLOCK_REQUESTS; i++) {
		if (bpf_map_get_next_key(worker->requests, last, &key))
			break;
		last = &key;
		if (!bpf_map_lookup_elem(worker->requests, &key, &request))
			err = add_in_flight(&request, now, stream);
	}
	return err;
}

static struct ebt_error *work(void *arg, struct ebt_stream *stream, enum source_moment moment)
{
	struct block_worker *worker = arg;

	if (moment == SOURCE_READY)
		return add_changed(worker, stream);
	if (moment == SOURCE_LAST)
		return add_all_in_flight(worker, stream);
	return moment == SOURCE_SECOND || moment == SOURCE_END ? NULL : add_all(worker, stream);
}

static const struct source_worker worker = {
	.size = sizeof(struct block_worker),
	.fd = SOURCE_WORKER_FD(struct block_worker, uevents),
	.open = open_worker,
	.work = work,
	.close = close_worker,
};

const struct ebrec_source source_block = {
	.name = "block",
	.doc = "disk requests: who caused each, device, bytes, time in the queue and in the device",
	.elsewhere = "disk disks io storage blktrace",
	.cost = "about 1.5 us for each request, 0.3 us for each page that is dirtied",
	.tables = (const uint16_t[]){ EBT_T_block_io, EBT_T_block_device, 0 },
	.late_tasks = true,
	.needs = (const char *const[]){ "block_bio_queue", "block_rq_issue", "block_rq_complete",
					NULL },
	.wants = (const struct source_want[]){ { "writeback_dirty_folio",
						 "dirtiers, writeback is blamed on kernel threads",
						 .other = "writeback_dirty_page" },
					       { NULL } },
	.programs = (const char *const[]){ "ebrec_block_", NULL },
	.maps = (const char *const[]){ "block_", NULL },
	.configure = configure,
	.worker = &worker,
};
