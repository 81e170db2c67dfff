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

/* What a file looks like. */
struct text_kind {
	const char *path, *name;
	size_t before;	/* words before the key */
	size_t headers; /* lines that are no counters */
	/* Gives the counters of a line that has not been seen before. */
	struct ebt_error *(*add)(struct counter_texts *texts, const char *key, uint32_t *ret);
	/* Puts the numbers of a line, n of them. */
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
	char *buffer;
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- /proc/stat --- */

#define TICKS(mode, what)                                                 \
	{                                                                 \
		mode, "s", what, COUNTER_CUMULATIVE, 100 /* USER_HZ */, 1 \
	}

static const struct counter_class cpu_classes[] = {
	TICKS("user", "in user space, guests included"),
	TICKS("nice", "in user space, of processes that are nice"),
	TICKS("system", "in the kernel"),
	TICKS("idle", "without anything to do"),
	TICKS("iowait", "without anything to do while a task waits for a disk"),
	TICKS("irq", "in interrupts"),
	TICKS("softirq", "in soft interrupts"),
	TICKS("steal", "ready to run, while the hypervisor ran others"),
	TICKS("guest", "running a guest, part of user"),
	TICKS("guest_nice", "running a guest that is nice, part of nice"),
};

static const struct counter_class stat_classes[] = {
	{ "ctxt", "", "context switches", COUNTER_CUMULATIVE, 1, 1 },
	{ "processes", "", "forks", COUNTER_CUMULATIVE, 1, 1 },
	{ "procs_running", "", "tasks that run or could", COUNTER_GAUGE, 1, 1 },
	{ "procs_blocked", "", "tasks that wait for a disk", COUNTER_GAUGE, 1, 1 },
};

/* Of classes that are one each: by the key of the line. */
static struct ebt_error *add_named(struct counter_texts *texts, const char *category,
				   const struct counter_class *classes, size_t n, const char *key,
				   uint32_t *ret)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(classes[i].name, key))
			return counter_set_add(texts->set, category, "", &classes[i], 1, ret);
	}
	return NULL;
}

static struct ebt_error *add_stat(struct counter_texts *texts, const char *key, uint32_t *ret)
{
	if (strncmp(key, "cpu", 3))
		return add_named(texts, "system", stat_classes, COUNT(stat_classes), key, ret);
	return counter_set_add(texts->set, "cpu", key[3] ? key + 3 : "all", cpu_classes,
			       COUNT(cpu_classes), ret);
}

static void put_stat(struct counter_set *set, uint32_t counter, const uint64_t *numbers, size_t n)
{
	for (size_t i = 0; i < n && i < COUNT(cpu_classes); i++)
		counter_set_put(set, counter + (uint32_t)i, numbers[i]);
}

static void put_one(struct counter_set *set, uint32_t counter, const uint64_t *numbers, size_t n)
{
	if (n)
		counter_set_put(set, counter, numbers[0]);
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

static struct ebt_error *add_meminfo(struct counter_texts *texts, const char *key, uint32_t *ret)
{
	return add_named(texts, "memory", meminfo_classes, COUNT(meminfo_classes), key, ret);
}

#define VM(name, what)                                   \
	{                                                \
		name, "", what, COUNTER_CUMULATIVE, 1, 1 \
	}

static const struct counter_class vmstat_classes[] = {
	VM("pgfault", "page faults"),
	VM("pgmajfault", "page faults that waited for a disk"),
	{ "pgpgin", "bytes", "read from disks", COUNTER_CUMULATIVE, 1, 1024 },
	{ "pgpgout", "bytes", "written to disks", COUNTER_CUMULATIVE, 1, 1024 },
	VM("pswpin", "pages swapped in"),
	VM("pswpout", "pages swapped out"),
	VM("pgscan_kswapd", "pages looked at by kswapd"),
	VM("pgscan_direct", "pages looked at by tasks that wanted memory"),
	VM("pgsteal_kswapd", "pages reclaimed by kswapd"),
	VM("pgsteal_direct", "pages reclaimed by tasks that wanted memory"),
	VM("workingset_refault_anon", "pages that came back after they were reclaimed"),
	VM("workingset_refault_file", "pages of files that came back after they were reclaimed"),
	VM("compact_stall", "waits for memory to be compacted"),
	VM("thp_fault_alloc", "huge pages given at faults"),
	VM("thp_collapse_alloc", "huge pages made of small ones"),
	VM("oom_kill", "processes killed as there was no memory"),
};

static struct ebt_error *add_vmstat(struct counter_texts *texts, const char *key, uint32_t *ret)
{
	return add_named(texts, "vm", vmstat_classes, COUNT(vmstat_classes), key, ret);
}

/* --- /proc/diskstats --- */

#define IOS(name, what)                                  \
	{                                                \
		name, "", what, COUNTER_CUMULATIVE, 1, 1 \
	}
#define SECTORS(name, what)                                     \
	{                                                       \
		name, "bytes", what, COUNTER_CUMULATIVE, 1, 512 \
	}
#define BYTES(name, what)                                     \
	{                                                     \
		name, "bytes", what, COUNTER_CUMULATIVE, 1, 1 \
	}
#define MS(name, what)                                       \
	{                                                    \
		name, "s", what, COUNTER_CUMULATIVE, 1000, 1 \
	}

/* In the order of the file. */
static const struct counter_class disk_classes[] = {
	IOS("read_ios", "reads completed"),
	IOS("read_merges", "reads merged into others"),
	SECTORS("read_bytes", "read"),
	MS("read_time", "of all reads together"),
	IOS("write_ios", "writes completed"),
	IOS("write_merges", "writes merged into others"),
	SECTORS("write_bytes", "written"),
	MS("write_time", "of all writes together"),
	{ "in_flight", "", "requests that have not completed", COUNTER_GAUGE, 1, 1 },
	MS("busy_time", "while there were requests"),
	MS("queue_time", "of all requests together"),
	IOS("discard_ios", "discards completed"),
	IOS("discard_merges", "discards merged into others"),
	SECTORS("discard_bytes", "discarded"),
	MS("discard_time", "of all discards together"),
	IOS("flush_ios", "flushes completed"),
	MS("flush_time", "of all flushes together"),
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

static void put_disk(struct counter_set *set, uint32_t counter, const uint64_t *numbers, size_t n)
{
	for (size_t i = 0; i < n && i < COUNT(disk_classes); i++)
		counter_set_put(set, counter + (uint32_t)i, numbers[i]);
}

/* --- /proc/net/dev --- */

static const struct counter_class net_classes[] = {
	BYTES("rx_bytes", "received"),
	IOS("rx_packets", "received"),
	IOS("rx_errors", "received with errors"),
	IOS("rx_dropped", "received and dropped"),
	BYTES("tx_bytes", "sent"),
	IOS("tx_packets", "sent"),
	IOS("tx_errors", "not sent for errors"),
	IOS("tx_dropped", "to be sent and dropped"),
};

static struct ebt_error *add_net(struct counter_texts *texts, const char *key, uint32_t *ret)
{
	return counter_set_add(texts->set, "net", key, net_classes, COUNT(net_classes), ret);
}

static void put_net(struct counter_set *set, uint32_t counter, const uint64_t *numbers, size_t n)
{
	for (size_t i = 0; i < 4 && n >= 12; i++) {
		counter_set_put(set, counter + (uint32_t)i, numbers[i]);
		counter_set_put(set, counter + 4 + (uint32_t)i, numbers[8 + i]);
	}
}

/* --- /proc/pressure --- */

#define WAITED(name, what)                                      \
	{                                                       \
		name, "s", what, COUNTER_CUMULATIVE, 1000000, 1 \
	}

static const struct counter_class pressure_classes[] = {
	WAITED("some", "while at least one task waited for it"),
	WAITED("full", "while all tasks that were not idle waited for it"),
};

static struct ebt_error *add_pressure(struct counter_texts *texts, const char *what,
				      const char *key, uint32_t *ret)
{
	for (size_t i = 0; i < COUNT(pressure_classes); i++) {
		if (!strcmp(pressure_classes[i].name, key))
			return counter_set_add(texts->set, "pressure", what, &pressure_classes[i],
					       1, ret);
	}
	return NULL;
}

static struct ebt_error *add_cpu_pressure(struct counter_texts *texts, const char *key,
					  uint32_t *ret)
{
	return add_pressure(texts, "cpu", key, ret);
}

static struct ebt_error *add_io_pressure(struct counter_texts *texts, const char *key,
					 uint32_t *ret)
{
	return add_pressure(texts, "io", key, ret);
}

static struct ebt_error *add_memory_pressure(struct counter_texts *texts, const char *key,
					     uint32_t *ret)
{
	return add_pressure(texts, "memory", key, ret);
}

/* "avg10=0.00 avg60=0.00 avg300=0.00 total=7": two numbers each, but for the last. */
static void put_pressure(struct counter_set *set, uint32_t counter, const uint64_t *numbers,
			 size_t n)
{
	if (n)
		counter_set_put(set, counter, numbers[n - 1]);
}

static const struct text_kind kinds[N_KINDS] = {
	{ "/proc/stat", "processors", 0, 0, add_stat, put_stat },
	{ "/proc/meminfo", "memory", 0, 0, add_meminfo, put_one },
	{ "/proc/vmstat", "paging", 0, 0, add_vmstat, put_one },
	{ "/proc/diskstats", "disks", 2, 0, add_disk, put_disk },
	{ "/proc/net/dev", "network", 0, 2, add_net, put_net },
	{ "/proc/pressure/cpu", "pressure of CPUs", 0, 0, add_cpu_pressure, put_pressure },
	{ "/proc/pressure/io", "pressure of I/O", 0, 0, add_io_pressure, put_pressure },
	{ "/proc/pressure/memory", "pressure of memory", 0, 0, add_memory_pressure, put_pressure },
};

struct ebt_error *counter_texts_create(struct counter_set *set, const char *root,
				       struct counter_texts **ret)
{
	_cleanup_(counter_texts_destroyp) struct counter_texts *texts = calloc(1, sizeof(*texts));
	char path[PATH_MAX];

	if (!texts)
		return &ebt_enomem;
	texts->set = set;
	texts->root = root;
	texts->buffer = malloc(MAX_TEXT + 1);
	if (!texts->buffer)
		return &ebt_enomem;
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
	free(texts->buffer);
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
	return file->kind->add(texts, (*ret)->key, &(*ret)->counter);
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
	file->kind->put(texts->set, known->counter, numbers, n);
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
