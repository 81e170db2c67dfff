/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading tables of /proc. Each file stays open, and has what it takes to find the counters of a
 * line without looking for them: lines come in the same order each time.
 */
#include "format/base/array.h"
#include "record/sources/counter_text.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* /proc/stat has a line of 100 bytes a CPU and a number of 2 to 8 bytes for each interrupt. */
#define MAX_TEXT   (1u << 20)
#define MAX_FIELDS 20
#define N_KINDS	   8
/* Interfaces of containers come and go. */
#define MAX_LINES 16384

struct text_line {
	char key[COUNTER_INSTANCE];
	uint32_t counter; /* its first, or COUNTER_NONE: the line does not matter */
};

#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define CLASSES(list) .classes = (list), .n = COUNT(list)

/* What a file looks like. */
struct text_kind {
	const char *path, *name;
	const char *category, *instance; /* of its counters; instance NULL: the line's key */
	const struct counter_class *classes;
	size_t n;	/* of these: all are of each line, but where there is an instance, one */
	size_t before;	/* words before the key */
	size_t headers; /* lines that are no counters */
	/* Gives the counters of a line that has not been seen before. NULL: as is said above. */
	struct ebt_error *(*add)(struct counter_texts *texts, const char *key, uint32_t *ret);
	/* Puts the numbers of a line, n of them. NULL: one for each class. */
	void (*put)(struct counter_set *set, uint32_t counter, const uint64_t *numbers, size_t n);
};

struct text_file {
	const struct text_kind *kind;
	int fd;
	struct text_line *lines; /* in the order of the file, as far as it was the same before */
	size_t n, capacity, at;
};

struct counter_texts {
	struct counter_set *set;
	const char *root;
	struct text_file files[N_KINDS];
	char buffer[MAX_TEXT + 1];
};

/* --- /proc/stat --- */

/* Sums since the machine was started; divisor and factor are those of struct counter_class. */
#define SUM(name, unit, divisor, factor, what)                        \
	{                                                             \
		name, unit, what, COUNTER_CUMULATIVE, divisor, factor \
	}
#define NUMBER(name, what)	SUM(name, "", 1, 1, what)
#define BYTES(name, per, what)	SUM(name, "bytes", 1, per, what)
#define TIME(name, per_s, what) SUM(name, "s", per_s, 1, what)

#define USER_HZ			100

static const struct counter_class cpu_classes[] = {
	TIME("user", USER_HZ, "in user space, guests included"),
	TIME("nice", USER_HZ, "in user space, of processes that are nice"),
	TIME("system", USER_HZ, "in the kernel"),
	TIME("idle", USER_HZ, "without anything to do"),
	TIME("iowait", USER_HZ, "without anything to do while a task waits for a disk"),
	TIME("irq", USER_HZ, "in interrupts"),
	TIME("softirq", USER_HZ, "in soft interrupts"),
	TIME("steal", USER_HZ, "ready to run, while the hypervisor ran others"),
	TIME("guest", USER_HZ, "running a guest, part of user"),
	TIME("guest_nice", USER_HZ, "running a guest that is nice, part of nice"),
};

static const struct counter_class stat_classes[] = {
	NUMBER("ctxt", "context switches"),
	NUMBER("processes", "forks"),
	{ "procs_running", "", "tasks that run or could", COUNTER_GAUGE, 1, 1 },
	{ "procs_blocked", "", "tasks that wait for a disk", COUNTER_GAUGE, 1, 1 },
};

/* Of classes that are one each: by the key of the line. */
static struct ebt_error *add_named(struct counter_texts *texts, const struct text_kind *kind,
				   const char *key, uint32_t *ret)
{
	for (size_t i = 0; i < kind->n; i++) {
		if (!strcmp(kind->classes[i].name, key))
			return counter_set_add(texts->set, kind->category, kind->instance,
					       &kind->classes[i], 1, ret);
	}
	return NULL;
}

static struct ebt_error *add_stat(struct counter_texts *texts, const char *key, uint32_t *ret)
{
	static const struct text_kind system = { .category = "system",
						 .instance = "",
						 CLASSES(stat_classes) };

	if (strncmp(key, "cpu", 3))
		return add_named(texts, &system, key, ret);
	return counter_set_add(texts->set, "cpu", key[3] ? key + 3 : "all", cpu_classes,
			       COUNT(cpu_classes), ret);
}

/* --- /proc/meminfo, /proc/vmstat --- */

#define MEMORY(name, what)                                  \
	{                                                   \
		name, "bytes", what, COUNTER_GAUGE, 1, 1024 \
	}

static const struct counter_class meminfo_classes[] = {
	MEMORY("MemTotal", "all of it"),
	MEMORY("MemFree", "used for nothing"),
	MEMORY("MemAvailable", "that programs could get without swapping"),
	MEMORY("Buffers", "blocks of disks in the page cache"),
	MEMORY("Cached", "files in the page cache"),
	MEMORY("SwapCached", "that is in swap space, too"),
	MEMORY("Active", "used lately"),
	MEMORY("Inactive", "not used lately"),
	MEMORY("Unevictable", "that cannot be reclaimed"),
	MEMORY("Mlocked", "locked"),
	MEMORY("SwapTotal", "swap space"),
	MEMORY("SwapFree", "swap space not used"),
	MEMORY("Dirty", "waiting to be written"),
	MEMORY("Writeback", "being written"),
	MEMORY("AnonPages", "of programs, and no file's"),
	MEMORY("Mapped", "files mapped by programs"),
	MEMORY("Shmem", "shared memory and tmpfs"),
	MEMORY("SReclaimable", "slabs that could be given back"),
	MEMORY("SUnreclaim", "slabs that could not"),
	MEMORY("KernelStack", "stacks of tasks in the kernel"),
	MEMORY("PageTables", "page tables"),
	MEMORY("Committed_AS", "promised to programs"),
};

static const struct counter_class vmstat_classes[] = {
	NUMBER("pgfault", "page faults"),
	NUMBER("pgmajfault", "page faults that waited for a disk"),
	BYTES("pgpgin", 1024, "read from disks"),
	BYTES("pgpgout", 1024, "written to disks"),
	NUMBER("pswpin", "pages swapped in"),
	NUMBER("pswpout", "pages swapped out"),
	NUMBER("pgscan_kswapd", "pages looked at by kswapd"),
	NUMBER("pgscan_direct", "pages looked at by tasks that wanted memory"),
	NUMBER("pgsteal_kswapd", "pages reclaimed by kswapd"),
	NUMBER("pgsteal_direct", "pages reclaimed by tasks that wanted memory"),
	NUMBER("workingset_refault_anon", "pages that came back after they were reclaimed"),
	NUMBER("workingset_refault_file",
	       "pages of files that came back after they were reclaimed"),
	NUMBER("compact_stall", "waits for memory to be compacted"),
	NUMBER("thp_fault_alloc", "huge pages given at faults"),
	NUMBER("thp_collapse_alloc", "huge pages made of small ones"),
	NUMBER("oom_kill", "processes killed as there was no memory"),
};

/* --- /proc/diskstats --- */

/* In the order of the file. */
static const struct counter_class disk_classes[] = {
	NUMBER("read_ios", "reads completed"),
	NUMBER("read_merges", "reads merged into others"),
	BYTES("read_bytes", 512, "read"),
	TIME("read_time", 1000, "of all reads together"),
	NUMBER("write_ios", "writes completed"),
	NUMBER("write_merges", "writes merged into others"),
	BYTES("write_bytes", 512, "written"),
	TIME("write_time", 1000, "of all writes together"),
	{ "in_flight", "", "requests that have not completed", COUNTER_GAUGE, 1, 1 },
	TIME("busy_time", 1000, "while there were requests"),
	TIME("queue_time", 1000, "of all requests together"),
	NUMBER("discard_ios", "discards completed"),
	NUMBER("discard_merges", "discards merged into others"),
	BYTES("discard_bytes", 512, "discarded"),
	TIME("discard_time", 1000, "of all discards together"),
	NUMBER("flush_ios", "flushes completed"),
	TIME("flush_time", 1000, "of all flushes together"),
};

/* Whole devices are in /sys/block, partitions are not. */
static struct ebt_error *add_disk(struct counter_texts *texts, const char *key, uint32_t *ret)
{
	char path[PATH_MAX], *slash;
	int len = snprintf(path, sizeof(path), "%s/sys/block/", texts->root);

	snprintf(path + len, sizeof(path) - (size_t)len, "%s", key);
	while ((slash = strchr(path + len, '/')))
		*slash = '!';
	if (access(path, F_OK))
		return NULL;
	return counter_set_add(texts->set, "disk", key, disk_classes, COUNT(disk_classes), ret);
}

/* --- /proc/net/dev --- */

static const struct counter_class net_classes[] = {
	BYTES("rx_bytes", 1, "received"),
	NUMBER("rx_packets", "received"),
	NUMBER("rx_errors", "received with errors"),
	NUMBER("rx_dropped", "received and dropped"),
	BYTES("tx_bytes", 1, "sent"),
	NUMBER("tx_packets", "sent"),
	NUMBER("tx_errors", "not sent for errors"),
	NUMBER("tx_dropped", "to be sent and dropped"),
};

static void put_net(struct counter_set *set, uint32_t counter, const uint64_t *numbers, size_t n)
{
	for (size_t i = 0; i < 4 && n >= 12; i++) {
		counter_set_put(set, counter + (uint32_t)i, numbers[i]);
		counter_set_put(set, counter + 4 + (uint32_t)i, numbers[8 + i]);
	}
}

/* --- /proc/pressure --- */

static const struct counter_class pressure_classes[] = {
	TIME("some", 1000000, "while at least one task waited for it"),
	TIME("full", 1000000, "while all tasks that were not idle waited for it"),
};

/* "avg10=0.00 avg60=0.00 avg300=0.00 total=7": two numbers each, but for the last. */
static void put_pressure(struct counter_set *set, uint32_t counter, const uint64_t *numbers,
			 size_t n)
{
	if (n)
		counter_set_put(set, counter, numbers[n - 1]);
}

#define PRESSURE(what) \
	.category = "pressure", .instance = (what), CLASSES(pressure_classes), .put = put_pressure

static const struct text_kind kinds[N_KINDS] = {
	{ "/proc/stat", "processors", .add = add_stat, CLASSES(cpu_classes) },
	{ "/proc/meminfo", "memory", "memory", "", CLASSES(meminfo_classes) },
	{ "/proc/vmstat", "paging", "vm", "", CLASSES(vmstat_classes) },
	{ "/proc/diskstats", "disks", .before = 2, .add = add_disk, CLASSES(disk_classes) },
	{ "/proc/net/dev", "network", "net", CLASSES(net_classes), .headers = 2, .put = put_net },
	{ "/proc/pressure/cpu", "pressure of CPUs", PRESSURE("cpu") },
	{ "/proc/pressure/io", "pressure of I/O", PRESSURE("io") },
	{ "/proc/pressure/memory", "pressure of memory", PRESSURE("memory") },
};

static struct ebt_error *add_line(struct counter_texts *texts, const struct text_kind *kind,
				  const char *key, uint32_t *ret)
{
	if (kind->add)
		return kind->add(texts, key, ret);
	if (kind->instance)
		return add_named(texts, kind, key, ret);
	return counter_set_add(texts->set, kind->category, key, kind->classes, kind->n, ret);
}

static void put_numbers(struct counter_set *set, const struct text_kind *kind, uint32_t counter,
			const uint64_t *numbers, size_t n)
{
	const size_t counters = kind->instance ? 1 : kind->n;

	if (kind->put) {
		kind->put(set, counter, numbers, n);
		return;
	}
	for (size_t i = 0; i < n && i < counters; i++)
		counter_set_put(set, counter + (uint32_t)i, numbers[i]);
}

struct ebt_error *counter_texts_create(struct counter_set *set, const char *root,
				       struct counter_texts **ret)
{
	_cleanup_(counter_texts_destroyp) struct counter_texts *texts = calloc(1, sizeof(*texts));
	char path[PATH_MAX];

	if (!texts)
		return &ebt_enomem;
	texts->set = set;
	texts->root = root;
	for (size_t i = 0; i < N_KINDS; i++) {
		snprintf(path, sizeof(path), "%s%s", root, kinds[i].path);
		texts->files[i].kind = &kinds[i];
		texts->files[i].fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	*ret = take_ptr(texts);
	return NULL;
}

void counter_texts_destroy(struct counter_texts *texts)
{
	if (!texts)
		return;
	for (size_t i = 0; i < N_KINDS && texts->files[i].kind; i++) {
		ebt_closep(&texts->files[i].fd);
		free(texts->files[i].lines);
	}
	free(texts);
}

const char *counter_texts_missing(const struct counter_texts *texts, size_t n)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		if (texts->files[i].fd < 0 && !n--)
			return kinds[i].name;
	}
	return NULL;
}

static bool is_line(const struct text_line *line, const char *key, size_t len)
{
	return !strncmp(line->key, key, len) && !line->key[len];
}

/* The line's place; NULL: there is no room for another. */
static struct ebt_error *find_line(struct counter_texts *texts, struct text_file *file,
				   const char *key, size_t len, struct text_line **ret)
{
	struct ebt_error *err;

	*ret = NULL;
	len = len < COUNTER_INSTANCE ? len : COUNTER_INSTANCE - 1;
	for (size_t i = 0; i < file->n; i++) {
		size_t at = (file->at + i) % file->n;

		if (is_line(&file->lines[at], key, len)) {
			file->at = at + 1;
			*ret = &file->lines[at];
			return NULL;
		}
	}
	if (file->n == MAX_LINES)
		return NULL;
	err = ebt_array_reserve(&file->lines, file->n, &file->capacity);
	if (err)
		return err;
	*ret = &file->lines[file->n++];
	file->at = file->n;
	memcpy((*ret)->key, key, len);
	(*ret)->key[len] = '\0';
	(*ret)->counter = COUNTER_NONE;
	return add_line(texts, file->kind, (*ret)->key, &(*ret)->counter);
}

/* The number of a word: "17", "17.25" (17), "total=17". Returns where the word ends. */
static const char *read_number(const char *word, uint64_t *ret)
{
	const char *at = word;

	*ret = 0;
	while (*at && !strchr(" \n", *at)) {
		if (*at++ == '=')
			word = at;
	}
	for (; *word >= '0' && *word <= '9'; word++)
		*ret = *ret * 10 + (uint64_t)(*word - '0');
	return at;
}

static struct ebt_error *read_line(struct counter_texts *texts, struct text_file *file,
				   const char *line)
{
	uint64_t numbers[MAX_FIELDS];
	struct text_line *known;
	struct ebt_error *err;
	const char *key;
	size_t n = 0, len;

	for (size_t i = 0; i < file->kind->before; i++) {
		line += strspn(line, " ");
		line += strcspn(line, " \n");
	}
	key = line + strspn(line, " ");
	len = strcspn(key, " :\n");
	if (!len)
		return NULL;
	err = find_line(texts, file, key, len, &known);
	if (err || !known || known->counter == COUNTER_NONE)
		return err;
	line = key + len + (key[len] == ':');
	for (line += strspn(line, " "); n < MAX_FIELDS && *line && *line != '\n';
	     line += strspn(line, " "))
		line = read_number(line, &numbers[n++]);
	put_numbers(texts->set, file->kind, known->counter, numbers, n);
	return NULL;
}

static struct ebt_error *read_file(struct counter_texts *texts, struct text_file *file)
{
	struct ebt_error *err = NULL;
	size_t len = 0, n_lines = 0;
	ssize_t n;

	while (len < MAX_TEXT &&
	       (n = pread(file->fd, texts->buffer + len, MAX_TEXT - len, (off_t)len)) > 0)
		len += (size_t)n;
	texts->buffer[len] = '\0';
	file->at = 0;
	for (const char *line = texts->buffer, *end; !err && *line; line = end + 1, n_lines++) {
		end = strchr(line, '\n');
		if (!end)
			break;
		if (n_lines >= file->kind->headers)
			err = read_line(texts, file, line);
	}
	return err;
}

struct ebt_error *counter_texts_read(struct counter_texts *texts)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < N_KINDS && !err; i++) {
		if (texts->files[i].fd >= 0)
			err = read_file(texts, &texts->files[i]);
	}
	return err;
}
